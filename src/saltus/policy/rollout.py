"""Stage `policy`: the loop. At every state a tree, a Q-value for each of its states, and a jump to one of them.

`Rollout` is one trajectory as a machine: it asks for a decision and takes a step. `rollout` runs one rollout as a
generator, `run_rollouts` many side by side, so that the network sees all of their trees at once. Training, planning
and benchmarking use the same loop. The paper's section "Testing": states visited before are never jumped to.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from saltus.lookahead import LookaheadSpec, LookaheadTree, Situation, is_dead_end
from saltus.policy.choose import Chooser, Greedy
from saltus.task import Action, Goal, State, Task


@dataclass(frozen=True, eq=False)
class Decision:
    """A tree and the Q-values of its states."""

    tree: LookaheadTree
    q: NDArray[np.float32] = field(repr=False)
    """[nodes - 1]: of node i + 1."""


class Policy(Protocol):
    """Whatever scores the states of lookahead trees."""

    @property
    def lookahead(self) -> LookaheadSpec:
        """Trees it wants."""

    def decide(self, situations: Sequence[Situation]) -> list[Decision]:
        """A decision for every situation."""


class Ending(StrEnum):
    """Why a rollout ended."""

    SOLVED = "solved"
    DEAD_END = "dead end"
    """The state has no successor, or the goal is out of reach from it and the rollout was to end there."""
    PROVEN_DEAD_END = "proven dead end"
    """The goal is out of reach from the state and all others that can be reached."""
    STUCK = "stuck"
    """Every state of the tree was visited before, or is a dead end that was avoided."""


class DeadEndRule(StrEnum):
    """What a rollout does about states from which the goal is out of reach even for actions that delete nothing."""

    IGNORE = "ignore"
    AVOID = "avoid"
    """Does not jump there; ends once it is in one."""
    END = "end"
    """Ends there: to learn from."""

    @classmethod
    def when_playing(cls, spec: LookaheadSpec) -> DeadEndRule:
        """What a policy with such a lookahead does when it plays."""
        return cls.AVOID if spec.dead_ends == "relaxed" else cls.IGNORE

    @classmethod
    def when_exploring(cls, spec: LookaheadSpec) -> DeadEndRule:
        """What it does when it explores."""
        return cls.END if spec.dead_ends == "relaxed" else cls.IGNORE


MAX_DEAD_ENDS = 100
"""Dead ends that one decision may find; the next candidate is jumped to unseen. A test takes tenths of a second
on the largest problems (once some seconds, to ground actions), and policies that were trained with dead ends put few of
them first."""


@dataclass(frozen=True, eq=False)
class Step:
    """One jump."""

    state: State
    tree: LookaheadTree = field(repr=False)
    q: NDArray[np.float32] = field(repr=False)
    node: int
    """Node of the tree jumped to."""
    successor: State
    solved: bool
    """Whether the successor satisfies the goal."""

    @property
    def actions(self) -> list[Action]:
        """Actions of the jump."""
        return self.tree.path_to(self.node)


class DeadEnds:
    """States of a task from which the goal is seen to be out of reach: asked with `in`, answers remembered by hash."""

    def __init__(self, task: Task, goal: Goal) -> None:
        self.task = task
        self.goal = goal
        self.seconds = 0.0
        """What asking has taken."""
        self._known: dict[int, bool] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, state: State) -> bool:
        key = hash(state)
        known = self._known.get(key)
        if known is None:
            start = time.perf_counter()
            known = self._known[key] = is_dead_end(self.task, state, self.goal)
            self._count += known
            self.seconds += time.perf_counter() - start
        return known


class Rollout:
    """One rollout: `situation` is what must be decided next, `advance` takes the jump, `ending` is set at the end."""

    def __init__(
        self,
        task: Task,
        chooser: Chooser | None = None,
        *,
        goal: Goal | None = None,
        take_goals: bool = True,
        dead_end_rule: DeadEndRule = DeadEndRule.IGNORE,
        dead_ends: DeadEnds | None = None,
    ) -> None:
        self.task = task
        self.goal = task.goal if goal is None else goal
        self.chooser = chooser or Greedy()
        self.take_goals = take_goals
        """Whether a goal state in the tree is jumped to whatever its Q-value."""
        self.dead_end_rule = dead_end_rule
        self.state = task.initial_state
        self.visited = {self.state}
        self.dead_ends = DeadEnds(task, self.goal) if dead_ends is None else dead_ends
        self.jumps = 0
        self.ending: Ending | None = Ending.SOLVED if self.goal.holds(self.state) else None

    @property
    def situation(self) -> Situation:
        """Task, state and goal to decide about."""
        return Situation(self.task, self.state, self.goal)

    def advance(self, decision: Decision) -> Step | None:
        """The jump taken; None where there is none, and the rollout has ended."""
        tree = decision.tree
        found = self._pick(decision)
        if found is None:
            if self.ending is None:
                self.ending = Ending.DEAD_END if len(tree) == 1 and not tree.truncated else Ending.STUCK
            return None
        node, successor = found
        solved = self.goal.holds(successor)
        step = Step(self.state, tree, decision.q, node, successor, solved)
        self.state = successor
        self.visited.add(successor)
        self.jumps += 1
        if solved:
            self.ending = Ending.SOLVED
        elif self.dead_end_rule is DeadEndRule.END and is_dead_end(self.task, successor, self.goal):
            self.ending = Ending.DEAD_END
        return step

    def _pick(self, decision: Decision) -> tuple[int, State] | None:
        tree = decision.tree
        if self.take_goals and len(tree.goal_nodes):
            node = int(tree.goal_nodes[0])
            return node, tree.state_of(node)
        before = len(self.dead_ends)
        for candidate in self.chooser.order(decision.q):
            successor = tree.state_of(candidate + 1)
            if successor in self.visited:
                continue
            is_asked = self.dead_end_rule is DeadEndRule.AVOID and len(self.dead_ends) - before < MAX_DEAD_ENDS
            if not is_asked or successor not in self.dead_ends:
                return candidate + 1, successor
            if len(self.dead_ends) == before + 1 and self.state in self.dead_ends:  # then so is all that follows
                self.ending = Ending.PROVEN_DEAD_END
                return None
        return None


def run_rollout(policy: Policy, rollout: Rollout) -> Iterator[Step]:
    """Jumps of one rollout until it ends; whoever takes them may stop at any time."""
    while rollout.ending is None:
        step = rollout.advance(policy.decide([rollout.situation])[0])
        if step is not None:
            yield step


def run_rollouts(policy: Policy, rollouts: Sequence[Rollout]) -> Iterator[list[tuple[int, Step]]]:
    """Jumps of many rollouts side by side: for every round, the number of each rollout that jumped and its step.

    Which rollouts still go on is asked anew for every round: set `ending` to stop one.
    """
    while running := [i for i, rollout in enumerate(rollouts) if rollout.ending is None]:
        decisions = policy.decide([rollouts[i].situation for i in running])
        steps: list[tuple[int, Step]] = []
        for i, decision in zip(running, decisions, strict=True):
            step = rollouts[i].advance(decision)
            if step is not None:
                steps.append((i, step))
        yield steps
