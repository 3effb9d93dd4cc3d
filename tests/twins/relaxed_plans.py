"""Twins of the kernel's grounding and of its search by relaxed plans (`policy/relaxed.py`).

States are integers, one bit per atom; costs are computed for all ground actions at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltus.policy.relaxed import GroundTask, Numbers, RelaxedFound
from saltus.policy.values import GOAL_SHARE
from saltus.task import EQUALITY, Action, Literal, Task
from saltus.task.applicability import bindings


def reachable_actions(task: Task) -> tuple[list[Action], set[int]]:
    """Actions that can be reached if nothing becomes false, in contract order, and the codes of all atoms that can."""
    reached = set(task.initial_state.codes.tolist())
    while True:
        atoms, actions, before = frozenset(reached), [], len(reached)
        for number, schema in enumerate(task.schemas):
            condition = [one for one in schema.precondition if stays(task, one)]
            for binding in bindings(task, atoms, schema.parameters, condition):
                actions.append(Action(number, tuple(binding)))
                reached.update(task.ground(literal, binding) for effect in schema.effects for literal in effect.adds)
        if len(reached) == before:
            return actions, reached


def stays(task: Task, literal: Literal) -> bool:
    """Whether a condition is kept in the relaxation: it is positive or never changes."""
    return literal.positive or literal.predicate == EQUALITY or not task.fluent[literal.predicate]


class Step(NamedTuple):
    """A ground action with its atoms as bits."""

    needs: int
    forbids: int
    adds: int
    keeps: int
    """Complement of what is deleted."""


@dataclass(frozen=True)
class _Node:
    state: int
    parent: _Node | None
    action: int


class ReferenceSearch:
    """The search in one ground task."""

    def __init__(self, ground: GroundTask) -> None:
        self.ground = ground
        masks = [_masks(lists) for lists in (ground.needs, ground.forbids, ground.adds, ground.deletes)]
        self.steps = [
            Step(needs, forbids, adds, ~(deletes & ~adds)) for needs, forbids, adds, deletes in zip(*masks, strict=True)
        ]
        offset, atoms = ground.needs
        counts = np.diff(offset)
        self._needs = np.full((len(counts), max(1, int(counts.max(initial=0)))), len(ground.codes), np.int32)
        inside = np.arange(len(atoms)) - np.repeat(offset[:-1], counts)
        self._needs[np.repeat(np.arange(len(counts)), counts), inside] = atoms
        offset, atoms = ground.adds
        adder = np.repeat(np.arange(len(self.steps)), np.diff(offset))
        order = np.argsort(atoms, kind="stable")
        self._added, self._adder = atoms[order], adder[order]
        self._first = np.flatnonzero(np.diff(self._added, prepend=-1))
        self._atom = self._added[self._first]
        self._end = np.append(self._first[1:], len(atoms))
        self._place = {int(atom): place for place, atom in enumerate(self._atom)}
        self.goal = ground.goal.tolist()
        self._unwanted = sum(1 << atom for atom in ground.unwanted.tolist())
        # valuing a state takes some work, however few actions there are
        self._size = 1000 + len(ground.needs[1]) + len(atoms)
        self.work = 0

    def run(self, most_work: int) -> RelaxedFound:
        """What the search comes by."""
        initial = _Node(sum(1 << atom for atom in self.ground.initial.tolist()), None, -1)
        node = self._one_by_one(initial, most_work)
        if self._is_final(node.state, self.goal):
            return self.ground.found(True, _path(node), is_cut_off=False)
        found = self._greedy(initial, self.goal, most_work)
        return self.ground.found(found is not None, _path(found or node), is_cut_off=self.work >= most_work)

    # -- relaxed plans -----------------------------------------------------------------------------------------------

    def costs(self, state: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Costs of all atoms and of all actions from a state: sums of costs of what they need."""
        self.work += self._size
        atoms = np.full(len(self.ground.codes) + 1, np.inf)
        atoms[[*_bits(state), len(self.ground.codes)]] = 0.0
        while True:
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

    def _one_by_one(self, node: _Node, most_work: int) -> _Node:
        """A node with all goals, or with many: each time, the cheapest one is added to those that hold.

        A goal that takes too long is left out.
        """
        left_out: set[int] = set()
        while True:
            missing = [atom for atom in self.goal if not node.state >> atom & 1]
            wanted = [atom for atom in missing if atom not in left_out]
            if not wanted or self.work >= most_work:
                return node
            atoms, _ = self.costs(node.state)
            cheapest = min(wanted, key=lambda atom: (atoms[atom], atom))
            goal = [atom for atom in self.goal if atom == cheapest or atom not in missing]
            found = self._greedy(node, goal, min(most_work, self.work + most_work // GOAL_SHARE))
            if found is None:
                left_out.add(cheapest)
            else:
                node = found

    def _is_final(self, state: int, goal: Sequence[int]) -> bool:
        """Whether some atoms of the goal are true, and if they are all of them, whether what must be false is."""
        return all(state >> atom & 1 for atom in goal) and (len(goal) < len(self.goal) or not state & self._unwanted)

    def _greedy(self, node: _Node, goal: Sequence[int], most_work: int) -> _Node | None:
        """A node in which some atoms are true; None if there is none before `most_work` is done in all."""
        seen = {node.state}
        queues: tuple[list[tuple[int, int, _Node, int]], ...] = ([], [])  # all actions, preferred ones
        credit, best, entries = [0, 0], len(self.steps) + 1, 0
        while self.work < most_work:
            if self._is_final(node.state, goal):
                return node
            preferred = self.relaxed_plan(node.state, goal)
            if preferred is not None:
                value = len(preferred)
                if value < best:
                    best = value
                    credit[1] -= 1000  # the queue of preferred actions gets ahead
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
                return _Node(state, parent, number)
        return None


def _masks(lists: tuple[Numbers, Numbers]) -> list[int]:
    """Atoms of each action as bits."""
    offset, atoms = lists[0].tolist(), lists[1].tolist()
    return [sum(1 << atom for atom in atoms[low:high]) for low, high in pairwise(offset)]


def _bits(mask: int) -> list[int]:
    """Numbers of the bits that are set."""
    return [i for i, digit in enumerate(reversed(bin(mask)[2:])) if digit == "1"]


def _path(node: _Node) -> list[int]:
    actions: list[int] = []
    while node.parent is not None:
        actions.append(node.action)
        node = node.parent
    return actions[::-1]
