"""Hindsight: sub-goals, groundings and cuts, worked out by hand on small tasks."""

from __future__ import annotations

import numpy as np
import pytest
from tests.learn.small import small_tasks
from tests.tasks import domain_of, task_of

from saltus.learn.experience import Final, Trajectory, transitions_of
from saltus.learn.hindsight import first_without, groundings, hindsight_transitions, lifted_subgoals, relabelled
from saltus.policy import Ending
from saltus.task import State, Task

BLOCKS = """(define (domain blocks) (:predicates (on ?a ?b) (table ?a))
  (:action up :parameters (?a ?b) :precondition (table ?a) :effect (and (on ?a ?b) (not (table ?a))))
  (:action down :parameters (?a ?b) :precondition (on ?a ?b) :effect (and (table ?a) (not (on ?a ?b)))))"""


def blocks(goal: str, objects: str = "a b c d") -> Task:
    """A task about blocks that all are on the table."""
    table = " ".join(f"(table {name})" for name in objects.split())
    return task_of(
        domain_of(BLOCKS),
        f"(define (problem p) (:domain blocks) (:objects {objects}) (:init {table}) (:goal (and {goal})))",
    )


def walk(task: Task, *states: str, ending: Ending | None = None) -> Trajectory:
    """A trajectory through states given by their atoms."""
    path = [task.state(part.strip() for part in text.split(",") if part.strip()) for text in states]
    return Trajectory(0, task.goal, path, ending, [1.0] * (len(path) - 1))


def forms(task: Task, most: int = 10, variants: int = 5) -> set[tuple[tuple[int, ...], ...]]:
    """Lifted sub-goals of a task as tuples."""
    found = lifted_subgoals(task, np.random.default_rng(0), most, variants)
    return {tuple((entry.predicate, *entry.terms) for entry in subgoal.literals) for subgoal in found}


def test_connected_atoms_share_variables() -> None:
    assert forms(blocks("(on a b) (on b c)")) == {((0, 0, 1), (0, 1, 2)), ((0, 0, 1),)}


def test_atoms_that_share_nothing_are_joined_when_a_part_is_used_up() -> None:
    assert forms(blocks("(on a b) (on c d)")) == {((0, 0, 1), (0, 2, 3)), ((0, 0, 1),)}


def test_sizes_and_variants_are_bounded_and_largest_come_first() -> None:
    (task,) = small_tasks("blocksworld", 1, split="validation")
    found = lifted_subgoals(task, np.random.default_rng(1), 6, 2)
    sizes = [len(entry.literals) for entry in found]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 6
    assert max(sizes.count(size) for size in sizes) == 2


def test_constants_of_the_domain_stay() -> None:
    domain = BLOCKS.replace("(:predicates", "(:constants floor) (:predicates")
    task = task_of(
        domain_of(domain),
        "(define (problem p) (:domain blocks) (:objects a b) (:init (table a)) (:goal (and (on a floor))))",
    )
    (subgoal,) = lifted_subgoals(task, np.random.default_rng(0), 10, 2)
    assert subgoal.literals[0].terms == (0, ~task.object_number["floor"])


def test_variables_bind_different_objects_of_the_right_types() -> None:
    typed = task_of(
        domain_of(
            "(define (domain t) (:requirements :typing) (:types truck box place) (:predicates (at ?x ?y - object))"
            " (:action go :parameters (?x - truck ?a ?b - place) :precondition (at ?x ?a)"
            " :effect (and (at ?x ?b) (not (at ?x ?a)))))"
        ),
        "(define (problem p) (:domain t) (:objects t1 t2 - truck b1 - box p1 p2 - place)"
        " (:init (at t1 p1) (at t2 p2) (at b1 p1)) (:goal (and (at b1 p2))))",
    )
    (subgoal,) = lifted_subgoals(typed, np.random.default_rng(0), 10, 2)
    rng = np.random.default_rng(0)
    found = {goal for _ in range(30) for goal in groundings(typed, subgoal, typed.initial_state, rng)}
    assert [[typed.atom_name(int(code)) for code in goal.positive] for goal in found] == [["(at b1 p1)"]]


def test_cut_where_the_goal_held_or_a_state_comes_back() -> None:
    task = blocks("(on a b)")
    goal = task.goal
    path = walk(
        task,
        "(table a), (table b)",
        "(on a b), (table b)",
        "(table a), (table b)",
        "(table a), (on b c)",
        "(on a b), (on b c)",
    ).states
    assert first_without(path, 4, goal) == 2  # the goal held in state 1
    assert first_without(path, 1, goal) == 0
    other = task.make_goal([task.atom("(on b c)")])
    assert first_without(path, 3, other) == 1  # state 0 is state 2 again
    assert first_without(path, 4, other) == 4  # held before already


