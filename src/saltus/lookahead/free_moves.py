"""Stage `lookahead`: free moves: actions that shift an agent from one place to another and can be undone.

Found from the task alone: the groups of `free_groups.py` of which, as far as static atoms tell, some move can be undone
by another move of the group. Whether a ground move is free depends on the state: it is if it can be undone in the state
that it leads to. What a lookahead makes of free moves is described in `tests/twins/free_moves.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from saltus import _kernel
from saltus.lookahead.free_groups import Group, Move, candidates
from saltus.task import Action, Goal, State, Task
from saltus.task.cache import PerObject
from saltus.task.kernel_task import kernel_task

_Entry: TypeAlias = tuple[int, int, bool, list[list[int]], list[tuple[int, int, int, int]]]
"""A group as the kernel reads it: predicate, place, blocked by others, objects of every argument, moves."""


@dataclass(frozen=True, eq=False)
class FreeMoves:
    """The groups of a task."""

    groups: tuple[Group, ...]
    kernel: _kernel.FreeMoves = field(repr=False)
    """The kernel's copy."""

    def place_of(self, task: Task, code: int) -> tuple[int, tuple[int, ...], int] | None:
        """`(group, agent, place)` of an atom; None if it is no place of an agent."""
        predicate, *arguments = task.decode(code)
        for number, group in enumerate(self.groups):
            if group.predicate == predicate and all(mask[i] for mask, i in zip(group.objects, arguments, strict=True)):
                agent = (*arguments[: group.place], *arguments[group.place + 1 :])
                return number, agent, arguments[group.place]
        return None

    def agents(self, task: Task, state: State) -> list[list[tuple[int, ...]]]:
        """Agents of every group that have a place in the state, in the order of their objects."""
        found: list[set[tuple[int, ...]]] = [set() for _ in self.groups]
        for code in state:
            place = self.place_of(task, code)
            if place is not None:
                found[place[0]].add(place[1])
        return [sorted(agents) for agents in found]

    def move_of(self, schema: int) -> tuple[int, Move] | None:
        """Group and move of a schema; None if it is no move."""
        for number, group in enumerate(self.groups):
            for move in group.moves:
                if move.schema == schema:
                    return number, move
        return None


def find_free_moves(task: Task) -> FreeMoves | None:
    """The free moves of a task; None if it has none. Found once per task."""
    return _FREE_MOVES.of(task)


def restrict_moves(moves: FreeMoves, task: Task, objects: NDArray[np.int32]) -> FreeMoves:
    """The free moves of a task among some of its objects, for the task (`task`) that has only these."""
    groups = tuple(replace(group, objects=tuple(mask[objects] for mask in group.objects)) for group in moves.groups)
    return FreeMoves(groups, _kernel.FreeMoves(kernel_task(task), _entries(groups)))


def walks_before(task: Task, state: State, action: Action) -> list[Action]:
    """The walks, agent by agent, that lead from a state to one in which an action of its tree is applicable."""
    moves = find_free_moves(task)
    if moves is None:
        return []
    schema, offset, argument = moves.kernel.walks_before(
        state.codes, action.schema, np.array(action.arguments, np.int32)
    )
    starts, arguments = offset.tolist(), argument.tolist()
    return [Action(number, tuple(arguments[starts[i] : starts[i + 1]])) for i, number in enumerate(schema.tolist())]


def canonical_state(task: Task, state: State, goal: Goal) -> State:
    """The state that stands for all states between which agents only walk.

    Every agent is at the first of its places that the goal does not mention, unless the goal mentions the place where
    it is, or others may take its moves away.
    """
    moves = find_free_moves(task)
    return state if moves is None else State(moves.kernel.canonical_state(state.codes, goal.positive, goal.negative))


def _find(task: Task) -> FreeMoves | None:
    groups = candidates(task)
    if not groups:
        return None
    known = kernel_task(task)
    copy = _kernel.FreeMoves(known, _entries(groups))
    free = [group for group, reversible in zip(groups, copy.reversible.tolist(), strict=True) if reversible]
    if len(free) < len(groups):
        copy = _kernel.FreeMoves(known, _entries(free))
    return FreeMoves(tuple(free), copy) if free else None


def _entries(groups: Sequence[Group]) -> list[_Entry]:
    """Groups as the kernel reads them."""
    return [
        (
            group.predicate,
            group.place,
            group.blocked_by_others,
            [np.flatnonzero(mask).tolist() for mask in group.objects],
            [(move.schema, move.literal, move.start, move.end) for move in group.moves],
        )
        for group in groups
    ]


_FREE_MOVES = PerObject(_find)
