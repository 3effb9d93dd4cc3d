"""Dead ends that the delete relaxation sees: the kernel against its twin, and never a state that has a plan."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.conftest import IPC_DOMAINS, examples
from tests.policy.test_rollout import chain
from tests.random_adl import random_adl_task
from tests.random_tasks import random_task, random_tasks
from tests.tasks import domain_of, task_of
from tests.twins import relaxation

from saltus import _kernel
from saltus.lookahead import (
    actions,
    applicable_actions,
    is_dead_end,
    random_action,
    successor_state,
)
from saltus.lookahead.values import DEAD_END_WORK, FEW_ATOMS, PROOF_ATOMS
from saltus.task import Goal, State, Task, load
from saltus.task.kernel_task import kernel_task

pytestmark = pytest.mark.kernel


JOINED = {"ground_atoms": -1}
"""So that rules are not grounded, however few there are."""


def walked(task: Task, rng: random.Random, most: int) -> Iterator[State]:
    """States along a random walk from the initial one, which the walk leaves after each has been looked at."""
    state = task.initial_state
    for _ in range(most):
        yield state
        action = random_action(task, state, rng)
        if action is None:
            return
        state = successor_state(task, state, action)


def some_atoms(task: Task, rng: random.Random, count: int) -> list[int]:
    """Some fluent atoms, well-typed or not."""
    fluent = [i for i in range(len(task.arity)) if task.fluent[i]]
    if not fluent:
        return []
    atoms = []
    for _ in range(count):
        predicate = rng.choice(fluent)
        atoms.append(
            task.encode(predicate, [rng.randrange(len(task.objects)) for _ in range(int(task.arity[predicate]))])
        )
    return atoms


@pytest.mark.parametrize("settings_of", [{}, JOINED], ids=["ground", "joined"])
@given(task=random_tasks(), seed=st.integers(0, 2**32))
@settings(max_examples=examples(100))
def test_twin(settings_of: dict[str, int], task: Task, seed: int) -> None:
    """The same answer for the task's goal and for goals of single atoms, along a random walk."""
    rng = random.Random(seed)
    for state in walked(task, rng, 3):
        for goal in (task.goal, *(Goal([atom]) for atom in some_atoms(task, rng, 6))):
            twin = relaxation.is_dead_end if settings_of else relaxation.is_dead_end_with_negation
            assert is_dead_end(task, state, goal, **settings_of) == twin(task, state, goal)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(100))
@example(1430).via("nested conditions over derived atoms alone")
@example(1853)
def test_formulas_against_the_twin(seed: int) -> None:
    """Conditions that nest at random, and axioms: the rules see what the definition says, and a state that can be
    reached is never called out of reach."""
    task, rng = random_adl_task(seed), random.Random(seed)
    state = task.initial_state
    for _ in range(3):
        for goal in (task.goal, *(Goal([atom]) for atom in some_atoms(task, rng, 5))):
            assert is_dead_end(task, state, goal) == relaxation.is_dead_end_with_negation(task, state, goal)
            assert is_dead_end(task, state, goal, **JOINED) == relaxation.is_dead_end(task, state, goal)
        action = random_action(task, state, rng)
        if action is None:
            break
        state = successor_state(task, state, action)
        assert not is_dead_end(task, task.initial_state, Goal(state.codes))


LAMPS = """(define (domain lamps) (:requirements :adl) (:predicates (on ?x) (linked ?x ?y) (locked ?x) (done))
  (:action light :parameters (?x) :precondition (and (not (locked ?x)) (not (on ?x))) :effect (on ?x))
  (:action unlock :parameters (?x ?y) :precondition (and (linked ?y ?x) (on ?y)) :effect (not (locked ?x)))
  (:action all :parameters () :precondition (forall (?x) (imply (exists (?y) (linked ?x ?y)) (on ?x))) :effect (done))
  (:action none :parameters (?x) :precondition (not (exists (?y) (and (locked ?y) (linked ?x ?y)))) :effect (done)))"""


