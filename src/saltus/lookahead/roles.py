"""Stage `lookahead`: problems with thousands of objects of the same role, seen through a few representatives.

Two objects have the same role if nothing but their names tells them apart: they have the same atoms (state, goal,
static) once their own places are left blank. Exchanging them changes nothing, so the policy need not see them all. With
`PlaySpec.roles = K`, the first K objects of every role, by number, are representatives; the others wait, but never a
constant (`kernel/roles.cpp` chooses). Trees and graphs are made for a small task: the representatives, the atoms and
goals about them alone, the same schemas. Its tree is then lifted: objects and atoms get their numbers in the whole
task, goals that hold are counted there. Whatever objects wait, an action on the others is applicable in the small task
exactly if it is in the whole one, and changes the same atoms, unless an effect or a condition quantifies over objects,
or atoms are derived; such tasks are left alone.

An object that is picked up, delivered or used up has another role from then on, and one that has waited moves up.

The twin of what the kernel computes: `tests/twins/roles.py`. Cost: roles are kept up to date from state to state; a
decision costs one comparison of the state with the last one, and what has changed.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltus import _kernel
from saltus.lookahead.free_moves import FreeMoves, find_free_moves, restrict_moves
from saltus.lookahead.view import View
from saltus.task import Goal, State, Task
from saltus.task.cache import PerObject
from saltus.task.kernel_task import kernel_task
from saltus.task.part import Part, can_be_parted, part_of


class _Small(NamedTuple):
    """A task of representatives. It may serve others with the same types and static atoms, too, so its objects have the
    names of those for which it was made first."""

    part: Part
    moves: FreeMoves | None


class _Known:
    """What is kept of a task: roles by the goal's identity and the number of representatives, and small tasks."""

    def __init__(self, task: Task) -> None:
        self.has_roles = can_be_parted(task) and not task.uses_adl
        self.roles: OrderedDict[tuple[int, int], tuple[Goal, _kernel.Roles]] = OrderedDict()
        self.small: OrderedDict[tuple[bytes, ...], _Small] = OrderedDict()

    def roles_of(self, task: Task, goal: Goal, most: int) -> _kernel.Roles:
        found = self.roles.get((id(goal), most))
        if found is None:
            copy = kernel_task(task)
            found = goal, _kernel.Roles(copy, goal.positive, goal.negative, len(task.domain.constants), most)
            self.roles[id(goal), most] = found  # the goal is kept, too, so that its identity stays its own
            if len(self.roles) > 4:
                self.roles.popitem(last=False)
        return found[1]


def project(task: Task, state: State, goal: Goal, most: int, *, free_moves: bool = False) -> View | None:
    """The situation with at most so many objects of a role; None if no object has to wait."""
    known = _KNOWN.of(task)
    if not known.has_roles or most >= len(task.objects):
        return None
    found = known.roles_of(task, goal, most).project(state.codes)
    if found is None:
        return None
    representatives, static_rows, static_count, codes, positive, negative, satisfied = found
    moves = find_free_moves(task) if free_moves else None
    masks = () if moves is None else (mask[representatives] for group in moves.groups for mask in group.objects)
    arrays = (task.object_type[representatives], static_count, static_rows, *masks)
    key = tuple(array.tobytes() for array in arrays)
    small = known.small.get(key)
    if small is None:
        part = part_of(task, representatives, rows_by_predicate(static_rows, static_count, task.arity))
        small = _Small(part, None if moves is None else restrict_moves(moves, part.task, representatives))
        known.small[key] = small
        if len(known.small) > 64:  # there are only so many combinations of types and static atoms
            known.small.popitem(last=False)
    wanted = Goal(positive, negative, goal.impossible)
    return View(small.part, small.moves, representatives, State(codes), wanted, satisfied)


def project_relaxed(task: Task, state: State, goal: Goal, most: int) -> View | None:
    """The situation with at most so many objects of a role, for tests by the delete relaxation, which reaches the goal
    there exactly if it does in the whole task; None if that does not hold, or if no object has to wait.

    It holds if no action has more than `most` parameters. Whatever the relaxation reaches, it reaches with objects of
    the same role exchanged. So where an action needs objects that wait, representatives that it does not need otherwise
    can take their places, and so on for what made its conditions true.
    """
    if most < max((len(schema.parameters) for schema in task.schemas), default=0):
        return None
    return project(task, state, goal, most)


def rows_by_predicate(
    rows: NDArray[np.int32], count: NDArray[np.int64], arity: NDArray[np.int32]
) -> list[NDArray[np.int32]]:
    """Atoms of all predicates one after the other, as one [atoms, arity] array for each."""
    ends = np.cumsum(count * arity.astype(np.int64))
    return [
        np.ascontiguousarray(rows[end - own * number : end].reshape(own, number))
        for end, own, number in zip(ends.tolist(), count.tolist(), arity.tolist(), strict=True)
    ]


_KNOWN = PerObject(_Known)
