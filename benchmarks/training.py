"""Benchmark of training: gradient steps per second, time per part, memory.

    python benchmarks/training.py SUITE [--device cuda] [--episodes 300] [--set key=value ...]

SUITE is a folder with training and validation problems, such as the IPC 2023 Learning Track's blocksworld.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import torch

from saltus.learn.config import load_configuration
from saltus.learn.trainer import EpisodeReport, Trainer
from saltus.task import find_suite, load


def main() -> None:
    """Trains and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--every", type=int, default=50, help="episodes between two lines")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    suite = find_suite(options.suite)
    started = time.perf_counter()
    tasks, held_out = (
        [load(suite.domain, path) for path in suite.splits.get(name, ())] for name in ("training", "validation")
    )
    configuration = load_configuration(None, [f"episodes={options.episodes}", *options.set])
    trainer = Trainer(configuration, tasks, held_out, seed=options.seed, device=options.device, threads=options.threads)
    print(f"{suite.name}: {len(tasks)} problems, {options.device}, set up in {time.perf_counter() - started:.1f} s")
    parts: dict[str, float] = {}
    started = mark = time.perf_counter()
    for event in trainer.train():
        now = time.perf_counter()
        if isinstance(event, EpisodeReport):
            for name, seconds in event.seconds.items():
                parts[name] = parts.get(name, 0.0) + seconds
            if event.episode <= 3 or event.episode % options.every == 0:
                print(f"  {now - started:7.1f} s  episode {event.episode}: loss {event.loss:.3f}, {event.success:.2f}")
        else:
            parts["validation"] = parts.get("validation", 0.0) + now - mark
            larger = event.held_out
            print(f"  {now - started:7.1f} s  validation: {larger.solved} of {larger.problems}, {larger.jumps} jumps")
        mark = now
    total = time.perf_counter() - started
    steps = trainer.episode * configuration.training.steps
    print(f"  {total:.1f} s for {trainer.episode} episodes: {steps / total:.0f} steps/s, everything included")
    for name, seconds in sorted(parts.items(), key=lambda part: -part[1]):
        print(f"    {name:<12}{seconds:8.1f} s{100 * seconds / total:7.1f} %")
    if options.device.startswith("cuda"):
        print(f"  peak GPU memory {torch.cuda.max_memory_reserved() / 1e6:.0f} MB")
    print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")


if __name__ == "__main__":
    main()
