"""Stage `lookahead`: problems with thousands of objects of the same role, seen through a few representatives.

Two objects have the same role if nothing but their names tells them apart: they have the same atoms (state, goal,
static) once their own places are left blank. Exchanging them changes nothing, so the policy need not see them all. With
`PlaySpec.roles = K`, the first K objects of every role are representatives; the others wait. Trees and graphs are
made for a small task: the representatives, the atoms and goals about them alone, the same schemas. Its tree is then
lifted: objects and atoms get their numbers in the whole task, goals that hold are counted there. Whatever objects wait,
an action on the others is applicable in the small task exactly if it is in the whole one, and changes the same atoms,
unless an effect or a condition quantifies over objects, or atoms are derived; such tasks are left alone.

An object that is picked up, delivered or used up has another role from then on, and one that has waited moves up.

Twin of what the kernel computes: `roles_reference.py`. Cost: roles are kept up to date from state to state; a decision
costs one comparison of the state with the last one, and what has changed.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltus import _kernel
from saltus.lookahead.free_moves import FreeMoves, find_free_moves, restrict_moves
from saltus.lookahead.tree import LookaheadTree
from saltus.task import Goal, State, Task
from saltus.task.cache import PerObject
from saltus.task.kernel_task import kernel_task

MOST_TASKS = 64
"""Small tasks that are kept for the next decisions: whichever objects stand for others, there are only so many
combinations of types and static atoms."""

MOST_GOALS = 4
"""Goals, or numbers of representatives, for which the roles of a task are kept."""


class SmallTask(NamedTuple):
    """A task of representatives."""

    task: Task
    moves: FreeMoves | None
    """Free moves of the whole task among the representatives."""


@dataclass(frozen=True, eq=False)
class Projection:
    """A situation with representatives alone."""

    small: SmallTask
    representatives: NDArray[np.int32]
    """Their numbers in the whole task, ascending."""
    state: State
    goal: Goal
    satisfied: int
    """Goal literals that hold but are about objects that wait."""

    def lift(self, tree: LookaheadTree, task: Task, state: State, goal: Goal) -> LookaheadTree:
        """A tree of the small task as a tree of the whole task."""
        small, whole = kernel_task(self.small.task), kernel_task(task)
        return replace(
            tree,
            task=task,
            root=state,
            goal=goal,
            argument=self.representatives[tree.argument],
            goals=tree.goals + np.int32(self.satisfied),
            added=_kernel.lift_codes(small, whole, self.representatives, tree.added),
            deleted=_kernel.lift_codes(small, whole, self.representatives, tree.deleted),
            small=tree,
            representatives=self.representatives,
        )


class _Known:
    """What is kept of a task: roles by the goal's identity and the number of representatives, and small tasks."""

    def __init__(self, task: Task) -> None:
        quantifies = any(effect.variables for schema in task.schemas for effect in schema.effects)
        self.has_roles = not quantifies and not task.uses_adl
        self.roles: OrderedDict[tuple[int, int], tuple[Goal, _kernel.Roles]] = OrderedDict()
        self.small: OrderedDict[tuple[bytes, ...], SmallTask] = OrderedDict()

    def roles_of(self, task: Task, goal: Goal, most: int) -> _kernel.Roles:
        found = self.roles.get((id(goal), most))
        if found is None:
            copy = kernel_task(task)
            found = goal, _kernel.Roles(copy, goal.positive, goal.negative, len(task.domain.constants), most)
            self.roles[id(goal), most] = found  # the goal is kept, too, so that its identity stays its own
            if len(self.roles) > MOST_GOALS:
                self.roles.popitem(last=False)
        return found[1]


def project(task: Task, state: State, goal: Goal, most: int, *, free_moves: bool = False) -> Projection | None:
    """The situation with at most so many objects of a role; None if no object has to wait."""
    known = _KNOWN.of(task)
    if not known.has_roles or most >= len(task.objects):
        return None
    found = known.roles_of(task, goal, most).project(state.codes)
    if found is None:
        return None
    representatives, code_offset, static_rows, static_count, codes, positive, negative, satisfied = found
    moves = find_free_moves(task) if free_moves else None
    masks = () if moves is None else (mask[representatives] for group in moves.groups for mask in group.objects)
    arrays = (task.object_type[representatives], static_count, static_rows, *masks)
    key = tuple(array.tobytes() for array in arrays)
    small = known.small.get(key)
    if small is None:
        made = _small_task(task, representatives, code_offset, static_rows, static_count)
        small = SmallTask(made, None if moves is None else restrict_moves(moves, made, representatives))
        known.small[key] = small
        if len(known.small) > MOST_TASKS:
            known.small.popitem(last=False)
    return Projection(small, representatives, State(codes), Goal(positive, negative, goal.impossible), satisfied)


def project_relaxed(task: Task, state: State, goal: Goal, most: int) -> Projection | None:
    """The situation with at most so many objects of a role, for tests by the delete relaxation, which reaches the goal
    there exactly if it does in the whole task; None if that does not hold, or if no object has to wait.

    It holds if no action has more than `most` parameters. Whatever the relaxation reaches, it reaches with objects of
    the same role exchanged. So where an action needs objects that wait, representatives that it does not need otherwise
    can take their places, and so on for what made its conditions true.
    """
    if most < max((len(schema.parameters) for schema in task.schemas), default=0):
        return None
    return project(task, state, goal, most)


def project_goal(tree: LookaheadTree, goal: Goal) -> Goal:
    """Another goal for a tree with representatives, as its small task has it: literals about them alone."""
    task, small = tree.task, tree.encoded.task
    number = {int(whole): i for i, whole in enumerate(tree.representatives.tolist())}

    def shown(codes: NDArray[np.int64]) -> list[int]:
        return [
            small.encode(predicate, [number[i] for i in arguments])
            for predicate, *arguments in map(task.decode, codes.tolist())
            if all(i in number for i in arguments)
        ]

    return Goal(shown(goal.positive), shown(goal.negative), goal.impossible)


def _small_task(
    task: Task,
    representatives: NDArray[np.int32],
    code_offset: NDArray[np.int64],
    static_rows: NDArray[np.int32],
    static_count: NDArray[np.int64],
) -> Task:
    """The task of some objects, with an empty initial state and goal: states and goals come with every decision.

    The same small task may serve other representatives with the same types and static atoms. So its objects have the
    names of those for which it was made first.
    """
    arity = task.arity.astype(np.int64)
    ends = np.cumsum(static_count * arity)
    rows = tuple(
        np.ascontiguousarray(static_rows[end - count * number : end].reshape(count, number))
        for end, count, number in zip(ends.tolist(), static_count.tolist(), arity.tolist(), strict=True)
    )
    return replace(
        task,
        objects=tuple(task.objects[i] for i in representatives.tolist()),
        object_type=np.ascontiguousarray(task.object_type[representatives]),
        code_offset=code_offset,
        static_atoms=rows,
        initial_state=State(()),
        goal=Goal(()),
    )


_KNOWN = PerObject(_Known)
