"""Stage `lookahead`: what a jump costs. Tree and node in, a number out, in the unit that a policy's Q-values count.

The paper counts jumps: each costs 1, however long it is. `actions` counts the actions of a jump, `costs` adds up their
costs. Learning (rewards, bounds, the value of dead ends, exploration) expects jumps that cost about 1, so costs are
divided by `scale`, the mean cost of a jump where the policy was trained. A constant per jump is added: otherwise many
short jumps would be as good as one long jump, and jumps of free actions could go round in circles for nothing. Whatever
adds costs to Q-values, such as the search around a policy, uses the policy's own `JumpCost`, which its file holds.
`learn/experience.py` makes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from saltus.errors import ConfigurationError
from saltus.lookahead.tree import LookaheadTree
from saltus.lookahead.values import SAMPLED_NODES
from saltus.task import Action, Task

UNITS = {"jumps": "jumps", "actions": "actions", "costs": "action costs"}
"""Units of cost, and what they count in words."""


@dataclass(frozen=True)
class JumpCost:
    """The cost of jumps. Invalid values are refused with the name of the field."""

    unit: str = "jumps"
    """One of `UNITS`."""
    scale: float = 1.0
    """Number of units that count as 1."""
    per_jump: float = 0.0
    """What a jump costs in addition, in multiples of `scale`."""

    def __post_init__(self) -> None:
        if not isinstance(self.unit, str) or self.unit not in UNITS:
            raise ConfigurationError(f"cost: unit is {self.unit!r}, expected one of {', '.join(UNITS)}")
        if not 0 < self.scale < math.inf:
            raise ConfigurationError(f"cost: scale is {self.scale}, expected a finite number above 0")
        if not 0 <= self.per_jump < math.inf:
            raise ConfigurationError(f"cost: per_jump is {self.per_jump}, expected a finite number from 0 on")

    def of(self, tree: LookaheadTree, node: int) -> float:
        """Cost of the jump from the root of a tree to a node."""
        if self.unit == "costs":
            return self.of_actions(tree.task, tree.path_to(node))
        return self._of_units(float(tree.length[node]) if self.unit == "actions" else 1.0)

    def of_actions(self, task: Task, actions: Sequence[Action]) -> float:
        """Cost of the jump that these actions make up."""
        if self.unit == "costs":
            return self._of_units(sum(task.action_cost(action) for action in actions))
        return self._of_units(float(len(actions)) if self.unit == "actions" else 1.0)

    def _of_units(self, units: float) -> float:
        return units / self.scale + self.per_jump

    @property
    def counted(self) -> str:
        """What it counts, in words."""
        extra = f", and {self.per_jump * self.scale:.3g} per jump" if self.per_jump else ""
        return UNITS[self.unit] + extra


JUMPS: JumpCost = JumpCost()
"""The paper's cost: 1 per jump."""


def mean_cost(trees: Iterable[LookaheadTree], unit: str) -> float:
    """Mean over the trees of the mean cost of a jump, in whole units; 1 if there is no jump or all of them are free.

    Of a large tree, some evenly spread nodes are averaged. Nothing is random, and every tree has the same weight.
    """
    means: list[float] = []
    for tree in trees:
        last = len(tree) - 1
        nodes = np.unique(np.linspace(1, last, min(last, SAMPLED_NODES)).astype(np.int64)).tolist()
        if nodes and unit == "costs":
            paths = [tree.path_to(node) for node in nodes]
            means.append(sum(tree.task.action_cost(action) for path in paths for action in path) / len(nodes))
        elif nodes:
            means.append(float(tree.length[nodes].mean()) if unit == "actions" else 1.0)
    return sum(means) / len(means) if any(means) else 1.0
