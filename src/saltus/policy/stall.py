"""Stage `policy`: whether a greedy rollout still makes progress; the numbers are in `values.py`.

Goals and values of a rollout's decisions in; out: whether it has stalled, and at which decisions it was best. A
decision is a new best if more goals hold than ever before in the rollout, or if the policy's own estimate of the cost
to go, the largest Q-value, is better than ever before by a margin. A rollout has stalled after a number of jumps
without a new best that grows with the problem. Only counts and values decide, never the time.

There are finitely many new bests: goals are finite in number, and a value rises by at least the margin each time. So
every rollout that does not end stalls at last, unless its values grow without bound.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from saltus.policy.values import MARGIN, PATIENCE, PATIENCE_PER_OBJECT

if TYPE_CHECKING:
    from saltus.task import Task


class Stall:
    """Follows the decisions of a rollout, which are numbered from 0."""

    def __init__(self, patience: int, margin: float = MARGIN) -> None:
        self.patience = patience
        self.margin = margin
        self.decisions = 0
        """Decisions seen so far."""
        self.last_best = 0
        """Number of the decision that was a new best last."""
        self.most_goals = -1
        self.most_goals_at = 0
        """Number of the first decision with that many goals."""
        self.best_value = -math.inf
        self.best_value_at = 0
        """Number of the decision with that value; values that gain less than the margin are passed over."""

    @classmethod
    def of(cls, task: Task) -> Stall:
        """The rule for a task."""
        return cls(PATIENCE + PATIENCE_PER_OBJECT * task.object_count)

    def see(self, goals: int, value: float) -> bool:
        """Takes the next decision: goals that hold in its state, and its largest Q-value; returns whether it is a new
        best."""
        number = self.decisions
        self.decisions += 1
        more_goals = goals > self.most_goals
        if more_goals:
            self.most_goals, self.most_goals_at = goals, number
        better_value = value > self.best_value + self.margin
        if better_value:
            self.best_value, self.best_value_at = value, number
        if more_goals or better_value:
            self.last_best = number
        return self.last_best == number

    @property
    def stretch(self) -> int:
        """Decisions since the last new best."""
        return self.decisions - 1 - self.last_best

    @property
    def has_stalled(self) -> bool:
        """Whether as many decisions as the patience allows have come since the last new best."""
        return self.stretch >= self.patience

    @property
    def best_decisions(self) -> list[int]:
        """Numbers of the best decisions: the last new best, the most goals, the best value; each once."""
        return list(dict.fromkeys((self.last_best, self.most_goals_at, self.best_value_at)))
