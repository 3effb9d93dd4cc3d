"""Benchmark of training steps on one core of a CPU: messages passed by the kernel and by its twin, on the same batches.

Trains for some episodes with the sizes of a contest on a CPU, keeps the batches of the last ones, and repeats their
gradient steps both ways. A step is the whole one: both passes, backward, Adam, averaged weights.

    python benchmarks/cpu_step.py SUITE ... [--episodes 12] [--set key=value ...]

SUITE is a folder with training problems.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import torch

from saltus.learn.candidates import CPU
from saltus.learn.config import load_configuration
from saltus.learn.trainer import Trainer
from saltus.task import find_suite, load

STEPS = 32
"""Steps that are repeated."""


def batches_of(trainer: Trainer) -> list[tuple[Any, int]]:
    """Trains; returns what the last steps took."""
    taken: list[tuple[Any, int]] = []
    step = trainer.learner.step

    def noted(prepared: Any, layers: int) -> Any:
        taken.append((prepared, layers))
        return step(prepared, layers)

    trainer.learner.step = noted  # type: ignore[method-assign]
    for _ in trainer.train():
        pass
    trainer.learner.step = step  # type: ignore[method-assign]
    return taken[-STEPS:]


def mean_time(trainer: Trainer, batches: list[tuple[Any, int]], uses_kernel: bool) -> float:
    """The mean time of a step in milliseconds, the better of two rounds."""
    trainer.learner.network.trained_by_kernel = uses_kernel
    best = float("inf")
    for _ in range(2):
        start = time.perf_counter()
        for prepared, layers in batches:
            trainer.learner.step(prepared, layers)
        best = min(best, time.perf_counter() - start)
    return 1000 * best / len(batches)


def main() -> None:
    """Prints a line per suite."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="+", type=Path, metavar="SUITE")
    parser.add_argument("--episodes", type=int, default=12)
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("suite: nodes, slots, relations per batch | PyTorch ms | kernel ms | ratio")
    for path in options.suites:
        suite = find_suite(path)
        tasks = [load(suite.domain, problem) for problem in suite.splits["training"]]
        settings = [*CPU, "training.average=0.997", f"episodes={options.episodes}", "validate_every=100000"]
        configuration = load_configuration(None, [*settings, *options.set])
        trainer = Trainer(configuration, tasks, seed=0, device="cpu", threads=1)
        batches = batches_of(trainer)
        nodes, slots = (sum(getattr(now, key) for (now, _, _), _ in batches) for key in ("node_count", "slot_count"))
        relations = sum(len(group.relations) for group in batches[0][0][0].groups)
        plain, fast = (mean_time(trainer, batches, uses_kernel) for uses_kernel in (False, True))
        size = f"{nodes // len(batches):,}, {slots // len(batches):,}, {relations}"
        print(f"{suite.name}: {size} | {plain:.1f} | {fast:.1f} | {plain / fast:.1f}", flush=True)


if __name__ == "__main__":
    main()
