"""Sizes of lookahead trees of several kinds, compared: means over states along random walks in generated problems.

python benchmarks/trees.py --domain rovers [--kind aiw --kind iw ...] [--split training ...] [--states 20]
"""

from __future__ import annotations

import argparse

from dead_ends import largest, walk
from saltus.lookahead import LookaheadSpec, lookahead


def main() -> None:
    """Prints one line per split."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", default="rovers")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--split", action="append")
    parser.add_argument("--states", type=int, default=20)
    options = parser.parse_args()
    kinds = options.kind or ["aiw", "iw"]
    for split in options.split or ["training", "easy", "medium", "hard"]:
        task = largest(options.domain, split)
        states = walk(task, options.states)
        sizes = []
        for kind in kinds:
            trees = (lookahead(task, state, LookaheadSpec(kind=kind)) for state in states)
            sizes.append(sum(len(tree) for tree in trees) / len(states))
        parts = (f"{kind} {size:,.0f} ({size / sizes[0]:.1f})" for kind, size in zip(kinds, sizes, strict=True))
        print(f"{options.domain} {split}, {len(task.objects)} objects: {', '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
