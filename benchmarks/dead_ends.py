"""Benchmark of the dead-end test on one thread: ground actions against joins in every state, in the same run.

Times are medians over states along a random walk in generated problems. "make" is the grounding, once per problem. "-"
means that there are too many ground actions and only joins are possible; "gave up" means that joins took too long.

    python benchmarks/dead_ends.py [--domain sokoban ...] [--split training --split medium ...] [--states 10]
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence

from saltus import _kernel
from saltus.domains.generated import generated_task
from saltus.lookahead import random_action, successor_state
from saltus.lookahead.actions import DEAD_END_WORK, GROUND_ATOMS
from saltus.task import State, Task
from saltus.task.kernel_task import kernel_task

STRIDE = 5
"""Random actions between two states."""


def largest(name: str, split: str) -> Task:
    """The largest problem of a split."""
    return generated_task(name, split, 9, 10, 3)


def walk(task: Task, count: int) -> list[State]:
    """States along a random walk."""
    rng = random.Random(1)
    states = [task.initial_state]
    while len(states) < count:
        state = states[-1]
        for _ in range(STRIDE):
            action = random_action(task, state, rng)
            if action is None:
                return states
            state = successor_state(task, state, action)
        states.append(state)
    return states


def median_time(call: Callable[[State], object], states: Sequence[State]) -> float:
    """The median time of a call, in milliseconds."""
    times = []
    for state in states:
        start = time.perf_counter()
        call(state)
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", action="append")
    parser.add_argument("--split", action="append")
    parser.add_argument("--states", type=int, default=10)
    options = parser.parse_args()
    print("domain split objects rules | make ms | ground ms | joins ms | joins / ground | dead ends found")
    for name in options.domain or ["childsnack", "floortile", "sokoban", "spanner"]:
        for split in options.split or ["training", "easy", "medium", "hard"]:
            task = largest(name, split)
            known, goal, states = kernel_task(task), task.goal.positive, walk(task, options.states)

            def joins(state: State, known=known, goal=goal) -> bool | None:  # type: ignore[no-untyped-def]
                return _kernel.relaxed_reaches(known, state.codes, goal, DEAD_END_WORK)

            start = time.perf_counter()
            rules = _kernel.GroundRelaxation(known, GROUND_ATOMS, negation=False)
            made = 1000 * (time.perf_counter() - start)
            joined = median_time(joins, states)
            answers = [joins(state) for state in states]
            gave_up = " (gave up)" if None in answers else ""
            line = f"{name} {split} {len(task.objects)} {rules.rules} | {made:.1f} |"
            if rules.complete:
                ground = median_time(
                    lambda state, r=rules, k=known, g=goal: r.reaches(k, state.codes, g),  # type: ignore[misc]
                    states,
                )
                line += f" {ground:.2f} | {joined:.2f}{gave_up} | {joined / ground:.1f} |"
            else:
                line += f" - | {joined:.2f}{gave_up} | - |"
            print(f"{line} {answers.count(False)} of {len(answers)}", flush=True)


if __name__ == "__main__":
    main()
