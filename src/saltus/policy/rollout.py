"""Stage `policy`: the loop. At every state: a tree, a Q-value for each of its states, and a jump to one of them.

`Rollout` is a policy playing a task, as a state machine: it asks for a decision and takes a jump. `run_rollout` runs
one rollout as a generator; `run_rollouts` runs many side by side, so that the network sees all of their trees at once.
Training, planning and benchmarking use the same loop. As in the paper's section "Testing", a rollout never jumps to a
state that it has visited; one that sees few goals at a time (`sight.py`) may, once others are in sight.

Departure: planning takes a goal state of the tree whatever its Q-value (`take_goals`). The paper takes the best
Q-value, which may leave a goal in sight for later, or for ever. Exploration and `--protocol paper` do as the paper.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from saltus.lookahead import JUMPS, JumpCost, LookaheadSpec, LookaheadTree, Situation, is_dead_end
from saltus.policy.choose import Chooser, Greedy
from saltus.policy.frozen import MAX_POSTPONED, FrozenGoals
from saltus.policy.sight import GoalsInSight
from saltus.task import Action, Goal, State, Task
from saltus.task.state import StateSet


@dataclass(frozen=True, eq=False)
class Decision:
    """A tree and the Q-values of its states."""

    tree: LookaheadTree
    q: NDArray[np.float32] = field(repr=False)
    """[nodes - 1]: entry i belongs to node i + 1."""


class Policy(Protocol):
    """Anything that scores the states of lookahead trees."""

    @property
    def lookahead(self) -> LookaheadSpec:
        """The trees that the policy decides on."""

    def decide(self, situations: Sequence[Situation]) -> list[Decision]:
        """One decision per situation."""


def cost_of(policy: Policy) -> JumpCost:
    """What the policy's Q-values count: its `cost`, or jumps if it has none."""
    return getattr(policy, "cost", JUMPS)


class Ending(StrEnum):
    """Why a rollout ended."""

    SOLVED = "solved"
    DEAD_END = "dead end"
    """The state has no successor, or the goal cannot be reached from it and the rule says to end there."""
    PROVEN_DEAD_END = "proven dead end"
    """The goal cannot be reached from the state, nor from any state that can be reached from it."""
    STUCK = "stuck"
    """Every state of the tree has been visited, or is a dead end that the rollout avoids; or no goal in sight was
    reached."""


class DeadEndRule(StrEnum):
    """What a rollout does about dead ends: states from which the goal cannot be reached even if nothing is deleted."""

    IGNORE = "ignore"
    AVOID = "avoid"
    """Does not jump to dead ends; ends once it is in one."""
    END = "end"
    """Jumps to dead ends and ends there, to learn from them."""

    @classmethod
    def when_playing(cls, spec: LookaheadSpec) -> DeadEndRule:
        """The rule for a policy with this lookahead when it plays."""
        return cls.AVOID if spec.dead_ends == "relaxed" else cls.IGNORE

    @classmethod
    def when_exploring(cls, spec: LookaheadSpec) -> DeadEndRule:
        """The rule for a policy with this lookahead when it explores."""
        return cls.END if spec.dead_ends == "relaxed" else cls.IGNORE


MAX_DEAD_ENDS = 100
"""Most dead ends that one decision may find; the next candidate is taken untested. A test takes tenths of a second on
the largest problems (the first some seconds, to ground the actions), and policies trained with dead ends rank few of
them first."""


@dataclass(frozen=True, eq=False)
class Step:
    """One jump."""

    state: State
    tree: LookaheadTree = field(repr=False)
    q: NDArray[np.float32] = field(repr=False)
    node: int
    """Number of the tree's node that was jumped to."""
    successor: State
    solved: bool
    """Whether the successor satisfies the goal."""

    @property
    def actions(self) -> list[Action]:
        """Actions of the jump."""
        return self.tree.path_to(self.node)


class DeadEnds:
    """The dead ends of a task: `state in dead_ends` tests a state and remembers the answer by the state's hash."""

    def __init__(self, task: Task, goal: Goal, roles: int | None = None) -> None:
        self.task = task
        self.goal = goal
        self.roles = roles
        """The lookahead's number of representatives, which is enough for the test, too; None for all objects."""
        self.seconds = 0.0
        """Total time that the tests have taken."""
        self._known: dict[int, bool] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, state: State) -> bool:
        key = hash(state)
        known = self._known.get(key)
        if known is None:
            start = time.perf_counter()
            known = self._known[key] = is_dead_end(self.task, state, self.goal, roles=self.roles)
            self._count += known
            self.seconds += time.perf_counter() - start
        return known


