"""What lookahead of width 2 brings and costs: AIW(1), IW(1), AIW(2) and IW(2) on small problems, as a Markdown table.

    python benchmarks/width.py FOLDER --domain sokoban --domain childsnack --domain spanner

FOLDER holds one folder per domain, such as that of the IPC 2023 Learning Track. Problems of a split, spread over its
sizes, are played by the yardstick goal-count, which jumps to a state with the most goals: greedily, without search,
dead ends left out (`dead_ends=true`). So whatever is gained comes from the trees. Its columns: problems solved;
problems whose first tree has a state with more goals than the initial state, and those whose first tree has a goal
state; mean number of states of a tree, and mean CPU time of a decision (mostly of its tree); and problems that ran into
the limit of CPU time (`--seconds`), which is looked at between two decisions. A tree is cut off at `--max-nodes`.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from saltus.domains.generated import spread_evenly
from saltus.lookahead import PlaySpec, TreeSpec, lookahead
from saltus.policy import GoalCountPolicy, Limits, plan_stepwise
from saltus.task import Task, find_suite, load

LOOKAHEADS = (("aiw", 1), ("iw", 1), ("aiw", 2), ("iw", 2))
MAX_JUMPS = 100


@dataclass
class Row:
    """What came of the problems of a domain with one lookahead."""

    solved: int = 0
    better: int = 0
    """Problems whose first tree has a state with more goals."""
    goal: int = 0
    """Problems whose first tree has a goal state."""
    nodes: int = 0
    trees: int = 0
    seconds: float = 0.0
    """CPU time of all decisions."""
    truncated: int = 0
    """First trees that were cut off."""
    cut_off: int = 0
    """Problems that ran out of time."""


def spread(folder: Path, split: str, count: int) -> list[Task]:
    """Problems of a split, spread over its sizes."""
    suite = find_suite(folder)
    tasks = [load(suite.domain, path) for path in suite.splits[split]]
    return spread_evenly(sorted(tasks, key=lambda task: len(task.objects)), count)


def play(task: Task, spec: TreeSpec, rules: PlaySpec, seconds: float, row: Row) -> None:
    """Adds what came of a problem to a row."""
    tree = lookahead(task, spec=spec, play=rules)
    row.better += int(tree.goals.max() > tree.goals[0])
    row.goal += tree.nearest_goal is not None
    row.truncated += tree.truncated
    policy = GoalCountPolicy(np.random.default_rng(0), spec, rules)
    begun = time.process_time()
    progress = None
    for progress in plan_stepwise(policy, task, Limits(max_jumps=MAX_JUMPS), search=False, threads=1):
        if progress.outcome is None and time.process_time() - begun > seconds:
            row.cut_off += 1
            break
    assert progress is not None
    row.solved += progress.plan is not None
    row.nodes += progress.tree_nodes or 0
    row.trees += (progress.jumps or 0) + (progress.plan is None)
    row.seconds += time.process_time() - begun


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--domain", action="append", required=True)
    parser.add_argument("--split", default="training")
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--max-nodes", type=int, default=20_000)
    arguments = parser.parse_args()
    columns = (
        "domain, objects, lookahead, solved, more goals in first tree, goal in it, states per tree, time per decision"
    )
    print(f"| {' | '.join(columns.split(', '))} | out of time |")
    print("|---" * 9 + "|")
    for domain in arguments.domain:
        tasks = spread(arguments.folder / domain, arguments.split, arguments.count)
        sizes = f"{len(tasks[0].objects):,} to {len(tasks[-1].objects):,}"
        for kind, width in LOOKAHEADS:
            spec = TreeSpec(kind=kind, width=width)
            rules = PlaySpec(dead_ends=True, max_nodes=arguments.max_nodes)
            row = Row()
            for task in tasks:
                play(task, spec, rules, arguments.seconds, row)
            cut = f" ({row.truncated} cut off)" if row.truncated else ""
            trees = max(1, row.trees)
            print(
                f"| {domain} | {sizes} | {spec.label} | {row.solved} of {len(tasks)} | {row.better} | {row.goal}{cut}"
                f" | {row.nodes / trees:,.0f} | {1000 * row.seconds / trees:,.1f} ms | {row.cut_off} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
