"""Stage `task`: a task without some of its objects, and how what happens in it is said of the whole.

Takes a task, a state, and objects to be put away; gives a task with the remaining ones, whose actions are actions of
the whole task. Where no condition or effect ranges over all objects (`can_be_parted`), what can be done in the part can
be done in the whole, and leaves the atoms about the other objects as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from saltus.pddl.structures import Condition, Exists, ForAll, Literal, Or
from saltus.task.compile import build_task
from saltus.task.state import Goal, State
from saltus.task.task import Action, Task


@dataclass(frozen=True, eq=False)
class Part:
    """A task with some objects of another one."""

    task: Task
    numbers: tuple[int, ...]
    """What number each of its objects has in the other task."""

    def action_of_whole(self, action: Action) -> Action:
        """An action of the part as one of the other task."""
        return Action(action.schema, tuple(self.numbers[argument] for argument in action.arguments))


def can_be_parted(task: Task) -> bool:
    """Whether no condition or effect ranges over objects that an action does not name.

    The domain is asked: a task has conditions on all objects written out.
    """
    domain = task.domain
    return not task.axioms and not any(
        _ranges_over_objects(schema.precondition)
        or any(effect.variables or _ranges_over_objects(effect.condition) for effect in schema.effects)
        for schema in domain.schemas
    )


def _ranges_over_objects(condition: Condition) -> bool:
    return any(
        isinstance(entry, ForAll | Exists)
        or (isinstance(entry, Or) and any(_ranges_over_objects(part) for part in entry.parts))
        for entry in condition
    )


def part_of(task: Task, put_away: Collection[int], state: State | None = None, goal: Goal | None = None) -> Part:
    """The task without some objects, which must be neither constants nor in the goal, and without all atoms about them.

    It begins with a state of the task, and has another goal, if these are given. The goal must consist of literals of
    the domain.
    """
    problem, domain = task.problem, task.domain
    gone = frozenset(put_away)
    assert all(number >= len(domain.constants) for number in gone)
    numbers = tuple(number for number in range(len(task.objects)) if number not in gone)
    renumbered = {number: i for i, number in enumerate(numbers)}
    predicates: list[int] = []
    arguments: list[int] = []
    for predicate, *objects in _initial_atoms(task, state):
        if gone.isdisjoint(objects):
            predicates.append(predicate)
            arguments += [renumbered[number] for number in objects]
    names = {task.objects[number] for number in gone}
    found = replace(
        problem,
        name=f"{problem.name}-part",
        objects=tuple(entry for entry in problem.objects if entry.name not in names),
        init_predicate=np.array(predicates, np.int32),
        init_argument=np.array(arguments, np.int32),
        values={key: value for key, value in problem.values.items() if names.isdisjoint(key[1:])},
        goal=tuple(_literals(task, task.goal if goal is None else goal)),
        file=f"<part of {problem.file}>",
    )
    return Part(build_task(domain, found), numbers)


def _initial_atoms(task: Task, state: State | None) -> Iterator[tuple[int, ...]]:
    """Initial atoms as numbers: those of the problem, or its static ones and the state's."""
    problem = task.problem
    given = problem.init_argument.tolist()
    start = 0
    for predicate in problem.init_predicate.tolist():
        end = start + int(task.arity[predicate])
        if state is None or not task.fluent[predicate]:
            yield (predicate, *given[start:end])
        start = end
    if state is not None:
        derived = task.derived
        yield from (atom for atom in map(task.decode, state) if atom[0] not in derived)


def _literals(task: Task, goal: Goal) -> Iterator[Literal]:
    for positive, codes in ((True, goal.positive), (False, goal.negative)):
        for predicate, *objects in map(task.decode, codes.tolist()):
            yield Literal(
                task.domain.predicates[predicate].name, tuple(task.objects[number] for number in objects), positive
            )