class Rollout:
    """One rollout: `situation` is to be decided next, `advance` takes the jump, `ending` is set at the end."""

    def __init__(
        self,
        task: Task,
        chooser: Chooser | None = None,
        *,
        goal: Goal | None = None,
        state: State | None = None,
        take_goals: bool = True,
        dead_end_rule: DeadEndRule = DeadEndRule.IGNORE,
        dead_ends: DeadEnds | None = None,
        frozen_goals: FrozenGoals | None = None,
        goals_in_sight: GoalsInSight | None = None,
    ) -> None:
        self.task = task
        self.goal = task.goal if goal is None else goal
        self.chooser = chooser or Greedy()
        self.take_goals = take_goals
        """Whether a goal state in the tree is taken whatever its Q-value; the paper takes the best Q-value."""
        self.dead_end_rule = dead_end_rule
        self.state = task.initial_state if state is None else state
        self.visited = StateSet()
        """States visited, up to walks if moves are free."""
        self.dead_ends = DeadEnds(task, self.goal) if dead_ends is None else dead_ends
        self.frozen_goals = frozen_goals
        """Puts off jumps that reach goals but shut off others; None for no such test."""
        self.goals_in_sight = goals_in_sight
        """What the policy sees of the goal; None for all of it."""
        self.jumps = 0
        self.ending: Ending | None = Ending.SOLVED if self.goal.holds(self.state) else None

    @property
    def situation(self) -> Situation:
        """The task, state and goal to decide about next."""
        return Situation(self.task, self.state, self.goal if self.goals_in_sight is None else self.goals_in_sight.goal)

    def advance(self, decision: Decision) -> Step | None:
        """The jump taken; None if there is none, in which case the rollout has ended, unless other goals are in sight
        now."""
        tree = decision.tree
        self.visited.add(tree.up_to_walks(self.state))
        found = self._pick(decision)
        if found is None:
            if self.ending is None and len(tree) == 1 and not tree.truncated:
                self.ending = Ending.DEAD_END
            elif self.ending is None and self.goals_in_sight is not None and self.goals_in_sight.put_off(self.state):
                self.visited = StateSet()
            elif self.ending is None:
                self.ending = Ending.STUCK
            return None
        node, successor = found
        solved = tree.reaches_goal(node) if self.goals_in_sight is None else self.goal.holds(successor)
        step = Step(self.state, tree, decision.q, node, successor, solved)
        self.state = successor
        self.jumps += 1
        if solved:
            self.ending = Ending.SOLVED
        elif self.dead_end_rule is DeadEndRule.END and is_dead_end(self.task, successor, self.goal):
            self.ending = Ending.DEAD_END
        elif self.goals_in_sight is not None:
            if self.goals_in_sight.see(successor):
                self.visited = StateSet()
            elif self.goals_in_sight.is_exhausted:
                self.ending = Ending.STUCK
        return step

    def _pick(self, decision: Decision) -> tuple[int, State] | None:
        tree = decision.tree
        if self.take_goals and tree.nearest_goal is not None:
            reached = tree.state_of(tree.nearest_goal)
            # With all goals in sight, nothing is left to reach.
            is_tested = self.goals_in_sight is not None and self.dead_end_rule is DeadEndRule.AVOID
            if not is_tested or self.goal.holds(reached) or reached not in self.dead_ends:
                return tree.nearest_goal, reached
        before = len(self.dead_ends)
        postponed: list[tuple[int, State]] = []
        for candidate in self.chooser.order(decision.q):
            successor = tree.state_of(candidate + 1)
            if tree.up_to_walks(successor) in self.visited:
                continue
            is_tested = self.dead_end_rule is DeadEndRule.AVOID and len(self.dead_ends) - before < MAX_DEAD_ENDS
            if not is_tested or successor not in self.dead_ends:
                found = candidate + 1, successor
                if self.frozen_goals is None or len(postponed) == MAX_POSTPONED:
                    return found
                if not self.frozen_goals.postpones(tree, *found):
                    return found
                postponed.append(found)
                continue
            if len(self.dead_ends) == before + 1 and self.state in self.dead_ends:  # then so are all candidates
                self.ending = Ending.PROVEN_DEAD_END
                return None
        return postponed[0] if postponed else None


def run_rollout(policy: Policy, rollout: Rollout) -> Iterator[Step]:
    """The jumps of one rollout until it ends; the caller may stop at any time."""
    while rollout.ending is None:
        step = rollout.advance(policy.decide([rollout.situation])[0])
        if step is not None:
            yield step


def run_rollouts(
    policy: Policy, rollouts: Sequence[Rollout], check: Callable[[], None] = lambda: None
) -> Iterator[list[tuple[int, Step]]]:
    """The jumps of many rollouts side by side: each turn yields the index and step of every rollout that jumped.

    Every turn advances the rollouts that have no `ending`; set it to stop one. `check` is called before every turn and
    every jump; what it raises ends them all.
    """
    while running := [i for i, rollout in enumerate(rollouts) if rollout.ending is None]:
        check()
        decisions = policy.decide([rollouts[i].situation for i in running])
        steps: list[tuple[int, Step]] = []
        for i, decision in zip(running, decisions, strict=True):
            check()
            step = rollouts[i].advance(decision)
            if step is not None:
                steps.append((i, step))
        yield steps
