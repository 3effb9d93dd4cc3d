"""Roles: which objects stand for which, what the small task holds, and what its trees are in the whole task."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.random_moves import random_errands, random_moves
from tests.random_tasks import random_task, random_tasks
from tests.trees import check_valid
from tests.twins import relaxation
from tests.twins.graph import batch
from tests.twins.roles import facts, roles
from tests.twins.roles import project as slow_project

from saltus.errors import ConfigurationError
from saltus.graph import EncodingSpec, Vocabulary, assemble
from saltus.lookahead import PlaySpec, TreeSpec, is_dead_end, lookahead
from saltus.lookahead.actions import applicable_actions, successor_state
from saltus.lookahead.roles import project, project_relaxed
from saltus.lookahead.values import FEW_ATOMS
from saltus.lookahead.view import visible_goal
from saltus.pddl import Source, parse_domain, parse_problem
from saltus.policy import GoalCountPolicy, play, run_rollout
from saltus.policy.planning import plan_of
from saltus.task import Goal, State, Task, build_task, validate

DOMAIN = """
(define (domain carrier)
  (:predicates (place ?p) (parcel ?b) (hand ?h) (here ?p) (at ?b ?p) (free ?h) (holds ?h ?b))
  (:action walk :parameters (?p ?q) :precondition (and (place ?p) (place ?q) (here ?p))
    :effect (and (here ?q) (not (here ?p))))
  (:action take :parameters (?b ?p ?h)
    :precondition (and (parcel ?b) (place ?p) (hand ?h) (at ?b ?p) (here ?p) (free ?h))
    :effect (and (holds ?h ?b) (not (at ?b ?p)) (not (free ?h))))
  (:action put :parameters (?b ?p ?h) :precondition (and (parcel ?b) (place ?p) (hand ?h) (holds ?h ?b) (here ?p))
    :effect (and (at ?b ?p) (free ?h) (not (holds ?h ?b)))))
