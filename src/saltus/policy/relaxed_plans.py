"""Stage `policy`: searches by relaxed plans (`relaxed.py`) as a searcher: each does more work than the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from saltus.policy.relaxed import GroundTask, RelaxedFound, can_search, ground_task
from saltus.task import Action, Task

FIRST_WORK = 100_000_000
"""Work of the first search, which takes about a second."""

GROWTH = 4
"""How many times more work the next one does, if one was cut off."""


class RelaxedPlans:
    """Searches that start anew each time, as long as more work could find more."""

    def __init__(self, task: Task, expired: Callable[[], bool] = lambda: False) -> None:
        self.task = task
        self.goals = 0
        self.work = 0
        self.next_work = FIRST_WORK
        self.solution: list[Action] | None = None
        self._expired = expired
        self._ground: GroundTask | None = None

    def run(self) -> Iterator[None]:
        """One search after the other."""
        may_help = can_search(self.task)
        while may_help:
            try:
                self._ground = self._ground or ground_task(self.task, self._check)
                found = RelaxedFound() if self._ground is None else self._ground.search(self._check, self.next_work)
            except _TimeIsUp:
                return
            self.work += self.next_work
            self.next_work *= GROWTH
            may_help = found.is_cut_off
            if found.plan is not None:
                self.solution = list(found.plan)
                return
            yield None

    def _check(self) -> None:
        if self._expired():
            raise _TimeIsUp


class _TimeIsUp(Exception):  # noqa: N818 (no error, and never seen outside of this module)
    """Raised inside a search."""
