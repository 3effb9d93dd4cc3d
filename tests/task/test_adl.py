"""Formulas and derived predicates: small tasks by hand, and random ones against an evaluator that reads the text."""

from __future__ import annotations

import random

import pytest
from tests.lookahead.test_kernel import assert_same
from tests.random_adl import Evaluator, random_adl_task, random_adl_texts
from tests.tasks import task_of
from tests.trees import check_valid
from tests.twins import actions as twin_actions
from tests.twins import lookahead as twin
from tests.twins import relaxation

from saltus.errors import UnsupportedError
from saltus.lookahead import (
    PlaySpec,
    TreeSpec,
    applicable_actions,
    is_dead_end,
    lookahead,
    successor_state,
)
from saltus.lookahead.spec import GOAL_IDENTITIES
from saltus.task import Plan, Task, validate

pytestmark = pytest.mark.kernel

DOMAIN = """\
(define (domain club)
  (:requirements :adl :derived-predicates)
  (:types person room)
  (:constants door hall bar - room)
  (:predicates (in ?p - person ?r - room) (linked ?a ?b - room) (friend ?p ?q - person) (member ?p - person)
               (lit ?r - room) (tired ?p - person) {predicates})
  {axioms}
  (:action act :parameters ({parameters}) :precondition {precondition} :effect {effect})
  (:action light :parameters (?r - room) :precondition (not (lit ?r)) :effect (lit ?r))
  (:action rest :parameters (?p - person) :precondition (and) :effect (not (tired ?p)))
)
"""

PROBLEM = """\
(define (problem evening) (:domain club)
  (:objects ann bob cid - person)
  (:init (linked door hall) (linked hall bar) (friend ann bob) (friend bob ann) (member ann)
         (in ann door) (in bob hall) (in cid hall) (tired cid))
  (:goal {goal}))
"""


def club(
    precondition: str = "(and)",
    parameters: str = "?p - person",
    effect: str = "(tired ?p)",
    axioms: str = "",
    predicates: str = "",
    goal: str = "(and)",
) -> Task:
    """The club with one action to be tested."""
    text = DOMAIN.format(
        precondition=precondition, parameters=parameters, effect=effect, axioms=axioms, predicates=predicates
    )
    return task_of(text, PROBLEM.format(goal=goal))


def acting(task: Task) -> list[str]:
    """Arguments of the applicable actions `act`; kernel, twin and judge agree on them."""
    names = [task.action_name(action) for action in applicable_actions(task, task.initial_state)]
    assert names == [task.action_name(action) for action in twin_actions.applicable(task, task.initial_state)]
    for action in (f"(act {name})" for name in task.objects):
        assert ("precondition" in validate(task, Plan.of([action])).reason) == (
            action not in names and task.objects.index(action[5:-1]) in task.objects_of(task.schemas[0].parameters[0])
        )
    return [name[5:-1] for name in names if name.startswith("(act")]


