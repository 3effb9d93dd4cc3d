"""Stage `grow`: plans by relaxed plans, for problems whose goals say too little about the way.

Counting goals is blind where a goal takes many steps none of which reaches another one: a product goes through all of
its stages first. A relaxed plan, in which nothing becomes false, counts these steps. The search is the usual one:
greedy, with states valued when they are taken from the queue, and with a queue of its own for actions of relaxed plans
(Hoffmann and Nebel 2001; Richter and Westphal 2010). Goals are reached one by one and, if that fails, at once. Relaxed
plans are made of the cheapest supporters by the sum of costs. States are integers, one bit per atom; costs are computed
for all ground actions at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltus.lookahead.actions import applicable_actions
from saltus.task import EQUALITY, Action, Literal, State, Task

MOST_ACTIONS = 60_000
"""Most ground actions of a task that is searched."""

MOST_WORK = 100_000_000
"""Most conditions and effects of ground actions looked at in a search: a few seconds."""

PASS_WORK = 1000
"""What one pass over all ground actions takes, however few there are."""

BOOST = 1000
"""How far the queue of preferred actions gets ahead when a state is better than all before."""


class Step(NamedTuple):
    """A ground action with its atoms as bits."""

    action: Action
    needs: int
    forbids: int
    adds: int
    keeps: int
    """Complement of what is deleted."""


@dataclass(frozen=True)
class _Node:
    state: int
    parent: _Node | None
    action: Action | None


def relaxed_plan_search(
    task: Task, check: Callable[[], None] = lambda: None, most_work: int = MOST_WORK
) -> tuple[Action, ...] | None:
    """A plan found by a bounded search; None if there is none, or if the task is too large or has conditional effects,
    nested conditions or axioms."""
    if task.axioms or task.goal.impossible or any(schema.nested or schema.is_conditional for schema in task.schemas):
        return None
    ground = GroundTask.of(task, check)
    return None if ground is None else ground.search(check, most_work)


class GroundTask:
    """Ground actions that can be reached if nothing becomes false."""

    def __init__(self, task: Task, reached: State, actions: list[Action]) -> None:
        self.task = task
        self.bit = {code: number for number, code in enumerate(reached)}
        self.steps = [self._step(action) for action in actions]
        needs = [list(_bits(step.needs)) for step in self.steps]
        width = max(1, max(map(len, needs), default=1))
        blank = len(self.bit)  # an atom that costs nothing
        self._needs = np.full((len(needs), width), blank, np.int32)
        for row, own in zip(self._needs, needs, strict=True):
            row[: len(own)] = own
        pairs = sorted((atom, number) for number, step in enumerate(self.steps) for atom in _bits(step.adds))
        self._added = np.array([atom for atom, _ in pairs], np.int32)
        self._adder = np.array([number for _, number in pairs], np.int32)
        self._first = np.flatnonzero(np.diff(self._added, prepend=-1))
        self._atom = self._added[self._first]
        self._end = np.append(self._first[1:], len(pairs))
        self._place = {int(atom): place for place, atom in enumerate(self._atom)}
        self.goal = [self.bit[int(code)] for code in task.goal.positive if int(code) in self.bit]
        self.is_reachable = len(self.goal) == len(task.goal.positive)
        self._unwanted = sum(1 << self.bit[int(code)] for code in task.goal.negative if int(code) in self.bit)
        self.work = 0

    @classmethod
    def of(cls, task: Task, check: Callable[[], None]) -> GroundTask | None:
        """The ground task; None if it is too large."""
        fluent = task.fluent
        schemas = tuple(
            replace(schema, precondition=tuple(one for one in schema.precondition if _stays(one, fluent)))
            for schema in task.schemas
        )
        relaxed = replace(task, schemas=schemas)
        reached = set(task.initial_state)
        while True:
            check()
            actions = applicable_actions(relaxed, State(reached), MOST_ACTIONS + 1)
            if len(actions) > MOST_ACTIONS:
                return None
            before = len(reached)
            for action in actions:
                for effect in task.schemas[action.schema].effects:
                    reached.update(task.ground(literal, action.arguments) for literal in effect.adds)
            if len(reached) == before:
                return cls(task, State(reached), actions)

    def _step(self, action: Action) -> Step:
        task, schema = self.task, self.task.schemas[action.schema]
        conditions = [one for one in schema.precondition if one.predicate != EQUALITY and task.fluent[one.predicate]]
        adds = self._mask([one for effect in schema.effects for one in effect.adds], action)
        deletes = self._mask([one for effect in schema.effects for one in effect.deletes], action)
        return Step(
            action,
            self._mask([one for one in conditions if one.positive], action),
            self._mask([one for one in conditions if not one.positive], action),
            adds,
            ~(deletes & ~adds),
        )

    def _mask(self, literals: list[Literal], action: Action) -> int:
        codes = {self.task.ground(literal, action.arguments) for literal in literals}
        return sum(1 << self.bit[code] for code in codes if code in self.bit)

    # -- relaxed plans -----------------------------------------------------------------------------------------------

    def costs(self, state: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Costs of all atoms and of all actions from a state: sums of costs of what they need."""
        atoms = np.full(len(self.bit) + 1, np.inf)
        atoms[[*_bits(state), len(self.bit)]] = 0.0
        while True:
            self.work += PASS_WORK + self._needs.size + len(self._adder)
            actions: NDArray[np.float64] = atoms[self._needs].sum(axis=1) + 1.0
            cheapest = np.minimum.reduceat(actions[self._adder], self._first) if len(self._first) else actions[:0]
            better = cheapest < atoms[self._atom]
            if not better.any():
                return atoms, actions
            atoms[self._atom[better]] = cheapest[better]

    def relaxed_plan(self, state: int, goal: Sequence[int]) -> set[int] | None:
        """Actions of a relaxed plan from a state to some atoms; None if there is none."""
        atoms, actions = self.costs(state)
        if not np.isfinite(atoms[list(goal)]).all():
            return None
        chosen: set[int] = set()
        stack = [atom for atom in goal if atoms[atom] > 0]
        known = set(stack)
        while stack:
            place = self._place[stack.pop()]
            adders = self._adder[self._first[place] : self._end[place]]
            number = int(adders[actions[adders].argmin()])
            chosen.add(number)
            for atom in self._needs[number].tolist():
                if atoms[atom] > 0 and atom not in known:
                    known.add(atom)
                    stack.append(atom)
        return chosen

    # -- search ------------------------------------------------------------------------------------------------------

    def search(self, check: Callable[[], None], most_work: int) -> tuple[Action, ...] | None:
        """A plan, for one goal after another or for all at once; None if there is none within `most_work`."""
        if not self.is_reachable:
            return None
        initial = _Node(sum(1 << self.bit[code] for code in self.task.initial_state), None, None)
        found = self._one_by_one(initial, check, most_work // 2) or self._greedy(initial, self.goal, check, most_work)
        return None if found is None else _path(found)

    def _one_by_one(self, node: _Node, check: Callable[[], None], most_work: int) -> _Node | None:
        """A node with all goals: each time, the cheapest goal is added to those that hold."""
        while not self._is_final(node.state, self.goal):
            missing = [atom for atom in self.goal if not node.state >> atom & 1]
            if not missing:
                return None
            atoms, _ = self.costs(node.state)
            cheapest = min(missing, key=lambda atom: (atoms[atom], atom))
            wanted = [atom for atom in self.goal if atom == cheapest or atom not in missing]
            found = self._greedy(node, wanted, check, most_work)
            if found is None:
                return None
            node = found
        return node

    def _is_final(self, state: int, goal: Sequence[int]) -> bool:
        """Whether some atoms of the goal are true, and if they are all of them, whether what must be false is."""
        return all(state >> atom & 1 for atom in goal) and (len(goal) < len(self.goal) or not state & self._unwanted)

    def _greedy(self, node: _Node, goal: Sequence[int], check: Callable[[], None], most_work: int) -> _Node | None:
        """A node in which some atoms are true; None if there is none before `most_work` is done in all."""
        seen = {node.state}
        queues: tuple[list[tuple[int, int, _Node, int]], ...] = ([], [])  # all actions, preferred ones
        credit, best, entries = [0, 0], len(self.steps) + 1, 0
        while self.work < most_work:
            check()
            if self._is_final(node.state, goal):
                return node
            preferred = self.relaxed_plan(node.state, goal)
            if preferred is not None:
                value = len(preferred)
                if value < best:
                    best = value
                    credit[1] -= BOOST
                self.work += len(self.steps)
                for number, step in enumerate(self.steps):
                    if node.state & step.needs == step.needs and not node.state & step.forbids:
                        entries += 1
                        for queue in queues if number in preferred else queues[:1]:
                            heapq.heappush(queue, (value, entries, node, number))
            found = self._next(queues, credit, seen)
            if found is None:
                return None
            node = found
        return None

    def _next(
        self, queues: tuple[list[tuple[int, int, _Node, int]], ...], credit: list[int], seen: set[int]
    ) -> _Node | None:
        """The next new state; None if there is none."""
        while any(queues):
            which = min((i for i in (1, 0) if queues[i]), key=lambda i: credit[i])
            credit[which] += 1
            _, _, parent, number = heapq.heappop(queues[which])
            step = self.steps[number]
            state = parent.state & step.keeps | step.adds
            if state not in seen:
                seen.add(state)
                return _Node(state, parent, step.action)
        return None


def _stays(literal: Literal, fluent: NDArray[np.bool_]) -> bool:
    """Whether a condition is kept in the relaxation: it is positive or never changes."""
    return literal.positive or literal.predicate == EQUALITY or not fluent[literal.predicate]


def _bits(mask: int) -> list[int]:
    """Numbers of the bits that are set."""
    return [i for i, digit in enumerate(reversed(bin(mask)[2:])) if digit == "1"]


def _path(node: _Node) -> tuple[Action, ...]:
    actions: list[Action] = []
    while node.parent is not None and node.action is not None:
        actions.append(node.action)
        node = node.parent
    return tuple(reversed(actions))
