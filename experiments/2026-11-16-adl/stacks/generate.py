"""Problems of open stacks: orders that share products, and few stacks.

    python experiments/2026-11-16-adl/stacks/generate.py OUT [--seed 0]

Writes OUT/domain.pddl, OUT/training (40 problems with 3 to 7 orders) and OUT/testing (ten each with 14 and 21 orders).
Each order includes one to three products, and there are as many products as orders. The counts go up to the stacks that
a simple order of the products needs (the product next that starts the fewest orders), so every problem has a plan.
Opening one stack more than that is a dead end: the last order could not be shipped.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
from pathlib import Path

TRAINING = [(orders, 8) for orders in range(3, 8)]
TESTING = [(orders, 10) for orders in (14, 21)]


def stacks_needed(includes: list[set[int]]) -> int:
    """Orders open at once if the product comes next that starts the fewest orders, and those complete are shipped."""
    products, left, most = set().union(*includes), [set(order) for order in includes], 0
    is_open = [False] * len(includes)
    while products:
        starts = {p: sum(p in order and not is_open[i] for i, order in enumerate(includes)) for p in products}
        chosen = min(products, key=lambda p: (starts[p], p))
        products.remove(chosen)
        for i, order in enumerate(includes):
            is_open[i] |= chosen in order
        most = max(most, sum(is_open))
        for i, order in enumerate(left):
            order.discard(chosen)
            is_open[i] &= bool(order)
    return most


def problem(orders: int, rng: random.Random) -> str:
    """Text of a problem."""
    includes = [set(rng.sample(range(orders), min(orders, rng.randint(1, 3)))) for _ in range(orders)]
    for product in set(range(orders)).difference(*includes):
        rng.choice(includes).add(product)
    stacks = stacks_needed(includes)
    init = [f"(next-count n{i} n{i + 1})" for i in range(stacks)] + ["(stacks-avail n0)"]
    init += [f"(waiting o{i})" for i in range(orders)]
    init += [f"(includes o{i} p{product})" for i, order in enumerate(includes) for product in sorted(order)]
    names = " ".join(f"o{i}" for i in range(orders)) + " - order " + " ".join(f"p{i}" for i in range(orders))
    counts = " ".join(f"n{i}" for i in range(stacks + 1))
    facts = "\n    ".join(init)
    return (
        f"(define (problem stacks-{orders})\n  (:domain openstacks)\n  (:objects {names} - product {counts} - count)\n"
        f"  (:init\n    {facts})\n  (:goal (forall (?o - order) (shipped ?o))))\n"
    )


def main() -> int:
    """Writes the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    for split, sizes in (("training", TRAINING), ("testing", TESTING)):
        folder = options.out / split
        folder.mkdir(parents=True, exist_ok=True)
        for orders, count in sizes:
            for number in range(count):
                (folder / f"p{orders:02}-{number + 1:02}.pddl").write_text(problem(orders, rng))
    shutil.copy(Path(__file__).parent / "domain.pddl", options.out / "domain.pddl")
    return 0


if __name__ == "__main__":
    sys.exit(main())
