"""Stage `policy`: from a policy and a task to a validated plan.

`plan_stepwise` is all of planning as a generator: the greedy rollout; if a search is to follow, the other searchers of
the portfolio (`portfolio.py`) next to it once it makes no progress, and without it once it has failed or stalled; on
request, the improvement of the plan. Unless the policy is to play alone, loops and redundant actions are left out of
the plan. It yields its progress after every piece of work and every plan, so that the caller can show it, write plans
as they come, or stop. Limits on jumps and time are checked between pieces of work; memory, and time within one, can
only be limited from another process (`process/supervisor.py`).

No plan leaves this module before the validator, which shares nothing with the kernel, has replayed it.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Self

from saltus.lookahead import JUMPS, PlaySpec, Situation, TreeSpec
from saltus.lookahead.spec import PLAY
from saltus.pddl import Domain
from saltus.policy.admissible import Admissible
from saltus.policy.figures import Figures
from saltus.policy.greedy import GreedyRollout
from saltus.policy.improve import improvements
from saltus.policy.outcome import Clock, Limits, Outcome
from saltus.policy.portfolio import COUNTS, GREEDY, MEMBERS, SEARCH, Member, Portfolio, Scene
from saltus.policy.rollout import Decision, Ending, Policy
from saltus.policy.search import JumpSearch
from saltus.policy.tidy import tidied
from saltus.task import Action, Plan, Task, validate

NO_LIMITS = Limits()


@dataclass(frozen=True)
class Progress(Figures):
    """Planning so far: figures and the best plan; `outcome` is None until something is decided."""

    outcome: Outcome | None = None
    detail: str = ""
    plan: Plan | None = field(default=None, repr=False)
    cost: float | None = None
    unit_cost: bool = True
    seconds: float = 0.0
    unsolvable: bool = False
    """Whether it is proven that there is no plan."""

    @property
    def solved(self) -> bool:
        """Whether there is a validated plan."""
        return self.outcome is Outcome.FOUND


class Planner(ABC):
    """A policy that plans: base of all policies here."""

    def __init__(self, lookahead: TreeSpec, play: PlaySpec = PLAY) -> None:
        self.lookahead = lookahead
        """Trees it wants."""
        self.play_spec = play
        """How it plays."""
        self.cost = JUMPS
        """What its Q-values count."""
        self.clock = Clock()
        """What its decisions cost so far."""

    @abstractmethod
    def decide(self, situations: Sequence[Situation]) -> list[Decision]:
        """A decision for every situation."""

    def playing(self, spec: PlaySpec) -> Self:
        """The same policy, which plays by other rules."""
        found = copy(self)
        found.play_spec = spec
        return found

    def goal_policy(self) -> Policy | None:
        """A policy with very cheap decisions for a goal search next to the search; None for no goal search."""
        return None

    def check_domain(self, domain: Domain) -> None:  # noqa: B027 (a yardstick fits every domain)
        """Raises a `PolicyError` if the policy is for another domain."""

    def plan(
        self,
        task: Task,
        *,
        time_limit: float | None = None,
        max_jumps: int | None = None,
        search: bool = True,
        improve: bool = False,
    ) -> Plan | None:
        """A validated plan, or None where none was found; `solve` says why.

        Without a time limit, the search that follows a greedy rollout may take very long. Without `search`, the policy
        plays greedily until it fails or a limit is reached. With `improve` and no time limit it returns once the plan
        gets no better.
        """
        limits = Limits(seconds=time_limit, max_jumps=max_jumps)
        return self.solve(task, limits, search=search, improve=improve).plan

    def solve(
        self,
        task: Task,
        limits: Limits = NO_LIMITS,
        *,
        search: bool = True,
        improve: bool = False,
    ) -> Progress:
        """The progress at the end; the memory limit is not enforced here, the time limit only between decisions."""
        self.check_domain(task.domain)
        moments = plan_stepwise(
            self,
            task,
            limits,
            search=search,
            improve=improve,
            goal_policy=self.goal_policy(),
        )
        return deque(moments, maxlen=1)[-1]


def plan_stepwise(
    policy: Policy,
    task: Task,
    limits: Limits = NO_LIMITS,
    *,
    search: bool = True,
    improve: bool = False,
    goal_policy: Policy | None = None,
    members: tuple[Member, ...] = MEMBERS,
    started: float | None = None,
    threads: int | None = None,
) -> Iterator[Progress]:
    """Progress after each piece of work and plan; the last one has an outcome.

    Time counts from `started`, a time of `time.monotonic` (default: now). With `search`, the other searchers join the
    rollout and take over once it has failed or stalled, `goal_policy` guides the search by goals, if there is one, and
    loops and redundant actions are left out of the plan. `members` are those who may join. A search takes every goal
    state that it sees, whatever the rules of the policy say.
    """
    begin = time.monotonic() if started is None else started
    planning = _Planning(policy, task, limits, begin, goal_policy, members, search=search)
    yield planning.now
    yield from planning.find()
    if improve and planning.now.solved:
        yield from planning.improve(threads)


class _Planning:
    """One call to plan; `now` is its latest progress."""

    def __init__(
        self,
        policy: Policy,
        task: Task,
        limits: Limits,
        started: float,
        goal_policy: Policy | None,
        members: tuple[Member, ...],
        *,
        search: bool,
    ) -> None:
        self.task = task
        self.limits = limits
        self.started = started
        self.searches = search
        """Whether others join the greedy rollout."""
        self.actions: list[Action] = []
        self.tested = Admissible(task, task.goal, policy.play_spec)
        self.around = JumpSearch(policy, task, tested=self.tested)
        self.greedy = GreedyRollout(policy, task, self.tested, self.around if search else None)
        scene = Scene(task, policy, goal_policy, self.tested, self.greedy, self.around, self.expired)
        self.portfolio = Portfolio(scene, members)
        self.now = Progress(
            jumps=0,
            search_decisions=0,
            goal_search_decisions=0,
            goal_by_goal_decisions=0,
            tree_nodes=0,
            left_out_nodes=0,
            largest_tree=0,
            goals=self.greedy.goals,
            greedy_goals=self.greedy.goals,
            goal_count=task.goal.size,
            seconds_dead_ends=0.0,
            seconds_frozen_goals=0.0,
            unit_cost=not task.has_costs,
            seconds=self.seconds(),
        )

    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self.started

    def expired(self) -> bool:
        """Whether the time is up."""
        return self.limits.seconds is not None and self.seconds() >= self.limits.seconds

    def full(self, jumps: int) -> bool:
        """Whether so many jumps are all that may be made."""
        return self.limits.max_jumps is not None and jumps >= self.limits.max_jumps

    def find(self) -> Iterator[Progress]:
        """Looks for a plan; the last progress says how that ended."""
        if self.greedy.solution is not None:
            yield self.found(GREEDY)
            return
        while True:
            ending = self._greedy_ending()
            if ending is not None:
                yield ending
                if not self._goes_on(ending):
                    return
                self.now = replace(self.now, outcome=None, detail="")
                self.portfolio.join(ended=True)
                self.portfolio.leave(GREEDY)
            elif self.greedy.is_in_doubt:
                self.portfolio.join(ended=False)
            limit = self._limit()
            if limit is not None:
                yield limit
                return
            moved = self.portfolio.step()
            if moved is not None:
                self._see(*moved)
            if moved is not None and self.portfolio.solution is not None:
                yield self._found_by(moved[0])
                return
            # Without a time limit, those who are left might go on for ever.
            if moved is None or self._has_proof() or (self._is_exhausted() and self.limits.seconds is None):
                yield self.end(Outcome.FAILED, detail=self._exhausted(), unsolvable=self._has_proof())
                return
            yield self.now

    def _limit(self) -> Progress | None:
        """The end if a limit has been reached; that on jumps goes for the search around the policy, too."""
        if self.expired():
            return self.end(Outcome.TIME)
        greedily = self.now.greedy_outcome
        if greedily is None or not self.full(self.now.search_decisions or 0):
            return None
        outcome = Outcome.JUMPS if greedily is Outcome.STALLED else greedily
        return self.end(outcome, detail="the search was cut off by the jump limit")

    def _found_by(self, name: str) -> Progress:
        """The end with the plan that a searcher has found."""
        self.actions = self.portfolio.solution or []
        if name != GREEDY and self.now.greedy_outcome is None:
            self.now = replace(self.now, greedy_outcome=Outcome.STALLED)
        return self.found(name)

    def _greedy_ending(self) -> Progress | None:
        """The end of the greedy rollout without a plan, told once; None as long as it goes on, and after that."""
        if self.now.greedy_outcome is not None:
            return None
        rollout = self.greedy.rollout
        if self.greedy.has_stalled and rollout.ending is None:
            return self.end(Outcome.STALLED, greedy=True)
        if rollout.ending is None:
            if self.expired():
                return self.end(Outcome.TIME, greedy=True)
            return self.end(Outcome.JUMPS, greedy=True) if self.full(rollout.jumps) else None
        if rollout.ending is Ending.DEAD_END and rollout.jumps == 0:
            return self.end(Outcome.NO_JUMP, greedy=True, unsolvable=self.greedy.has_all_successors)
        unsolvable = rollout.ending is Ending.PROVEN_DEAD_END and rollout.jumps == 0
        return self.end(Outcome.FAILED, greedy=True, detail=str(rollout.ending), unsolvable=unsolvable)

    def _goes_on(self, ending: Progress) -> bool:
        """Whether others may still find a plan after this end of the rollout."""
        ended = ending.greedy_outcome or Outcome.FAILED
        in_time = ended is Outcome.STALLED or not self.expired()
        return self.searches and ended.allows_search and not ending.unsolvable and in_time

    def _is_exhausted(self) -> bool:
        """Whether the search around the policy has taken part and ended, with time left."""
        has_begun = SEARCH in self.portfolio.joined
        return has_begun and self.portfolio.searcher(SEARCH) is None and not self.expired()

    def _has_proof(self) -> bool:
        """Whether that has shown that there is no plan: all of its trees held all successors."""
        return self._is_exhausted() and not self.around.incomplete

    def _exhausted(self) -> str:
        """What has come of it that nobody found a plan."""
        if not self._is_exhausted():
            return "nobody is left to search"
        if self._has_proof():
            return "the search has exhausted all reachable states"
        trees, incomplete = len(self.around.nodes), len(self.around.incomplete)
        return f"the search has tried every state of its trees, but {incomplete:,} of {trees:,} may lack successors"

    def improve(self, threads: int | None) -> Iterator[Progress]:
        """Better plans; one that the validator rejects ends the improvement, and the last good one stays."""
        for actions in improvements(self.task, self.actions, expired=self.expired, threads=threads):
            plan = plan_of(self.task, actions)
            verdict = validate(self.task, plan)
            if not verdict:
                detail = f"an improved plan was rejected: {verdict.reason}"
                self.now = replace(self.now, detail=detail, seconds=self.seconds())
                break
            self.now = replace(self.now, plan=plan, cost=verdict.cost, seconds=self.seconds())
            yield self.now
        self.now = replace(self.now, seconds=self.seconds())
        yield self.now

    def _see(self, name: str, decision: Decision | None) -> None:
        """Measures a piece of work: every figure that changes with one is counted here."""
        searcher = self.portfolio.searcher(name)
        goals = searcher.goals if searcher is not None else 0
        if decision is not None:
            counts = {COUNTS[name]: 1} if name in COUNTS else {}
            nodes = len(decision.tree)
            now = self.now.plus(tree_nodes=nodes, left_out_nodes=decision.tree.left_out, **counts)
            self.now = replace(now, largest_tree=max(now.largest_tree or 0, nodes))
        self.now = replace(
            self.now,
            jumps=self.greedy.rollout.jumps,
            greedy_goals=self.greedy.goals,
            goals=max(self.now.goals or 0, goals),
            seconds=self.seconds(),
            seconds_dead_ends=self.tested.seconds_dead_ends,
            seconds_frozen_goals=self.tested.seconds_frozen_goals,
        )

    def found(self, by: str) -> Progress:
        """The end of planning with the plan at hand, provided that it is valid and in time."""
        found = len(self.actions)
        left = math.inf if self.limits.seconds is None else self.limits.seconds - self.seconds()
        if self.searches and left > 5.0:  # seconds; tidying takes less
            self.actions = tidied(self.task, self.actions)
        plan = plan_of(self.task, self.actions)
        verdict = validate(self.task, plan)
        if not verdict:
            return self.end(Outcome.INVALID, greedy=by == GREEDY, detail=verdict.reason)
        if self.expired():
            return self.end(Outcome.TIME, greedy=by == GREEDY)
        self.end(Outcome.FOUND, greedy=by == GREEDY)
        self.now = replace(
            self.now,
            found_by=by,
            plan=plan,
            cost=verdict.cost,
            needless_actions=found - len(self.actions),
            seconds_plan=self.now.seconds,
            goals=self.now.goal_count,
        )
        return self.now

    def end(self, outcome: Outcome, *, greedy: bool = False, detail: str = "", unsolvable: bool = False) -> Progress:
        """The end of planning, or of the greedy rollout."""
        self.now = replace(
            self.now,
            outcome=outcome,
            detail=detail,
            unsolvable=unsolvable,
            seconds=self.seconds(),
            seconds_dead_ends=self.tested.seconds_dead_ends,
            seconds_frozen_goals=self.tested.seconds_frozen_goals,
        )
        if greedy:
            self.now = replace(self.now, greedy_outcome=outcome)
        return self.now


def plan_of(task: Task, actions: Sequence[Action]) -> Plan:
    """The actions by name."""
    return Plan.of(task.action_name(action) for action in actions)
