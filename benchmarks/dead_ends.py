"""Benchmark of the dead-end test on one thread: ground actions, joins, and joins that try what they found for earlier
states first, in the same run.

Times are means over states along a random walk in generated problems. "make" is the grounding, once per problem. "-"
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
from saltus.lookahead.values import DEAD_END_WORK, PROOF_ATOMS
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


def timed(call: Callable[[State], bool | None], states: Sequence[State]) -> tuple[float, list[bool | None]]:
    """The mean time of a call in milliseconds, and the answers."""
    times, answers = [], []
    for state in states:
        start = time.perf_counter()
        answers.append(call(state))
        times.append(time.perf_counter() - start)
    return 1000 * statistics.mean(times), answers


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", action="append")
    parser.add_argument("--split", action="append")
    parser.add_argument("--states", type=int, default=10)
    options = parser.parse_args()
    print("domain split objects rules | make ms | ground ms | joins ms | proofs ms | joins / proofs | dead ends found")
    for name in options.domain or ["childsnack", "floortile", "rovers", "sokoban", "spanner"]:
        for split in options.split or ["training", "easy", "medium", "hard"]:
            print(measure(name, split, options.states), flush=True)


def measure(name: str, split: str, count: int) -> str:
    """The line of one problem."""
    task = largest(name, split)
    known, goal, states = kernel_task(task), task.goal.positive, walk(task, count)
    start = time.perf_counter()
    rules = _kernel.GroundActions(known, DEAD_END_WORK, "effects")
    made = 1000 * (time.perf_counter() - start)
    ground = "-"
    if rules.complete:
        seconds, _ = timed(lambda state: rules.reaches(state.codes, goal, (), keeping=False), states)
        ground = f"{seconds:.2f}"
    joins = _kernel.RelaxedProof(known, 0)
    joined, answers = timed(lambda state: joins.reaches(state.codes, goal, DEAD_END_WORK, ()), states)
    proof = _kernel.RelaxedProof(known, PROOF_ATOMS)
    proven, same = timed(lambda state: proof.reaches(state.codes, goal, DEAD_END_WORK, ()), states)
    assert all(a == b for a, b in zip(answers, same, strict=True) if a is not None)
    gave_up = " (gave up)" if None in answers else ""
    return (
        f"{name} {split} {len(task.objects)} {rules.rules} | {made:.1f} | {ground} | {joined:.2f}{gave_up} | "
        f"{proven:.2f} | {joined / proven:.1f} | {answers.count(False)} of {len(answers)}"
    )


if __name__ == "__main__":
    main()
