"""Stage `policy`: the part of a goal that a rollout sees.

A policy that was trained on problems with few goals may know how to reach each of them and still wander among hundreds,
or take detours. With `PlaySpec.goals_in_sight` it sees the goals that hold and few that are missing. Once all of
these hold, the next ones come. Those that are not reached within some jumps are put off until others have been reached,
or nothing else is left. Goals come in the order of their atoms; nothing depends on the time. A policy that explores
sees all goals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from saltus.policy.values import MOST_JUMPS
from saltus.task import Goal, State

if TYPE_CHECKING:
    from saltus.lookahead import PlaySpec

Literal = tuple[bool, int]
"""A literal of a goal: its sign, and the code of its atom."""


def missing_literals(goal: Goal, state: State) -> list[Literal]:
    """Literals of the goal that do not hold, positive ones first."""
    missing, violated = goal.missing(state).tolist(), goal.violated(state).tolist()
    return [(True, code) for code in missing] + [(False, code) for code in violated]


def with_more(goal: Goal, state: State, literals: Sequence[Literal]) -> Goal:
    """The literals that hold, and some that do not."""
    positive = np.setdiff1d(goal.positive, goal.missing(state))
    negative = np.setdiff1d(goal.negative, goal.violated(state))
    more = {sign: [code for own, code in literals if own == sign] for sign in (True, False)}
    return Goal(
        np.append(positive, np.array(more[True], np.int64)), np.append(negative, np.array(more[False], np.int64))
    )


class GoalsInSight:
    """The part of a goal that is in sight, as a rollout goes on."""

    def __init__(self, whole: Goal, most: int, state: State) -> None:
        self.whole = whole
        self.most = most
        """Largest number of missing literals in sight."""
        self.goal = whole
        """What is in sight."""
        self.is_exhausted = False
        """Whether every missing goal has been put off since the number of goals that hold was a new best."""
        self._jumps = 0
        self._best = whole.count(state)
        self._has_new_best = True
        self._put_off: set[Literal] = set()
        self._choose(state)

    @classmethod
    def of(cls, spec: PlaySpec, whole: Goal, state: State) -> GoalsInSight | None:
        """For a policy that plays so; None if it sees all goals."""
        if spec.goals_in_sight is None or whole.impossible:
            return None
        return cls(whole, spec.goals_in_sight, state)

    def see(self, state: State) -> bool:
        """Takes the state after a jump; returns whether something else is in sight now."""
        self._jumps += 1
        if self.goal.holds(state):
            if (count := self.whole.count(state)) > self._best:
                self._best, self._has_new_best = count, True
                self._put_off.clear()
            return self._choose(state)
        return self._jumps >= MOST_JUMPS and self.put_off(state)

    def put_off(self, state: State) -> bool:
        """Puts off what is missing of the goals in sight; returns whether others are in sight now."""
        self._put_off.update(missing_literals(self.goal, state))
        return self._choose(state)

    def _choose(self, state: State) -> bool:
        """Takes the next goals in sight. Those put off come again once there are no others, but only if more goals have
        held since than ever before: so every rollout ends, or stops at a limit."""
        missing = missing_literals(self.whole, state)
        if missing and self._put_off.issuperset(missing):
            if not self._has_new_best:
                self.is_exhausted = True
                return False
            self._has_new_best = False
            self._put_off.clear()
        others = [literal for literal in missing if literal not in self._put_off]
        if not others:
            return False
        self.goal = with_more(self.whole, state, others[: self.most])
        self._jumps = 0
        return True
