"""Stage `policy`: from a policy and a task to a validated plan.

`plan_stepwise` is all of planning as a generator: the greedy rollout; next to it, once it makes no progress, the policy
playing goal by goal and a search by relaxed plans; if it fails or has stalled (`stall.py`), a search around the policy,
with these two and a search by goals next to it; on request, the improvement of the plan. Unless the policy is to play
alone, loops and redundant actions are left out of the plan. It yields its progress after every decision and every plan,
so that the caller can show it, write plans as they come, or stop. Limits on jumps and time are checked between
decisions; memory, and time within a decision, can only be limited from another process (`process/supervisor.py`).

No plan leaves this module before the validator, which shares nothing with the kernel, has replayed it.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Self

from saltus.lookahead import JUMPS, PlaySpec, Situation, TreeSpec
from saltus.lookahead.spec import PLAY
from saltus.pddl import Domain
from saltus.policy.admissible import Admissible
from saltus.policy.figures import Figures
from saltus.policy.goal_by_goal import Beginning, GoalByGoal
from saltus.policy.improve import improvements
from saltus.policy.outcome import GREEDY_SHARE, Clock, Limits, Outcome
from saltus.policy.relaxed import GroundTask, RelaxedFound, can_search, ground_task
from saltus.policy.rollout import Decision, Ending, Policy, play
from saltus.policy.search import Change, JumpSearch, SearchNode
from saltus.policy.stall import Stall
from saltus.policy.tidy import tidied
from saltus.task import Action, Plan, State, Task, validate

NO_LIMITS = Limits()

SEARCH, GOAL_SEARCH, RELAXED_SEARCH = "search", "goal search", "relaxed search"
"""The search around the policy, and the cheap ones next to it: values of the figure `found_by`."""

GOAL_BY_GOAL = "goal by goal"
"""The policy with one missing goal at a time: another value of it."""

COUNTS = {
    SEARCH: "search_decisions",
    GOAL_SEARCH: "goal_search_decisions",
    GOAL_BY_GOAL: "goal_by_goal_decisions",
}
"""Figures that count their decisions."""

ALONE = 50
"""Jumps without a new best after which the policy also plays goal by goal, next to the rollout. Rollouts that succeed
by themselves hardly ever make as many (`stall.py`)."""

AHEAD = 4
"""States that it may look at for each one of the rollout or the search if it has reached more goals than they have;
otherwise as many."""

GOAL_SEARCH_STATES = 10
"""Tree states that the goal search may look at for each one that the policy's search has evaluated: on a CPU, both then
take about the same time. States are counted rather than timed, so that the plan does not depend on the machine."""

RELAXED_WORK = 100_000_000
"""Work of the first search by relaxed plans, which takes about a second."""

RELAXED_GROWTH = 4
"""How many times more work the next one does, if one was cut off."""

RELAXED_SHARE = 10_000
"""Work that searches by relaxed plans may do for each state that the policy has evaluated in a rollout without progress
or in its search: on a CPU, both then take about the same time."""

TIDYING = 5.0
"""Seconds that must be left for a plan to be tidied, which takes less."""

GOAL_SEARCH_WEIGHTS = (10.0,)
"""Weights of the goal search: a queue that gives jumps more weight only spreads it out."""


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
    greedy_share: float = GREEDY_SHARE,
    started: float | None = None,
    threads: int | None = None,
) -> Iterator[Progress]:
    """Progress after each decision and plan; the last one has an outcome.

    Time counts from `started`, a time of `time.monotonic` (default: now). With `search`, the rollout is cut off once it
    has stalled, or after `greedy_share` of the time limit unless it is still making progress, and then its outcome is
    the time limit; a goal search with `goal_policy`, if there is one, takes turns with the search around the policy;
    loops and redundant actions are left out of the plan. A search takes every goal state that it sees, whatever the
    rules of the policy say.
    """
    begin = time.monotonic() if started is None else started
    planning = _Planning(policy, task, limits, begin, tidy=search)
    yield planning.now
    yield from planning.greedy(search=search, share=greedy_share if search else 1.0)
    ended = planning.ended_greedily
    goes_on = planning.now.outcome is ended  # not if a plan was found next to the rollout, in time or too late
    may_search = search and goes_on and ended.allows_search and not planning.now.unsolvable
    if may_search and (ended is Outcome.STALLED or not planning.expired()):
        yield from planning.run_searches(goal_policy)
    if improve and planning.now.solved:
        yield from planning.improve(threads)


class _Planning:
    """One call to plan; `now` is its latest progress."""

    def __init__(self, policy: Policy, task: Task, limits: Limits, started: float, *, tidy: bool) -> None:
        self.policy = policy
        self.task = task
        self.limits = limits
        self.tidy = tidy
        self.started = started
        self.actions: list[Action] = []
        self.tested = Admissible(task, task.goal, policy.play_spec)
        self.search = JumpSearch(policy, task, expired=self.expired, tested=self.tested)
        self.by_goals: GoalByGoal | None = None
        self.goal_decisions: Iterator[Decision] = iter(())
        """Its decisions; empty if it has not begun, or has ended."""
        self.states_beside = 0
        """States of the rollout's trees since it began."""
        self.relaxed = _RelaxedSearches(task)
        self.last: tuple[SearchNode | None, State, list[Action]] | None = None
        """Where a limit cut the rollout off: a state that was jumped to, but not decided on."""
        self.others_goals = task.goal.count(task.initial_state)
        """Most goals in a state of the rollout or the search around the policy."""
        self.furthest: tuple[State, int] | None = None
        """The state of the rollout with the most goals, and the number of actions that lead there; None if no state has
        more than the first."""
        self.now = Progress(
            jumps=0,
            search_decisions=0,
            goal_search_decisions=0,
            goal_by_goal_decisions=0,
            tree_nodes=0,
            left_out_nodes=0,
            largest_tree=0,
            goals=self.others_goals,
            greedy_goals=self.others_goals,
            goal_count=task.goal.size,
            seconds_dead_ends=0.0,
            seconds_frozen_goals=0.0,
            unit_cost=not task.has_costs,
            seconds=self.seconds(),
        )

    @property
    def ended_greedily(self) -> Outcome:
        """How the greedy rollout ended."""
        return self.now.greedy_outcome or Outcome.FAILED

    def seconds(self) -> float:
        return time.monotonic() - self.started

    def expired(self, share: float = 1.0) -> bool:
        return self.limits.seconds is not None and self.seconds() >= share * self.limits.seconds

    def full(self, jumps: int) -> bool:
        return self.limits.max_jumps is not None and jumps >= self.limits.max_jumps

    def greedy(self, *, search: bool, share: float) -> Iterator[Progress]:
        """The rollout, for a share of the time and as long as it is making progress; if a search follows, only until it
        has stalled, and its decisions are the first nodes of the search, unless they see a part of the goal only."""
        rollout = play(self.policy, self.task, tested=self.tested)
        sees_all = rollout.goals_in_sight is None
        stall = Stall.of(self.task)
        node: SearchNode | None = None
        jump: list[Action] = []
        change: Change | None = None
        has_all_successors = False
        while rollout.ending is None:
            if search and stall.has_stalled:
                if sees_all:
                    self.search.prefer([self.search.nodes[number] for number in stall.best_decisions])
                yield self.end(Outcome.STALLED, greedy=True)
                return
            out_of_time = self.expired() or (self.expired(share) and not stall.is_making_progress)
            if out_of_time or self.full(rollout.jumps):
                self.last = (node, rollout.state, jump) if sees_all else None
                yield self.end(Outcome.TIME if out_of_time else Outcome.JUMPS, greedy=True)
                return
            decision = self.policy.decide([rollout.situation])[0]
            goals = int(decision.tree.goals[0]) if sees_all else self.task.goal.count(rollout.state)
            if search and sees_all:
                node = self.search.add(decision, node, jump, change)
            if search:  # values for different goals do not compare
                stall.see(goals, float(decision.q.max(initial=-math.inf)) if sees_all else -math.inf)
            has_all_successors = decision.tree.has_all_successors
            step = rollout.advance(decision)
            if step is not None:
                goals = int(decision.tree.goals[step.node]) if sees_all else self.task.goal.count(rollout.state)
                jump = step.actions
                change = step.tree.change_to(step.node)
                self.actions += jump
            self.see(decision, goals)
            if goals > self.others_goals:
                self.others_goals, self.furthest = goals, (rollout.state, len(self.actions))
            self.now = replace(self.now, jumps=rollout.jumps, greedy_goals=self.others_goals)
            if rollout.ending is None:
                yield self.now
                if search and self.by_goals is None and stall.stretch >= ALONE:
                    self.begin_goal_by_goal()
                if self.by_goals is not None:
                    self.states_beside += len(decision.tree)
                    yield from self.play_goal_by_goal(self.states_beside)
                    if self.by_goals.solution is not None or self.has_relaxed_plan(self.states_beside):
                        self.now = replace(self.now, greedy_outcome=Outcome.STALLED)
                        yield self.found_beside()
                        return
        if rollout.ending is Ending.SOLVED:
            yield self.found("greedy")
        elif rollout.ending is Ending.DEAD_END and rollout.jumps == 0:
            yield self.end(Outcome.NO_JUMP, greedy=True, unsolvable=has_all_successors)
        else:
            unsolvable = rollout.ending is Ending.PROVEN_DEAD_END and rollout.jumps == 0
            yield self.end(Outcome.FAILED, greedy=True, detail=str(rollout.ending), unsolvable=unsolvable)

    def begin_goal_by_goal(self) -> None:
        """Lets the policy play goal by goal, from the rollout's state with the most goals, if any, and then from the
        initial one. With one goal there is nothing else to play."""
        beginnings = [Beginning(self.task.initial_state)]
        if self.furthest is not None:
            state, length = self.furthest
            if not self.tested.is_avoided(state):
                beginnings.insert(0, Beginning(state, tuple(self.actions[:length])))
        self.by_goals = GoalByGoal(self.policy, self.task, beginnings, tested=self.tested)
        if self.task.goal.size > 1:
            self.goal_decisions = self.by_goals.run()

    def play_goal_by_goal(self, states: int) -> Iterator[Progress]:
        """Plays goal by goal until it has looked at as many states as the others, or more if it is ahead, or has ended.

        `states` is how many the others have looked at since it began.
        """
        assert self.by_goals is not None
        while not self.expired():
            is_ahead = self.by_goals.goals > self.others_goals
            if self.by_goals.states >= states * (AHEAD if is_ahead else 1):
                return
            decision = next(self.goal_decisions, None)
            if decision is None:
                return
            self.see(decision, self.by_goals.goals, **{COUNTS[GOAL_BY_GOAL]: 1})
            yield self.now

    def has_relaxed_plan(self, states: int) -> bool:
        """Whether a search by relaxed plans, if one is due, finds a plan; `states` as in `play_goal_by_goal`."""
        return self.relaxed.is_due(states) and self.relaxed.run(self._check_time)

    def found_beside(self) -> Progress:
        """The end of planning with the plan that was found goal by goal or by relaxed plans."""
        if self.relaxed.plan is not None:
            self.actions = self.relaxed.plan
            return self.found(RELAXED_SEARCH)
        assert self.by_goals is not None
        self.actions = self.by_goals.solution or []
        return self.found(GOAL_BY_GOAL)

    def run_searches(self, goal_policy: Policy | None) -> Iterator[Progress]:
        """The search, which goes on from the state where a limit cut the rollout off, or from the best states of one
        that has stalled, and then from everywhere; the policy goal by goal, which looks at as many states; the goal
        search, which starts anew and takes the next step whenever it has looked at less than its share of states; and
        searches by relaxed plans, which start anew each time."""
        self.now = replace(self.now, outcome=None, detail="")
        ended = self.ended_greedily
        if self.by_goals is None:
            self.begin_goal_by_goal()
        assert self.by_goals is not None
        searches = {SEARCH: self.search}
        steps = {SEARCH: self._search_steps()}
        if goal_policy is not None:
            other = JumpSearch(
                goal_policy,
                self.task,
                weights=GOAL_SEARCH_WEIGHTS,
                expired=self.expired,
                tested=self.tested,
            )
            searches[GOAL_SEARCH], steps[GOAL_SEARCH] = other, other.run()
        states = dict.fromkeys(searches, 0)
        turn = SEARCH
        while searches[turn].solution is None:
            others = self.states_beside + states[SEARCH]
            if not self.has_relaxed_plan(others):
                yield from self.play_goal_by_goal(others)
            if self.relaxed.plan is not None or self.by_goals.solution is not None:
                yield self.found_beside()
                return
            if self.expired():
                yield self.end(Outcome.TIME)
                return
            turn = (
                GOAL_SEARCH
                if GOAL_SEARCH in steps and states[GOAL_SEARCH] < GOAL_SEARCH_STATES * states[SEARCH]
                else SEARCH
            )
            if turn == SEARCH and self.full(self.now.search_decisions or 0):
                outcome = Outcome.JUMPS if ended is Outcome.STALLED else ended
                yield self.end(outcome, detail="the search was cut off by the jump limit")
                return
            found = next(steps[turn], None)
            if found is not None:
                tree = found[1].tree
                states[turn] += len(tree)
                self.see(found[1], int(tree.goals[0]), **{COUNTS[turn]: 1})
                if turn == SEARCH:
                    self.others_goals = max(self.others_goals, int(tree.goals[0]))
                if searches[turn].solution is None:
                    yield self.now
            elif turn == GOAL_SEARCH:
                del steps[GOAL_SEARCH]  # its trees held no other state, and nor will those of the policy's search
            elif not self.expired():
                yield self.end(Outcome.FAILED, detail=self._exhausted(), unsolvable=not self.search.incomplete)
                return
        self.actions = searches[turn].solution or []
        yield self.found(turn)

    def _check_time(self) -> None:
        if self.expired():
            raise _TimeIsUp

    def _exhausted(self) -> str:
        """What a search without a plan has shown: that there is none, only if its trees held all successors."""
        trees, incomplete = len(self.search.nodes), len(self.search.incomplete)
        if not incomplete:
            return "the search has exhausted all reachable states"
        return f"the search has tried every state of its trees, but {incomplete:,} of {trees:,} may lack successors"

    def _search_steps(self) -> Iterator[tuple[SearchNode, Decision]]:
        if self.last is not None:
            node, state, jump = self.last
            yield self.search.expand(state, node, jump)
        yield from self.search.run()

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

    def see(self, decision: Decision, goals: int, **counts: int) -> None:
        """Measures a decision: every figure that changes with one is counted here."""
        nodes = len(decision.tree)
        self.now = replace(
            self.now.plus(tree_nodes=nodes, left_out_nodes=decision.tree.left_out, **counts),
            largest_tree=max(self.now.largest_tree or 0, nodes),
            goals=max(self.now.goals or 0, goals),
            seconds=self.seconds(),
            seconds_dead_ends=self.tested.seconds_dead_ends,
            seconds_frozen_goals=self.tested.seconds_frozen_goals,
        )

    def found(self, by: str) -> Progress:
        """The end of planning with the plan at hand, provided that it is valid and in time."""
        found = len(self.actions)
        left = math.inf if self.limits.seconds is None else self.limits.seconds - self.seconds()
        if self.tidy and left > TIDYING:
            self.actions = tidied(self.task, self.actions)
        plan = plan_of(self.task, self.actions)
        verdict = validate(self.task, plan)
        if not verdict:
            return self.end(Outcome.INVALID, greedy=by == "greedy", detail=verdict.reason)
        if self.expired():
            return self.end(Outcome.TIME, greedy=by == "greedy")
        self.end(Outcome.FOUND, greedy=by == "greedy")
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


class _TimeIsUp(Exception):  # noqa: N818 (no error, and never seen outside of this module)
    """Raised inside a search by relaxed plans."""


class _RelaxedSearches:
    """Searches by relaxed plans, each with more work than the one before."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.plan: list[Action] | None = None
        self._ground: GroundTask | None = None
        self._next = RELAXED_WORK
        self._done = 0
        self._may_help = can_search(task)

    def is_due(self, states: int) -> bool:
        """Whether the next one may begin once the policy has evaluated so many states."""
        return self._may_help and self._done + self._next <= RELAXED_SHARE * states

    def run(self, check: Callable[[], None]) -> bool:
        """Whether the next search finds a plan, which is `plan` then; not if `check` says that the time is up."""
        try:
            self._ground = self._ground or ground_task(self.task, check)
            found = RelaxedFound() if self._ground is None else self._ground.search(check, self._next)
        except _TimeIsUp:
            return False
        self._may_help = found.is_cut_off
        self._done += self._next
        self._next *= RELAXED_GROWTH
        self.plan = None if found.plan is None else list(found.plan)
        return self.plan is not None


def plan_of(task: Task, actions: Sequence[Action]) -> Plan:
    """The actions by name."""
    return Plan.of(task.action_name(action) for action in actions)
