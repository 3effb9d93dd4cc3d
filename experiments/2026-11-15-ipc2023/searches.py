"""Searches on generated problems: around the policy, by goals alone, and both as `saltus plan` runs them.

    python experiments/2026-11-15-ipc2023/searches.py sokoban POLICY... --sizes side=17,boxes=8 [--seconds 30]

The greedy rollout goes first, unless goals alone count. A line a policy and kind of search: problems solved of every
size, and the seconds in all.
"""

from __future__ import annotations

import argparse
import time

from candidates import problems

from saltus.domains.registry import DOMAINS
from saltus.policy import JumpSearch, Limits, Planner, load_policy, plan_stepwise
from saltus.task import Task

KINDS = ("policy", "goals", "both")


def is_solved(policy: Planner, task: Task, kind: str, seconds: float) -> bool:
    """Whether a search finds a plan in time."""
    goal_policy = policy.goal_policy()
    if kind == "goals" and goal_policy is not None:
        started = time.monotonic()
        search = JumpSearch(goal_policy, task, weights=(10.0,))
        for _ in search.run():
            if time.monotonic() - started >= seconds:
                break
        return search.solution is not None
    moments = plan_stepwise(
        policy,
        task,
        Limits(seconds=seconds),
        search=True,
        goal_policy=goal_policy if kind == "both" else None,
    )
    *_, end = moments
    return end.solved


def main() -> None:
    """Prints the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domain", choices=sorted(DOMAINS))
    parser.add_argument("policies", nargs="+")
    parser.add_argument("--sizes", nargs="+", required=True, help="such as side=14,boxes=6")
    parser.add_argument("--split", default="easy", help="whose other sizes are taken")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--count", type=int, default=4, help="problems of each size")
    parser.add_argument("--seed", type=int, default=62)
    parser.add_argument("--seconds", type=float, default=30.0, help="a problem")
    options = parser.parse_args()
    suites = {
        sizes: problems(options.domain, options.split, options.count, options.seed, sizes) for sizes in options.sizes
    }
    for name in options.policies:
        policy = load_policy(name, device="cpu")
        for kind in options.kinds:
            started = time.monotonic()
            parts = []
            for sizes, tasks in suites.items():
                solved = sum(is_solved(policy, task, kind, options.seconds) for task in tasks)
                parts.append(f"{sizes} {solved} of {len(tasks)}")
            print(f"{name}, {kind}: {', '.join(parts)}; {time.monotonic() - started:,.0f} s", flush=True)


if __name__ == "__main__":
    main()
