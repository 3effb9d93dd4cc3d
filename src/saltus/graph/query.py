"""Stage `graph`: what is encoded. A query is a tree and the goal it is looked at with, None for the tree's own."""

from __future__ import annotations

from typing import TypeAlias

from saltus.errors import ConfigurationError
from saltus.graph.spec import EncodingSpec
from saltus.lookahead import LookaheadTree
from saltus.task import Goal

Query: TypeAlias = tuple[LookaheadTree, Goal | None]


def goal_of(query: Query, spec: EncodingSpec) -> Goal:
    """Goal of a query; what the encoding cannot express is refused."""
    tree, goal = query
    goal = tree.goal if goal is None else goal
    if len(goal.negative) and not spec.negative_goals:
        atom = tree.task.atom_name(int(goal.negative[0]))
        raise ConfigurationError(f"encoding: the goal has negated literals, (not {atom}); they need negative_goals")
    if spec.kind == "aa" and tree.spec.kind != "flat":
        raise ConfigurationError(f"encoding: aa is for flat lookaheads, this tree's kind is {tree.spec.kind}")
    return goal
