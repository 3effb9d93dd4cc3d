"""Whether a watchdog helps a policy that wanders: after so many jumps without a new best number of goals, it jumps to
the best of the tree's states that reach more goals than ever before, whatever better Q-values others have.

    python experiments/2026-11-15-ipc2023/watchdog.py sokoban POLICY [--split medium] [--count 6] [--patience 5 20]

Generated problems; a line a problem and patience ("never" is the policy alone).
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from saltus.domains.generated import generated_task
from saltus.domains.registry import DOMAINS
from saltus.policy import Admissible, Decision, Greedy, Planner, Rollout, load_policy
from saltus.task import State, Task

MOST_ASKED = 100
"""States with more goals that are asked for being new and no dead end."""


class WatchedRollout(Rollout):
    """A rollout with a watchdog."""

    def __init__(self, policy: Planner, task: Task, patience: int | None) -> None:
        admissible = Admissible(task, task.goal, policy.play_spec)
        super().__init__(task, task.initial_state, Greedy(), admissible, take_goals=True, goals_in_sight=None)
        self.patience = patience
        self.most_goals = -1
        self.waited = 0
        self.barks = 0

    def _pick(self, decision: Decision) -> tuple[int, State] | None:
        tree = decision.tree
        self.waited += 1
        if tree.goals[0] > self.most_goals:
            self.most_goals, self.waited = int(tree.goals[0]), 0
        if self.patience is not None and self.waited > self.patience and not len(tree.goal_nodes):
            better = np.flatnonzero(tree.goals[1:] > self.most_goals)
            for candidate in better[np.argsort(-decision.q[better], kind="stable")][:MOST_ASKED]:
                node = int(candidate) + 1
                state = tree.state_of(node)
                if not self.admissible.is_visited(tree, state) and state not in self.admissible.dead_ends:
                    self.barks += 1
                    return node, state
        return super()._pick(decision)


def main() -> None:
    """Prints the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domain", choices=sorted(DOMAINS))
    parser.add_argument("policy")
    parser.add_argument("--split", default="medium")
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--first", type=int, default=3, help="problems tried of them, the smallest ones")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--patience", type=int, nargs="+", default=[5, 20])
    parser.add_argument("--jumps", type=int, default=400)
    options = parser.parse_args()
    policy = load_policy(options.policy)
    for index in range(options.first):
        task = generated_task(options.domain, options.split, index, options.count, options.seed)
        for patience in [None, *options.patience]:
            rollout = WatchedRollout(policy, task, patience)
            start = time.monotonic()
            while rollout.ending is None and rollout.jumps < options.jumps:
                rollout.advance(policy.decide([rollout.situation])[0])
            goals = f"{max(0, rollout.most_goals)} of {len(task.goal.positive)} goals"
            print(
                f"{len(task.objects)} objects, patience {patience or 'never'}: {rollout.ending or 'wanders'}, {goals}, "
                f"{rollout.jumps} jumps, {rollout.barks} by the watchdog, {time.monotonic() - start:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
