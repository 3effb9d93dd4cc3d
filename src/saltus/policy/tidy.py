"""Stage `policy`: plans without loops and redundant actions.

Takes a valid plan; gives a valid plan with some of its actions left out, in the same order:

- *Loops.* The actions between two visits to the same state go, and so do those after the first goal state.
- *Redundant actions.* An action goes, together with all later actions that need it, if the goal is still reached
  (action elimination; Nakhost and Müller, "Action Elimination and Plan Neighborhood Graph Search", 2010).

The kernel runs a plan with and without an action side by side, until both are in the same state or the last chance of a
goal has passed, so that long plans with little to remove take no longer than reading them. Nothing depends on time:
effort is bounded by the work that is done.

With conditional effects, formulas or derived atoms, which that part of the kernel does not know, the plan is replayed
state by state instead: `without_loops` and `without_redundant`. They are also the kernel's twins; the latter is
quadratic in the plan's length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from saltus import _kernel
from saltus.lookahead import successor_state
from saltus.task import EQUALITY, Action, State, Task
from saltus.task.applicability import is_applicable

Numbers = NDArray[np.int32]


def tidied(task: Task, actions: Sequence[Action]) -> list[Action]:
    """The plan without loops and redundant actions; `actions` must be a valid plan.

    With conditional effects, formulas or derived atoms, only plans of up to 150 actions change. Planning calls it if
    others may join the rollout and some time is left.
    """
    if not _is_plain(task) and len(actions) > 150:
        return list(actions)
    return drop_redundant(task, drop_loops(task, actions))


def drop_loops(task: Task, actions: Sequence[Action]) -> list[Action]:
    """The plan without the actions between two visits to a state, and without those after the first goal state."""
    if not _is_plain(task):
        return without_loops(task, actions)
    listed = _Listed(task, actions)
    kept = _kernel.without_loops(listed.atoms, listed.lists, listed.plan, listed.initial, listed.goal, listed.unwanted)
    return [actions[place] for place in kept.tolist()]


def drop_redundant(
    task: Task,
    actions: Sequence[Action],
    expired: Callable[[], bool] = lambda: False,
    most_work: int = 200_000_000,
) -> list[Action]:
    """The plan without actions that the goal does not need.

    The kernel's part looks at `most_work` conditions and effects of actions, by default for about a second; the replay
    ends when time is up. Neither begins after that.
    """
    if not _is_plain(task):
        return without_redundant(task, actions, expired)
    if expired():
        return list(actions)
    listed = _Listed(task, actions)
    kept = _kernel.without_redundant(
        listed.atoms, listed.lists, listed.plan, listed.initial, listed.goal, listed.unwanted, most_work
    )
    return [actions[place] for place in kept.tolist()]


def _is_plain(task: Task) -> bool:
    """Whether what an action needs and changes does not depend on the state."""
    return not task.uses_adl and not any(schema.is_conditional for schema in task.schemas)


def plan_states(task: Task, actions: Sequence[Action]) -> list[State]:
    """The states along a plan, starting with the initial state."""
    states = [task.initial_state]
    for action in actions:
        states.append(successor_state(task, states[-1], action))
    return states


def without_loops(task: Task, actions: Sequence[Action]) -> list[Action]:
    """What `drop_loops` returns, for any task, by the states along the plan."""
    states = plan_states(task, actions)
    end = next((i for i, state in enumerate(states) if task.goal.holds(state)), len(actions))
    last = {state: i for i, state in enumerate(states[: end + 1])}
    kept: list[Action] = []
    i = last[states[0]]
    while i < end:
        kept.append(actions[i])
        i = last[states[i + 1]]
    return kept


def without_redundant(
    task: Task, actions: Sequence[Action], expired: Callable[[], bool] = lambda: False
) -> list[Action]:
    """What `drop_redundant` returns, for any task, by replaying the plan without each of its actions."""
    plan = list(actions)
    state = task.initial_state
    i = 0
    while i < len(plan) and not expired():
        rest: list[Action] = []
        after = state
        for action in plan[i + 1 :]:
            if is_applicable(task, after, action):
                after = successor_state(task, after, action)
                rest.append(action)
        if task.goal.holds(after):
            plan[i:] = rest
        else:
            state = successor_state(task, state, plan[i])
            i += 1
    return plan


class _Listed:
    """A plan and what it is about as numbers: atoms that its actions or the goal mention."""

    def __init__(self, task: Task, actions: Sequence[Action]) -> None:
        number = {action: i for i, action in enumerate(dict.fromkeys(actions))}
        ground = [_conditions_and_effects(task, action) for action in number]
        parts = [[codes[part] for codes in ground] for part in range(4)]
        goal, unwanted = task.goal.positive, task.goal.negative
        mentioned = [np.fromiter(codes, np.int64, len(codes)) for part in parts for codes in part]
        self.codes = np.unique(np.concatenate([goal, unwanted, *mentioned]))
        self.atoms = len(self.codes)
        self.plan = np.fromiter((number[action] for action in actions), np.int32, len(actions))
        self.lists = tuple(self._lists(part) for part in parts)
        initial = task.initial_state.codes
        self.initial = self._numbers(initial[np.isin(initial, self.codes)])
        self.goal, self.unwanted = self._numbers(goal), self._numbers(unwanted)

    def _numbers(self, codes: NDArray[np.int64]) -> Numbers:
        return np.searchsorted(self.codes, codes).astype(np.int32)

    def _lists(self, sets: Iterable[set[int]]) -> tuple[Numbers, Numbers]:
        """Where the atoms of each set begin, and all atoms."""
        ordered = [sorted(codes) for codes in sets]
        offset = np.cumsum([0, *(len(codes) for codes in ordered)]).astype(np.int32)
        return offset, self._numbers(np.array([code for codes in ordered for code in codes], np.int64))


def _conditions_and_effects(task: Task, action: Action) -> tuple[set[int], set[int], set[int], set[int]]:
    """Atoms that must hold, atoms that must not, atoms added and deleted, of an action of a plain task.

    Static preconditions are left out: they hold, since the action was applicable once.
    """
    schema = task.schemas[action.schema]
    unwanted: set[int] = set()
    wanted: set[int] = set()
    for literal in schema.precondition:
        if literal.predicate != EQUALITY and task.fluent[literal.predicate]:
            (wanted if literal.positive else unwanted).add(task.ground(literal, action.arguments))
    adds = {task.ground(literal, action.arguments) for effect in schema.effects for literal in effect.adds}
    deletes = {task.ground(literal, action.arguments) for effect in schema.effects for literal in effect.deletes}
    return wanted, unwanted, adds, deletes - adds
