"""What jumps cost, worked out by hand: jumps, actions, action costs."""

from __future__ import annotations

import pytest
from tests.policy.test_rollout import chain
from tests.tolls import toll_road, toll_roads

from saltus.errors import ConfigurationError
from saltus.lookahead import JUMPS, UNITS, JumpCost, TreeSpec, lookahead
from saltus.lookahead.cost import mean_cost
from saltus.lookahead.values import SAMPLED_NODES

IW = TreeSpec(kind="iw")


@pytest.mark.parametrize(
    ("cost", "wanted"),
    [
        (JUMPS, [1.0, 1.0, 1.0]),
        (JumpCost("actions"), [1.0, 2.0, 3.0]),
        (JumpCost("actions", scale=2.0, per_jump=0.25), [0.75, 1.25, 1.75]),
        (JumpCost("costs"), [4.0, 4.0, 9.5]),
        (JumpCost("costs", scale=4.0, per_jump=0.5), [1.5, 1.5, 2.875]),
    ],
)
def test_the_cost_of_a_jump(cost: JumpCost, wanted: list[float]) -> None:
    """A jump of three actions costs 1, 3, or their tolls; from a tree and from the actions alone."""
    tree = lookahead(toll_road([4, 0, 5.5]), spec=IW)
    assert [tree.length[node] for node in (1, 2, 3)] == [1, 2, 3]
    assert [cost.of(tree, node) for node in (1, 2, 3)] == wanted
    assert [cost.of_actions(tree.task, tree.path_to(node)) for node in (1, 2, 3)] == wanted


def test_without_a_metric_actions_cost_1() -> None:
    tree = lookahead(toll_road([4, 0, 5.5], metric=False), spec=IW)
    assert [JumpCost("costs").of(tree, node) for node in (1, 2, 3)] == [1.0, 2.0, 3.0]


def test_the_mean_jump_costs_1() -> None:
    task = toll_road([4, 0, 5.5, 0])
    trees = [lookahead(task, spec=IW), lookahead(chain(3, goal=2), spec=IW)]
    assert mean_cost(trees, "jumps") == 1.0
    assert mean_cost(trees, "actions") == ((1 + 2 + 3 + 4) / 4 + (1 + 2) / 2) / 2
    assert mean_cost(trees, "costs") == ((4 + 4 + 9.5 + 9.5) / 4 + (1 + 2) / 2) / 2
    tree = trees[0]
    cost = JumpCost("costs", mean_cost([tree], "costs"))
    assert sum(cost.of(tree, node) for node in range(1, 5)) / 4 == pytest.approx(1.0)


def test_of_a_large_tree_some_nodes_are_averaged() -> None:
    tree = lookahead(toll_road([1] * 1000), spec=IW)
    assert len(tree) > 4 * SAMPLED_NODES
    assert mean_cost([tree], "actions") == pytest.approx(500.5, rel=0.01)


@pytest.mark.parametrize("unit", UNITS)
def test_the_mean_of_free_or_no_jumps_is_1(unit: str) -> None:
    assert mean_cost([lookahead(toll_roads("a-b:1", "b", "a"), spec=IW)], unit) == 1.0
    assert mean_cost([], unit) == 1.0
    assert mean_cost([lookahead(toll_road([0, 0]), spec=IW)], "costs") == 1.0


def test_in_words() -> None:
    assert [JumpCost(unit).counted for unit in UNITS] == ["jumps", "actions", "action costs"]
    assert JumpCost("actions", scale=3.0, per_jump=0.5).counted == "actions, and 1.5 per jump"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"unit": "steps"}, "cost: unit is 'steps', expected one of jumps, actions, costs"),
        ({"unit": None}, "cost: unit is None"),
        ({"scale": 0.0}, "cost: scale is 0.0, expected a finite number above 0"),
        ({"scale": float("nan")}, "cost: scale is nan"),
        ({"scale": float("inf")}, "cost: scale is inf"),
        ({"per_jump": -1.0}, "cost: per_jump is -1.0, expected a finite number from 0 on"),
        ({"per_jump": float("inf")}, "cost: per_jump is inf"),
    ],
)
def test_invalid_values_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        JumpCost(**values)  # type: ignore[arg-type]
    assert message in str(caught.value)
