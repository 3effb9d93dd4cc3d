"""Which moves are free in the domains that come with Saltus."""

from __future__ import annotations

import pytest

from saltus.domains.generated import generated_task
from saltus.domains.registry import DOMAINS
from saltus.lookahead.free_groups import move_schemas
from saltus.lookahead.free_moves import find_free_moves

FREE = {
    "childsnack": [("at", ["move_tray"])],
    "delivery": [("at", ["move"])],
    "depots": [("at", ["drive"])],
    "driverlog": [("at", ["drive-truck"]), ("at", ["walk"])],
    "ferry": [("at-ferry", ["sail"])],
    "floortile": [("robot-has", ["change_color"])],
    "goldminer": [("robot-at", ["move"])],
    "grid": [("at-robot", ["move"])],
    "grippers": [("at-robby", ["move"])],
    "logistics": [("at", ["drive-truck"]), ("at", ["fly-airplane"])],
    "miconic": [("lift-at", ["up", "down"])],
    "reward": [("at", ["move"])],
    "rovers": [("at", ["navigate"])],
    "satellite": [("pointing", ["turn_to"])],
    "satellite-paper": [("pointing", ["turn_to"])],
    "sokoban": [("at-robot", ["move"])],
    "transport": [("at", ["drive"])],
}
"""Predicates and schemas of the groups; the other domains have none."""


@pytest.mark.parametrize("name", DOMAINS)
def test_free_moves_are_found_without_any_annotation(name: str) -> None:
    task = generated_task(name, "training", 4, 10, 3)
    moves = find_free_moves(task)
    found = [
        (task.domain.predicates[group.predicate].name, [task.schemas[move.schema].name for move in group.moves])
        for group in (moves.groups if moves else ())
    ]
    assert found == FREE.get(name, [])
    assert moves is None or all(moves.agents(task, task.initial_state))


def test_a_one_way_walk_is_a_move_but_not_free() -> None:
    task = generated_task("spanner", "training", 4, 10, 3)
    assert [task.schemas[number].name for number in move_schemas(task)] == ["walk"]
    assert find_free_moves(task) is None