@pytest.mark.parametrize(
    ("precondition", "expected"),
    [
        # or
        ("(or (member ?p) (tired ?p))", "ann cid"),
        ("(and (or (in ?p hall) (in ?p door)) (or (not (tired ?p)) (member ?p)))", "ann bob"),
        ("(or)", ""),
        ("(or (and) (member ?p))", "ann bob cid"),
        ("(or (and (in ?p hall) (tired ?p)) (and (in ?p door) (lit door)))", "cid"),
        # imply
        ("(imply (in ?p hall) (tired ?p))", "ann cid"),
        ("(imply (imply (member ?p) (tired ?p)) (in ?p hall))", "ann bob cid"),
        # not
        ("(not (and (in ?p hall) (tired ?p)))", "ann bob"),
        ("(not (or (member ?p) (tired ?p)))", "bob"),
        ("(not (not (member ?p)))", "ann"),
        ("(not (imply (in ?p hall) (tired ?p)))", "bob"),
        ("(not ())", ""),
        # exists
        ("(exists (?q - person) (friend ?p ?q))", "ann bob"),
        ("(exists (?r - room) (and (in ?p ?r) (exists (?s - room) (and (linked ?r ?s) (lit ?s)))))", ""),
        ("(exists (?q - person ?r - room) (and (in ?q ?r) (in ?p ?r) (not (= ?p ?q))))", "bob cid"),
        ("(not (exists (?q - person) (friend ?p ?q)))", "cid"),
        ("(not (exists (?r - room) (not (or (in ?p ?r) (linked ?r bar) (linked ?r hall)))))", ""),
        # forall
        ("(forall (?q - person) (imply (friend ?p ?q) (in ?q hall)))", "ann cid"),
        ("(forall (?r - room) (or (not (in ?p ?r)) (linked door ?r)))", "bob cid"),
        ("(not (forall (?q - person) (friend ?p ?q)))", "ann bob cid"),
        ("(forall (?q - person) (or (= ?p ?q) (exists (?r - room) (and (in ?p ?r) (in ?q ?r)))))", ""),
        ("(forall (?q - person) (not (friend ?p ?q)))", "cid"),
        # the same variable in two quantifiers
        (
            "(and (exists (?q - person) (friend ?p ?q)) (exists (?q - person) (and (tired ?q) (not (= ?q ?p)))))",
            "ann bob",
        ),
        ("(or (exists (?q - person) (friend ?q ?p)) (forall (?q - person) (member ?q)))", "ann bob"),
    ],
)
def test_preconditions(precondition: str, expected: str) -> None:
    assert acting(club(precondition)) == expected.split()


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        ("(when (or (member ?p) (tired ?p)) (lit bar))", {"ann": "bar", "bob": "", "cid": "bar"}),
        ("(when (not (exists (?q - person) (friend ?p ?q))) (lit hall))", {"ann": "", "cid": "hall"}),
        (
            "(forall (?r - room) (when (imply (in ?p ?r) (tired ?p)) (lit ?r)))",
            {"ann": "hall bar", "bob": "door bar", "cid": "door hall bar"},
        ),
        (
            "(forall (?q - person) (when (friend ?p ?q) (forall (?r - room) (when (in ?q ?r) (lit ?r)))))",
            {"ann": "hall", "bob": "door", "cid": ""},
        ),
        (
            "(when (member ?p) (and (lit bar) (when (tired ?p) (lit hall)) (when (in ?p door) (lit door))))",
            {"ann": "door bar", "bob": ""},
        ),
    ],
)
def test_effects(effect: str, expected: dict[str, str]) -> None:
    task = club(effect=effect)
    for name, rooms in expected.items():
        action = task.action(f"(act {name})")
        state = successor_state(task, task.initial_state, action)
        assert state == twin_actions.successor(task, task.initial_state, action)
        assert [room for room in ("door", "hall", "bar") if task.atom(f"(lit {room})") in state] == rooms.split()


REACH = """
  (:derived (reach ?a ?b - room) (or (linked ?a ?b) (exists (?c - room) (and (reach ?a ?c) (linked ?c ?b)))))
  (:derived (open ?r - room) (and (lit ?r) (forall (?q - person) (imply (in ?q ?r) (not (tired ?q))))))
  (:derived (dull) (not (exists (?r - room) (open ?r))))
  (:derived (safe ?a - room) (forall (?b - room) (imply (linked ?a ?b) (and (lit ?b) (safe ?b)))))
"""
DERIVED = "(reach ?a ?b - room) (open ?r - room) (dull) (safe ?r - room)"


def derived(task: Task, steps: list[str]) -> set[str]:
    """Derived atoms after some actions, without those of `reach`; kernel and twin agree on all of them."""
    state = task.initial_state
    for step in steps:
        action = task.action(step)
        following = successor_state(task, state, action)
        assert following == twin_actions.successor(task, state, action)
        state = following
    names = {task.atom_name(code) for code in state if task.decode(code)[0] in task.derived}
    assert {name for name in names if name.startswith("(reach")} == {
        "(reach door hall)",
        "(reach hall bar)",
        "(reach door bar)",
    }
    return {name for name in names if not name.startswith("(reach")}


def test_derived_atoms_follow_every_action() -> None:
    """Recursive, negated, nullary, and recursive below a quantifier."""
    task = club(axioms=REACH, predicates=DERIVED)
    assert derived(task, []) == {"(dull)", "(safe bar)"}
    assert derived(task, ["(light hall)"]) == {"(dull)", "(safe bar)"}
    assert derived(task, ["(light hall)", "(rest cid)"]) == {"(open hall)", "(safe bar)"}
    assert derived(task, ["(light bar)"]) == {"(open bar)", "(safe bar)", "(safe hall)"}
    assert derived(task, ["(light bar)", "(light hall)"]) == {"(open bar)", "(safe bar)", "(safe hall)", "(safe door)"}
    assert derived(task, ["(light hall)", "(rest cid)", "(act cid)"]) == {"(dull)", "(safe bar)"}


