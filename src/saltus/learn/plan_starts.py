"""Stage `learn`: rollouts that begin on the way of a plan, so that the first goals are a few steps away.

A problem that random jumps never solve teaches nothing but relabelled goals. Relaxed plans lead to a plan for most
small problems at once. The plan itself is not learned from: it is long, and says nothing about the jumps beside it.
Rollouts begin close to its end. Each one that reaches the goal lets the next one of this problem begin farther away,
until it begins in the initial state; each one that does not, closer. The more of the rollouts that begin in initial
states reach the goal, the fewer begin on plans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from saltus.lookahead.actions import successor_state
from saltus.policy.relaxed import relaxed_search
from saltus.task import State, Task

WORK = 50_000_000
"""Work of the search for a plan: up to half a second."""

NEAREST = 6
"""Actions before the end of a plan where the first rollout of a problem begins, at most."""

STEP = 1.5
"""How many times farther from the end the next rollout begins after one that reached the goal."""

MEMORY = 0.9
"""Weight of earlier rollouts in the share of those that reach the goal, from one to the next."""


class PlanStarts:
    """Where rollouts begin."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = tasks
        self.distance: dict[int, float] = {}
        """How many actions before the end of their plans the rollouts of problems begin at most, by their numbers."""
        self.success = 0.0
        """Share of the rollouts from initial states that reached the goal lately."""
        self._states: dict[int, list[State]] = {}

    def count(self, most: int) -> int:
        """How many of the next rollouts begin on plans: `most` as long as no other rollout reaches the goal."""
        return round(most * (1 - self.success))

    def draw(self, number: int, rng: np.random.Generator, check: Callable[[], None]) -> State:
        """A state that a rollout of a problem begins in: the initial one if no plan is known."""
        states = self._way(number, check)
        farthest = min(len(states) - 1, round(self.distance.get(number, NEAREST)))
        if farthest < 1:
            return states[0]
        return states[len(states) - 1 - int(rng.integers((farthest + 1) // 2, farthest + 1))]

    def see(self, solved: bool) -> None:
        """Takes account of how a rollout from an initial state ended."""
        self.success = MEMORY * self.success + (1 - MEMORY) * solved

    def learn(self, number: int, solved: bool) -> None:
        """Takes account of how a rollout on the plan of a problem ended."""
        now = self.distance.get(number, float(NEAREST))
        most = float(max(1, len(self._states.get(number, ())) - 1))
        self.distance[number] = min(most, now * STEP) if solved else max(min(most, NEAREST), now / STEP)

    def get_state(self) -> dict[str, Any]:
        """Everything that rollouts have changed."""
        return {"success": self.success, "distance": sorted(self.distance.items())}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores what `get_state` returned."""
        self.success = float(state["success"])
        self.distance = {int(number): float(value) for number, value in state["distance"]}

    def _way(self, number: int, check: Callable[[], None]) -> list[State]:
        """States on the way of the plan for a problem; they depend on the problem alone, and so are not saved."""
        if number not in self._states:
            task = self.tasks[number]
            states = [task.initial_state]
            for action in relaxed_search(task, check, WORK).plan or ():
                states.append(successor_state(task, states[-1], action))
            self._states[number] = states
        return self._states[number]
