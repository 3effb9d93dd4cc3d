"""Benchmark of graph assembly on one thread: two tables from one run; times are the best of several.

1. Batches of 32 trees along random walks in one problem, for every encoding: time, nodes, argument slots, bytes.
   Target: well under 2 ms for AIW trees of about 50 nodes in blocksworld with the encoding ad.
2. One tree from the initial state of the largest problem of each domain, with the encoding ad. Target: well under
   100 ms for rovers hard p25, which has 162,000 static atoms.

    python benchmarks/graph.py --ipc DIR [--problem blocksworld/training/easy/p60.pddl] [--repeats 50]
"""

from __future__ import annotations

import argparse
import os
import random
from pathlib import Path

from measure import best_time
from saltus.graph import ENCODINGS, EncodingSpec, GraphBatch, Query, Vocabulary, assemble
from saltus.lookahead import TreeSpec, lookahead, random_action, successor_state
from saltus.task import Task, load

BATCH = 32
STRIDE = 3
"""Random actions between two states of a batch."""


def walk(task: Task, kind: str, seed: int = 1) -> list[Query]:
    """Queries for the trees from states along a random walk."""
    rng = random.Random(seed)
    state = task.initial_state
    queries: list[Query] = []
    for _ in range(BATCH):
        queries.append((lookahead(task, state, TreeSpec(kind=kind)), None))
        for _ in range(STRIDE):
            action = random_action(task, state, rng)
            state = successor_state(task, state, action) if action is not None else state
    return queries


def report(name: str, queries: list[Query], spec: EncodingSpec, repeats: int) -> None:
    """Prints one line of a table."""
    vocabulary = Vocabulary.of(queries[0][0].task.domain, spec)

    def once() -> GraphBatch:
        return assemble(queries, vocabulary, spec, threads=1)

    batch = once()
    trees = sum(len(tree) for tree, _ in queries) / len(queries)
    print(
        f"{name:34s} {trees:9,.1f} {batch.graph_count:8,} {batch.node_count:9,} {batch.relation_offset[-1]:11,} "
        f"{len(batch.arguments):11,} {batch.nbytes / 1e6:8.2f} {1000 * best_time(once, repeats):9.3f}",
        flush=True,
    )


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--ipc",
        type=Path,
        default=os.environ.get("SALTUS_IPC2023"),
        help="folder of the IPC 2023 Learning Track problems (default: SALTUS_IPC2023)",
    )
    parser.add_argument("--problem", default="blocksworld/training/easy/p60.pddl", help="problem of the first table")
    parser.add_argument("--repeats", type=int, default=50)
    arguments = parser.parse_args()
    if arguments.ipc is None:
        parser.error("--ipc or SALTUS_IPC2023 must name the folder of the IPC 2023 Learning Track problems")
    header = f"{'':34s} {'tree':>9s} {'graphs':>8s} {'nodes':>9s} {'atoms':>11s} {'slots':>11s} {'MB':>8s} {'ms':>9s}"
    folder = Path(arguments.ipc)
    task = load(folder / Path(arguments.problem).parts[0] / "domain.pddl", folder / arguments.problem)
    print(f"{BATCH} trees of {arguments.problem}\n{header}")
    for kind in ENCODINGS:
        report(kind, walk(task, "flat" if kind == "aa" else "aiw"), EncodingSpec(kind), arguments.repeats)
    print(f"\nlargest problems, ad\n{header}")
    for domain in sorted(path.parent for path in folder.glob("*/domain.pddl")):
        hard = sorted((domain / "testing" / "hard").glob("p*.pddl"), key=lambda path: path.stat().st_size)
        if hard:
            task = load(domain / "domain.pddl", hard[-1])
            report(f"{domain.name} hard {hard[-1].stem}", [(lookahead(task), None)], EncodingSpec(), arguments.repeats)


if __name__ == "__main__":
    main()
