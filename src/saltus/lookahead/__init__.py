"""Stage `lookahead`: task, state and goal in, `LookaheadTree` out; and the kernel's other functions of a state.

The kernel does the work (`search.py`, `actions.py`); its slow twin, `tests/twins/lookahead.py`, defines the tree.
"""

from typing import TYPE_CHECKING

from saltus.later import names_later

if TYPE_CHECKING:
    from saltus.lookahead.actions import (
        Conjunction,
        applicable_actions,
        count_actions,
        find_bindings,
        find_colours,
        is_dead_end,
        keeps_goals,
        random_action,
        successor_state,
    )
    from saltus.lookahead.cost import JUMPS, UNITS, JumpCost
    from saltus.lookahead.search import Situation, lookahead, lookahead_batch
    from saltus.lookahead.spec import KINDS, ROOT_SUCCESSORS, PlaySpec, TreeSpec
    from saltus.lookahead.tree import LookaheadTree
else:
    __getattr__ = names_later(
        __name__,
        {
            "actions": "Conjunction applicable_actions count_actions find_bindings find_colours is_dead_end"
            " keeps_goals random_action successor_state",
            "cost": "JUMPS UNITS JumpCost",
            "search": "Situation lookahead lookahead_batch",
            "spec": "KINDS ROOT_SUCCESSORS PlaySpec TreeSpec",
            "tree": "LookaheadTree",
        },
    )

__all__ = [
    "JUMPS",
    "KINDS",
    "ROOT_SUCCESSORS",
    "UNITS",
    "Conjunction",
    "JumpCost",
    "LookaheadTree",
    "PlaySpec",
    "Situation",
    "TreeSpec",
    "applicable_actions",
    "count_actions",
    "find_bindings",
    "find_colours",
    "is_dead_end",
    "keeps_goals",
    "lookahead",
    "lookahead_batch",
    "random_action",
    "successor_state",
]