def test_what_can_never_become_false_is_seen() -> None:
    """b can be unlocked once a is on; if a is locked, nothing can be, and b links to a locked lamp forever."""
    domain = domain_of(LAMPS)

    def dead(init: str) -> tuple[bool, bool]:
        text = f"(define (problem p) (:domain lamps) (:objects a b) (:init {init}) (:goal (done)))"
        task = task_of(domain, text)
        return is_dead_end(task, task.initial_state, task.goal), is_dead_end(
            task, task.initial_state, task.goal, **JOINED
        )

    assert dead("(linked a b) (linked b a) (locked b)") == (False, False)
    assert dead("(linked a b) (linked b a) (locked a) (locked b)") == (True, False)
    assert dead("(linked a b) (linked b a) (locked a) (locked b) (on a)") == (False, False)
    assert dead("(linked a b) (locked a) (locked b)") == (
        False,
        False,
    )  # by none: b links to nothing


def reachable(task: Task, most: int) -> set[State]:
    """States that can be reached, the nearest ones first, so many at most."""
    known = {task.initial_state}
    queue = deque(known)
    while queue and len(known) < most:
        state = queue.popleft()
        for action in applicable_actions(task, state):
            successor = successor_state(task, state, action)
            if successor not in known:
                known.add(successor)
                queue.append(successor)
    return known


@given(random_tasks())
@settings(max_examples=examples(100))
def test_sound(task: Task) -> None:
    """What can be reached is never called a dead end, negative goals included."""
    for state in list(reachable(task, 60)):
        goal = Goal(state.codes, sorted(set(some_atoms(task, random.Random(0), 5)) - set(state)))
        assert not is_dead_end(task, task.initial_state, goal)


def test_impossible_goal(ipc: Path) -> None:
    """A goal whose static part is false is out of reach."""
    task = load(ipc / "spanner" / "domain.pddl", next(iter(sorted((ipc / "spanner" / "training" / "easy").glob("*")))))
    assert is_dead_end(task, task.initial_state, Goal([], [], impossible=True))
    assert not is_dead_end(task, task.initial_state, Goal([]))


@pytest.mark.parametrize("name", sorted(IPC_DOMAINS))
def test_initial_states_have_hope(ipc: Path, name: str) -> None:
    """The track's problems are solvable, the largest ones at hand too."""
    for split in ("easy", "medium", "hard"):
        path = sorted((ipc / name / "testing" / split).glob("*.pddl"))[-1]
        task = load(ipc / name / "domain.pddl", path)
        assert not is_dead_end(task, task.initial_state, task.goal)
        assert not is_dead_end(task, task.initial_state, task.goal, **JOINED)


