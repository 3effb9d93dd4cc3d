"""Stage `grow`: plans for given problems and for made ones, which show that their goals can be reached."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from saltus.grow.draft import Draft, Relations
from saltus.grow.goals import Found, Reached, find_guides, search_goal, search_with_guides
from saltus.grow.guides import Guide
from saltus.grow.values import MOST_ACTIONS, SAMPLED, TRIES
from saltus.policy.relaxed import relaxed_search
from saltus.task import Action, Task

RELAXED_WORK = 400_000_000
"""Work of a search by relaxed plans: a few seconds."""

Check = Callable[[], None]


class PlanFinder:
    """Finds plans by bounded searches, and learns which of them are worth their time in a domain."""

    def __init__(self, relations: Relations, drafts: Sequence[Draft], rng: random.Random) -> None:
        self._relations, self._drafts, self._rng = relations, drafts, rng
        self._guides: list[Guide] | None = None
        self._plans: dict[Task, tuple[Action, ...]] = {}
        self._relaxed_lead = 0

    def of_given(self, draft: Draft, check: Check) -> tuple[Action, ...]:
        """A plan for a given problem; empty if none is known."""
        if draft.task not in self._plans:
            found = search_goal(draft, draft.task, 0, check).plan
            self._plans[draft.task] = found or _relaxed(draft.task, check).plan or ()
        return self._plans[draft.task]

    def of_task(self, task: Task, check: Check) -> tuple[Action, ...]:
        """A plan for a given problem; empty if bounded searches find none."""
        return self.of_given(Draft(self._relations, task), check) or self.guided(task, check) or ()

    def guided(self, task: Task, check: Check) -> tuple[Action, ...] | None:
        """A plan found with guides, which are chosen when they are first needed."""
        if self._guides is None:
            self._guides = find_guides(self._drafts[-SAMPLED:], check)
        return search_with_guides(task, self._guides, self._rng.randrange(2**32), check).plan

    def search(self, draft: Draft, task: Task, check: Check) -> Found:
        """A plan, or the state with the most goals that two searches came across; nothing if the goal is out of reach.

        One search counts goals, the other makes relaxed plans. Once one of them has been better several times, the
        other one is left out.
        """
        seed = self._rng.randrange(2**32)
        if self._relaxed_lead >= TRIES:
            found = _relaxed(task, check)
            if found.plan is not None or found.best is not None:
                return found
        counted = search_goal(draft, task, seed, check)
        if counted.plan is not None or counted.best is None or abs(self._relaxed_lead) >= TRIES:
            return counted
        relaxed = _relaxed(task, check)
        is_better = _goals_reached(task, relaxed) > _goals_reached(task, counted)
        self._relaxed_lead += 1 if is_better else -1
        return relaxed if is_better else counted


def _relaxed(task: Task, check: Check) -> Found:
    """What a search by relaxed plans comes by."""
    found = relaxed_search(task, check, RELAXED_WORK, MOST_ACTIONS)
    return Found(found.plan, None if found.best is None else Reached(found.best, found.way))


def _goals_reached(task: Task, found: Found) -> int:
    """Number of goals that a search came by."""
    if found.plan is not None:
        return task.goal.size
    if found.best is None:
        return 0
    return task.goal.count(found.best.state)
