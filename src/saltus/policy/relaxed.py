"""Stage `policy`: plans by relaxed plans, for problems whose goals say too little about the way.

Counting goals is blind where a goal takes many steps none of which reaches another one: a product goes through all of
its stages first. A relaxed plan, in which nothing becomes false, counts these steps. The search is the usual one:
greedy, with states valued when they are taken from the queue, and with a queue of its own for actions of relaxed plans
(Hoffmann and Nebel 2001; Richter and Westphal 2010). Goals are reached one by one and, if that fails, at once. If that
fails, too, the state with the most goals is what the search came by. Relaxed plans are made of the cheapest supporters
by the sum of costs.

The kernel grounds the task and searches; the twins are in `tests/twins/relaxed_plans.py`. Nothing depends on time:
effort is bounded by the work that is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saltus import _kernel
from saltus.policy.values import GOAL_SHARE
from saltus.task import Action, State, Task
from saltus.task.kernel_task import kernel_task

Numbers = NDArray[np.int32]


@dataclass(frozen=True)
class RelaxedFound:
    """What a search came by."""

    plan: tuple[Action, ...] | None = None
    best: State | None = None
    """Without a plan, the state with the most goals; None if no goal was reached."""
    way: tuple[Action, ...] = ()
    """Actions that lead to it."""
    is_cut_off: bool = False
    """Whether more work could find more."""


def can_search(task: Task) -> bool:
    """Whether the task has nothing that the search does not know: conditional effects, nested conditions, axioms."""
    extra = any(schema.nested or schema.is_conditional for schema in task.schemas)
    return not (extra or task.axioms or task.goal.impossible)


def relaxed_search(
    task: Task,
    check: Callable[[], None] = lambda: None,
    most_work: int = 400_000_000,
    most_actions: int = 500_000,
) -> RelaxedFound:
    """What a bounded search comes by; what `check` raises ends it.

    It looks at `most_work` conditions and effects of ground actions, by default for a few seconds. Nothing if the task
    has more than `most_actions` ground actions, or conditional effects, nested conditions or axioms.
    """
    if not can_search(task):
        return RelaxedFound()
    ground = ground_task(task, check, most_actions)
    return RelaxedFound() if ground is None else ground.search(check, most_work)


@dataclass(frozen=True, eq=False)
class GroundTask:
    """Ground actions that can be reached if nothing becomes false, and the atoms that they are about, as numbers."""

    task: Task
    schema: Numbers
    """[actions]: schema by schema, arguments in lexicographic order."""
    arguments: Numbers
    """Those of all actions."""
    codes: NDArray[np.int64]
    """[atoms]: codes of the atoms that can be reached, ascending."""
    needs: tuple[Numbers, Numbers]
    """Atoms that each action needs: where its atoms begin, [actions + 1], and the atoms of all actions."""
    forbids: tuple[Numbers, Numbers]
    adds: tuple[Numbers, Numbers]
    deletes: tuple[Numbers, Numbers]
    initial: Numbers
    goal: Numbers
    unwanted: Numbers
    is_reachable: bool
    """Whether all atoms of the goal are among those that can be reached."""

    def arguments_of(self, schema: int) -> Numbers:
        """Arguments of a schema's actions, one row each."""
        own = self.schema == schema
        rows: Numbers = self.arguments[np.repeat(own, self._widths())]
        return rows.reshape(own.sum(), len(self.task.schemas[schema].parameters))

    def actions(self, numbers: list[int]) -> tuple[Action, ...]:
        """Some of the actions."""
        ends = np.cumsum(self._widths())
        rows = (self.arguments[: ends[number]][ends[number - 1] if number else 0 :] for number in numbers)
        return tuple(
            Action(int(self.schema[number]), tuple(row.tolist())) for number, row in zip(numbers, rows, strict=True)
        )

    def _widths(self) -> NDArray[np.int64]:
        return np.array([len(own.parameters) for own in self.task.schemas], np.int64)[self.schema]

    def search(self, check: Callable[[], None], most_work: int) -> RelaxedFound:
        """What the kernel's search comes by."""
        if not self.is_reachable:
            return RelaxedFound()
        is_plan, numbers, work = _kernel.relaxed_search(
            len(self.codes),
            (self.needs, self.forbids, self.adds, self.deletes),
            self.initial,
            self.goal,
            self.unwanted,
            most_work,
            GOAL_SHARE,
            check,
        )
        return self.found(is_plan, numbers.tolist(), is_cut_off=work >= most_work)

    def found(self, is_plan: bool, numbers: list[int], *, is_cut_off: bool) -> RelaxedFound:
        """What a search came by that ended with these actions."""
        actions = self.actions(numbers)
        if is_plan:
            return RelaxedFound(actions)
        state, goal = set(self.initial.tolist()), self.goal.tolist()
        before = len(state.intersection(goal))
        for number in numbers:
            state -= set(_of(self.deletes, number))
            state |= set(_of(self.adds, number))
        if len(state.intersection(goal)) <= before:
            return RelaxedFound(is_cut_off=is_cut_off)
        return RelaxedFound(None, State(self.codes[sorted(state)]), actions, is_cut_off)


def ground_task(task: Task, check: Callable[[], None] = lambda: None, most_actions: int = 500_000) -> GroundTask | None:
    """The ground task; None if it has more actions: so many are listed in some tenths of a second."""
    initial = task.initial_state.codes
    found = _kernel.reachable_actions(kernel_task(task), initial, most_actions, check)
    if found is None:
        return None
    codes, schema, arguments, (needs, forbids, adds, deletes) = found

    def numbers(wanted: NDArray[np.int64]) -> Numbers:
        return np.searchsorted(codes, wanted[np.isin(wanted, codes)]).astype(np.int32)

    goal, unwanted = numbers(task.goal.positive), numbers(task.goal.negative)
    is_reachable = len(goal) == len(task.goal.positive)
    lists = needs, forbids, adds, deletes
    return GroundTask(task, schema, arguments, codes, *lists, numbers(initial), goal, unwanted, is_reachable)


class RelaxedPlans:
    """The search as a searcher (`portfolio.py`): it starts anew each time, with more work, as long as that could find
    more."""

    def __init__(self, task: Task, expired: Callable[[], bool] = lambda: False) -> None:
        self.task = task
        self.goals = 0
        self.work = 0
        self.next_work = 100_000_000  # about a second
        self.solution: list[Action] | None = None
        self._expired = expired
        self._ground: GroundTask | None = None

    def run(self) -> Iterator[None]:
        """One search after the other."""
        may_help = can_search(self.task)
        while may_help:
            try:
                self._ground = self._ground or ground_task(self.task, self._check)
                found = RelaxedFound() if self._ground is None else self._ground.search(self._check, self.next_work)
            except _TimeIsUp:
                return
            self.work += self.next_work
            self.next_work *= 4
            may_help = found.is_cut_off
            if found.plan is not None:
                self.solution = list(found.plan)
                return
            yield None

    def _check(self) -> None:
        if self._expired():
            raise _TimeIsUp


class _TimeIsUp(Exception):  # noqa: N818 (no error, and never seen outside of this module)
    """Raised inside a search."""


def _of(lists: tuple[Numbers, Numbers], action: int) -> list[int]:
    """Atoms of an action."""
    offset, atoms = lists
    found: list[int] = atoms[offset[action] : offset[action + 1]].tolist()
    return found
