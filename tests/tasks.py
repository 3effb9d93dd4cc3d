"""Texts and small tasks that several tests use."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from saltus.lookahead import PlaySpec, TreeSpec
from saltus.lookahead.spec import names_of
from saltus.pddl import Domain, Source, parse_domain, parse_problem
from saltus.task import Task, build_task

RICH_DOMAIN = """\
; every feature of the supported language
(define (domain rich)
  (:requirements :strips :typing :equality :negative-preconditions :universal-preconditions :conditional-effects
                 :action-costs)
  (:types box ball - item item room - object)
  (:constants hall - room)
  (:predicates (at ?i - item ?r - room) (linked ?a ?b - room) (dirty ?r - room) (held ?i - item) (free)
               (seen ?x - (either item room)) (inside ?b - ball ?x - box))
  (:functions (total-cost) - number (distance ?a ?b - room) - number)
  (:action move
    :parameters (?a ?b - room)
    :precondition (and (linked ?a ?b) (not (= ?a ?b)) (not (dirty ?b)))
    :effect (and (dirty ?a) (seen ?b)
                 (forall (?i - item) (when (and (held ?i) (at ?i ?a)) (and (not (at ?i ?a)) (at ?i ?b))))
                 (increase (total-cost) (distance ?a ?b)) (increase (total-cost) 0.5)))
  (:action pick
    :parameters (?i - item ?r - room)
    :precondition (and (at ?i ?r) (free))
    :effect (and (held ?i) (not (free)) (when (dirty ?r) (not (dirty ?r))) (seen ?i)))
  (:action drop
    :parameters (?i - item)
    :precondition (held ?i)
    :effect (and (not (held ?i)) (free)))
  (:action clean
    :parameters (?r - room)
    :precondition (and (free) (forall (?i - item) (not (held ?i))))
    :effect (and (forall (?x - room) (not (dirty ?x))) (dirty ?r) (not (dirty ?r)) (increase (total-cost) 2)))
  (:action look
    :effect (forall (?b - ball ?x - box) (when (inside ?b ?x) (and (seen ?b) (seen ?x)))))
  (:action pack
    :parameters (?b - ball ?x - box ?r - room)
    :precondition (and (at ?b ?r) (at ?x ?r) (held ?b) (forall (?o - ball) (not (inside ?o ?x))))
    :effect (and (inside ?b ?x) (not (held ?b)) (free)))
)
"""

RICH_PROBLEM = """\
(define (problem rich-1)
  (:domain rich)
  (:objects attic cellar - room b1 b2 - ball x1 - box odd - (either ball box))
  (:init (linked hall attic) (linked attic hall) (linked hall cellar) (linked cellar hall) (linked attic attic)
         (at b1 attic) (at b2 cellar) (at x1 hall) (at odd hall) (free) (not (dirty hall))
         (= (total-cost) 0) (= (distance hall attic) 3) (= (distance attic hall) 3.25)
         (= (distance hall cellar) 0.0000001) (= (distance cellar hall) 4) (= (distance attic attic) 1))
  (:goal (and (at b1 cellar) (forall (?r - room) (not (dirty ?r))) (not (= b1 b2)) (not (held x1))))
  (:metric minimize (total-cost))
)
"""


def domain_of(text: str) -> Domain:
    """The domain in a text."""
    return parse_domain(Source.from_bytes(text.encode(), "domain.pddl"))


def task_of(domain: str | Domain, problem: str) -> Task:
    """The task of two texts."""
    parsed = domain if isinstance(domain, Domain) else domain_of(domain)
    return build_task(parsed, parse_problem(Source.from_bytes(problem.encode(), "problem.pddl"), parsed))


def rich_task() -> Task:
    """The task with every supported feature."""
    return task_of(RICH_DOMAIN, RICH_PROBLEM)


def easy_problems(ipc: Path, domain: str, count: int) -> list[Path]:
    """The first easy training problems of a domain."""
    files = sorted((ipc / domain / "training" / "easy").glob("*.pddl"))[:count]
    assert len(files) == count
    return files


def assert_same_task(left: Task, right: Task) -> None:
    """Every part of the two tasks is equal, arrays bit for bit."""
    assert left.domain == right.domain
    assert left.name == right.name
    assert left.objects == right.objects
    assert left.types == right.types
    assert left.schemas == right.schemas
    assert left.initial_state == right.initial_state
    assert left.goal == right.goal
    assert left.problem.requirements == right.problem.requirements
    assert left.problem.objects == right.problem.objects
    assert left.problem.values == right.problem.values
    assert left.problem.goal == right.problem.goal
    assert left.problem.minimize_cost == right.problem.minimize_cost
    arrays = [
        (left.is_a, right.is_a),
        (left.object_type, right.object_type),
        (left.arity, right.arity),
        (left.fluent, right.fluent),
        (left.code_offset, right.code_offset),
        (left.initial_state.codes, right.initial_state.codes),
        (left.problem.init_predicate, right.problem.init_predicate),
        (left.problem.init_argument, right.problem.init_argument),
        *zip(left.static_atoms, right.static_atoms, strict=True),
    ]
    for a, b in arrays:
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


def spec_with(**fields: object) -> TreeSpec | PlaySpec:
    """The specification that has these fields; an error says so if a value is senseless."""
    kind = PlaySpec if fields.keys() <= set(names_of(PlaySpec)) else TreeSpec
    return kind(**fields)  # type: ignore[arg-type]