@pytest.mark.parametrize("name", sorted(IPC_DOMAINS))
def test_ground_and_joined_agree_on_the_tracks_problems(ipc: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Along a walk of random actions through a problem of middle size, for its goal and for single atoms."""
    task = load(ipc / name / "domain.pddl", sorted((ipc / name / "testing" / "easy").glob("*.pddl"))[14])
    rng = random.Random(7)
    state = task.initial_state
    seen = set()
    for _ in range(20):
        for goal in (task.goal, *(Goal([atom]) for atom in some_atoms(task, rng, 2))):
            answer = is_dead_end(task, state, goal)
            assert answer == is_dead_end(task, state, goal, **JOINED)
            for few in (-1, FEW_ATOMS):  # joined first, and grounded at once where that takes long; or grounded
                monkeypatch.setattr(actions, "FEW_ATOMS", few)
                for work in (1, 50):
                    assert answer == is_dead_end(task, state, goal, work=work, ground_atoms=DEAD_END_WORK + work)
            seen.add(answer)
        action = random_action(task, state, rng)
        if action is None:
            break
        state = successor_state(task, state, action)
    assert len(seen) == 2 or name == "blocksworld"  # where everything can be reached


def test_too_many_rules_are_not_grounded(ipc: Path) -> None:
    """A bound on their atoms holds, and below it every rule is there."""
    folder = ipc / "sokoban"
    task = kernel_task(load(folder / "domain.pddl", max((folder / "training" / "easy").glob("*"))))
    rules = _kernel.GroundActions(task, 10**6, "effects")
    assert rules.complete
    assert not _kernel.GroundActions(task, 10, "effects").complete
    assert _kernel.GroundActions(task, 10, "effects").rules == 0
    assert rules.rules > 100


def test_work_is_bounded() -> None:
    """With little work allowed no dead end is found; what was found with enough stays."""
    task = random_task(5)
    atoms = [
        atom for atom in some_atoms(task, random.Random(1), 200) if is_dead_end(task, task.initial_state, Goal([atom]))
    ]
    assert atoms
    assert not any(is_dead_end(task, task.initial_state, Goal([atom]), work=1, **JOINED) for atom in atoms)


@given(random_tasks(), st.integers(0, 2**32), st.integers(1, 400))
@settings(max_examples=examples(100))
def test_what_little_work_finds_is_true(task: Task, seed: int, work: int) -> None:
    """Wherever the work ends, in the first round or later, no state is called a dead end that is none."""
    for atom in some_atoms(task, random.Random(seed), 6):
        goal = Goal([atom])
        if is_dead_end(task, task.initial_state, goal, work=work, **JOINED):
            assert is_dead_end(task, task.initial_state, goal)


def test_as_many_atoms_as_allowed() -> None:
    """One rule a link, with a condition and an atom that is added; one atom less is too few."""
    task = kernel_task(chain(8, goal=7))
    links = 7 + 6
    rules = _kernel.GroundActions(task, 2 * links, "effects")
    assert (rules.complete, rules.rules) == (True, links)
    assert not _kernel.GroundActions(task, 2 * links - 1, "effects").complete


def test_many_conditions_of_one_action() -> None:
    """More than sixteen bits count: a condition on all pairs of 256 objects."""
    names = [f"o{i}" for i in range(256)]
    domain = domain_of("""(define (domain all) (:requirements :adl) (:constants o0) (:predicates (r ?x ?y) (done))
      (:action f :parameters () :precondition (forall (?x ?y) (r ?x ?y)) :effect (done))
      (:action g :parameters () :precondition (done) :effect (not (r o0 o0)))
      (:action h :parameters () :precondition (done) :effect (r o0 o0)))""")
    pairs = " ".join(f"(r {a} {b})" for a in names for b in names)
    text = f"(define (problem p) (:domain all) (:objects {' '.join(names[1:])}) (:init {pairs}) (:goal (done)))"
    task = task_of(domain, text)
    assert not is_dead_end(task, task.initial_state, task.goal)
    assert not is_dead_end(task, task.initial_state, task.goal, **JOINED)
    less = State(task.initial_state.codes[1:])
    assert is_dead_end(task, less, task.goal)


def test_unknown_forms_are_refused() -> None:
    with pytest.raises(ValueError, match="form"):
        _kernel.GroundActions(kernel_task(chain(8, goal=7)), 10, "others")


def test_counting_is_bounded() -> None:
    """Objects that must differ from each other cannot be counted part by part; all of them would take a quarter of an
    hour."""
    domain = domain_of("""(define (domain clique) (:requirements :equality :negative-preconditions)
      (:predicates (p ?x) (done))
      (:action f :parameters (?a ?b ?c ?d)
        :precondition (and (p ?a) (not (= ?a ?b)) (not (= ?a ?c)) (not (= ?a ?d)) (not (= ?b ?c)) (not (= ?b ?d))
          (not (= ?c ?d)))
        :effect (and (done) (p ?b))))""")
    names = [f"o{i}" for i in range(300)]
    text = f"(define (problem p) (:domain clique) (:objects {' '.join(names)}) (:init (p o0)) (:goal (done)))"
    task = task_of(domain, text)
    assert not is_dead_end(task, task.initial_state, task.goal)
    assert not _kernel.GroundActions(kernel_task(task), 200_000, "effects").complete


@given(task=random_tasks(), seed=st.integers(0, 2**32), limit=st.sampled_from([0, 5, 40, PROOF_ATOMS]))
@settings(max_examples=examples(200))
def test_proofs_answer_as_joins_do(task: Task, seed: int, limit: int) -> None:
    """Whatever was asked before, along a random walk with goals of several atoms, and however little may be kept."""
    rng = random.Random(seed)
    known = kernel_task(task)
    proof = _kernel.RelaxedProof(known, limit)
    for state in walked(task, rng, 8):
        for count in (1, 1, 2, 4):
            goal = Goal(sorted(set(some_atoms(task, rng, count))))
            expected = _kernel.RelaxedProof(known, 0).reaches(state.codes, goal.positive, 10**6, ())
            assert proof.reaches(state.codes, goal.positive, 10**6, ()) == expected
            assert proof.rules <= limit
            assert expected == (not relaxation.is_dead_end(task, state, goal))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(60))
def test_proofs_with_formulas(seed: int) -> None:
    """Nested conditions that may change do not count, here as there."""
    task, rng = random_adl_task(seed), random.Random(seed)
    proof = _kernel.RelaxedProof(kernel_task(task), PROOF_ATOMS)
    for state in walked(task, rng, 4):
        for goal in (task.goal, *(Goal([atom]) for atom in some_atoms(task, rng, 4))):
            answer = proof.reaches(state.codes, goal.positive, 10**6, ())
            assert goal.impossible or answer == (not relaxation.is_dead_end(task, state, goal))


def test_a_proof_leads_back_after_a_move() -> None:
    """Chains are walked both ways: what reached the last place from the first one also does so from the middle, without
    a join, which needs more work than is allowed."""
    domain = domain_of("""(define (domain chain) (:predicates (at ?x) (next ?x ?y) (done) (last ?x))
      (:action go :parameters (?x ?y) :precondition (and (at ?x) (next ?x ?y)) :effect (and (at ?y) (not (at ?x))))
      (:action end :parameters (?x) :precondition (and (at ?x) (last ?x)) :effect (done)))""")
    names = [f"o{i}" for i in range(20)]
    links = " ".join(f"(next {a} {b}) (next {b} {a})" for a, b in pairwise(names))
    initial = f"(:init (at o0) (last o0) {links})"
    text = f"(define (problem p) (:domain chain) (:objects {' '.join(names)}) {initial} (:goal (done)))"
    task = task_of(domain, text)
    proof = _kernel.RelaxedProof(kernel_task(task), PROOF_ATOMS)
    at = [State([task.encode(task.predicates.index("at"), [i])]) for i in range(20)]
    end = Goal(at[19].codes)
    assert proof.reaches(at[0].codes, end.positive, 1, ()) is None
    assert proof.reaches(at[0].codes, end.positive, 10**6, ()) is True
    assert proof.rules == 2 * 19 + 1
    for i in range(20):
        assert proof.reaches(at[i].codes, task.goal.positive, 1, ()) is True
        assert proof.reaches(at[i].codes, end.positive, 1, ()) is True
    assert proof.reaches(at[3].codes, Goal([at[0].codes[0], at[19].codes[0]]).positive, 1, ()) is True


def test_foreign_codes_are_refused(ipc: Path) -> None:
    """Codes of another task, or unsorted ones, are an error and no crash."""
    task = load(ipc / "spanner" / "domain.pddl", next(iter(sorted((ipc / "spanner" / "training" / "easy").glob("*")))))
    for codes in ([2**60], [5, 3], [-1]):
        proof = _kernel.RelaxedProof(kernel_task(task), PROOF_ATOMS)
        with pytest.raises(ValueError, match="codes"):
            proof.reaches(np.array(codes, np.int64), task.goal.positive, 10, ())
        with pytest.raises(ValueError, match="codes"):
            proof.reaches(task.initial_state.codes, np.array(codes, np.int64), 10, ())
        rules = _kernel.GroundActions(kernel_task(task), 10**6, "effects")
        with pytest.raises(ValueError, match="codes"):
            rules.reaches(np.array(codes, np.int64), task.goal.positive, (), keeping=False)
        with pytest.raises(ValueError, match="codes"):
            rules.reaches(task.initial_state.codes, np.array(codes, np.int64), (), keeping=False)