"""


def carrier(parcels: int) -> Task:
    """Parcels that all have to go from one place to another, and two hands."""
    names = [f"b{i}" for i in range(parcels)]
    problem = (
        f"(define (problem p) (:domain carrier) (:objects x y l r {' '.join(names)})"
        f"(:init (place x) (place y) (hand l) (hand r) (free l) (free r) (here x)"
        f"{' '.join(f'(parcel {name}) (at {name} x)' for name in names)})"
        f"(:goal (and {' '.join(f'(at {name} y)' for name in names)})))"
    )
    domain = parse_domain(Source.from_bytes(DOMAIN.encode(), "domain"))
    return build_task(domain, parse_problem(Source.from_bytes(problem.encode(), "problem"), domain))


def shown_facts(task: Task, state: State, goal: Goal, most: int) -> tuple[list[int], set[object], int] | None:
    found = project(task, state, goal, most)
    if found is None:
        return None
    return found.objects.tolist(), set(facts(found.task, found.state, found.goal)), found.satisfied


def test_a_few_parcels_stand_for_all() -> None:
    task = carrier(50)
    found = project(task, task.initial_state, task.goal, 3)
    assert found is not None
    assert [task.objects[i] for i in found.objects] == ["x", "y", "l", "r", "b0", "b1", "b2"]
    assert (len(found.state), len(found.goal.positive), found.satisfied) == (6, 3, 0)
    assert project(task, task.initial_state, task.goal, 50) is None
    assert project(task, task.initial_state, task.goal, 2**40) is None


def test_parcels_that_waited_move_up() -> None:
    """What is taken has a role of its own; goals that hold are counted even if they are left out."""
    task = carrier(6)
    taken = successor_state(task, task.initial_state, task.action("take b0 x r"))
    found = project(task, taken, task.goal, 2)
    assert found is not None
    assert [task.objects[i] for i in found.objects] == ["x", "y", "l", "r", "b0", "b1", "b2"]
    atoms = [*(f"(at b{i} y)" for i in range(4)), "(at b4 x)", "(at b5 x)", "(free l)", "(free r)", "(here x)"]
    found = project(task, task.state(atoms), task.goal, 1)
    assert found is not None
    assert [task.objects[i] for i in found.objects] == ["x", "y", "l", "b0", "b4"]
    assert found.satisfied == 3
    tree = lookahead(task, task.state(atoms), play=PlaySpec(roles=1))
    assert (int(tree.goals[0]), tree.goal_count) == (4, 6)


def test_a_small_task_is_used_again() -> None:
    task = carrier(6)
    first = project(task, task.initial_state, task.goal, 2)
    atoms = ["(at b0 y)", *(f"(at b{i} x)" for i in range(1, 6)), "(free l)", "(free r)", "(here x)"]
    second = project(task, task.state(atoms), task.goal, 2)
    third = project(task, task.initial_state, task.goal, 2)
    assert first is not None
    assert second is not None
    assert third is not None
    assert first.part is third.part
    assert first.part is not second.part


@settings(max_examples=150, deadline=None)
@given(random_tasks(), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_kernel_equals_twin_along_a_walk(task: Task, most: int, seed: int) -> None:
    """Roles kept up to date from state to state, forwards and back, are those from scratch."""
    rng = random.Random(seed)
    states = [task.initial_state]
    for _ in range(6):
        actions = applicable_actions(task, states[-1], limit=50)
        if not actions:
            break
        states.append(successor_state(task, states[-1], rng.choice(actions)))
    states.append(rng.choice(states))
    quantified = any(effect.variables for schema in task.schemas for effect in schema.effects)
    for state in states:
        found = shown_facts(task, state, task.goal, most)
        expected = slow_project(task, state, task.goal, most)
        assert found == (None if quantified or len(expected[0]) == len(task.objects) else expected)


@settings(max_examples=100, deadline=None)
@given(random_tasks())
def test_objects_of_a_role_can_be_exchanged(task: Task) -> None:
    """Exchanging two objects of a role leaves state, goal and static atoms as they are."""
    known = roles(task, task.initial_state, task.goal)
    everything = set(facts(task, task.initial_state, task.goal))
    for first in range(len(known)):
        for second in range(first):
            if known[first] == known[second]:
                swap = {first: second, second: first}
                swapped = {(mark, p, tuple(swap.get(i, i) for i in arguments)) for mark, p, arguments in everything}
                assert swapped == everything


@settings(max_examples=150, deadline=None)
@given(random_tasks(), st.integers(1, 2), st.sampled_from(["flat", "iw", "aiw", "baiw"]))
def test_lifted_trees_are_valid(task: Task, most: int, kind: str) -> None:
    """Every edge of a lifted tree can be replayed in the whole task, goals included."""
    tree = lookahead(task, spec=TreeSpec(kind=kind), play=PlaySpec(roles=most, max_nodes=200))
    check_valid(tree)
    assert (tree.small is None) == (len(tree.objects) == 0)
    if tree.small is not None:
        assert not tree.has_all_successors
        check_valid(tree.small)


def with_copies(task: Task, copied: str, copies: int) -> Task:
    """The task with further objects that only their names tell from one it has."""
    atoms = [atom for atom in task.problem.initial_atoms(task.domain) if atom[1:].count(copied) < 2]
    names = [f"copy{i}" for i in range(copies)]
    atoms += [
        tuple(name if term == copied else term for term in atom)
        for name in names
        for atom in atoms
        if copied in atom[1:]
    ]
    kind = next(entry.types[0] for entry in task.problem.objects if entry.name == copied)
    objects = [(entry.name, entry.types[0]) for entry in task.problem.objects] + [(name, kind) for name in names]
    text = (
        f"(define (problem copies) (:domain random) (:objects {' '.join(f'{name} - {kind}' for name, kind in objects)})"
        f"(:init {' '.join(f'({chr(32).join(atom)})' for atom in atoms)}) (:goal (and)))"
    )
    return build_task(task.domain, parse_problem(Source.from_bytes(text.encode(), "problem"), task.domain))


def test_dead_ends_are_the_same() -> None:
    """The relaxation sees as much through representatives as through all objects, where some are alike."""
    seen = {True: 0, False: 0}
    for seed in range(150):
        rng = random.Random(seed)
        plain = random_task(seed, conditional=False, max_objects=4)
        task = with_copies(plain, rng.choice(plain.problem.objects).name, 5)
        fluent = [p for p in range(len(task.arity)) if task.fluent[p]]
        for most in (1, 2, 3):
            predicate = rng.choice(fluent)
            arguments = [rng.randrange(len(task.objects)) for _ in range(int(task.arity[predicate]))]
            goal = Goal([task.encode(predicate, arguments)])
            expected = relaxation.is_dead_end(task, task.initial_state, goal)
            assert is_dead_end(task, task.initial_state, goal, roles=most, ground_atoms=FEW_ATOMS - 1) == expected
            seen[expected] += project_relaxed(task, task.initial_state, goal, most) is not None
    assert min(seen.values()) > 20


def test_dead_ends_of_actions_that_need_more_objects_than_are_shown() -> None:
    """With one parcel to show, no two could be tied to each other; so the test sees them all."""
    text = DOMAIN.replace(
        "(:action walk",
        "(:action tie :parameters (?b ?c) :precondition (and (parcel ?b) (parcel ?c)"
        " (not (= ?b ?c))) :effect (free ?b)) (:action walk",
        1,
    )
    plain = carrier(5)
    task = build_task(parse_domain(Source.from_bytes(text.encode(), "domain")), plain.problem)
    goal = task.make_goal([task.atom(f"(free b{i})") for i in range(5)])
    shown = project(task, task.initial_state, goal, 1)
    assert shown is not None
    assert is_dead_end(shown.task, shown.state, shown.goal)
    assert not is_dead_end(task, task.initial_state, goal, roles=1)
    assert not is_dead_end(task, task.initial_state, goal)
    wide = project_relaxed(task, task.initial_state, goal, 3)
    assert wide is not None
    assert len(wide.objects) < len(task.objects)


@settings(max_examples=60, deadline=None)
@given(random_moves() | random_errands(), st.integers(1, 2), st.sampled_from(["iw", "aiw"]))
def test_lifted_trees_modulo_free_moves_are_valid(task: Task, most: int, kind: str) -> None:
    """Walks of the whole task lead where those of the small one do, and are as long."""
    tree = lookahead(task, spec=TreeSpec(kind=kind, free_moves=True), play=PlaySpec(roles=most, max_nodes=60))
    check_valid(tree)


def test_more_representatives_than_objects_change_nothing() -> None:
    task = carrier(4)
    tree, plain = lookahead(task, play=PlaySpec(roles=4)), lookahead(task)
    assert tree.small is None
    assert np.array_equal(tree.added, plain.added)
    assert tree.has_all_successors


def test_graphs_hold_representatives_alone() -> None:
    task = carrier(40)
    tree = lookahead(task, play=PlaySpec(roles=2))
    spec = EncodingSpec()
    vocabulary = Vocabulary.of(task.domain, spec)
    goal = task.make_goal([task.atom("(at b1 y)"), task.atom("(at b30 y)")])
    fast = assemble([(tree, None), (tree, goal)], vocabulary, spec)
    slow = batch([(tree, None), (tree, goal)], vocabulary, spec)
    assert fast.object_count.tolist() == [6, 6] == slow.object_count.tolist()
    assert np.array_equal(fast.arguments, slow.arguments)
    projected = visible_goal(tree, goal)
    assert [tree.encoded.task.atom_name(code) for code in projected.positive.tolist()] == ["(at b1 y)"]


def test_a_rollout_through_representatives() -> None:
    """A plan for all parcels, made of trees that do not grow with their number."""
    task = carrier(30)
    policy = GoalCountPolicy(np.random.default_rng(0), play=PlaySpec(roles=2))
    rollout = play(policy, task)
    steps = list(run_rollout(policy, rollout))
    assert steps[-1].solved
    assert task.goal.holds(steps[-1].successor)
    assert validate(task, plan_of(task, [action for step in steps for action in step.actions]))
    assert max(len(step.tree) for step in steps) < 40


def test_quantified_effects_are_left_alone() -> None:
    text = DOMAIN.replace(
        "(and (here ?q) (not (here ?p)))", "(and (here ?q) (not (here ?p)) (forall (?h) (free ?h)))", 1
    )
    assert text != DOMAIN
    domain = parse_domain(Source.from_bytes(text.encode(), "domain"))
    plain = carrier(5)
    task = build_task(domain, plain.problem)
    assert project(task, task.initial_state, task.goal, 1) is None


@pytest.mark.parametrize("value", [0, -1, True, "2"])
def test_senseless_numbers(value: object) -> None:
    with pytest.raises(ConfigurationError, match="play: roles is"):
        PlaySpec(roles=value)  # type: ignore[arg-type]
