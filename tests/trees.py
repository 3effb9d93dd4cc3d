"""Lookahead trees, replayed edge by edge."""

from __future__ import annotations

from tests.twins.actions import successor

from saltus.errors import SaltusError
from saltus.lookahead import LookaheadTree
from saltus.task.applicability import is_applicable


def check_valid(tree: LookaheadTree) -> None:
    """Replays every edge with the plain Python successor function; raises a `SaltusError` if something is wrong."""
    states = [tree.root]
    for node in range(1, len(tree)):
        parent = int(tree.parent[node])
        if not 0 <= parent < node or tree.depth[node] != tree.depth[parent] + 1:
            raise SaltusError(f"node {node}: wrong parent {parent} or depth {tree.depth[node]}")
        state = states[parent]
        actions = tree.jump_to(node)
        for action in actions:
            name = tree.task.action_name(action)
            if not is_applicable(tree.task, state, action):
                raise SaltusError(f"node {node}: {name} is not applicable in node {parent}")
            state = successor(tree.task, state, action)
        states.append(state)
        if states[node] != tree.state_of(node):
            raise SaltusError(f"node {node}: the state is not the result of {name} in node {parent}")
        if tree.length[node] != tree.length[parent] + len(actions):
            raise SaltusError(f"node {node}: wrong length {tree.length[node]}")
        satisfied = tree.goal.count(states[node])
        if tree.goals[node] != satisfied:
            raise SaltusError(f"node {node}: {satisfied} goals are satisfied, but {tree.goals[node]} were counted")
