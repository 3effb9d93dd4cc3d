"""Stage `learn`: prioritised replay, a ring of transitions. Those with the largest loss are drawn most often.

Drawing computes a cumulative sum over the ring, which is faster than a tree of sums for a few thousand transitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltus.learn.experience import Transition, pack_transitions, unpack_transitions
from saltus.learn.values import ALPHA, LEAST_PRIORITY


class Replay:
    """A store of transitions. New ones replace the oldest."""

    def __init__(self, capacity: int, alpha: float = ALPHA) -> None:
        self.capacity = capacity
        self.alpha = alpha
        self.transitions: list[Transition] = []
        self.priority = np.zeros(capacity)
        self.highest = 1.0
        self._next = 0

    def __len__(self) -> int:
        return len(self.transitions)

    def add(self, transitions: Sequence[Transition]) -> None:
        """Stores transitions, with the highest priority seen so far."""
        for transition in transitions[-self.capacity :]:
            if len(self.transitions) < self.capacity:
                self.transitions.append(transition)
            else:
                self.transitions[self._next] = transition
            self.priority[self._next] = self.highest
            self._next = (self._next + 1) % self.capacity

    def sample(self, count: int, rng: np.random.Generator, beta: float) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Numbers of `count` transitions drawn by priority, and their importance weights (n p)^-beta, unnormalised."""
        powers = self.priority[: len(self)] ** self.alpha
        sums = np.cumsum(powers)
        drawn = np.searchsorted(sums, rng.random(count) * sums[-1], side="right")
        drawn = np.minimum(drawn, len(self) - 1)
        return drawn, (len(self) * powers[drawn] / sums[-1]) ** -beta

    def update(self, numbers: NDArray[np.intp], losses: NDArray[np.floating[Any]]) -> None:
        """Sets the priorities of transitions to their losses."""
        self.priority[numbers] = np.abs(losses) + LEAST_PRIORITY
        if len(numbers):
            self.highest = max(self.highest, float(self.priority[numbers].max()))

    # -- for a while in memory ---------------------------------------------------------------------------------------

    def remember(self) -> tuple[list[Transition], NDArray[np.float64], float, int]:
        """What `go_back` takes. Transitions never change, so they are not copied."""
        return self.transitions.copy(), self.priority.copy(), self.highest, self._next

    def go_back(self, remembered: tuple[list[Transition], NDArray[np.float64], float, int]) -> None:
        """Undoes everything since `remember`."""
        transitions, priority, self.highest, self._next = remembered
        self.transitions, self.priority = transitions.copy(), priority.copy()

    # -- saved with a run --------------------------------------------------------------------------------------------

    def get_state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain values that restore the store."""
        arrays = pack_transitions(self.transitions)
        arrays["priority"] = self.priority[: len(self)].copy()
        return arrays, {"highest": self.highest, "next": self._next}

    def set_state(self, arrays: dict[str, NDArray[Any]], values: dict[str, Any]) -> None:
        """Restores what `get_state` returned."""
        self.transitions = unpack_transitions(arrays)
        self.priority[: len(self.transitions)] = arrays["priority"]
        self.highest = float(values["highest"])
        self._next = int(values["next"])
