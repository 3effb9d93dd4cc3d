"""The search by relaxed plans: the kernel's against its twin, and both against the validator."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples
from tests.grow.test_grow import own_tasks
from tests.grow.test_ways import ASSEMBLED
from tests.random_tasks import random_task
from tests.twins.relaxed_plans import ReferenceSearch, reachable_actions, stays

from saltus.lookahead import is_dead_end
from saltus.lookahead.actions import successor_state
from saltus.policy.planning import plan_of
from saltus.policy.relaxed import can_search, ground_task, relaxed_search
from saltus.task import EQUALITY, Literal, Schema, Task, validate


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_plans_by_relaxed_plans_are_valid(seed: int) -> None:
    task = random_task(seed)
    plan = relaxed_search(task, most_work=200_000).plan
    if plan is not None:
        assert validate(task, plan_of(task, plan)).valid


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_relaxed_plans_exist_unless_the_state_is_a_dead_end(seed: int) -> None:
    task = random_task(seed)
    if not can_search(task):
        return
    ground = ground_task(task)
    if ground is None:
        return
    search = ReferenceSearch(ground)
    state = sum(1 << atom for atom in ground.initial.tolist())
    found = ground.is_reachable and search.relaxed_plan(state, search.goal) is not None
    is_hopeless = is_dead_end(task, task.initial_state, task.goal)
    literals = [literal for schema in task.schemas for literal in schema.precondition]
    if len(task.goal.negative) or any(not stays(task, literal) for literal in literals):
        assert found or is_hopeless  # these plans ignore what must be false
    else:
        assert found != is_hopeless


@pytest.mark.kernel
@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_kernel_grounds_as_its_twin_does(seed: int) -> None:
    """The same actions in the same order, and of each what can be reached among its atoms; as many as are allowed."""
    task = random_task(seed)
    if not can_search(task):
        return
    ground = ground_task(task)
    assert ground is not None
    actions, reached = reachable_actions(task)
    assert ground.codes.tolist() == sorted(reached)
    assert ground.actions(list(range(len(ground.schema)))) == tuple(actions)
    for number in range(len(task.schemas)):
        rows = [list(action.arguments) for action in actions if action.schema == number]
        assert ground.arguments_of(number).tolist() == rows

    def lists(literals: Callable[[Schema], list[Literal]]) -> list[list[int]]:
        codes = [{task.ground(one, own.arguments) for one in literals(task.schemas[own.schema])} for own in actions]
        return [sorted(codes_of & reached) for codes_of in codes]

    def changing(schema: Schema, *, positive: bool) -> list[Literal]:
        some = [one for one in schema.precondition if one.predicate != EQUALITY and task.fluent[one.predicate]]
        return [one for one in some if one.positive == positive]

    expected = [
        lists(lambda schema: changing(schema, positive=True)),
        lists(lambda schema: changing(schema, positive=False)),
        lists(lambda schema: [one for effect in schema.effects for one in effect.adds]),
        lists(lambda schema: [one for effect in schema.effects for one in effect.deletes]),
    ]
    found = [
        [ground.codes[atoms[low:high]].tolist() for low, high in pairwise(offset.tolist())]
        for offset, atoms in (ground.needs, ground.forbids, ground.adds, ground.deletes)
    ]
    assert found == expected
    assert ground_task(task, most_actions=len(actions)) is not None
    assert not actions or ground_task(task, most_actions=len(actions) - 1) is None


@pytest.mark.kernel
@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([3_000, 20_000, 200_000]))
def test_kernel_searches_by_relaxed_plans_as_its_twin_does(seed: int, most_work: int) -> None:
    """The same actions, also where the work runs out; what was reached is where they lead."""
    task = random_task(seed)
    if not can_search(task):
        return
    ground = ground_task(task)
    if ground is None or not ground.is_reachable:
        return
    found = relaxed_search(task, most_work=most_work)
    assert found == ReferenceSearch(ground).run(most_work)
    if found.best is not None:
        state = task.initial_state
        for action in found.way:
            state = successor_state(task, state, action)
        assert state == found.best


@pytest.mark.parametrize("tasks", [ASSEMBLED, own_tasks("depots", 6), own_tasks("sokoban", 4)], ids=str)
def test_kernel_equals_twin_on_real_tasks(tasks: list[Task]) -> None:
    for task in tasks:
        ground = ground_task(task)
        assert ground is not None
        assert relaxed_search(task, most_work=3_000_000) == ReferenceSearch(ground).run(3_000_000)


def test_relaxed_plans_solve_what_goal_counts_do_not() -> None:
    for task in ASSEMBLED:
        plan = relaxed_search(task).plan
        assert plan is not None
        assert validate(task, plan_of(task, plan)).valid
