"""Plans without loops and redundant actions: known answers, and the kernel's against the twin's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples
from tests.policy.test_improve import actions_of, random_walk
from tests.policy.test_rollout import chain
from tests.tasks import domain_of, rich_task, task_of

from saltus import _kernel
from saltus.domains import DOMAINS, generate_problem
from saltus.lookahead import applicable_actions, successor_state
from saltus.policy import GoalCountPolicy, Limits, plan_stepwise
from saltus.policy.planning import plan_of
from saltus.policy.tidy import (
    _Listed,
    drop_loops,
    drop_redundant,
    plan_states,
    tidied,
    without_loops,
    without_redundant,
)
from saltus.task import Action, Task, validate

pytestmark = pytest.mark.kernel

NAMES = ("blocksworld", "transport", "grippers", "childsnack", "sokoban", "freecell")
"""Domains with and without negative preconditions, one with dead ends, one with costs."""


def test_loops_are_removed() -> None:
    task = chain(5, goal=2)
    walk = actions_of(task, "go n0 n1", "go n1 n0", "go n0 n1", "go n1 n2", "go n2 n3", "go n3 n2")
    assert drop_loops(task, walk) == actions_of(task, "go n0 n1", "go n1 n2")


def test_actions_after_the_goal_are_removed_even_without_a_loop() -> None:
    task = chain(5, goal=2)
    walk = actions_of(task, "go n0 n1", "go n1 n2", "go n2 n3")
    assert drop_loops(task, walk) == walk[:2]
    assert drop_loops(chain(3, goal=0), []) == []


def test_redundant_actions_are_removed_with_those_that_need_them() -> None:
    """Moving c to the table is useless; moving a there makes room."""
    text = """(define (problem p) (:domain blocksworld) (:objects a b c)
      (:init (on-table b) (on a b) (clear a) (on-table c) (clear c) (arm-empty)) (:goal (holding b)))"""
    domain = domain_of(DOMAINS["blocksworld"].path.read_text())
    task = task_of(domain, text)
    walk = actions_of(task, "pickup c", "putdown c", "unstack a b", "putdown a", "pickup c", "stack c a", "pickup b")
    assert validate(task, plan_of(task, walk))
    assert drop_redundant(task, walk) == actions_of(task, "unstack a b", "putdown a", "pickup b")
    assert drop_redundant(task, walk, lambda: True) == walk


def test_redundant_actions_with_conditional_and_negative_conditions() -> None:
    """Every plan stays valid on a task with all features; the plans are random walks, their last states the goals."""
    task = rich_task()
    shorter = 0
    for seed in range(30):
        walk = random_walk(task, 12, seed)
        reached = plan_states(task, walk)[-1]
        goal = task.make_goal(list(reached.codes[:2].tolist()))
        other = replace(task, goal=goal)
        kept = drop_redundant(other, walk)
        assert leads_to_the_goal(other, kept)
        shorter += len(kept) < len(walk)
    assert shorter > 20


def walk_to_a_goal(name: str, seed: int, steps: int) -> tuple[Task, list[Action]]:
    """A task whose goal is some of what holds, and does not hold, after a random walk; and the walk."""
    task = task_of(domain_of(DOMAINS[name].path.read_text()), generate_problem(name, "training", 3, 12, seed))
    walk = random_walk(task, steps, seed)
    rng = np.random.default_rng(seed)
    states = plan_states(task, walk)
    end = states[-1].codes
    gone = np.setdiff1d(np.unique(np.concatenate([state.codes for state in states])), states[-1].codes)
    wanted = rng.permutation(end)[: 1 + int(rng.integers(4))]
    unwanted = rng.permutation(gone)[: int(rng.integers(3))]
    return replace(task, goal=task.make_goal(wanted.tolist(), unwanted.tolist())), walk


def leads_to_the_goal(task: Task, actions: list[Action]) -> bool:
    """Whether the actions can be taken one after the other and reach the task's goal, which need not be the file's."""
    state = task.initial_state
    for action in actions:
        assert action in applicable_actions(task, state)
        state = successor_state(task, state, action)
    return task.goal.holds(state)


@settings(max_examples=examples(60), deadline=None)
@given(name=st.sampled_from(NAMES), seed=st.integers(0, 10_000), steps=st.integers(0, 60))
def test_twin(name: str, seed: int, steps: int) -> None:
    task, walk = walk_to_a_goal(name, seed, steps)
    assert drop_loops(task, walk) == without_loops(task, walk)
    assert drop_redundant(task, walk) == without_redundant(task, walk)
    assert leads_to_the_goal(task, tidied(task, walk))


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(NAMES), seed=st.integers(0, 10_000), work=st.integers(0, 3_000))
def test_a_plan_cut_off_by_the_work_is_valid(name: str, seed: int, work: int) -> None:
    task, walk = walk_to_a_goal(name, seed, 40)
    kept = drop_redundant(task, walk, most_work=work)
    assert leads_to_the_goal(task, kept)
    assert len(drop_redundant(task, walk)) <= len(kept) <= len(walk)


def test_long_plans_take_no_time() -> None:
    """Walks to and fro on a chain, 100,000 actions: a quadratic run would look at ten thousand million actions."""
    task = chain(5, goal=2)
    walk = actions_of(task, "go n0 n1", "go n1 n0") * 50_000 + actions_of(task, "go n0 n1", "go n1 n2")
    assert drop_loops(task, walk) == walk[-2:]
    far = chain(30_001, goal=30_000)
    straight = [far.action(f"go n{i} n{i + 1}") for i in range(30_000)]
    assert drop_redundant(far, straight, most_work=2_000_000) == straight


def test_what_does_not_fit_is_refused() -> None:
    task = chain(3, goal=2)
    listed = _Listed(task, actions_of(task, "go n0 n1", "go n1 n2"))
    rest = (listed.initial, listed.goal, listed.unwanted)
    assert _kernel.without_loops(listed.atoms, listed.lists, listed.plan, *rest).tolist() == [0, 1]
    with pytest.raises(ValueError, match="not listed"):
        _kernel.without_loops(listed.atoms, listed.lists, np.array([0, 2], np.int32), *rest)
    with pytest.raises(ValueError, match="atom"):
        _kernel.without_redundant(listed.atoms, listed.lists, listed.plan, *rest[:2], np.array([9], np.int32), 10)
    with pytest.raises(ValueError, match="offsets"):
        _kernel.without_loops(listed.atoms, (listed.lists[0][::-1], *listed.lists[1:]), listed.plan, *rest)


def test_plans_are_tidied_unless_the_policy_plays_alone() -> None:
    task = task_of(domain_of(DOMAINS["delivery"].path.read_text()), generate_problem("delivery", "training", 3, 10, 0))
    alone, searched = (
        list(plan_stepwise(GoalCountPolicy(np.random.default_rng(3)), task, Limits(max_jumps=500), search=search))[-1]
        for search in (False, True)
    )
    assert alone.plan is not None
    assert searched.plan is not None
    assert alone.needless_actions == 0
    assert searched.needless_actions == len(alone.plan.steps) - len(searched.plan.steps) > 0
