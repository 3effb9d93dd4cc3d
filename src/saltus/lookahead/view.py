"""Stage `lookahead`: what a policy sees of a situation: some of its objects, and some of its goals.

A policy that was trained on problems with few objects and goals may know its way and still get lost among hundreds, or
spend its time on thousands of objects that are all alike. So it is shown less. Three generators choose what: `roles.py`
shows a few objects of each kind, `policy/sight.py` a few goals at a time, `policy/goal_by_goal.py` a goal and what it
is about. A view of all objects is the task itself with another goal; any other is a task of its own, a part
(`task/part.py`). Trees of a view are lifted to the whole task: objects and atoms get their numbers there, and goals
about hidden objects that hold are counted.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from saltus import _kernel
from saltus.lookahead.free_moves import FreeMoves
from saltus.lookahead.tree import LookaheadTree
from saltus.task import Goal, State, Task
from saltus.task.kernel_task import kernel_task
from saltus.task.part import Part, part_of


@dataclass(frozen=True, eq=False)
class View:
    """A situation in which some objects are hidden."""

    part: Part
    moves: FreeMoves | None
    """Free moves of the visible objects, if they are those of the whole task; otherwise the part has its own."""
    objects: NDArray[np.int32]
    """Numbers of the visible objects in the whole task, ascending; those of the part have the same types and static
    atoms, and may be others."""
    state: State
    goal: Goal
    satisfied: int
    """Goal literals that hold but are about hidden objects."""

    @property
    def task(self) -> Task:
        """The task of the visible objects."""
        return self.part.task

    def lift(self, tree: LookaheadTree, task: Task, state: State, goal: Goal) -> LookaheadTree:
        """A tree of the view as a tree of the whole task."""
        small, whole = kernel_task(self.task), kernel_task(task)
        return replace(
            tree,
            task=task,
            root=state,
            goal=goal,
            argument=self.objects[tree.argument],
            goals=tree.goals + np.int32(self.satisfied),
            added=_kernel.lift_codes(small, whole, self.objects, tree.added),
            deleted=_kernel.lift_codes(small, whole, self.objects, tree.deleted),
            small=tree,
            objects=self.objects,
        )


def view_without(task: Task, hidden: Collection[int], state: State, goal: Goal) -> View:
    """The situation without some objects, none of which may be a constant, and without the goals about them.

    The state and the goal are those that the task of the view begins with.
    """
    numbers = np.setdiff1d(np.arange(len(task.objects)), np.fromiter(hidden, np.int64)).astype(np.int32)
    part = part_of(task, numbers)
    seen, wanted = part.state_of(state), part.goal_of(goal)
    part = replace(part, task=replace(part.task, initial_state=seen, goal=wanted))
    return View(part, None, numbers, seen, wanted, goal.count(state) - wanted.count(seen))


def visible_goal(tree: LookaheadTree, goal: Goal) -> Goal:
    """Another goal for a lifted tree, as its view has it: literals about visible objects alone."""
    assert tree.small is not None
    return Part(tree.task, tree.small.task, tree.objects).goal_of(goal)
