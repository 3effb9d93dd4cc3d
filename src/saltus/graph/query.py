"""Stage `graph`: what is encoded. A query is a tree and the goal to see it with; None means the tree's own goal."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from saltus.errors import ConfigurationError
from saltus.graph.encodings import EncodingSpec
from saltus.lookahead import LookaheadTree
from saltus.task import Goal

Query: TypeAlias = tuple[LookaheadTree, Goal | None]


def levels_of(tree: LookaheadTree, spec: EncodingSpec) -> NDArray[np.int32]:
    """[nodes]: depth of every node in the unit of the encoding's depth nodes."""
    return tree.length if spec.depth_unit == "actions" else tree.depth


def goal_of(query: Query, spec: EncodingSpec) -> Goal:
    """Goal of a query. Goals and trees that the encoding cannot express are refused."""
    tree, goal = query
    goal = tree.goal if goal is None else goal
    if len(goal.negative) and not spec.negative_goals:
        atom = tree.task.atom_name(int(goal.negative[0]))
        raise ConfigurationError(
            f"encoding: the goal has negated literals such as (not {atom}); set negative_goals to encode them"
        )
    spec.check_lookahead(tree.spec.kind)
    return goal
