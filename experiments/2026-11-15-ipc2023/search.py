"""How many training problems a search guided by the number of goals solves, without any network.

python experiments/2026-11-15-ipc2023/search.py IPC/DOMAIN [...]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from saltus.learn.experience import search
from saltus.policy import GoalCountPolicy
from saltus.task import find_suite, load

DECISIONS = 300
EVERY = 6
"""Every so many training problems one is tried."""


def main() -> None:
    """Prints a line a domain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", type=Path, nargs="+")
    for folder in parser.parse_args().suites:
        suite = find_suite(folder)
        tasks = [load(suite.domain, path) for path in suite.splits["training"][::EVERY]]
        policy = GoalCountPolicy(np.random.default_rng(0))
        started = time.perf_counter()
        solved = sum(search(policy, task, 0, DECISIONS) is not None for task in tasks)
        print(f"{suite.name}: {solved} of {len(tasks)} in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
