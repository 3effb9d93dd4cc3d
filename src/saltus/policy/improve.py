"""Stage `policy`: making plans cheaper.

Takes a valid plan; gives plans of strictly decreasing cost until nothing helps any more or time is up:

1. *Loops* are removed (`tidy.py`).
2. *Redundant actions* are removed, with those that need them (`tidy.py`).
3. *Shortcuts.* A lookahead runs from every state of the plan. If its tree reaches a later state of the plan, or a goal
   state, by a cheaper path, that path is a shortcut. The cheapest route along plan and shortcuts is the new plan.
   States are found by a hash that is a sum over their atoms, so that one pass over a tree's differences hashes all of
   its states; states with equal hashes are compared atom by atom. Cost: one lookahead per state of the plan.

The three steps alternate. Shortcuts are sought in small trees first, and in larger trees once small ones stop helping.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from saltus.lookahead import LookaheadTree, PlaySpec, Situation, TreeSpec, lookahead_batch
from saltus.policy.tidy import drop_loops, drop_redundant, plan_states
from saltus.task import Action, Task

TREES = (
    (TreeSpec(), PlaySpec()),
    (TreeSpec(kind="iw"), PlaySpec()),
    (TreeSpec(kind="iw", width=2), PlaySpec(max_nodes=2_000)),
)
"""Lookaheads, with their limits, in which shortcuts are sought, one after the other."""


def improvements(
    task: Task,
    actions: Sequence[Action],
    *,
    expired: Callable[[], bool] = lambda: False,
    trees: Sequence[tuple[TreeSpec, PlaySpec]] = TREES,
    threads: int | None = None,
) -> Iterator[list[Action]]:
    """Plans of strictly decreasing cost; `actions` must be a valid plan."""
    best = list(actions)
    level = 0
    while level < len(trees) and not expired():
        before = plan_cost(task, best)
        for better in (drop_loops(task, best), drop_redundant(task, best, expired)):
            if plan_cost(task, better) < plan_cost(task, best):
                best = better
                yield best
        for better in shortcuts(task, best, trees[level], expired, threads):
            best = better
            yield best
        level = level + 1 if plan_cost(task, best) >= before else 0


def plan_cost(task: Task, actions: Sequence[Action]) -> float:
    """The sum of the actions' costs; the number of actions if the task has no costs."""
    return sum(task.action_cost(action) for action in actions) if task.has_costs else float(len(actions))


def shortcuts(
    task: Task,
    actions: Sequence[Action],
    trees: tuple[TreeSpec, PlaySpec],
    expired: Callable[[], bool] = lambda: False,
    threads: int | None = None,
) -> Iterator[list[Action]]:
    """Cheaper plans found in one sweep over the states of a plan; each uses all shortcuts found so far."""
    road = _Road(task, actions)
    shown = time.monotonic()
    size = 1
    start = 0
    while start < len(actions) and not expired():
        situations = [Situation(task, state, task.goal) for state in road.states[start : start + size]]
        found = False
        batch = lookahead_batch(situations, *trees, threads=threads)
        for offset, tree in enumerate(batch):
            found |= road.add_shortcuts(start + offset, tree)
        start += size
        # about 200,000 nodes a batch; two seconds between plans, or a long one would appear in a hundred versions
        size = min(64, max(1, 200_000 // max(len(tree) for tree in batch)))
        if found and (start >= len(actions) or time.monotonic() - shown > 2.0):
            yield from road.improved()
            shown = time.monotonic()
    yield from road.improved()


class _Road:
    """The states of a plan as places along a road, with shortcuts between places."""

    def __init__(self, task: Task, actions: Sequence[Action]) -> None:
        self.task = task
        self.actions = list(actions)
        self.states = plan_states(task, actions)
        self.place = {int(_atoms_hash(state.codes)): i for i, state in enumerate(self.states)}
        self.price = np.cumsum([0.0, *(task.action_cost(action) for action in actions)])
        self.best = float(self.price[-1])
        self.links: list[list[tuple[int, float, list[Action]]]] = [[] for _ in self.states]
        for i, action in enumerate(actions):
            self.links[i].append((i + 1, task.action_cost(action), [action]))

    def add_shortcuts(self, start: int, tree: LookaheadTree) -> bool:
        """Adds the shortcuts in the tree from place `start`; returns whether there were any."""
        hashes = _node_hashes(tree)
        known = np.fromiter(self.place, np.uint64, len(self.place))
        nodes = set(np.flatnonzero(np.isin(hashes, known)).tolist())
        if tree.nearest_goal is not None:
            nodes.add(tree.nearest_goal)
        found: list[tuple[float, int, int]] = []
        for node in nodes:
            end = self.place.get(int(hashes[node]))
            if end is None or self.states[end] != tree.state_of(node):
                if not self.task.goal.holds(tree.state_of(node)):
                    continue
                end = len(self.states) - 1  # any goal state is as good as the plan's own
            if end <= start:
                continue
            cost = self._path_cost(tree, node)
            saved = float(self.price[end] - self.price[start]) - cost
            if saved > 0:
                found.append((-saved, node, end))
        for _, node, end in sorted(found)[:16]:  # those that save most
            self.links[start].append((end, self._path_cost(tree, node), tree.path_to(node)))
        return bool(found)

    def _path_cost(self, tree: LookaheadTree, node: int) -> float:
        if not self.task.has_costs:
            return float(tree.length[node])
        return sum(self.task.action_cost(action) for action in tree.path_to(node))

    def improved(self) -> Iterator[list[Action]]:
        """The cheapest route along the road, if it is cheaper than the last one."""
        total = np.full(len(self.states), np.inf)
        total[0] = 0.0
        came: list[tuple[int, list[Action]]] = [(-1, [])] * len(self.states)
        for i, links in enumerate(self.links):
            for end, cost, path in links:
                if total[i] + cost < total[end]:
                    total[end] = total[i] + cost
                    came[end] = (i, path)
        if total[-1] >= self.best:
            return
        self.best = float(total[-1])
        parts: list[list[Action]] = []
        place = len(self.states) - 1
        while place > 0:
            place, path = came[place]
            parts.append(path)
        yield [action for path in reversed(parts) for action in path]


def _mix(codes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """One pseudo-random number per atom (the finaliser of the SplitMix64 generator)."""
    x = codes.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _atoms_hash(codes: NDArray[np.int64]) -> np.uint64:
    """The sum of the atoms' pseudo-random numbers, modulo 2^64."""
    return np.uint64(_mix(codes).sum(dtype=np.uint64))


def _node_hashes(tree: LookaheadTree) -> NDArray[np.uint64]:
    """The hash of every state in a tree: the root's hash, plus the atoms added, minus the atoms deleted."""

    def sums(codes: NDArray[np.int64], offset: NDArray[np.int64]) -> NDArray[np.uint64]:
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_mix(codes), dtype=np.uint64)])
        result: NDArray[np.uint64] = running[offset[1:]] - running[offset[:-1]]
        return result

    added = sums(tree.added, tree.added_offset)
    deleted = sums(tree.deleted, tree.deleted_offset)
    return _atoms_hash(tree.root.codes) + added - deleted
