"""Benchmark of whole jumps on one core: planning with the kernel's engine against planning with PyTorch, in one run.

Bundled policies on hard IPC problems. The engine plays; at each of the first jumps of its rollout both decide about the
same state, and what is timed is the whole decision: lookahead, graph and network, in CPU time, best of several. The
first jump is not timed, since what is computed once per task happens there. The engine's time is divided into its parts
in proportion to their wall-clock times. "same" counts the states at which both rank the same candidate first.

With `--free-moves`, trees are modulo free moves, whatever the policies were trained with, and as small as a contest's
candidates make them.

    python benchmarks/plan.py --ipc DIR [--problem ferry/testing/hard/p10.pddl ...] [--jumps 5] [--repeats 3]
        [--free-moves]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch

from measure import best_time
from saltus.model.engine import Engine
from saltus.model.policy_file import load_policy_file
from saltus.model.torch_scorer import TorchScorer
from saltus.policy import LearnedPolicy, play
from saltus.policy.catalogue import POLICIES
from saltus.task import load

SMALLER = {"blocksworld": 10, "ferry": 10, "transport": 10, "rovers": 5}
LARGEST = ("blocksworld", "ferry", "floortile", "miconic", "transport", "satellite", "spanner", "childsnack", "rovers")
PROBLEMS = [f"{domain}/testing/hard/p{number:02}.pddl" for domain, number in SMALLER.items()]
PROBLEMS += [f"{domain}/testing/hard/p30.pddl" for domain in LARGEST]
SMALL_TREES = {"max_better": 32, "max_encoded": 2000}
"""Limits on trees with `--free-moves`."""


@dataclass
class Times:
    """Seconds of some jumps: CPU time, then wall-clock time of the engine's parts."""

    jumps: int = 0
    engine: float = 0.0
    pytorch: float = 0.0
    lookahead: float = 0.0
    graph: float = 0.0
    network: float = 0.0
    same: int = 0


def measure(ipc: Path, problem: str, jumps: int, repeats: int, *, free_moves: bool = False) -> Times:
    """Mean times of the jumps of a rollout after the first."""
    domain = Path(problem).parts[0]
    file = load_policy_file(POLICIES / f"{domain}.safetensors")
    fast, slow = (LearnedPolicy.of(file, scorer) for scorer in (Engine.of(file.network), TorchScorer(file.network)))
    fast.threads = slow.threads = 1
    if free_moves:
        fast.lookahead = slow.lookahead = replace(file.lookahead, free_moves=True)
        fast.play_spec = slow.play_spec = replace(file.play, **SMALL_TREES)
    task = load(ipc / domain / "domain.pddl", ipc / problem)
    rollout = play(fast, task)
    times = Times()
    rollout.advance(fast.decide([rollout.situation])[0])
    while rollout.ending is None and times.jumps < jumps:
        decision = fast.decide([rollout.situation])[0]
        situations = [rollout.situation]
        twin = slow.decide(situations)[0]
        times.same += int(decision.q.argmax() == twin.q.argmax()) if len(twin.q) else 1
        before = dict(fast.clock.seconds)
        times.engine += best_time(partial(fast.decide, situations), repeats, clock=time.process_time)
        for part, seconds in fast.clock.seconds.items():
            setattr(times, part, getattr(times, part) + seconds - before[part])
        times.pytorch += best_time(partial(slow.decide, situations), repeats, clock=time.process_time)
        times.jumps += 1
        rollout.advance(decision)
    return times


def show(problem: str, times: Times) -> float:
    """Prints a line; returns how many times faster a jump is with the engine."""
    domain, *_, split, name = Path(problem).with_suffix("").parts
    slow, fast = (1e3 * seconds / times.jumps for seconds in (times.pytorch, times.engine))
    walls = (times.lookahead, times.graph, times.network)
    parts = [fast * wall / sum(walls) for wall in walls]
    print(
        f"{f'{domain} {split} {name}':<24}{slow:>9.1f} ms{fast:>9.1f} ms{slow / fast:>8.2f}"
        f"{parts[0]:>12.1f}{parts[1]:>8.1f}{parts[2]:>9.1f}{times.same:>7} of {times.jumps}",
        flush=True,
    )
    return slow / fast


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ipc", default=os.environ.get("SALTUS_IPC2023"), help="folder of the IPC 2023 problems")
    parser.add_argument("--problem", action="append", help="DOMAIN/testing/SPLIT/FILE; may be repeated")
    parser.add_argument("--jumps", type=int, default=5, help="jumps per problem")
    parser.add_argument("--repeats", type=int, default=3, help="timings of a decision, of which the best counts")
    parser.add_argument("--free-moves", action="store_true", help="trees modulo free moves")
    options = parser.parse_args()
    if not options.ipc:
        parser.error("--ipc or SALTUS_IPC2023 must name the folder of the IPC 2023 Learning Track problems")
    torch.set_num_threads(1)
    print(
        f"{'a whole jump':<24}{'PyTorch':>12}{'engine':>12}{'ratio':>8}{'lookahead':>12}{'graph':>8}{'network':>9}"
        f"{'same':>12}"
    )
    ratios = []
    for problem in options.problem or PROBLEMS:
        times = measure(Path(options.ipc), problem, options.jumps, options.repeats, free_moves=options.free_moves)
        if times.jumps:
            ratios.append(show(problem, times))
    print(f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
