"""How policies of one domain play generated problems, side by side: to choose among runs, or to see where they fail.

    python experiments/2026-11-15-ipc2023/candidates.py sokoban POLICY... [--splits training easy] [--count 40]
    python experiments/2026-11-15-ipc2023/candidates.py sokoban POLICY... --sizes side=14,boxes=6 side=20,boxes=9

Greedy rollouts. A line a policy: problems solved of every split, and the jumps of those; with `--sizes` problems of
the first split with these sizes instead of the split's own.
"""

from __future__ import annotations

import argparse

from saltus.cli.generate import parse_sizes
from saltus.domains.generated import generated_task
from saltus.domains.registry import DOMAINS
from saltus.learn.validation import measure
from saltus.policy import LearnedPolicy, load_policy
from saltus.task import Task


def problems(name: str, split: str, count: int, seed: int, sizes: str = "") -> list[Task]:
    """Problems of a split, from its smallest to its largest, or all of given sizes."""
    fixed = parse_sizes(sizes.split(",") if sizes else [])
    return [generated_task(name, split, index, count, seed, fixed) for index in range(count)]


def main() -> None:
    """Prints the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domain", choices=sorted(DOMAINS))
    parser.add_argument("policies", nargs="+")
    parser.add_argument("--splits", nargs="+", default=["training", "validation", "easy"])
    parser.add_argument("--count", type=int, default=40, help="problems a split")
    parser.add_argument("--sizes", nargs="*", default=[], help="such as side=14,boxes=6")
    parser.add_argument("--layers", type=int, help="rounds of message passing instead of the policy's own")
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    parts = [(options.splits[0], sizes) for sizes in options.sizes] or [(split, "") for split in options.splits]
    suites = {
        sizes or split: problems(options.domain, split, options.count, options.seed, sizes) for split, sizes in parts
    }
    for name in options.policies:
        policy = load_policy(name, device=options.device)
        if options.layers is not None and isinstance(policy, LearnedPolicy):
            policy.layers = options.layers
        results = []
        for split, tasks in suites.items():
            found = measure(policy, tasks, 50)
            results.append(f"{split} {found.solved} of {len(tasks)} ({found.jumps} jumps)")
        print(f"{name}: {', '.join(results)}", flush=True)


if __name__ == "__main__":
    main()
