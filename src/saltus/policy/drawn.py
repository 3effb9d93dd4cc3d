"""Stage `policy`: the policy plays again from the start, with jumps that are drawn.

Where many goals hinder each other, one unlucky jump may shut off a goal, which shows long after it. Values of a policy
differ little among jumps that are about as good, so a rollout that draws among these is another try, hardly worse than
the greedy one. A searcher (`portfolio.py`): try after try, each given up after as many jumps without more goals as put
a rollout in doubt. Draws come from the number of the try alone: the same call gives the same plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np

from saltus.policy.admissible import Admissible
from saltus.policy.choose import Boltzmann
from saltus.policy.greedy import GreedyRollout
from saltus.policy.rollout import Decision, Policy
from saltus.policy.stall import Stall
from saltus.policy.values import IN_DOUBT, TEMPERATURES
from saltus.task import Action, Task


class DrawnRollouts:
    """Rollouts, decision by decision, until one reaches the goal."""

    def __init__(self, policy: Policy, task: Task, tested: Admissible) -> None:
        self.policy = policy
        self.task = task
        self.tested = tested
        self.solution: list[Action] | None = None
        self.work = 0
        self.next_work = 0
        self.goals = 0
        """Most goals that held at once."""

    def run(self) -> Iterator[Decision]:
        """Decisions as they are made; without end where no try succeeds."""
        for number in count():
            yield from self._try(Boltzmann(TEMPERATURES[number % len(TEMPERATURES)], np.random.default_rng(number)))
            if self.solution is not None:
                return

    def _try(self, chooser: Boltzmann) -> Iterator[Decision]:
        """One rollout, as long as it reaches more goals than before now and then."""
        rollout, stall = GreedyRollout(self.policy, self.task, self.tested, chooser=chooser), Stall.of(self.task)
        for decision in rollout.run():
            self.work += len(decision.tree)
            self.goals = max(self.goals, rollout.goals)
            self.solution = rollout.solution
            yield decision
            stall.see(rollout.goals, -np.inf)
            if stall.stretch >= IN_DOUBT:
                return
