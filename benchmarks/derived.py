"""Derived atoms in novelty: what trees and greedy plans gain or lose by them.

    python benchmarks/derived.py FOLDER … [--kind aiw] [--seconds 20]

Every folder holds a `domain.pddl` and other PDDL files, or folders like that. For each problem with axioms, goal-count
plans with its search, once with derived atoms that count for novelty, and once without
(`lookahead.derived_novelty`). Shown are the nodes and the CPU time of the tree from the initial
state, the atoms of its graph, in how many actions the most goals of that tree are reached, and the length of the plan.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import saltus
from measure import best_time
from saltus.graph import EncodingSpec, Vocabulary, assemble
from saltus.policy.outcome import Limits
from saltus.task import Task


def tasks(folder: Path) -> Iterator[tuple[str, Task]]:
    """Names and tasks of all problems with axioms below a folder."""
    for domain in sorted(folder.rglob("domain.pddl")):
        for problem in sorted(domain.parent.rglob("*.pddl")):
            if problem != domain:
                task = saltus.load(domain, problem)
                if task.axioms:
                    yield f"{domain.parent.name} {problem.stem}", task


def row(task: Task, kind: str, derived: bool, seconds: float) -> tuple[str, ...]:
    """Cells for one problem and one lookahead."""
    spec = saltus.TreeSpec(kind=kind, derived_novelty=derived)
    tree = saltus.lookahead(task, spec=spec)
    cost = best_time(lambda: saltus.lookahead(task, spec=spec), 5, 1.0, time.process_time)
    encoding = EncodingSpec(negative_goals=True)
    graph = assemble([(tree, None)], Vocabulary.of(task.domain, encoding), encoding, threads=1)
    best = int(tree.goals.max())
    near = int(tree.length[tree.goals == best].min())
    policy = saltus.load_policy("goal-count", lookahead=spec)
    begin = time.process_time()
    end = policy.solve(task, Limits(seconds=seconds))
    spent = time.process_time() - begin
    plan = f"{len(end.plan.steps)} ({spent:.2f} s)" if end.plan is not None else f"none ({end.outcome})"
    total = task.goal.size
    atoms = int(graph.relation_offset[-1])
    return f"{len(tree):,}", f"{cost * 1e3:.2f}", f"{atoms:,}", f"{best} of {total} in {near}", plan


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--kind", action="append", help="kind of lookahead; may be repeated (default: aiw)")
    parser.add_argument("--seconds", type=float, default=20.0, help="time limit of a plan")
    options = parser.parse_args()
    print("| problem | kind | derived | nodes | ms | atoms | most goals | actions of the plan |")
    print("|---|---|---|---|---|---|---|---|")
    for folder in options.folder:
        for name, task in tasks(folder):
            for kind in options.kind or ["aiw"]:
                for derived in (True, False):
                    cells = row(task, kind, derived, options.seconds)
                    print(f"| {name} | {kind} | {'yes' if derived else 'no'} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
