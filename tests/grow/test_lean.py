"""Problems with nothing to spare: what counts as a supply, what is left out, and that the plan stays one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples
from tests.policy.test_tidy import walk_to_a_goal
from tests.tasks import domain_of, task_of

from saltus.domains.generated import generated_task
from saltus.grow import Grower, problem_text
from saltus.grow.lean import lean, supplies, without
from saltus.lookahead.supplies import spent_predicates
from saltus.pddl.structures import Literal
from saltus.policy.planning import plan_of
from saltus.policy.tidy import tidied
from saltus.task import Action, Task, build_task, validate

KITCHEN = """\
(define (domain kitchen)
  (:requirements :strips :typing)
  (:types bread guest table)
  (:constants heel - bread)
  (:predicates (fresh ?b - bread) (rye ?b - bread) (fed ?g - guest) (near ?a ?b - table) (beside ?b - bread ?t - table)
               (likes ?g - guest ?b - bread) (lit ?t - table))
  (:action feed :parameters (?g - guest ?b - bread) :precondition (fresh ?b)
    :effect (and (not (fresh ?b)) (fed ?g)))
  (:action light :parameters (?t - table) :precondition (and) :effect (lit ?t))
  (:action darken :parameters (?t - table) :precondition (lit ?t) :effect (not (lit ?t))))
"""

SUPPER = """\
(define (problem supper) (:domain kitchen)
  (:objects b1 b2 b3 b4 - bread g1 g2 - guest t1 t2 - table)
  (:init (fresh heel) (fresh b1) (fresh b2) (fresh b3) (fresh b4) (rye b2) (lit t1) (near t1 t2) (likes g2 b3)
         (beside b1 t1))
  (:goal (and (fed g1) (fed g2))))
"""


def supper() -> Task:
    """Five loaves for two guests: one is a constant, one is liked by a guest, one lies beside a table."""
    return task_of(domain_of(KITCHEN), SUPPER)


def named(task: Task, numbers: frozenset[int]) -> set[str]:
    return {task.objects[number] for number in numbers}


def walk_to_its_goal(name: str, seed: int, steps: int) -> tuple[Task, list[Action]]:
    """A problem whose goal is some of what holds after a random walk, and the walk."""
    task, walk = walk_to_a_goal(name, seed, steps)
    literals = [
        Literal(task.domain.predicates[predicate].name, tuple(task.objects[number] for number in arguments), positive)
        for positive, codes in ((True, task.goal.positive), (False, task.goal.negative))
        for predicate, *arguments in map(task.decode, codes.tolist())
    ]
    return build_task(task.domain, replace(task.problem, goal=tuple(literals))), walk


def test_what_is_deleted_and_never_added_is_spent() -> None:
    def spent(task: Task) -> set[str]:
        return {task.predicates[number] for number in spent_predicates(task)}

    assert spent(supper()) == {"fresh"}
    found = {name: spent(generated_task(name, "training", 0, 12)) for name in ("spanner", "ferry")}
    assert found == {"spanner": {"usable", "loose"}, "ferry": set()}


def test_supplies_are_used_up_and_tied_to_nothing() -> None:
    task = supper()
    assert named(task, supplies(task)) == {"b2", "b4"}
    goal = SUPPER.replace("(fed g2))", "(fed g2) (fresh b4))")
    wanted = task_of(domain_of(KITCHEN), goal)
    assert named(wanted, supplies(wanted)) == {"b2"}


def test_what_the_plan_needs_stays() -> None:
    task = supper()
    plan = [task.action(text) for text in ("feed g1 b2", "feed g2 b3")]
    found = lean(task, plan)
    assert found is not None
    assert found[0].objects == ("heel", "b1", "b2", "b3", "g1", "g2", "t1", "t2")
    assert validate(*found).valid
    assert (
        lean(found[0], [found[0].action(" ".join(step)) for step in found[1].steps]) is None
    )  # nothing is left to leave out


def test_a_goal_that_never_changes_is_no_obstacle() -> None:
    text = SUPPER.replace("(fed g2))", "(fed g2) (rye b2))")
    task = task_of(domain_of(KITCHEN), text)
    found = lean(task, [task.action(name) for name in ("feed g1 b1", "feed g2 b3")])
    assert found is not None
    assert named(task, frozenset(range(len(task.objects)))) - set(found[0].objects) == {"b2", "b4"}


def test_only_actions_that_the_goal_needs_count() -> None:
    task = supper()
    plan = [task.action(text) for text in ("feed g1 b4", "feed g1 b2", "feed g2 b3")]
    found = lean(task, plan)
    assert found is not None
    assert len(found[1]) == 2
    assert len(found[0].objects) == len(task.objects) - 1


def test_atoms_of_others_stay() -> None:
    task = supper()
    rest = without(task, [task.object_number[name] for name in ("b2", "b4")])
    kept = {atom for atom in task.problem.initial_atoms(task.domain) if not {"b2", "b4"} & set(atom)}
    assert set(rest.problem.initial_atoms(rest.domain)) == kept
    assert rest.problem.objects == tuple(entry for entry in task.problem.objects if entry.name not in ("b2", "b4"))
    again = task_of(task.domain, problem_text(rest))
    assert (again.objects, again.initial_state, again.goal.size) == (rest.objects, rest.initial_state, rest.goal.size)


@pytest.mark.parametrize("name", ["spanner", "childsnack"])
def test_searches_find_the_plans_of_given_problems(name: str) -> None:
    """With generators' problems, a tool is left for each nut, and a slice of bread for each sandwich that is eaten."""
    tasks = [generated_task(name, "training", index, 12) for index in range(12)]
    grower = Grower(tasks[0].domain, tasks)
    leaner = 0
    for task in tasks:
        plan = grower.given_plan(task)
        assert validate(task, plan_of(task, plan)).valid
        found = lean(task, plan)
        rest = task if found is None else found[0]
        leaner += found is not None
        kinds = Counter(entry.types[0] for entry in rest.problem.objects)
        if name == "spanner":
            assert kinds["spanner"] == kinds["nut"]
        else:
            assert kinds["bread-portion"] == kinds["content-portion"] == kinds["sandwich"] == rest.goal.size
    assert leaner > 4


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from(["spanner", "childsnack"]), st.integers(0, 2**16), st.integers(3, 40))
def test_lean_problems_are_solvable_and_lack_supplies_alone(name: str, seed: int, steps: int) -> None:
    task, actions = walk_to_its_goal(name, seed, steps)
    found = lean(task, actions)
    rest, plan = found or (task, plan_of(task, tidied(task, actions)))
    assert validate(rest, plan).valid
    left_out = set(task.objects) - set(rest.objects)
    assert bool(left_out) == (found is not None)
    assert left_out <= named(task, supplies(task))
    used = {name for _, *names in plan.steps for name in names}
    assert named(rest, supplies(rest)) <= used
    kept = [atom for atom in task.problem.initial_atoms(task.domain) if left_out.isdisjoint(atom)]
    assert list(rest.problem.initial_atoms(rest.domain)) == kept


def test_random_walks_do_leave_something_to_spare() -> None:
    found = [lean(*walk_to_its_goal(name, seed, 20)) for name in ("spanner", "childsnack") for seed in range(10)]
    assert 5 <= sum(entry is not None for entry in found) < 20
