"""Stage `policy`: who searches for a plan, and who goes next: a table, and one rule.

A searcher does its work piece by piece: the greedy rollout, the policy goal by goal, the search around the policy, the
search by goals, relaxed plans. The table `MEMBERS` says what a unit of each one's work counts, so that equal amounts
take about the same time, and when each one joins. The rule is that of alternating open lists: the one with the least
effort so far, the work that comes next included, goes next; of equals, the first. Work is counted rather than timed, so
that plans do not depend on the machine.

Another searcher is one class with the members of `Searcher`, and one line of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from saltus.policy.admissible import Admissible
from saltus.policy.goal_by_goal import Beginning, GoalByGoal
from saltus.policy.greedy import GreedyRollout
from saltus.policy.relaxed_plans import RelaxedPlans
from saltus.policy.rollout import Decision, Policy
from saltus.policy.search import JumpSearch, SearchAround
from saltus.task import Action, Task

GREEDY, GOAL_BY_GOAL, SEARCH, GOAL_SEARCH, RELAXED_SEARCH = (
    "greedy",
    "goal by goal",
    "search",
    "goal search",
    "relaxed search",
)
"""Names of searchers: values of the figure `found_by`."""

COUNTS = {
    SEARCH: "search_decisions",
    GOAL_SEARCH: "goal_search_decisions",
    GOAL_BY_GOAL: "goal_by_goal_decisions",
}
"""Figures that count their decisions."""

LEAD = 4.0
"""How many times as much work a searcher may do that has reached more goals than all others."""


class Searcher(Protocol):
    """Looks for a plan, piece by piece."""

    work: int
    """What it has done so far: states of trees, or the unit of its line in the table."""

    @property
    def goals(self) -> int:
        """Most goals that held in a state it reached."""

    @property
    def solution(self) -> list[Action] | None:
        """The actions of a plan, once it has one."""

    @property
    def next_work(self) -> int:
        """What the next piece will do, if that is known; otherwise 0."""

    def run(self) -> Iterator[Decision | None]:
        """Does a piece of work each time; a decision if that is what it was. Ends with a solution, or without."""


@dataclass
class Scene:
    """What searchers work on."""

    task: Task
    policy: Policy
    goal_policy: Policy | None
    """A policy with very cheap decisions that goes by goals; None for none."""
    tested: Admissible
    greedy: GreedyRollout
    around: JumpSearch
    """The search around the policy, which has the decisions of the rollout."""
    expired: Callable[[], bool]


@dataclass(frozen=True)
class Member:
    """A line of the table."""

    name: str
    weight: float
    """Effort of a unit of work: on a CPU, equal effort takes about equal time."""
    waits: bool
    """Whether it joins when the rollout has ended; otherwise as soon as the rollout is in doubt."""
    make: Callable[[Scene], Searcher | None]
    """The searcher; None if there is nothing that it could do."""


def _around(scene: Scene) -> Searcher:
    """From the state where a limit cut the rollout off, or from the best states of one that has stalled, and then from
    everywhere."""
    scene.around.prefer(scene.greedy.best_nodes)
    return SearchAround(scene.around, None if scene.greedy.has_stalled else scene.greedy.undecided)


def _goal_by_goal(scene: Scene) -> Searcher | None:
    """From the rollout's state with the most goals, if any, and then from the initial one. With one goal there is
    nothing else to play."""
    if scene.task.goal.size <= 1:
        return None
    beginnings = [Beginning(scene.task.initial_state)]
    if scene.greedy.furthest is not None:
        state, length = scene.greedy.furthest
        if not scene.tested.is_avoided(state):
            beginnings.insert(0, Beginning(state, tuple(scene.greedy.actions[:length])))
    return GoalByGoal(scene.policy, scene.task, beginnings, tested=scene.tested)


def _goal_search(scene: Scene) -> Searcher | None:
    if scene.goal_policy is None:
        return None
    # A queue that gives jumps more weight only spreads it out.
    search = JumpSearch(scene.goal_policy, scene.task, weights=(10.0,), expired=scene.expired, tested=scene.tested)
    return SearchAround(search)


def _relaxed_plans(scene: Scene) -> Searcher:
    return RelaxedPlans(scene.task, scene.expired)


MEMBERS = (
    Member(SEARCH, 1.0, True, _around),
    Member(GOAL_BY_GOAL, 1.0, False, _goal_by_goal),
    Member(GOAL_SEARCH, 0.1, True, _goal_search),
    Member(RELAXED_SEARCH, 1e-4, False, _relaxed_plans),
)
"""Who joins the greedy rollout, whose states count 1."""


@dataclass
class _Playing:
    """A searcher that takes part."""

    name: str
    weight: float
    searcher: Searcher
    pieces: Iterator[Decision | None]
    before: float = 0.0
    """Effort that counts as done when it joined, less what it had done by then."""

    @property
    def done(self) -> float:
        return self.before + self.weight * self.searcher.work

    @property
    def next(self) -> float:
        return self.done + self.weight * self.searcher.next_work


@dataclass
class Portfolio:
    """Searchers that take turns; `solution` is set as soon as one of them has found a plan."""

    scene: Scene
    members: tuple[Member, ...] = MEMBERS
    solution: list[Action] | None = None
    _playing: list[_Playing] = field(default_factory=list)
    _joined: set[str] = field(default_factory=set)
    _behind: int = 0
    """Work of the rollout when others joined first."""

    def __post_init__(self) -> None:
        greedy = self.scene.greedy
        self._playing.append(_Playing(GREEDY, 1.0, greedy, greedy.run()))

    def join(self, *, at_end: bool) -> None:
        """Takes in those who join when the rollout is in doubt, or all once it has ended (`at_end`).

        They count as having done as much as the rollout or, with it, all others since the first of them joined.
        """
        greedy = self.scene.greedy
        if not self._joined:
            for entry in self._playing:
                entry.before = -entry.weight * entry.searcher.work
            self._behind = greedy.work
        effort = float(greedy.work - self._behind)
        for member in self.members:
            if member.name in self._joined or (member.waits and not at_end):
                continue
            self._joined.add(member.name)
            searcher = member.make(self.scene)
            if searcher is not None:
                before = effort - member.weight * searcher.work
                self._playing.append(_Playing(member.name, member.weight, searcher, searcher.run(), before))
        if at_end:
            self._playing = [entry for entry in self._playing if entry.name != GREEDY]
        order = [GREEDY, *(member.name for member in self.members)]
        self._playing.sort(key=lambda entry: order.index(entry.name))

    def searcher(self, name: str) -> Searcher | None:
        """The searcher of that name that takes part; None if there is none, or it has ended."""
        return next((entry.searcher for entry in self._playing if entry.name == name), None)

    def step(self) -> tuple[str, Decision | None] | None:
        """Lets the next searcher do a piece of work; returns its name and, if it made one, its decision. One that ends
        takes no longer part. None if nobody is left."""
        if not self._playing:
            return None
        entry = min(self._playing, key=self._effort)
        decision: Decision | None = None
        try:
            decision = next(entry.pieces)
        except StopIteration:
            self._playing.remove(entry)
        self.solution = entry.searcher.solution
        return entry.name, decision

    def _effort(self, entry: _Playing) -> float:
        """What counts: effort with the next piece; less if it leads."""
        goals = [other.searcher.goals for other in self._playing if other is not entry] + [self.scene.greedy.goals]
        leads = entry.name != GREEDY and entry.searcher.goals > max(goals)
        return entry.next / LEAD if leads else entry.next
