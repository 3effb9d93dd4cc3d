"""The integer task: codes, static and fluent predicates, goals, states, types, names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pddl.malformed import DOMAIN, PROBLEM
from tests.tasks import domain_of, rich_task, task_of

from saltus.errors import InputError
from saltus.task import Action, Goal, State
from saltus.task.state import StateSet, difference

DEPOT = task_of(DOMAIN, PROBLEM)
RICH = rich_task()


def test_numbering_follows_the_files() -> None:
    assert DEPOT.objects == ("home", "north", "box", "lorry")
    assert DEPOT.types == ("object", "place", "thing", "crate", "truck")
    assert [DEPOT.types[i] for i in DEPOT.object_type] == ["place", "place", "crate", "truck"]
    assert [schema.name for schema in RICH.schemas] == ["move", "pick", "drop", "clean", "look", "pack"]
    assert DEPOT.code_offset.tolist() == [0, 16, 32, 36]


def test_known_codes() -> None:
    assert DEPOT.atom("(at box north)") == 2 * 4 + 1
    assert DEPOT.atom("(in box lorry)") == 16 + 2 * 4 + 3
    assert DEPOT.atom("(closed north)") == 32 + 1


def test_every_code_round_trips() -> None:
    for task in (DEPOT, RICH):
        for code in range(int(task.code_offset[-1])):
            predicate, *arguments = task.decode(code)
            assert len(arguments) == task.arity[predicate]
            assert task.encode(predicate, arguments) == code
            assert task.atom(task.atom_name(code)) == code


@given(st.integers(2, 1000), st.lists(st.integers(0, 3), min_size=1, max_size=4), st.integers(min_value=0))
def test_codes_round_trip_with_many_objects(count: int, arities: list[int], seed: int) -> None:
    predicates = " ".join(f"(p{i} {' '.join(f'?x{k}' for k in range(arity))})" for i, arity in enumerate(arities))
    objects = " ".join(f"o{i}" for i in range(count))
    domain = domain_of(f"(define (domain d) (:predicates {predicates}))")
    task = task_of(domain, f"(define (problem p) (:domain d) (:objects {objects}) (:init) (:goal ()))")
    code = seed % int(task.code_offset[-1])
    predicate, *arguments = task.decode(code)
    assert all(0 <= number < count for number in arguments)
    assert task.encode(predicate, arguments) == code


def test_codes_are_ordered_like_arguments() -> None:
    at = DEPOT.predicate_number["at"]
    pairs = [(i, k) for i in range(4) for k in range(4)]
    assert sorted(pairs, key=lambda pair: DEPOT.encode(at, pair)) == pairs


def test_static_and_fluent_predicates() -> None:
    names = [predicate.name for predicate in RICH.domain.predicates]
    assert {name for name, fluent in zip(names, RICH.fluent, strict=True) if not fluent} == {"linked"}
    linked = RICH.predicate_number["linked"]
    pairs = [[RICH.objects[i] for i in pair] for pair in RICH.static_atoms[linked].tolist()]
    assert pairs == [["hall", "attic"], ["hall", "cellar"], ["attic", "hall"], ["attic", "attic"], ["cellar", "hall"]]
    assert sorted(map(tuple, RICH.static_atoms[linked].tolist())) == list(
        map(tuple, RICH.static_atoms[linked].tolist())
    )
    for number, rows in enumerate(RICH.static_atoms):
        assert rows.shape == (5 if number == linked else 0, RICH.arity[number])
    initial = {RICH.atom_name(code) for code in RICH.initial_state}
    assert initial == {"(at b1 attic)", "(at b2 cellar)", "(at x1 hall)", "(at odd hall)", "(free)"}


def test_initial_atoms_are_static_or_fluent_and_never_lost() -> None:
    names = {" ".join(atom) for atom in RICH.problem.initial_atoms(RICH.domain)}
    static = {RICH.atom_name(code).strip("()") for code in RICH.static_codes}
    fluent = {RICH.atom_name(code).strip("()") for code in RICH.initial_state}
    assert static | fluent == names
    assert not static & fluent


def test_static_predicate_without_arguments() -> None:
    domain = domain_of("(define (domain d) (:predicates (on) (off) (p)) (:action a :precondition (on) :effect (p)))")
    task = task_of(domain, "(define (problem q) (:domain d) (:init (on)) (:goal (and (on) (p))))")
    assert [rows.shape for rows in task.static_atoms] == [(1, 0), (0, 0), (0, 0)]
    assert task.static_codes == {task.atom("on")}
    assert not task.goal.impossible
    assert [task.atom_name(code) for code in task.goal.positive] == ["(p)"]


def test_arrays_are_read_only() -> None:
    for array in (RICH.initial_state.codes, RICH.goal.positive, *RICH.static_atoms):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_types_agree_with_the_domain() -> None:
    alternatives = [tuple(name.split(" or ")) for name in RICH.types]
    expected = [[RICH.domain.fits(a, b) for b in alternatives] for a in alternatives]
    assert RICH.is_a.tolist() == expected
    assert RICH.types[-1] == "ball or box"


@pytest.mark.parametrize(
    ("parameter", "names"),
    [
        ("(either a b)", ["oa", "ob", "oab"]),
        ("(either a b c)", ["oa", "ob", "oc", "oab", "obc", "sub"]),
        ("a", ["oa"]),
        ("(either c a)", ["oa", "oc", "sub"]),
        ("object", ["oa", "ob", "oc", "oab", "obc", "sub"]),
        ("(either c d)", ["oc", "sub"]),
    ],
)
def test_objects_of_a_parameter(parameter: str, names: list[str]) -> None:
    domain = domain_of(
        "(define (domain d) (:types d - c a b c) (:predicates (p))"
        f" (:action go :parameters (?x - {parameter}) :effect (p)))"
    )
    objects = "oa - a ob - b oc - c oab - (either a b) obc - (either b c) sub - d"
    task = task_of(domain, f"(define (problem q) (:domain d) (:objects {objects}) (:init) (:goal (p)))")
    found = task.objects_of(task.schemas[0].parameters[0])
    assert found.dtype == np.int32
    assert [task.objects[i] for i in found] == names
    (variable,) = domain.schemas[0].parameters
    by_name = [entry.name for entry in task.problem.objects if domain.fits(entry.types, variable.types)]
    assert by_name == names


def test_goal_of_the_problem() -> None:
    assert {RICH.atom_name(code) for code in RICH.goal.positive} == {"(at b1 cellar)"}
    negative = {RICH.atom_name(code) for code in RICH.goal.negative}
    assert negative == {"(dirty hall)", "(dirty attic)", "(dirty cellar)", "(held x1)"}
    assert not RICH.goal.impossible
    assert not RICH.goal.holds(RICH.initial_state)


def test_make_goal_decides_static_atoms() -> None:
    true, false, fluent = (RICH.atom(text) for text in ("linked hall attic", "linked attic cellar", "at b1 attic"))
    assert RICH.make_goal([true, fluent]) == Goal([fluent])
    assert RICH.make_goal([fluent], [false]) == Goal([fluent])
    assert RICH.make_goal([false, fluent]).impossible
    assert RICH.make_goal([], [true]).impossible
    assert not RICH.make_goal([false]).holds(RICH.initial_state)
    assert RICH.make_goal([fluent]).holds(RICH.initial_state)


def test_goal_names_what_is_missing_and_what_is_violated() -> None:
    state = RICH.state(["at b1 cellar", "dirty hall", "held b1"])
    assert RICH.goal.missing(state).tolist() == []
    assert [RICH.atom_name(code) for code in RICH.goal.violated(state)] == ["(dirty hall)"]
    assert [RICH.atom_name(code) for code in RICH.goal.missing(RICH.initial_state)] == ["(at b1 cellar)"]
    assert RICH.goal.holds(RICH.state(["at b1 cellar", "held b1"]))


@given(st.lists(st.integers(0, 40)), st.lists(st.integers(0, 40)))
def test_states_are_sets(left: list[int], right: list[int]) -> None:
    a, b = State(left), State(np.array(right, np.int64))
    assert (a == b) == (set(left) == set(right))
    assert a != b or hash(a) == hash(b)
    assert list(a) == sorted(set(left))
    assert len(a) == len(set(left))
    assert all((code in a) == (code in left) for code in range(-1, 42))


def test_states_do_not_alias_what_they_are_made_of() -> None:
    codes = np.array([1, 2, 3], np.int64)
    state = State(codes)
    codes[0] = 9
    assert list(state) == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(att box north)", "unknown predicate 'att'; did you mean 'at'?"),
        ("(at box nort)", "unknown object 'nort'; did you mean 'north'?"),
        ("(at box)", "predicate 'at' takes 2 arguments, found 1"),
        ("()", "unknown predicate ''"),
    ],
)
def test_atom_errors(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        DEPOT.atom(text)
    assert str(caught.value) == message


def test_static_atoms_are_no_part_of_a_state() -> None:
    with pytest.raises(InputError, match=r"\(linked hall attic\) is static and cannot be part of a state"):
        RICH.state(["linked hall attic"])


def test_action_names_round_trip() -> None:
    action = DEPOT.action("(LOAD box lorry north)")
    assert action == Action(0, (2, 3, 1))
    assert DEPOT.action_name(action) == "(load box lorry north)"
    assert DEPOT.action(DEPOT.action_name(action)) == action


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(laod box lorry north)", "unknown action 'laod'; did you mean 'load'?"),
        ("(load boxx lorry north)", "unknown object 'boxx'; did you mean 'box'?"),
        ("(load box lorry)", "action 'load' takes 3 arguments, found 2"),
        ("", "unknown action ''"),
    ],
)
def test_action_errors(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        DEPOT.action(text)
    assert str(caught.value) == message


def test_counts_as_in_the_paper() -> None:
    # 2 initial atoms; home and north: object, place; box: object, thing, crate; lorry: object, thing, truck
    assert (DEPOT.object_count, DEPOT.atom_count) == (4, 2 + 2 + 2 + 3 + 3)
    # 10 initial atoms; 3 rooms with 2 types, 3 items with 3, odd with 2 for sure; equality: 7 more
    assert (RICH.object_count, RICH.atom_count) == (7, 10 + 3 * 2 + 3 * 3 + 2 + 7)


def test_a_task_is_shown_by_problem_and_domain() -> None:
    assert repr(DEPOT) == f"<Task '{DEPOT.problem.name}' of the domain '{DEPOT.domain.name}'>"


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
def test_a_changed_state_is_the_state_with_the_changes(before: set[int], after: set[int]) -> None:
    state, wanted = State(before), State(after)
    changed = state.changed(difference(wanted.codes, state.codes), difference(state.codes, wanted.codes))
    assert changed == wanted
    assert hash(changed) == hash(wanted)
    assert not changed.codes.flags.writeable


def test_a_set_of_states() -> None:
    first, second, third = State([1, 2]), State([1, 3]), State([])
    states = StateSet([first])
    states.update([third])
    states.add(first)
    assert (first in states, second in states, third in states, len(states)) == (True, False, True, 2)
