"""Stage `policy`: the policy plays alone: a greedy rollout as a searcher, which ends once it has stalled.

A searcher (`portfolio.py`). Where others may take over, it ends once it has stalled (`stall.py`), and its decisions are
the first nodes of the search around the policy, unless they see a part of the goal only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from saltus.policy.admissible import Admissible
from saltus.policy.choose import Chooser
from saltus.policy.rollout import Decision, Ending, Policy, play
from saltus.policy.search import Change, JumpSearch, SearchNode
from saltus.policy.stall import Stall
from saltus.policy.values import IN_DOUBT
from saltus.task import Action, State, Task


class GreedyRollout:
    """A rollout, decision by decision."""

    def __init__(
        self,
        policy: Policy,
        task: Task,
        tested: Admissible,
        search: JumpSearch | None = None,
        *,
        chooser: Chooser | None = None,
    ) -> None:
        """`search` takes the rollout's decisions as its first nodes; without one, the rollout never stalls. With a
        `chooser` it is not greedy."""
        self.policy = policy
        self.task = task
        self.rollout = play(policy, task, tested=tested, chooser=chooser)
        self.search = search
        self.stall = Stall.of(task)
        self.actions: list[Action] = []
        """Those of all jumps so far."""
        self.work = 0
        self.goals = task.goal.count(task.initial_state)
        self.furthest: tuple[State, int] | None = None
        """The state with the most goals, and the number of actions that lead there; None if no state has more than the
        first."""
        self.has_all_successors = False
        """Whether the last decision's tree held every successor."""
        self._last: tuple[SearchNode | None, list[Action]] = None, []

    @property
    def solution(self) -> list[Action] | None:
        """The actions to the goal, once it is reached."""
        return self.actions if self.rollout.ending is Ending.SOLVED else None

    @property
    def next_work(self) -> int:
        """Unknown."""
        return 0

    @property
    def sees_all(self) -> bool:
        """Whether all goals are in sight; values for different goals do not compare."""
        return self.rollout.goals_in_sight is None

    @property
    def has_stalled(self) -> bool:
        """Whether it has made no progress for long."""
        return self.search is not None and self.stall.has_stalled

    @property
    def is_in_doubt(self) -> bool:
        """Whether it is time for others to play, too."""
        return self.search is not None and self.stall.stretch >= IN_DOUBT

    @property
    def undecided(self) -> tuple[SearchNode | None, State, list[Action]] | None:
        """Where the rollout is if it has not ended: a search node, and the state and the actions of the jump from it;
        None if search nodes see other goals."""
        if self.rollout.ending is not None or not self.sees_all:
            return None
        return self._last[0], self.rollout.state, self._last[1]

    @property
    def best_nodes(self) -> list[SearchNode]:
        """The search nodes of its best decisions, if it has stalled."""
        if self.search is None or not self.has_stalled or not self.sees_all:
            return []
        return [self.search.nodes[number] for number in self.stall.best_decisions]

    def run(self) -> Iterator[Decision]:
        """Decisions as they are made, until the rollout has ended or stalled."""
        node: SearchNode | None = None
        jump: list[Action] = []
        change: Change | None = None
        while self.rollout.ending is None and not self.has_stalled:
            decision = self.policy.decide([self.rollout.situation])[0]
            tree = decision.tree
            self.work += len(tree)
            if self.search is not None:
                best = float(decision.q.max(initial=-math.inf)) if self.sees_all else -math.inf
                self.stall.see(self._goals_of(decision, 0), best)
                if self.sees_all:
                    node = self.search.add(decision, node, jump, change)
            self.has_all_successors = tree.has_all_successors
            step = self.rollout.advance(decision)
            goals = self._goals_of(decision, 0 if step is None else step.node)
            if step is not None:
                jump, change = step.actions, tree.change_to(step.node)
                self.actions += jump
            self._last = node, jump
            if goals > self.goals:
                self.goals, self.furthest = goals, (self.rollout.state, len(self.actions))
            yield decision

    def _goals_of(self, decision: Decision, node: int) -> int:
        """Goals of the whole that hold in a node of a decision's tree, which is the rollout's state."""
        return int(decision.tree.goals[node]) if self.sees_all else self.task.goal.count(self.rollout.state)
