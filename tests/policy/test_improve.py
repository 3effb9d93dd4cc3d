"""Improvement of plans: loops, redundant actions, shortcuts. Costs decrease, and every plan stays valid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy.test_rollout import CHAIN, blocks
from tests.tasks import domain_of, rich_task, task_of

from saltus.domains import DOMAINS, generate_problem
from saltus.lookahead import TreeSpec, applicable_actions, lookahead, successor_state
from saltus.policy import GoalCountPolicy, Limits, RandomPolicy, plan_stepwise
from saltus.policy.improve import (
    TREES,
    _atoms_hash,
    _node_hashes,
    improvements,
    plan_cost,
    shortcuts,
)
from saltus.policy.planning import plan_of
from saltus.policy.tidy import plan_states
from saltus.task import Action, Task, validate

COSTS = """(define (domain roads) (:requirements :action-costs) (:predicates (at ?x) (road ?x ?y) (seen ?x))
  (:functions (total-cost) (length ?x ?y))
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (road ?x ?y))
   :effect (and (at ?y) (not (at ?x)) (seen ?y) (increase (total-cost) (length ?x ?y)))))"""


def actions_of(task: Task, *texts: str) -> list[Action]:
    """The actions with these names, given without parentheses."""
    return [task.action(text) for text in texts]


def random_walk(task: Task, steps: int, seed: int) -> list[Action]:
    """The actions of a walk from the initial state."""
    rng = np.random.default_rng(seed)
    state, actions = task.initial_state, []
    for _ in range(steps):
        found = applicable_actions(task, state)
        if not found:
            break
        actions.append(found[int(rng.integers(len(found)))])
        state = successor_state(task, state, actions[-1])
    return actions


def test_a_shortcut_through_a_tree() -> None:
    """The plan walks around a ring the long way."""
    names = [f"n{i}" for i in range(8)]
    ring = " ".join(f"(next {a} {b}) (next {b} {a})" for a, b in zip(names, names[1:] + names[:1], strict=True))
    task = task_of(
        domain_of(CHAIN),
        f"(define (problem c) (:domain chain) (:objects {' '.join(names)}) (:init (at n0) {ring}) (:goal (at n6)))",
    )
    walk = actions_of(task, *(f"go n{i} n{i + 1}" for i in range(6)))
    assert list(improvements(task, walk)) == [actions_of(task, "go n0 n7", "go n7 n6")]


def test_shortcuts_count_costs_not_steps() -> None:
    """a-g costs 9 and a-b-c-g costs 3: the longer plan is better, and the direct road is not a shortcut."""
    lengths = {("a", "g"): 9, ("a", "b"): 1, ("b", "c"): 1, ("c", "g"): 1}
    roads = " ".join(f"(road {x} {y}) (= (length {x} {y}) {n})" for (x, y), n in lengths.items())
    task = task_of(
        domain_of(COSTS),
        f"(define (problem r) (:domain roads) (:objects a b c g) (:init (at a) (= (total-cost) 0) {roads})"
        " (:goal (at g)) (:metric minimize (total-cost)))",
    )
    long = actions_of(task, "go a b", "go b c", "go c g")
    direct = actions_of(task, "go a g")
    assert (plan_cost(task, long), plan_cost(task, direct)) == (3.0, 9.0)
    assert list(improvements(task, long)) == []
    assert list(shortcuts(task, direct, TREES[1])) == []  # the tree reaches g by a-g first


@pytest.mark.parametrize(
    ("name", "seed"), [("delivery", 0), ("grid", 0), ("driverlog", 1), ("transport", 2), ("rovers", 3)]
)
def test_better_plans_of_real_problems(name: str, seed: int) -> None:
    task = task_of(domain_of(DOMAINS[name].path.read_text()), generate_problem(name, "training", 3, 10, seed))
    policy = GoalCountPolicy(np.random.default_rng(0))
    found = [
        moment
        for moment in plan_stepwise(policy, task, Limits(max_jumps=2000), search=False, improve=True)
        if moment.plan is not None
    ]
    costs = [moment.cost for moment in found]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]
    for moment in found:
        verdict = validate(task, moment.plan)
        assert (verdict.valid, verdict.cost) == (True, moment.cost)
    assert {moment.seconds_plan for moment in found} == {found[0].seconds_plan}


@settings(max_examples=25)
@given(st.integers(3, 7), st.integers(0, 1000))
def test_improved_plans_are_valid_and_cheaper(count: int, seed: int) -> None:
    task = blocks(count, seed)
    start = RandomPolicy(np.random.default_rng(seed)).solve(task, Limits(max_jumps=300))
    if start.plan is None:
        return
    cost = start.cost
    for actions in improvements(task, [task.action(" ".join(step)) for step in start.plan.steps]):
        verdict = validate(task, plan_of(task, actions))
        assert verdict.valid
        assert verdict.cost < cost
        cost = verdict.cost


def test_time_stops_the_improvement() -> None:
    task = blocks(8, 1)
    walk = random_walk(task, 50, 1)
    other = replace(task, goal=task.make_goal(plan_states(task, walk)[-1].codes.tolist()))
    assert list(improvements(other, walk, expired=lambda: True)) == []
    assert list(improvements(other, walk))


def test_hashes_of_nodes_are_those_of_their_states() -> None:
    for task in (blocks(7, 2), rich_task()):
        tree = lookahead(task, spec=TreeSpec(kind="iw"))
        hashes = _node_hashes(tree)
        states = [tree.state_of(node) for node in range(len(tree))]
        assert [int(value) for value in hashes] == [int(_atoms_hash(state.codes)) for state in states]
        assert len(set(hashes.tolist())) == len(set(states))
