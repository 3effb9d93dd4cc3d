"""Sizes of lookahead trees of several kinds, compared.

    python benchmarks/trees.py --domain rovers [--kind aiw --kind iw ...] [--split training ...] [--states 20]
    python benchmarks/trees.py --free-moves FOLDER [--problem testing/hard/p30.pddl] [--max-nodes 200000]
                               [--play max_better=24 ...]

Without `--free-moves`: means over states along random walks in generated problems. With it: a Markdown table of nodes
and times of the first tree of one problem per domain of a folder (such as that of the IPC 2023 Learning Track), as in
the paper and modulo free moves, with AIW and with IW features. Times are the best of three, in CPU time of one thread;
reading the problem and finding free moves do not count. "> N" is a tree that was cut off.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

from dead_ends import largest, walk
from measure import best_time
from saltus.lookahead import PlaySpec, TreeSpec, lookahead
from saltus.lookahead.free_moves import find_free_moves
from saltus.task import Task, load

BUDGET = 5.0
"""Seconds after which a tree is not made again."""
SPECS = [TreeSpec(kind=kind, free_moves=free) for kind in ("aiw", "iw") for free in (False, True)]


def compare_kinds(domain: str, kinds: list[str], splits: list[str], count: int) -> None:
    """Prints one line per split."""
    for split in splits:
        task = largest(domain, split)
        states = walk(task, count)
        sizes = []
        for kind in kinds:
            trees = (lookahead(task, state, TreeSpec(kind=kind)) for state in states)
            sizes.append(sum(len(tree) for tree in trees) / len(states))
        parts = (f"{kind} {size:,.0f} ({size / sizes[0]:.1f})" for kind, size in zip(kinds, sizes, strict=True))
        print(f"{domain} {split}, {len(task.objects)} objects: {', '.join(parts)}", flush=True)


def measure(task: Task, spec: TreeSpec, limits: PlaySpec) -> str:
    """Nodes and time of the first tree."""
    lookahead(task, spec=replace(spec, kind="flat"), play=PlaySpec(max_nodes=1))  # copies the task, finds free moves
    trees = []
    seconds = best_time(lambda: trees.append(lookahead(task, spec=spec, play=limits)), 3, BUDGET, time.process_time)
    tree = trees[-1]
    spent = f"{1000 * seconds:,.1f} ms" if seconds < 1 else f"{seconds:,.1f} s"
    return f"{'> ' if tree.truncated else ''}{len(tree):,}{' (stopped)' if tree.stopped else ''}, {spent}"


def compare_free_moves(folder: Path, problem: str, settings: list[str]) -> None:
    """Prints a row per domain."""
    limits = PlaySpec.of(settings)
    print(f"| {problem} | objects | {' | '.join(spec.label for spec in SPECS)} |")
    print("|---|---|" + "---|" * len(SPECS))
    for path in sorted(folder.glob(f"*/{problem}")):
        name = path.relative_to(folder).parts[0]
        task = load(folder / name / "domain.pddl", path)
        has_free_moves = find_free_moves(task) is not None
        cells = [measure(task, spec, limits) if has_free_moves or not spec.free_moves else "the same" for spec in SPECS]
        print(f"| {name} | {len(task.objects):,} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Prints the table that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", default="rovers")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--split", action="append")
    parser.add_argument("--states", type=int, default=20)
    parser.add_argument("--free-moves", type=Path, metavar="FOLDER")
    parser.add_argument("--problem", default="testing/hard/p30.pddl")
    parser.add_argument("--max-nodes", type=int, default=200_000)
    parser.add_argument("--play", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    if options.free_moves is None:
        splits = options.split or ["training", "easy", "medium", "hard"]
        compare_kinds(options.domain, options.kind or ["aiw", "iw"], splits, options.states)
    else:
        settings = [f"max_nodes={options.max_nodes}", *options.play]
        compare_free_moves(options.free_moves, options.problem, settings)


if __name__ == "__main__":
    main()
