"""Benchmark of the test for frozen goals on one thread: the weak and the strong form, in the same run, as a Markdown
table.

    python benchmarks/frozen.py FOLDER [--domain sokoban ...] [--problem testing/hard/p30.pddl ...] [--states 16]

FOLDER holds a folder per domain, such as that of the IPC 2023 Learning Track. The test is asked about the states that a
policy asks it about: those with more goals than the initial state in its first tree (IW features, modulo free moves).
Times are medians over these states, in milliseconds of CPU time; "ground" is the grounding of actions and the analysis
of the goal, once per problem. "keep" counts the states in which every missing goal can still be reached.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from saltus.lookahead import PlaySpec, TreeSpec, keeps_goals, lookahead
from saltus.lookahead.frozen import FORMS
from saltus.task import State, Task, load

PROBLEMS = ["testing/easy/p30.pddl", "testing/medium/p30.pddl", "testing/hard/p30.pddl"]


def better_states(task: Task, count: int) -> list[State]:
    """States of the first tree with more goals than the initial state."""
    spec = TreeSpec(kind="iw", free_moves=True)
    limits = PlaySpec(max_better=count)
    tree = lookahead(task, spec=spec, play=limits)
    better = [i for i, goals in enumerate(tree.goals.tolist()) if goals > tree.goals[0]]
    return [tree.state_of(i) for i in better[:count]]


def measure(task: Task, states: list[State], form: str) -> tuple[float, int]:
    """Median time in milliseconds, and the number of states that keep their goals."""
    times, kept = [], 0
    for state in states:
        start = time.process_time()
        kept += keeps_goals(task, state, task.goal, form)
        times.append(1000 * (time.process_time() - start))
    return statistics.median(times), kept


def row(task: Task, states: list[State]) -> list[str]:
    """Cells of a problem: missing goals, the grounding, and for each form the time and the states that it accepts."""
    missing = statistics.median(sum(code not in state for code in task.goal.positive.tolist()) for state in states)
    start = time.process_time()
    keeps_goals(task, states[0], task.goal, "weak")
    cells = [f"{missing:.0f}", f"{1000 * (time.process_time() - start):,.0f}"]
    for form in FORMS:
        median, kept = measure(task, states, form)
        per_goal = f" ({median / missing:.2f} per missing goal)" if form == "strong" and missing else ""
        cells += [f"{median:,.2f}{per_goal}", f"{kept} of {len(states)}"]
    return cells


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--domain", action="append")
    parser.add_argument("--problem", action="append")
    parser.add_argument("--states", type=int, default=16)
    options = parser.parse_args()
    titles = [title for form in FORMS for title in (form, f"{form}: keep")]
    print(f"| problem | objects | missing goals | ground | {' | '.join(titles)} |")
    print("|---|---|---|---|" + "---|" * len(titles))
    for name in options.domain or ["sokoban"]:
        for problem in options.problem or PROBLEMS:
            path = options.folder / name / problem
            task = load(options.folder / name / "domain.pddl", path)
            states = better_states(task, options.states)
            cells = row(task, states) if states else ["no state with more goals"]
            print(f"| {name} {problem} | {len(task.objects):,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
