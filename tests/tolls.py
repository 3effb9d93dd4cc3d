"""A walk with tolls: roads that are free or cost something, for tests of action costs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tests.tasks import task_of

from saltus.task import Task

TOLLS = """(define (domain tolls) (:requirements :action-costs)
  (:predicates (at ?x) (road ?x ?y)) (:functions (total-cost) - number (toll ?x ?y) - number)
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (road ?x ?y))
    :effect (and (at ?y) (not (at ?x)) (increase (total-cost) (toll ?x ?y)))))"""


def toll_road(tolls: Sequence[float], *, metric: bool = True, goal: int | None = None) -> Task:
    """A one-way road n0, n1, …, to its end or to a goal on the way; without `metric`, costs do not count."""
    names = [f"n{i}" for i in range(len(tolls) + 1)]
    roads = [f"(road {a} {b}) (= (toll {a} {b}) {toll})" for (a, b), toll in zip(pairwise(names), tolls, strict=True)]
    return task_of(
        TOLLS,
        f"(define (problem t) (:domain tolls) (:objects {' '.join(names)}) (:init (at n0) (= (total-cost) 0)"
        f" {' '.join(roads)}) (:goal (at n{len(tolls) if goal is None else goal}))"
        f" {'(:metric minimize (total-cost))' if metric else ''})",
    )
