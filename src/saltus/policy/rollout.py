"""Stage `policy`: the loop. At every state: a tree, a Q-value for each of its states, and a jump to one of them.

`play` lets a policy play a task, by the rules that go with it (`PlaySpec`): every rollout of training, validation,
planning and pages is made there. A `Rollout` is a state machine: it asks for a decision and takes a jump. `run_rollout`
runs one rollout as a generator; `run_rollouts` runs many side by side, so that the network sees all of their trees at
once. As in the paper's section "Testing", a rollout never jumps to a state that it has visited; one that sees few goals
at a time (`sight.py`) may, once others are in sight.

Departure: planning takes a goal state of the tree whatever its Q-value (`take_goals`). The paper takes the best
Q-value, which may leave a goal in sight for later, or for ever. Exploration and `--protocol paper` do as the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from saltus.lookahead import JUMPS, JumpCost, LookaheadTree, PlaySpec, Situation, TreeSpec
from saltus.policy.admissible import Admissible, Verdict
from saltus.policy.choose import Boltzmann, Chooser, Greedy
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
    def lookahead(self) -> TreeSpec:
        """The trees that the policy decides on."""

    @property
    def play_spec(self) -> PlaySpec:
        """How it plays."""

    def decide(self, situations: Sequence[Situation]) -> list[Decision]:
        """One decision per situation."""

    def playing(self, spec: PlaySpec) -> Policy:
        """The same policy, which plays by other rules."""


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


class Rollout:
    """One rollout, made by `play`: `situation` is to be decided next, `advance` takes the jump, `ending` is set at the
    end."""

    def __init__(
        self,
        task: Task,
        state: State,
        chooser: Chooser,
        admissible: Admissible,
        *,
        take_goals: bool,
        goals_in_sight: GoalsInSight | None,
    ) -> None:
        self.task = task
        self.goal = admissible.goal
        self.state = state
        self.chooser = chooser
        self.admissible = admissible
        """What it may jump to."""
        self.take_goals = take_goals
        """Whether a goal state in the tree is taken whatever its Q-value; the paper takes the best Q-value."""
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
        self.admissible.visit(tree)
        found = self._pick(decision)
        if found is None:
            if self.ending is None and len(tree) == 1 and not tree.truncated:
                self.ending = Ending.DEAD_END
            elif self.ending is None and self.goals_in_sight is not None and self.goals_in_sight.put_off(self.state):
                self.admissible.visited = StateSet()
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
        elif self.admissible.is_end(successor):
            self.ending = Ending.DEAD_END
        elif self.goals_in_sight is not None:
            if self.goals_in_sight.see(successor):
                self.admissible.visited = StateSet()
            elif self.goals_in_sight.is_exhausted:
                self.ending = Ending.STUCK
        return step

    def _pick(self, decision: Decision) -> tuple[int, State] | None:
        tree = decision.tree
        if self.take_goals and tree.nearest_goal is not None:
            reached = tree.state_of(tree.nearest_goal)
            # With all goals in sight, nothing is left to reach.
            if self.goals_in_sight is None or self.goal.holds(reached) or not self.admissible.is_avoided(reached):
                return tree.nearest_goal, reached
        found = self.admissible.first_of(tree, (candidate + 1 for candidate in self.chooser.order(decision.q)))
        if found is None:
            return None
        verdict, node, successor = found
        if verdict is Verdict.HOPELESS:
            self.ending = Ending.PROVEN_DEAD_END
            return None
        return node, successor


def play(
    policy: Policy,
    task: Task,
    *,
    goal: Goal | None = None,
    state: State | None = None,
    tested: Admissible | None = None,
    chooser: Chooser | None = None,
    explorer: Boltzmann | None = None,
) -> Rollout:
    """A rollout of a policy that plays a task by its own rules, from a state (default: the initial state) to a goal
    (default: the task's).

    `tested` is what has been tested before in the task; dead ends are those of its goal. A `chooser` orders candidates
    in another way than by their Q-values alone. An `explorer` draws the jumps,
    with all goals in sight: then no goal is taken for its own sake, and the rollout goes into dead ends and ends there,
    to learn from them.
    """
    spec = policy.play_spec
    start = task.initial_state if state is None else state
    whole = task.goal if goal is None else goal
    return Rollout(
        task,
        start,
        explorer or chooser or Greedy(),
        Admissible(task, whole, spec, explores=explorer is not None, tested=tested),
        take_goals=spec.take_goals and explorer is None,
        goals_in_sight=GoalsInSight.of(spec, whole, start) if explorer is None else None,
    )


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
