"""A walker among doors and bells, for tests of free moves."""

from __future__ import annotations

from itertools import pairwise

from tests.tasks import domain_of, task_of

from saltus.task import Task

ERRANDS = """(define (domain errands)
  (:requirements :typing)
  (:types walker place)
  (:predicates (at ?w - walker ?p - place) (road ?a ?b - place) (bell ?p - place) (rung) (ready) (neat))
  (:action walk :parameters (?w - walker ?a ?b - place) :precondition (and (at ?w ?a) (road ?a ?b))
    :effect (and (at ?w ?b) (not (at ?w ?a))))
  (:action ring :parameters (?w - walker ?p - place) :precondition (and (at ?w ?p) (bell ?p)) :effect (rung))
  (:action prepare :parameters (?w - walker) :effect (ready))
  (:action shout :parameters (?w - walker) :precondition (ready) :effect (and (rung) (neat))))"""


def errands_problem(places: int = 4, walkers: int = 1, *, goal: str = "(rung)", one_way: bool = False) -> str:
    """A problem with a road from p0, where all walkers are, to the bell at its end; p0 comes first."""
    names = [f"p{i}" for i in range(places)]
    people = [f"w{i}" for i in range(walkers)]
    roads = [f"(road {a} {b})" + ("" if one_way else f" (road {b} {a})") for a, b in pairwise(names)]
    start = [f"(at {walker} p0)" for walker in people]
    return (
        f"(define (problem e{places}) (:domain errands)"
        f" (:objects {' '.join(names)} - place {' '.join(people)} - walker)"
        f" (:init {' '.join([*start, *roads])} (bell {names[-1]})) (:goal {goal}))"
    )


def errands(places: int = 4, walkers: int = 1, *, goal: str = "(rung)", one_way: bool = False) -> Task:
    """The task of such a problem."""
    return task_of(domain_of(ERRANDS), errands_problem(places, walkers, goal=goal, one_way=one_way))
