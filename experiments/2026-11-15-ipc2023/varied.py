"""How policies for spanner play problems of other proportions than the track's: its problems have about twice as
many spanners as nuts, and a policy may count on that.

    python experiments/2026-11-15-ipc2023/varied.py POLICY...

Problems of our own generator, by seed; a line a policy, with the problems solved of each kind.
"""

from __future__ import annotations

import argparse
import random

from saltus.domains.generated import generated_task
from saltus.learn.validation import measure
from saltus.policy import load_policy
from saltus.task import Task

KINDS = {"as many spanners as nuts": 0.0, "up to twice as many": 1.0}
SIZES = {"1 to 10 nuts": (1, 10, 150), "10 to 40 nuts": (10, 40, 40)}
"""Least and most nuts, number of problems."""


def problems(spare: float, least: int, most: int, count: int) -> list[Task]:
    """Problems with at most `spare` more spanners a nut."""
    rng = random.Random(4)
    tasks = []
    for i in range(count):
        nuts = rng.randint(least, most)
        sizes = {"nuts": nuts, "spanners": nuts + rng.randint(0, int(spare * nuts)), "locations": rng.randint(2, 12)}
        tasks.append(generated_task("spanner", "easy", i, count, rng.randrange(10**6), sizes))
    return tasks


def main() -> None:
    """Prints the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="+")
    options = parser.parse_args()
    suites = {f"{kind}, {size}": problems(spare, *SIZES[size]) for kind, spare in KINDS.items() for size in SIZES}
    for name in options.policies:
        policy = load_policy(name)
        parts = (f"{kind}: {measure(policy, tasks, 50).solved} of {len(tasks)}" for kind, tasks in suites.items())
        print(f"{name}: {'; '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
