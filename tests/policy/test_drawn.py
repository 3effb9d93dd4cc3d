"""Rollouts with drawn jumps: another try where the greedy one ends in vain, the same each time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from tests.tasks import domain_of, task_of

from saltus.lookahead import PlaySpec, Situation, TreeSpec, lookahead_batch
from saltus.policy import Admissible, Decision, Outcome, play
from saltus.policy.choose import Boltzmann
from saltus.policy.drawn import DrawnRollouts
from saltus.policy.planning import Planner, plan_stepwise
from saltus.policy.portfolio import DRAWN, MEMBERS
from saltus.task import Action, State, Task

DOORS = """(define (domain doors) (:predicates (at ?x) (next ?x ?y))
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (next ?x ?y)) :effect (and (not (at ?x)) (at ?y))))"""
ALONE = tuple(member for member in MEMBERS if member.name == DRAWN)


def doors(wrong: int = 3) -> Task:
    """From s through one of several doors; all but the last lead round and round, and none leads back."""
    links = [f"(next s d{i}) (next d{i} e{i}) (next e{i} d{i})" for i in range(wrong)]
    names = " ".join(f"d{i} e{i}" for i in range(wrong))
    return task_of(
        domain_of(DOORS),
        f"(define (problem p) (:domain doors) (:objects s way g {names})"
        f" (:init (at s) (next s way) (next way g) {' '.join(links)}) (:goal (at g)))",
    )


class Indifferent(Planner):
    """Finds all states equally good, but one place a little worse."""

    def __init__(self, task: Task, place: str, less: float) -> None:
        super().__init__(TreeSpec(kind="flat"), PlaySpec(take_goals=False))
        self.worse = task.atom(f"at {place}")
        self.less = less

    def decide(self, situations: Sequence[Situation]) -> list[Decision]:
        """One decision per situation."""
        trees = lookahead_batch(situations, self.lookahead, self.play_spec)
        return [Decision(tree, self._values([*map(tree.state_of, range(1, len(tree)))])) for tree in trees]

    def _values(self, states: Sequence[State]) -> np.ndarray:
        return np.array([-self.less if self.worse in state else 0.0 for state in states], np.float32)


def found(task: Task, policy: Planner, decisions: int) -> list[Action] | None:
    """What so many decisions find."""
    searcher = DrawnRollouts(policy, task, Admissible(task, task.goal, policy.play_spec))
    for decision, _ in zip(searcher.run(), range(decisions), strict=False):
        assert searcher.work >= len(decision.tree)
    return searcher.solution


def test_a_jump_that_is_a_little_worse_is_tried_one_day() -> None:
    """The greedy rollout never takes it. A plan is the same each time."""
    task = doors()
    policy = Indifferent(task, "way", 0.05)
    assert policy.plan(task, search=False) is None
    plan = found(task, policy, 100)
    assert plan is not None
    assert [task.action_name(action) for action in plan] == ["(go s way)", "(go way g)"]
    assert found(task, Indifferent(task, "way", 0.05), 100) == plan


def test_a_jump_that_is_far_worse_is_not() -> None:
    task = doors()
    assert found(task, Indifferent(task, "way", 20.0), 300) is None


def test_it_takes_part_in_planning() -> None:
    task = doors()
    moments = list(plan_stepwise(Indifferent(task, "way", 0.05), task, members=ALONE))
    end = moments[-1]
    assert (end.outcome, end.found_by, len(end.plan or ())) == (Outcome.FOUND, DRAWN, 2)


def test_a_try_that_is_in_doubt_is_given_up() -> None:
    """A corridor without end for a rollout: no try makes more jumps than that takes."""
    links = " ".join(f"(next n{i} n{i + 1})" for i in range(400))
    task = task_of(
        domain_of(DOORS),
        f"(define (problem p) (:domain doors) (:objects s g {' '.join(f'n{i}' for i in range(401))})"
        f" (:init (at s) (next s n0) {links}) (:goal (at g)))",
    )
    searcher = DrawnRollouts(Indifferent(task, "g", 0.0), task, Admissible(task, task.goal, PlaySpec()))
    roots = [decision.tree.root for decision, _ in zip(searcher.run(), range(200), strict=False)]
    begun = [number for number, root in enumerate(roots) if root == task.initial_state]
    assert len(begun) > 2
    assert {after - before for before, after in itertools.pairwise(begun)} == {51}


def test_a_chooser_orders_the_candidates_of_a_rollout() -> None:
    task = doors()
    chooser = Boltzmann(0.1, np.random.default_rng(0))
    rollout = play(Indifferent(task, "way", 0.05), task, chooser=chooser)
    assert rollout.chooser is chooser
    assert not rollout.take_goals
    assert rollout.goals_in_sight is None
