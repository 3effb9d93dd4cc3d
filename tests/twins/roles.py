"""Twin of the kernel's roles: representatives of a state from scratch, by comparing atoms instead of hashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from saltus.task import Goal, State, Task

Fact = tuple[str, int, tuple[int, ...]]
"""A mark (static, in the state, wanted or unwanted by the goal), a predicate and its arguments."""


def facts(task: Task, state: State, goal: Goal) -> Iterator[Fact]:
    """All that is said about objects; a goal atom that holds differs from one that does not, for it is in the state."""
    for predicate, rows in enumerate(task.static_atoms):
        for row in rows.tolist():
            yield "static", predicate, tuple(row)
    for mark, codes in (("in state", state.codes), ("wanted", goal.positive), ("unwanted", goal.negative)):
        for code in codes.tolist():
            predicate, *arguments = task.decode(code)
            yield mark, predicate, tuple(arguments)


def roles(task: Task, state: State, goal: Goal) -> list[object]:
    """[objects]: role; equal ones are equal values. Objects that the domain names have roles of their own."""
    blanked: list[Counter[tuple[str, int, tuple[int, ...]]]] = [Counter() for _ in task.objects]
    for mark, predicate, arguments in facts(task, state, goal):
        for own in set(arguments):
            blanked[own][mark, predicate, tuple(-1 if i == own else i for i in arguments)] += 1
    constants = len(task.domain.constants)
    return [
        (int(task.object_type[i]), frozenset(blanked[i].items()), i if i < constants else None)
        for i in range(len(task.objects))
    ]


def representatives(task: Task, state: State, goal: Goal, most: int) -> list[int]:
    """The first objects of every role, at most so many, ascending."""
    seen: Counter[object] = Counter()
    chosen: list[int] = []
    for number, role in enumerate(roles(task, state, goal)):
        seen[role] += 1
        if seen[role] <= most:
            chosen.append(number)
    return chosen


def project(task: Task, state: State, goal: Goal, most: int) -> tuple[list[int], set[Fact], int]:
    """Representatives, what is said about them alone in their new numbers, and how many goals left out hold."""
    chosen = representatives(task, state, goal, most)
    number = {whole: i for i, whole in enumerate(chosen)}
    shown: set[Fact] = set()
    satisfied = 0
    for mark, predicate, arguments in facts(task, state, goal):
        if all(i in number for i in arguments):
            shown.add((mark, predicate, tuple(number[i] for i in arguments)))
        elif mark in ("wanted", "unwanted"):
            satisfied += (task.encode(predicate, arguments) in state) == (mark == "wanted")
    return chosen, shown, satisfied
