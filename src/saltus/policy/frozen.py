"""Stage `policy`: jumps that reach goals but shut off others wait until no other jump is left.

A tree's state with more goals than its root is tested (`lookahead/frozen.py`) before a policy jumps to it. Greedy play
puts off a jump that fails the test; a search puts it behind others (`search.py`). Neither drops it: some problems are
solved only by undoing goals. For the same reason the test counts only where the root itself passes it: otherwise some
goal must be undone anyway.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from saltus.lookahead import LookaheadTree, PlaySpec, keeps_goals
from saltus.task import Goal, State, Task


class FrozenGoals:
    """The test for a task and its goal; answers are remembered by the state's hash."""

    def __init__(self, task: Task, goal: Goal, form: str) -> None:
        self.task = task
        self.goal = goal
        self.form = form
        self.seconds = 0.0
        """Total time that the tests have taken."""
        self._known: dict[int, bool] = {}

    @classmethod
    def when_playing(cls, spec: PlaySpec, task: Task, goal: Goal | None = None) -> FrozenGoals | None:
        """The test for a policy that plays so; None if it has none."""
        goal = task.goal if goal is None else goal
        return None if spec.frozen_goals == "off" else cls(task, goal, spec.frozen_goals)

    def keeps(self, state: State) -> bool:
        """Whether every missing goal is reachable by itself while the reached ones stay."""
        key = hash(state)
        known = self._known.get(key)
        if known is None:
            start = time.perf_counter()
            known = self._known[key] = keeps_goals(self.task, state, self.goal, self.form)
            self.seconds += time.perf_counter() - start
        return known

    def postpones(self, tree: LookaheadTree, node: int, state: State) -> bool:
        """Whether the jump to a node should wait, given its state.

        It should if it reaches goals and shuts off others, or if it undoes a goal where another jump reaches goals
        without that.
        """
        if tree.goals[node] <= tree.goals[0]:
            return False
        undoes = self._undoes(tree, tree.deleted[tree.deleted_offset[node] : tree.deleted_offset[node + 1]])
        if not undoes and self.keeps(state):
            return False
        return self.keeps(tree.root) and (not undoes or self._has_keeper(tree))

    def _undoes(self, tree: LookaheadTree, deleted: NDArray[np.int64]) -> bool:
        return bool(np.isin(deleted, self.goal.positive).any())

    def _has_keeper(self, tree: LookaheadTree) -> bool:
        """Whether some node has more goals than the root and all of the root's."""
        lost = np.add.accumulate(np.isin(tree.deleted, self.goal.positive), dtype=np.int64)
        before = np.concatenate([[0], lost])
        undone = before[tree.deleted_offset[1:]] > before[tree.deleted_offset[:-1]]
        return bool(((tree.goals > tree.goals[0]) & ~undone).any())
