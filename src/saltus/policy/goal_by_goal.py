"""Stage `policy`: a policy plays the missing goals one at a time, where it loses its way among many.

Takes states to begin with; gives the actions from one of them to the goal. A policy that was trained on problems with
few goals may know how to reach each of them and still wander among hundreds. Here it sees the goals that hold and one
that is missing. Once they all hold, so that one more goal holds than before, the next one comes. A goal that is not
reached within some jumps is left for later, until another one has been reached; if none of them can be, the next state
is begun with. So every state takes a bounded number of jumps. Nothing is random, and nothing depends on the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from saltus.policy.rollout import DeadEndRule, DeadEnds, Decision, Ending, Policy, Rollout
from saltus.policy.sight import MOST_JUMPS, Literal, missing_literals, with_more
from saltus.task import Action, State, Task


@dataclass(frozen=True)
class Beginning:
    """A state to begin with, and the actions that lead to it."""

    state: State
    actions: tuple[Action, ...] = ()


class GoalByGoal:
    """Missing goals one at a time; `run` plays, and `solution` is set at the end if all of them were reached."""

    def __init__(
        self, policy: Policy, task: Task, beginnings: Sequence[Beginning], *, dead_ends: DeadEnds | None = None
    ) -> None:
        self.policy = policy
        self.task = task
        self.beginnings = beginnings
        self.dead_ends = DeadEnds(task, task.goal, policy.lookahead.roles) if dead_ends is None else dead_ends
        """States from which the whole goal is out of reach, which are avoided."""
        self.solution: list[Action] | None = None
        self.states = 0
        """States of all trees so far."""
        self.goals = 0
        """Most goals that held at once when one had been reached."""

    def run(self) -> Iterator[Decision]:
        """Decisions as they are made, until `solution` is set or nothing is left to try; stop at any time."""
        for beginning in self.beginnings:
            yield from self._play(beginning)
            if self.solution is not None:
                return

    def _play(self, beginning: Beginning) -> Iterator[Decision]:
        state, actions = beginning.state, list(beginning.actions)
        given_up: set[Literal] = set()
        while not self.task.goal.holds(state):
            missing = next((one for one in missing_literals(self.task.goal, state) if one not in given_up), None)
            if missing is None:
                return
            rollout = Rollout(
                self.task,
                goal=with_more(self.task.goal, state, [missing]),
                state=state,
                dead_end_rule=DeadEndRule.when_playing(self.policy.lookahead),
                dead_ends=self.dead_ends,
            )
            jumps: list[Action] = []
            while rollout.ending is None and rollout.jumps < MOST_JUMPS:
                decision = self.policy.decide([rollout.situation])[0]
                self.states += len(decision.tree)
                step = rollout.advance(decision)
                if step is not None:
                    jumps += step.actions
                yield decision
            if rollout.ending is Ending.SOLVED:
                state = rollout.state
                actions += jumps
                given_up.clear()
                self.goals = max(self.goals, rollout.goal.size)
            else:
                given_up.add(missing)
        self.solution = actions
