"""Applicable actions and successors of the slow twins, on tasks small enough to do by hand."""

from __future__ import annotations

import pytest
from tests.pddl.malformed import DOMAIN, PROBLEM
from tests.tasks import rich_task, task_of
from tests.twins.actions import applicable, changes, successor

from saltus.task import Task
from saltus.task.applicability import is_applicable

RICH = rich_task()


def actions(task: Task, atoms: list[str] | None = None) -> list[str]:
    """Names of the applicable actions."""
    state = task.initial_state if atoms is None else task.state(atoms)
    return [task.action_name(action) for action in applicable(task, state)]


def after(task: Task, atoms: list[str], action: str) -> set[str]:
    """Names of the atoms after an action."""
    return {task.atom_name(code) for code in successor(task, task.state(atoms), task.action(action))}


def test_applicable_actions_come_in_contract_order() -> None:
    assert actions(RICH) == [
        "(move hall attic)",
        "(move hall cellar)",
        "(move attic hall)",
        "(move cellar hall)",
        "(pick b1 attic)",
        "(pick b2 cellar)",
        "(pick x1 hall)",
        "(pick odd hall)",
        "(clean hall)",
        "(clean attic)",
        "(clean cellar)",
        "(look)",
    ]


def test_equality_forbids_the_loop() -> None:
    assert "(move attic attic)" not in actions(RICH)
    assert not is_applicable(RICH, RICH.initial_state, RICH.action("(move attic attic)"))


def test_negative_precondition() -> None:
    assert actions(RICH, ["dirty attic", "dirty cellar"]) == ["(move attic hall)", "(move cellar hall)", "(look)"]


def test_universal_precondition() -> None:
    assert "(clean hall)" in actions(RICH, ["free"])
    assert "(clean hall)" not in actions(RICH, ["free", "held b1"])
    assert "(pack b1 x1 hall)" in actions(RICH, ["at b1 hall", "at x1 hall", "held b1"])
    assert "(pack b1 x1 hall)" not in actions(RICH, ["at b1 hall", "at x1 hall", "held b1", "inside b2 x1"])


def test_object_of_an_uncertain_type_is_an_item_but_no_ball() -> None:
    atoms = ["at odd hall", "at x1 hall", "held odd", "free"]
    found = actions(RICH, atoms)
    assert "(pick odd hall)" in found
    assert "(pack odd x1 hall)" not in found
    assert not is_applicable(RICH, RICH.state(atoms), RICH.action("(pack odd x1 hall)"))


def test_plain_effects() -> None:
    task = task_of(DOMAIN, PROBLEM)
    assert actions(task) == ["(load box lorry north)"]
    assert after(task, ["at box north", "at lorry north"], "load box lorry north") == {
        "(in box lorry)",
        "(at lorry north)",
    }


def test_conditional_effect_depends_on_the_state_before() -> None:
    assert after(RICH, ["at b1 hall", "free", "dirty hall"], "pick b1 hall") == {
        "(at b1 hall)",
        "(held b1)",
        "(seen b1)",
    }
    assert after(RICH, ["at b1 hall", "free", "dirty attic"], "pick b1 hall") == {
        "(at b1 hall)",
        "(held b1)",
        "(seen b1)",
        "(dirty attic)",
    }


def test_universal_conditional_effect_moves_all_that_is_held() -> None:
    atoms = ["held b1", "held x1", "at b1 hall", "at x1 attic", "at b2 hall"]
    assert after(RICH, atoms, "move hall cellar") == {
        "(held b1)",
        "(held x1)",
        "(at b1 cellar)",
        "(at x1 attic)",
        "(at b2 hall)",
        "(dirty hall)",
        "(seen cellar)",
    }


def test_two_universal_variables() -> None:
    assert after(RICH, ["inside b2 x1"], "look") == {"(inside b2 x1)", "(seen b2)", "(seen x1)"}
    assert after(RICH, [], "look") == set()


def test_add_wins_over_delete() -> None:
    # clean deletes every (dirty ?x) and (dirty ?r), and adds (dirty ?r)
    assert after(RICH, ["free", "dirty attic", "dirty hall"], "clean hall") == {"(free)", "(dirty hall)"}
    adds, deletes = changes(RICH, frozenset(RICH.state(["free", "dirty hall"])), RICH.action("clean hall"))
    assert not adds & deletes
    assert [RICH.atom_name(code) for code in adds] == ["(dirty hall)"]


def test_successor_leaves_the_state_alone() -> None:
    before = list(RICH.initial_state)
    successor(RICH, RICH.initial_state, RICH.action("pick b1 attic"))
    assert list(RICH.initial_state) == before


@pytest.mark.parametrize(
    ("precondition", "names"),
    [
        ("(p ?x)", ["(a o1 o1)", "(a o1 o2)", "(a o1 c)"]),
        ("(and (p ?x) (not (p ?y)))", ["(a o1 o2)", "(a o1 c)"]),
        ("(and (= ?x c) (p ?y))", ["(a c o1)"]),
        ("(and (= ?x ?y) (not (= ?x o1)))", ["(a o2 o2)", "(a c c)"]),
        ("(and (s ?x ?y))", ["(a o2 o1)"]),
        ("(forall (?z) (s ?x ?z))", []),
        ("(forall (?z - k) (p ?z))", [f"(a {x} {y})" for x in ("c", "o1", "o2") for y in ("c", "o1", "o2")]),
    ],
)
def test_preconditions(precondition: str, names: list[str]) -> None:
    domain = (
        "(define (domain d) (:types k) (:constants c o1) (:predicates (p ?x) (s ?x ?y))"
        f" (:action a :parameters (?x ?y) :precondition {precondition} :effect (p ?x)))"
    )
    task = task_of(domain, "(define (problem q) (:domain d) (:objects o2) (:init (p o1) (s o2 o1)) (:goal (p o2)))")
    assert sorted(actions(task)) == sorted(names)
