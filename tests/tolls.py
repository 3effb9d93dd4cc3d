"""Walks over roads that are free or cost something, for tests of action costs."""

from __future__ import annotations

from collections.abc import Sequence

from tests.tasks import task_of

from saltus.task import Task

TOLLS = """(define (domain tolls) (:requirements :action-costs)
  (:predicates (at ?x) (road ?x ?y)) (:functions (total-cost) - number (toll ?x ?y) - number)
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (road ?x ?y))
    :effect (and (at ?y) (not (at ?x)) (increase (total-cost) (toll ?x ?y)))))"""


def toll_roads(text: str, start: str, goal: str, *, metric: bool = True) -> Task:
    """A walk over one-way roads such as `a-b:5 b-c:0`; without `metric`, costs do not count."""
    roads = [road.replace("-", ":").split(":") for road in text.split()]
    names = dict.fromkeys([start, goal, *(place for a, b, _ in roads for place in (a, b))])
    init = " ".join(f"(road {a} {b}) (= (toll {a} {b}) {toll})" for a, b, toll in roads)
    return task_of(
        TOLLS,
        f"(define (problem t) (:domain tolls) (:objects {' '.join(names)}) (:init (at {start}) (= (total-cost) 0)"
        f" {init}) (:goal (at {goal})) {'(:metric minimize (total-cost))' if metric else ''})",
    )


def toll_road(tolls: Sequence[float], *, metric: bool = True) -> Task:
    """A walk along n0, n1, … to the end."""
    text = " ".join(f"n{i}-n{i + 1}:{toll}" for i, toll in enumerate(tolls))
    return toll_roads(text, "n0", f"n{len(tolls)}", metric=metric)
