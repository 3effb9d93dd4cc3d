"""How long greedy rollouts go without progress, as a Markdown table: what the rule for stalled rollouts is based on.

    python benchmarks/patience.py FOLDER
    python benchmarks/patience.py FOLDER --policies ferry spanner --seconds 45

FOLDER holds one folder per domain with `domain.pddl` and `training/`, such as the IPC 2023 Learning Track's. Every
bundled policy plays some of the training problems of the domain of its name, and generated ones that are 2 to 4 and 5
to 10 times larger. The longest stretch of jumps without a new best (`policy/stall.py`) is compared with what the rule
allows; rollouts that do not end within `--seconds` are counted, and measured as far as they got.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

from saltus.domains.generated import larger_problems
from saltus.policy import Ending, Planner, load_policy, play
from saltus.policy.catalogue import bundled_policies
from saltus.policy.stall import Stall
from saltus.task import Task, load

TRAINING = 7
"""Training problems per domain."""
LARGER = ((2.0, 4.0, 3), (5.0, 10.0, 2))
"""Least and greatest size of larger problems, as a multiple of the largest training problem, and their number."""


def longest_stretch(policy: Planner, task: Task, seconds: float) -> tuple[int, int, Ending | None]:
    """Most jumps without a new best in the greedy rollout, all its jumps, and how it ended; None if it was cut off."""
    rollout = play(policy, task)
    stall = Stall.of(task)
    longest = 0
    start = time.monotonic()
    while rollout.ending is None and time.monotonic() - start < seconds:
        decision = policy.decide([rollout.situation])[0]
        stall.see(int(decision.tree.goals[0]), float(decision.q.max(initial=-math.inf)))
        longest = max(longest, stall.decisions - 1 - stall.last_best)
        rollout.advance(decision)
    return longest, rollout.jumps, rollout.ending


def problems(folder: Path) -> list[Task]:
    """Training problems of a domain, and larger ones."""
    files = sorted((folder / "training").rglob("*.pddl"))
    training = [load(folder / "domain.pddl", path) for path in files[:: max(1, len(files) // TRAINING)]]
    most = max(len(task.objects) for task in training)
    domain = training[0].domain
    larger = [larger_problems(domain, most, count, seed=3, least=low, most=high) for low, high, count in LARGER]
    return training + [task for tasks in larger for task in tasks]


def main() -> None:
    """Prints a row per policy: its longest stretch, and the one that comes closest to what the rule allows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--policies", nargs="+", choices=list(bundled_policies()), default=list(bundled_policies()))
    parser.add_argument("--seconds", type=float, default=45.0, help="time per rollout")
    options = parser.parse_args()
    titles = (
        "policy",
        "solved",
        "failed",
        "cut off",
        "longest stretch",
        "worst stretch",
        "allowed",
        "objects",
        "jumps",
    )
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}", flush=True)
    for name in options.policies:
        policy = load_policy(name)
        rows: list[tuple[float, str]] = []
        most = 0
        endings: list[Ending | None] = []
        for task in problems(options.folder / name):
            longest, jumps, ending = longest_stretch(policy, task, options.seconds)
            endings.append(ending)
            allowed = Stall.of(task).patience
            if ending in (Ending.SOLVED, None):
                most = max(most, longest)
                rows.append((longest / allowed, f"{longest} | {allowed} | {task.object_count} | {jumps}"))
        worst = max(rows, default=(0.0, "- | - | - | -"))[1]
        failed = len(endings) - endings.count(Ending.SOLVED) - endings.count(None)
        counts = f"{endings.count(Ending.SOLVED)} | {failed} | {endings.count(None)}"
        print(f"| {name} | {counts} | {most} | {worst} |", flush=True)


if __name__ == "__main__":
    main()
