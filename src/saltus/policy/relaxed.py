"""Stage `policy`: plans by relaxed plans, for problems whose goals say too little about the way.

Counting goals is blind where a goal takes many steps none of which reaches another one: a product goes through all of
its stages first. A relaxed plan, in which nothing becomes false, counts these steps. The search is the usual one:
greedy, with states valued when they are taken from the queue, and with a queue of its own for actions of relaxed plans
(Hoffmann and Nebel 2001; Richter and Westphal 2010). Goals are reached one by one and, if that fails, at once. If that
fails, too, the state with the most goals is what the search came by. Relaxed plans are made of the cheapest supporters
by the sum of costs.

The task is grounded here; the kernel searches. The search's twin is `relaxed_reference.py`. Nothing depends on time:
effort is bounded by the work that is done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from saltus import _kernel
from saltus.lookahead.actions import applicable_arrays
from saltus.task import EQUALITY, Action, Literal, Schema, State, Task

Numbers = NDArray[np.int32]

MOST_ACTIONS = 500_000
"""Most ground actions of a task that is searched; they are listed in about a second."""

MOST_WORK = 400_000_000
"""Most conditions and effects of ground actions looked at in a search: a few seconds."""

GOAL_SHARE = 5
"""What part of it one goal may take while goals are reached one by one."""


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
    most_work: int = MOST_WORK,
    most_actions: int = MOST_ACTIONS,
) -> RelaxedFound:
    """What a bounded search comes by; what `check` raises ends it.

    Nothing if the task is too large or has conditional effects, nested conditions or axioms.
    """
    if not can_search(task):
        return RelaxedFound()
    ground = ground_task(task, check, most_actions)
    return RelaxedFound() if ground is None else ground.search(check, most_work)


@dataclass(frozen=True, eq=False)
class GroundTask:
    """Ground actions that can be reached if nothing becomes false, and the atoms that they are about, as numbers."""

    task: Task
    actions: list[Action]
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
        actions = tuple(self.actions[number] for number in numbers)
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


def ground_task(
    task: Task, check: Callable[[], None] = lambda: None, most_actions: int = MOST_ACTIONS
) -> GroundTask | None:
    """The ground task; None if it is too large."""
    fluent = task.fluent
    schemas = tuple(
        replace(schema, precondition=tuple(one for one in schema.precondition if _stays(one, fluent)))
        for schema in task.schemas
    )
    relaxed = replace(task, schemas=schemas)
    reached = task.initial_state.codes
    while True:
        check()
        schema, arguments = applicable_arrays(relaxed, State(reached), most_actions + 1)
        if len(schema) > most_actions:
            return None
        added = [
            _codes(task, literal, arguments[number])
            for number, own in enumerate(task.schemas)
            for effect in own.effects
            for literal in effect.adds
        ]
        now = np.unique(np.concatenate([reached, *added]))
        if len(now) == len(reached):
            return _numbered(task, now, schema, arguments)
        reached = now


def _numbered(
    task: Task, codes: NDArray[np.int64], schema: NDArray[np.int32], arguments: list[NDArray[np.int64]]
) -> GroundTask:
    """The ground task of actions, listed schema by schema, and of the atoms that can be reached."""

    def numbers(wanted: NDArray[np.int64]) -> Numbers:
        return np.searchsorted(codes, wanted[np.isin(wanted, codes)]).astype(np.int32)

    def lists(literals_of: Callable[[Schema], list[Literal]]) -> tuple[Numbers, Numbers]:
        """Atoms of some literals of each action, those that can be reached, each once and ascending."""
        owners, atoms = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        first = 0
        for number, own in enumerate(task.schemas):
            count = len(arguments[number])
            for literal in literals_of(own):
                wanted = _codes(task, literal, arguments[number])
                known = np.isin(wanted, codes)
                owners.append(first + np.flatnonzero(known))
                atoms.append(np.searchsorted(codes, wanted[known]))
            first += count
        pairs = np.unique(np.concatenate(owners) * len(codes) + np.concatenate(atoms)) if len(codes) else atoms[0]
        owner, atom = np.divmod(pairs, max(1, len(codes)))
        offset = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(schema)))])
        return offset.astype(np.int32), atom.astype(np.int32)

    def conditions(own: Schema, positive: bool) -> list[Literal]:
        return [
            one
            for one in own.precondition
            if one.predicate != EQUALITY and task.fluent[one.predicate] and one.positive == positive
        ]

    rows = [tuple(row) for own in arguments for row in own.tolist()]
    goal = numbers(task.goal.positive)
    return GroundTask(
        task,
        [Action(number, row) for number, row in zip(schema.tolist(), rows, strict=True)],
        codes,
        needs=lists(lambda own: conditions(own, True)),
        forbids=lists(lambda own: conditions(own, False)),
        adds=lists(lambda own: [one for effect in own.effects for one in effect.adds]),
        deletes=lists(lambda own: [one for effect in own.effects for one in effect.deletes]),
        initial=numbers(task.initial_state.codes),
        goal=goal,
        unwanted=numbers(task.goal.negative),
        is_reachable=len(goal) == len(task.goal.positive),
    )


def _of(lists: tuple[Numbers, Numbers], action: int) -> list[int]:
    """Atoms of an action."""
    offset, atoms = lists
    found: list[int] = atoms[offset[action] : offset[action + 1]].tolist()
    return found


def _codes(task: Task, literal: Literal, arguments: NDArray[np.int64]) -> NDArray[np.int64]:
    """Codes of a literal's atoms for all actions of a schema, one row of arguments per action."""
    codes = np.zeros(len(arguments), np.int64)
    for term in literal.terms:
        codes = codes * len(task.objects) + (arguments[:, term] if term >= 0 else ~term)
    return codes + int(task.code_offset[literal.predicate])


def _stays(literal: Literal, fluent: NDArray[np.bool_]) -> bool:
    """Whether a condition is kept in the relaxation: it is positive or never changes."""
    return literal.positive or literal.predicate == EQUALITY or not fluent[literal.predicate]
