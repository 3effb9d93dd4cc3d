"""Stage `graph`: what is encoded. A query is a tree and the goal to see it with; None means the tree's own goal."""

from __future__ import annotations

from typing import TypeAlias

from saltus.errors import ConfigurationError
from saltus.graph.encodings import EncodingSpec
from saltus.lookahead import LookaheadTree
from saltus.lookahead.view import visible_goal
from saltus.task import Goal

Query: TypeAlias = tuple[LookaheadTree, Goal | None]


def resolve(query: Query, spec: EncodingSpec) -> tuple[LookaheadTree, Goal]:
    """The tree that is encoded, with its visible objects alone, and the goal it is seen with.

    Goals and trees that the encoding cannot express are refused.
    """
    whole, goal = query
    tree = whole.encoded
    if goal is None:
        goal = tree.goal
    elif whole.small is not None:
        goal = visible_goal(whole, goal)
    if len(goal.negative) and not spec.negative_goals:
        atom = tree.task.atom_name(int(goal.negative[0]))
        raise ConfigurationError(
            f"encoding: the goal has negated literals such as (not {atom}); set negative_goals to encode them"
        )
    spec.check_lookahead(tree.spec.kind)
    return tree, goal
