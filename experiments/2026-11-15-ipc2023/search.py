"""How many training problems a search guided by the number of goals solves, without any network.

python experiments/2026-11-15-ipc2023/search.py IPC/DOMAIN [...] [--decisions 1000] [--dead-ends]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from saltus.learn.experience import search
from saltus.lookahead import PlaySpec, TreeSpec
from saltus.policy import GoalCountPolicy
from saltus.task import find_suite, load

EVERY = 6
"""Every so many training problems one is tried."""


def main() -> None:
    """Prints a line a domain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", type=Path, nargs="+")
    parser.add_argument("--decisions", type=int, default=300, help="most decisions of a search")
    parser.add_argument("--dead-ends", action="store_true", help="leave out dead ends that the relaxation sees")
    options = parser.parse_args()
    for folder in options.suites:
        suite = find_suite(folder)
        tasks = [load(suite.domain, path) for path in suite.splits["training"][::EVERY]]
        policy = GoalCountPolicy(np.random.default_rng(0), TreeSpec(), PlaySpec(dead_ends=options.dead_ends))
        started = time.perf_counter()
        solved = [task for task in tasks if search(policy, task, 0, options.decisions) is not None]
        most = max((len(task.goal.positive) for task in solved), default=0)
        seconds = time.perf_counter() - started
        print(f"{suite.name}: {len(solved)} of {len(tasks)} in {seconds:.1f} s, of {most} goals at most", flush=True)


if __name__ == "__main__":
    main()