def test_the_largest_new_sub_goal_is_grounded_at_every_state() -> None:
    task = blocks("(on a b) (on b c)")
    trajectory = walk(
        task,
        "(table a), (table b), (table c), (table d)",
        "(table a), (table b), (on c d)",
        "(table a), (on b c), (on c d)",
        "(table a), (on b c), (table c), (table d)",
    )
    subgoals = lifted_subgoals(task, np.random.default_rng(0), 10, 2)
    found = list(relabelled(trajectory, task, subgoals, np.random.default_rng(0)))
    named = [(first, last, {task.atom_name(int(code)) for code in goal.positive}) for first, last, goal in found]
    # state 3 brings nothing that state 2 had not; state 2 is the tower of two; state 1 a single stack
    assert named == [(0, 2, {"(on b c)", "(on c d)"}), (0, 1, {"(on c d)"})]


def test_transitions_carry_returns_and_ends() -> None:
    task = blocks("(on a b)")
    trajectory = walk(task, "(table a)", "(table b)", "(table c)", "(table d)", ending=Ending.DEAD_END)
    solved = transitions_of(trajectory, task.goal, 1, 3, reached=True, discount=0.5)
    assert [entry.bound for entry in solved] == [-1.5, -1.0]
    assert [entry.final for entry in solved] == [Final.NO, Final.GOAL]
    failed = transitions_of(trajectory, task.goal, 0, 3, reached=False, discount=0.5)
    assert [entry.final for entry in failed] == [Final.NO, Final.NO, Final.DEAD_END]
    assert all(np.isnan(entry.bound) for entry in failed)


def test_at_most_so_many_relabelled_trajectories() -> None:
    task = blocks("(on a b)")
    trajectory = walk(task, *(f"(table a), (on {x} {y})" for x, y in ("ab", "bc", "cd", "da", "ac")))
    subgoals = [lifted_subgoals(task, np.random.default_rng(0), 10, 2)]
    counts = {
        most: len(hindsight_transitions([trajectory, trajectory], [task], subgoals, 4, rng, most))
        for most, rng in ((3, np.random.default_rng(0)), (100, np.random.default_rng(0)))
    }
    assert 0 < counts[3] < counts[100]


def test_every_trajectory_has_its_share_of_the_relabelled_ones() -> None:
    task = blocks("(on a b)")
    pairs = ("ab", "bc", "cd", "da", "ac")
    long = walk(task, *(f"(table a), (on {x} {y})" for x, y in pairs))
    short = walk(task, "(table b)", "(table b), (on c d)")
    subgoals = [lifted_subgoals(task, np.random.default_rng(0), 10, 2)]

    def ends(most: int) -> list[State]:
        found = hindsight_transitions([long, long, short], [task], subgoals, 4, np.random.default_rng(0), most)
        return [entry.successor for entry in found if entry.final is Final.GOAL]

    assert ends(4) == [long.states[4], long.states[3], long.states[4], short.states[1]]
    assert len(ends(100)) == 9  # enough for all of them


def test_sub_goals_of_more_variables_than_can_be_bound_are_left_out() -> None:
    objects = [f"o{i}" for i in range(80)]
    goal = " ".join(f"(on {a} {b})" for a, b in zip(objects[::2], objects[1::2], strict=True))
    task = blocks(goal, " ".join(objects))
    found = lifted_subgoals(task, np.random.default_rng(0), 40, 2)
    assert max(len(entry.literals) for entry in found) == 32


@pytest.mark.parametrize("domain", ["blocksworld", "ferry", "delivery", "satellite"])
def test_relabelled_goals_hold_at_the_end_and_not_before(domain: str) -> None:
    from saltus.learn.config import load_configuration
    from saltus.learn.trainer import Trainer

    tasks = small_tasks(domain, 5)
    trainer = Trainer(load_configuration("tiny"), tasks, seed=2)
    found = 0
    for trajectory in trainer._collect(1.0):
        own = trainer.subgoals[trajectory.task]
        rng = np.random.default_rng(0)
        for first, last, goal in relabelled(trajectory, tasks[trajectory.task], own, rng):
            found += 1
            assert goal.holds(trajectory.states[last])
            assert not any(goal.holds(state) for state in trajectory.states[first:last])
    assert found