@pytest.mark.parametrize(
    ("goal", "plan", "goals"),
    [
        ("(and (open hall) (not (dull)))", ["(light hall)", "(rest cid)"], 2),
        ("(safe door)", ["(light bar)", "(light hall)"], 1),
        ("(forall (?r - room) (safe ?r))", ["(light bar)", "(light hall)"], 3),
        ("(or (open hall) (open bar))", ["(light bar)"], 1),
        (
            "(and (or (lit bar) (lit hall)) (imply (lit bar) (tired ann)) (lit door))",
            ["(light hall)", "(light door)"],
            3,
        ),
        ("(exists (?r - room) (and (lit ?r) (not (linked ?r bar)) (not (linked ?r hall))))", ["(light bar)"], 1),
        ("(forall (?p - person) (or (not (member ?p)) (tired ?p)))", ["(act ann)"], 1),
        (
            "(forall (?p - person) (imply (tired ?p) (exists (?r - room) (and (in ?p ?r) (lit ?r)))))",
            ["(light hall)"],
            3,
        ),
        ("(not (exists (?p - person) (tired ?p)))", ["(rest cid)"], 3),
        ("(not (and (tired cid) (in cid hall)))", ["(rest cid)"], 1),
    ],
)
def test_goals(goal: str, plan: list[str], goals: int) -> None:
    """A goal counts its conjuncts; it holds after the plan and not before."""
    task = club(axioms=REACH, predicates=DERIVED, goal=goal)
    assert len(task.goal.positive) + len(task.goal.negative) == goals
    state = task.initial_state
    for step in plan:
        assert not task.goal.holds(state)
        assert not is_dead_end(task, state, task.goal)
        state = successor_state(task, state, task.action(step))
    assert task.goal.holds(state)
    assert validate(task, Plan.of(plan))
    assert "goal is not reached" in validate(task, Plan.of(plan[:-1])).reason


@pytest.mark.parametrize(
    ("goal", "impossible"),
    [
        ("(or (linked door bar) (linked bar door))", True),
        ("(exists (?r - room) (linked door ?r))", False),
        ("(forall (?r - room) (imply (linked door ?r) (= ?r hall)))", False),
        ("(forall (?r - room) (imply (linked door ?r) (= ?r bar)))", True),
    ],
)
def test_static_goals_are_decided(goal: str, impossible: bool) -> None:
    task = club(goal=goal)
    if "exists" not in goal:
        assert task.goal.impossible == impossible
        assert not len(task.goal.positive)
    assert task.goal.holds(task.initial_state) != impossible
    assert bool(validate(task, Plan.of([]))) != impossible


def test_a_dead_end_sees_derived_goals() -> None:
    """Nobody moves: the relaxation cannot reach an atom that follows from a place."""
    task = club(
        axioms="(:derived (open ?r - room) (and (lit ?r) (exists (?p - person) (and (member ?p) (in ?p ?r)))))",
        predicates="(open ?r - room)",
        goal="(or (open bar) (and (open hall) (lit bar)))",
    )
    assert is_dead_end(task, task.initial_state, task.goal)
    assert relaxation.is_dead_end(task, task.initial_state, task.goal)


def test_conditions_of_unusual_size_are_refused_or_read() -> None:
    deep = "(member ?p)"
    for i in range(40):
        deep = f"(or (tired ?p) (forall (?a{i} - person) (exists (?b{i} - person) (not {deep}))))"
    with pytest.raises(UnsupportedError, match=r"variables|levels"):
        club(deep)
    wide = f"(or {' '.join('(and (tired ?p) (member ?p))' for _ in range(2000))})"
    assert acting(club(wide)) == []
    split = "(and " + " ".join("(or (member ?p) (tired ?p))" for _ in range(30)) + ")"
    task = club(axioms=f"(:derived (open2 ?p - person) {split})", predicates="(open2 ?p - person)")
    assert len(task.axioms) <= 64
    names = {task.atom_name(code) for code in task.initial_state}
    assert {"(open2 ann)", "(open2 cid)"} <= names
    assert "(open2 bob)" not in names


