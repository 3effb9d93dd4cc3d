"""Made problems whose actions have costs: what is missing is noticed, what cannot be reached is not asked for."""

from __future__ import annotations

import pytest
from tests.tasks import domain_of, rich_task, task_of

from saltus.grow import Grower
from saltus.grow.costs import costs_are_known
from saltus.task import Task

LIFTS = """\
(define (domain lifts)
  (:requirements :strips :typing :action-costs)
  (:types lift floor guest)
  (:predicates (serves ?l - lift ?f - floor) (above ?a ?b - floor) (at ?l - lift ?f - floor) (home ?g - guest)
               (waits ?g - guest ?f - floor))
  (:functions (total-cost) - number (time ?a ?b - floor) - number)
  (:action up :parameters (?l - lift ?a ?b - floor) :precondition (and (at ?l ?a) (above ?a ?b) (serves ?l ?b))
    :effect (and (not (at ?l ?a)) (at ?l ?b) (increase (total-cost) (time ?a ?b))))
  (:action serve :parameters (?g - guest ?l - lift ?f - floor) :precondition (and (at ?l ?f) (waits ?g ?f))
    :effect (and (home ?g) (not (waits ?g ?f)) (increase (total-cost) 1))))
"""


def lifts(serves: dict[str, list[int]], times: list[tuple[int, int]], floors: int = 4) -> Task:
    """Lifts that begin at the lowest floor that they serve, and guests who wait on all floors."""
    names = [f"f{i}" for i in range(floors)]
    above = [f"(above f{a} f{b})" for a in range(floors) for b in range(a + 1, floors)]
    init = [f"(serves {name} f{i})" for name, own in serves.items() for i in own]
    init += [f"(at {name} f{own[0]})" for name, own in serves.items()]
    init += [f"(= (time f{a} f{b}) {b - a})" for a, b in times]
    init += [f"(waits g{i} f{i})" for i in range(floors)]
    guests = [f"g{i}" for i in range(floors)]
    text = (
        f"(define (problem l) (:domain lifts) (:objects {' '.join(serves)} - lift {' '.join(names)} - floor"
        f" {' '.join(guests)} - guest) (:init {' '.join(init + above)} (= (total-cost) 0))"
        f" (:goal (and {' '.join(f'(home {name})' for name in guests[:-1])})) (:metric minimize (total-cost)))"
    )
    return task_of(domain_of(LIFTS), text)


def test_moves_that_cannot_be_reached_need_no_costs() -> None:
    """Each lift stays in its half: there is no time from the first floor to the last."""
    halves = {"low": [0, 1], "high": [2, 3]}
    assert costs_are_known(lifts(halves, [(0, 1), (2, 3)]))
    assert not costs_are_known(lifts(halves, [(0, 1)]))
    assert not costs_are_known(lifts({"low": [0, 1, 3], "high": [2, 3]}, [(0, 1), (2, 3)]))


def test_what_is_not_known_is_no_reason_against_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("saltus.grow.costs.MOST_ACTIONS", 1)
    assert costs_are_known(lifts({"low": [0, 1], "high": [2, 3]}, [(0, 1)]))


def test_given_problems_that_lack_costs_do_as_they_are() -> None:
    """The move that has no cost may never be needed."""
    given = [lifts({"low": [0, 1], "high": [2, 3]}, [(0, 1)])]
    grower = Grower(given[0].domain, given)
    goal = given[0].atom("(home g0)")
    draft = grower.drafts[0].copy()
    draft.set_goal([(draft.relations.goal + given[0].decode(goal)[0], *given[0].decode(goal)[1:])])
    assert grower._finished(draft, lambda: None) is not None


def test_where_actions_cost_one_or_what_they_say_nothing_can_be_missing() -> None:
    assert costs_are_known(rich_task())


def test_a_problem_that_lacks_a_cost_is_not_kept() -> None:
    """A copy of a lift that serves floors of both halves."""
    whole = [lifts({"low": [0, 1], "high": [2, 3]}, [(0, 1), (2, 3)])]
    grower = Grower(whole[0].domain, whole)
    draft = grower.drafts[0].copy()
    assert grower._finished(draft.copy(), lambda: None) is not None
    serves, low, last = (
        whole[0].predicate_number["serves"],
        whole[0].object_number["low"],
        whole[0].object_number["f3"],
    )
    draft.add((serves, low, last))
    assert grower._finished(draft, lambda: None) is None
