"""Tasks without some of their objects: what can be done there can be done in the whole, and nothing else changes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples
from tests.random_moves import random_move_task
from tests.random_tasks import random_task
from tests.tasks import domain_of, rich_task, task_of
from tests.twins.actions import applicable, successor

from saltus.task import State, Task
from saltus.task.part import Part, can_be_parted, part_of


def walked(task: Task, rng: random.Random) -> State:
    """A state some random actions away."""
    state = task.initial_state
    for _ in range(rng.randrange(5)):
        actions = sorted(applicable(task, state))
        if not actions:
            break
        state = successor(task, state, rng.choice(actions))
    return state


def names(task: Task, state: State) -> set[str]:
    return {task.atom_name(code) for code in state}


def random_part(task: Task, rng: random.Random) -> tuple[Part, set[str]]:
    """A part of the task, and the names of what was put away."""
    wanted = {
        number
        for codes in (task.goal.positive, task.goal.negative)
        for code in codes
        for number in task.decode(code)[1:]
    }
    spare = [number for number in range(len(task.domain.constants), len(task.objects)) if number not in wanted]
    put_away = rng.sample(spare, rng.randint(0, len(spare)))
    kept = np.array([number for number in range(len(task.objects)) if number not in put_away], np.int32)
    return part_of(task, kept), {task.objects[number] for number in put_away}


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_what_can_be_done_in_a_part_can_be_done_in_the_whole(seed: int, moves: bool) -> None:
    task = random_move_task(seed, tiny=True) if moves else random_task(seed)
    if not can_be_parted(task):
        return
    rng = random.Random(seed)
    state = walked(task, rng)
    part, gone = random_part(task, rng)
    small, seen, goal = part.task, part.state_of(state), part.goal_of(task.goal)
    assert set(small.objects) == set(task.objects) - gone
    assert [task.objects[number] for number in part.numbers] == list(small.objects)
    there = {atom for atom in names(task, state) if gone.isdisjoint(atom.strip("()").split()[1:])}
    assert names(small, seen) == there
    assert {small.atom_name(code) for code in goal.positive} == {task.atom_name(code) for code in task.goal.positive}
    assert {small.atom_name(code) for code in goal.negative} == {task.atom_name(code) for code in task.goal.negative}
    assert small.static_codes == {
        small.atom(task.atom_name(code))
        for code in task.static_codes
        if gone.isdisjoint(task.atom_name(code).strip("()").split()[1:])
    }
    possible = set(applicable(task, state))
    mapped = {part.action_of_whole(action): action for action in applicable(small, seen)}
    about_others = {action for action in possible if gone & {task.objects[number] for number in action.arguments}}
    assert set(mapped) == possible - about_others
    for action, own in mapped.items():
        after, after_there = (
            names(task, successor(task, state, action)),
            names(small, successor(small, seen, own)),
        )
        assert after - after_there == names(task, state) - there  # what is away stays as it is
        assert after_there <= after


def test_some_random_tasks_can_be_parted() -> None:
    assert sum(can_be_parted(random_task(seed)) for seed in range(40)) > 10


SEALED = """(define (domain sealed) (:requirements :adl) (:predicates (open ?x) (done ?x))
  (:action close :parameters (?x) :precondition (open ?x) :effect (not (open ?x)))
  (:action seal :parameters (?x) :precondition CONDITION :effect EFFECT))"""


@pytest.mark.parametrize(
    ("condition", "effect", "wanted"),
    [
        ("(not (open ?x))", "(done ?x)", True),
        ("(or (not (open ?x)) (done ?x))", "(done ?x)", True),
        ("(not (open ?x))", "(when (open ?x) (done ?x))", True),
        ("(forall (?y) (not (open ?y)))", "(done ?x)", False),
        ("(or (forall (?y) (not (open ?y))) (done ?x))", "(done ?x)", False),
        ("(exists (?y) (open ?y))", "(done ?x)", False),
        ("(open ?x)", "(forall (?y) (done ?y))", False),
        ("(open ?x)", "(when (forall (?y) (open ?y)) (done ?x))", False),
    ],
)
def test_what_ranges_over_all_objects_cannot_be_parted(condition: str, effect: str, wanted: bool) -> None:
    domain = SEALED.replace("CONDITION", condition).replace("EFFECT", effect)
    problem = "(define (problem p) (:domain sealed) (:objects a b) (:init (open a) (open b)) (:goal (and (done a))))"
    assert can_be_parted(task_of(domain_of(domain), problem)) == wanted


def test_axioms_and_goals_that_are_formulas_cannot_be_parted() -> None:
    assert not can_be_parted(rich_task())
    domain = SEALED.replace("CONDITION", "(open ?x)").replace("EFFECT", "(done ?x)")
    goal = (
        "(define (problem p) (:domain sealed) (:objects a b) (:init (open a) (open b)) (:goal (or (done a) (done b))))"
    )
    assert not can_be_parted(task_of(domain_of(domain), goal))
