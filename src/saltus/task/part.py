"""Stage `task`: a task without some of its objects, and how what happens in it is said of the whole.

Takes a task, and the objects that stay; gives a task with these alone, made of the arrays of the whole one, whose
actions are actions of the whole task. Where no condition or effect ranges over all objects (`can_be_parted`), what can
be done in the part can be done in the whole, and leaves the atoms about the other objects as they are.

Parts are how a policy sees less than there is: `lookahead/view.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from saltus.pddl.structures import Condition, Exists, ForAll, Or
from saltus.task.cache import PerObject
from saltus.task.state import Goal, State
from saltus.task.task import Action, Task


@dataclass(frozen=True, eq=False)
class Part:
    """A task with some objects of another one, whose initial state and goal are empty: states and goals are taken over
    one by one."""

    whole: Task
    task: Task
    numbers: NDArray[np.int32]
    """What number each of its objects has in the whole task, ascending."""

    def action_of_whole(self, action: Action) -> Action:
        """An action of the part as one of the whole task."""
        return Action(action.schema, tuple(self.numbers[list(action.arguments)].tolist()))

    def codes_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those atoms of the whole task that are about objects of the part alone, by their codes in the part."""
        whole, count = self.whole, len(self.numbers)
        predicates = np.searchsorted(whole.code_offset, codes, side="right") - 1
        found: list[NDArray[np.int64]] = []
        for predicate in np.unique(predicates).tolist():
            rest = codes[predicates == predicate] - whole.code_offset[predicate]
            code, stays = np.zeros(len(rest), np.int64), np.ones(len(rest), np.bool_)
            for place in range(int(whole.arity[predicate])):
                rest, number = np.divmod(rest, len(whole.objects))
                own = np.searchsorted(self.numbers, number)
                stays &= (own < count) & (self.numbers[np.minimum(own, count - 1)] == number) if count else False
                code += own * count**place
            found.append(code[stays] + self.task.code_offset[predicate])
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def state_of(self, state: State) -> State:
        """A state of the whole task without the atoms about other objects."""
        return State(self.codes_of(state.codes))

    def goal_of(self, goal: Goal) -> Goal:
        """A goal of the whole task without the literals about other objects."""
        return Goal(self.codes_of(goal.positive), self.codes_of(goal.negative), goal.impossible)


def can_be_parted(task: Task) -> bool:
    """Whether no condition or effect ranges over objects that an action does not name, and no atom is derived.

    The domain is asked: a task has conditions on all objects written out.
    """
    return _CAN_BE_PARTED.of(task)


def _can_be_parted(task: Task) -> bool:
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


_CAN_BE_PARTED = PerObject[Task, bool](_can_be_parted)


def part_of(task: Task, numbers: NDArray[np.int32], static_atoms: Sequence[NDArray[np.int32]] | None = None) -> Part:
    """The task with these objects alone, among which all constants must be; `numbers` ascend.

    `static_atoms` are those about these objects alone, in their new numbers, if that is known.
    """
    assert numbers[: len(task.domain.constants)].tolist() == list(range(len(task.domain.constants)))
    if static_atoms is None:
        static_atoms = [_rows_of(rows, numbers) for rows in task.static_atoms]
    sizes = [len(numbers) ** int(arity) for arity in task.arity]
    small = replace(
        task,
        objects=tuple(task.objects[i] for i in numbers.tolist()),
        object_type=np.ascontiguousarray(task.object_type[numbers]),
        code_offset=np.cumsum([0, *sizes], dtype=np.int64),
        static_atoms=tuple(static_atoms),
        initial_state=State(()),
        goal=Goal(()),
    )
    return Part(task, small, numbers)


def _rows_of(rows: NDArray[np.int32], numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Rows of objects that are all among some, in their new numbers."""
    kept = rows[np.isin(rows, numbers).all(axis=1)]
    return np.searchsorted(numbers, kept).astype(np.int32).reshape(kept.shape)