def test_random_tasks_mean_what_their_text_says() -> None:
    """Applicable actions, states, goals and verdicts along random walks, in more than a thousand states."""
    states = 0
    for seed in range(200):
        texts = random_adl_texts(seed)
        states += walk(texts, seed)
    assert states > 1000


def walk(texts: tuple[str, str], seed: int, steps: int = 12) -> int:
    """Number of states compared along a random walk."""
    task, meaning, rng = task_of(*texts), Evaluator(*texts), random.Random(seed)
    static = {task.atom_name(code) for code in task.static_codes}
    state, atoms = task.initial_state, meaning.completed(meaning.initial)
    plan: list[tuple[str, ...]] = []
    for step in range(1, steps + 1):
        names = {task.atom_name(code) for code in state if task.decode(code)[0] < len(task.domain.predicates)}
        assert names | static == {f"({' '.join(atom)})" for atom in atoms}
        actions = sorted(meaning.applicable(atoms))
        found = sorted(task.action_name(action) for action in applicable_actions(task, state))
        assert found == sorted(f"({' '.join(action)})" for action in actions)
        reached = meaning.holds(meaning.goal, atoms, {})
        assert task.goal.holds(state) == reached == bool(validate(task, Plan(tuple(plan))))
        if reached:
            assert not is_dead_end(task, state, task.goal)
        if not actions:
            return step
        plan.append(rng.choice(actions))
        state = successor_state(task, state, task.action(" ".join(plan[-1])))
        atoms = meaning.successor(atoms, plan[-1])
    return steps


@pytest.mark.parametrize("seed", range(40))
def test_the_kernel_equals_its_twins_on_formulas(seed: int) -> None:
    task, rng = random_adl_task(seed), random.Random(seed)
    for kind in ("iw", "aiw", "baiw", "flat"):
        width = rng.choice([1, 2]) if kind != "flat" else 1
        root = rng.choice(["all", "novel", *(["classes"] if width == 1 else [])])
        identity = rng.choice(sorted(GOAL_IDENTITIES))
        spec = TreeSpec(kind=kind, width=width, goal_identity=identity, root_successors=root)
        limits = PlaySpec(max_nodes=60)
        tree = lookahead(task, spec=spec, play=limits)
        assert_same(tree, twin.lookahead(task, spec=spec, play=limits))
        check_valid(tree)
    state = task.initial_state
    for _ in range(4):
        dead = relaxation.is_dead_end_with_negation(task, state, task.goal)
        assert is_dead_end(task, state, task.goal) == dead
        dead = relaxation.is_dead_end(task, state, task.goal)
        assert is_dead_end(task, state, task.goal, ground_atoms=0) == dead
        actions = applicable_actions(task, state)
        assert actions == list(twin_actions.applicable(task, state))
        if not actions:
            return
        action = rng.choice(actions)
        following = successor_state(task, state, action)
        assert following == twin_actions.successor(task, state, action)
        state = following


SWITCHES = """(define (domain switches) (:requirements :adl :derived-predicates)
  (:predicates (on ?x) (pair ?x ?y) (all-on))
  (:derived (pair ?x ?y) (and (on ?x) (on ?y) (not (= ?x ?y))))
  (:derived (all-on) (forall (?x) (on ?x)))
  (:action flip :parameters (?x) :precondition (not (on ?x)) :effect (on ?x)))"""


@pytest.mark.parametrize("kind", ["iw", "aiw", "baiw"])
@pytest.mark.parametrize("goal", ["(on c)", "(pair a b)", "(all-on)"])
def test_derived_atoms_count_for_novelty(kind: str, goal: str) -> None:
    """Without them, a second switch would be nothing new."""
    problem = f"(define (problem three) (:domain switches) (:objects a b c) (:init) (:goal {goal}))"
    task = task_of(SWITCHES, problem)
    spec = TreeSpec(kind=kind)
    tree = lookahead(task, spec=spec)
    # Pairs and all three: three successors, then what adds a new pair, then the third switch.
    assert int(tree.depth.max()) == 3
    assert_same(tree, twin.lookahead(task, spec=spec))
