"""How policies of one domain play generated problems, side by side: to choose among runs, or to see where they fail.

    python experiments/2026-11-15-ipc2023/candidates.py sokoban POLICY... [--splits training easy] [--count 40]

Greedy rollouts. A line a policy: problems solved of every split, and the jumps of those.
"""

from __future__ import annotations

import argparse

from saltus.domains.larger import generated_task
from saltus.domains.registry import DOMAINS
from saltus.learn.validation import measure
from saltus.policy import load_policy
from saltus.task import Task


def problems(name: str, split: str, count: int, seed: int) -> list[Task]:
    """Problems of a split, from its smallest to its largest."""
    return [generated_task(name, split, index, count, seed) for index in range(count)]


def main() -> None:
    """Prints the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domain", choices=sorted(DOMAINS))
    parser.add_argument("policies", nargs="+")
    parser.add_argument("--splits", nargs="+", default=["training", "validation", "easy"])
    parser.add_argument("--count", type=int, default=40, help="problems a split")
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    suites = {split: problems(options.domain, split, options.count, options.seed) for split in options.splits}
    for name in options.policies:
        policy = load_policy(name, device=options.device)
        parts = []
        for split, tasks in suites.items():
            found = measure(policy, tasks, 50)
            parts.append(f"{split} {found.solved} of {len(tasks)} ({found.jumps} jumps)")
        print(f"{name}: {', '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
