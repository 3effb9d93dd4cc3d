"""Stage `policy`: who searches for a plan, and who goes next: a table, and one rule.

A searcher does its work piece by piece: the greedy rollout, others with drawn jumps, the policy goal by goal, the
search around the policy, the search by goals, relaxed plans. The table `MEMBERS` says what a unit of each one's work
counts, so that equal amounts take about the same time, and whether it joins the rollout as soon as that is in doubt or
when it has ended. The rule is that of alternating open lists: the one with the least effort so far, the work that comes
next included, goes next; of equals, the first. Work is counted rather than timed, so that plans do not depend on the
machine.

Another searcher is one class with the members of `Searcher`, and one line of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from saltus.policy.admissible import Admissible
from saltus.policy.drawn import DrawnRollouts
from saltus.policy.goal_by_goal import Beginning, GoalByGoal
from saltus.policy.greedy import GreedyRollout
from saltus.policy.relaxed import RelaxedPlans
from saltus.policy.rollout import Decision, Policy
from saltus.policy.search import JumpSearch, SearchAround
from saltus.task import Action, Task

GREEDY, DRAWN, GOAL_BY_GOAL, SEARCH, GOAL_SEARCH, RELAXED_SEARCH = (
    "greedy",
    "drawn",
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
    """Effort of a unit of work: on a CPU, equal effort takes about equal time. Twice the weight: half the work."""
    make: Callable[[Scene], Searcher | None]
    """The searcher; None if there is nothing that it could do."""
    waits: bool = True
    """Whether it joins when the rollout has ended; otherwise as soon as the rollout is in doubt."""
    lead: float = 1.0
    """How many times as much work it may do while it has reached more goals than all others."""


def _around(scene: Scene) -> Searcher:
    """From the best states of a stalled rollout, or from that where a limit cut it off, and then from everywhere."""
    best = scene.greedy.best_nodes
    scene.around.prefer(best)
    return SearchAround(scene.around, None if best else scene.greedy.undecided)


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
    search = JumpSearch(scene.goal_policy, scene.task, weights=(10.0,), tested=scene.tested)
    return SearchAround(search)


def _drawn(scene: Scene) -> Searcher:
    return DrawnRollouts(scene.policy, scene.task, scene.tested)


def _relaxed_plans(scene: Scene) -> Searcher:
    return RelaxedPlans(scene.task, scene.expired)


MEMBERS = (
    Member(SEARCH, 1.0, _around),
    Member(GOAL_BY_GOAL, 1.0, _goal_by_goal, waits=False, lead=4.0),
    Member(GOAL_SEARCH, 0.1, _goal_search),
    Member(RELAXED_SEARCH, 1e-4, _relaxed_plans, waits=False),
    Member(DRAWN, 1.0, _drawn, waits=False),
)
"""Who joins the greedy rollout, whose states count 1."""


@dataclass
class _Playing:
    """A searcher that takes part."""

    member: Member
    searcher: Searcher
    pieces: Iterator[Decision | None]
    effort: float = 0.0
    """Since others joined."""

    @property
    def next(self) -> float:
        """Effort with the next piece of work, as far as that is known."""
        return self.effort + self.member.weight * self.searcher.next_work


class Portfolio:
    """Searchers that take turns, the greedy rollout alone at first; `solution` is set as soon as one has a plan."""

    def __init__(self, scene: Scene, members: tuple[Member, ...] = MEMBERS) -> None:
        self.scene = scene
        self.members = members
        self.solution: list[Action] | None = None
        self.joined: set[str] = set()
        """Names of those who have joined the rollout."""
        greedy = scene.greedy
        self._playing = [_Playing(Member(GREEDY, 1.0, lambda scene: scene.greedy), greedy, greedy.run())]

    def join(self, *, ended: bool) -> None:
        """Takes in those who join a rollout in doubt, or all once it has `ended`; each once, with as much effort as the
        rollout has made since the first of them joined."""
        if not self.joined:
            for entry in self._playing:
                entry.effort = 0.0
        effort = next((entry.effort for entry in self._playing if entry.member.name == GREEDY), 0.0)
        for member in self.members:
            if member.name not in self.joined and (ended or not member.waits):
                self.joined.add(member.name)
                searcher = member.make(self.scene)
                if searcher is not None:
                    self._playing.append(_Playing(member, searcher, searcher.run(), effort))
        order = [GREEDY, *(member.name for member in self.members)]
        self._playing.sort(key=lambda entry: order.index(entry.member.name))

    def leave(self, name: str) -> None:
        """A searcher takes no longer part."""
        self._playing = [entry for entry in self._playing if entry.member.name != name]

    def searcher(self, name: str) -> Searcher | None:
        """The searcher of that name that takes part; None if there is none, or it has ended."""
        return next((entry.searcher for entry in self._playing if entry.member.name == name), None)

    def step(self) -> tuple[str, Decision | None] | None:
        """Lets the next searcher do a piece of work; returns its name and, if it made one, its decision. One that ends
        takes no longer part. None if nobody is left."""
        if not self._playing:
            return None
        entry = min(self._playing, key=lambda entry: entry.next)
        before = entry.searcher.work
        decision: Decision | None = None
        try:
            decision = next(entry.pieces)
        except StopIteration:
            self._playing.remove(entry)
        weight = entry.member.weight / (entry.member.lead if self._leads(entry) else 1.0)
        entry.effort += weight * (entry.searcher.work - before)
        self.solution = entry.searcher.solution
        return entry.member.name, decision

    def _leads(self, entry: _Playing) -> bool:
        """Whether a searcher has reached more goals than all others."""
        others = [other.searcher.goals for other in self._playing if other is not entry]
        return entry.searcher.goals > max(others, default=0) and entry.searcher.goals > self.scene.greedy.goals
