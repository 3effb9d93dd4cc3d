"""Reading what was written gives the same domain and the same task; reading twice gives the same arrays."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import IPC_DOMAINS
from tests.pddl.malformed import DOMAIN, PROBLEM
from tests.tasks import RICH_DOMAIN, RICH_PROBLEM, assert_same_task, domain_of, easy_problems, task_of

from saltus.pddl import Source, parse_domain, write_domain, write_problem
from saltus.task import Task, build_task, load


def rewritten(task: Task) -> Task:
    """The task read again from what the writer makes of it."""
    return task_of(write_domain(task.domain), write_problem(task.domain, task.problem))


@pytest.mark.parametrize(("domain", "problem"), [(DOMAIN, PROBLEM), (RICH_DOMAIN, RICH_PROBLEM)], ids=["depot", "rich"])
def test_round_trip(domain: str, problem: str) -> None:
    task = task_of(domain, problem)
    assert_same_task(rewritten(task), task)
    assert write_domain(rewritten(task).domain) == write_domain(task.domain)


@pytest.mark.parametrize(
    "effect",
    [
        "()",
        "(and (p) (when () (q)))",
        "(and (when (p) (and (q) (not (p)))) (when (q) (and)) (p))",
        "(forall (?x) (and (r ?x) (when (and) (and (not (r ?x)) (q))) (when (r ?x) (p))))",
        "(forall (?x) (forall (?y) (when (not (= ?x ?y)) (and (r ?x) (r ?y)))))",
    ],
)
def test_effects_keep_their_shape(effect: str) -> None:
    domain = domain_of(f"(define (domain d) (:predicates (p) (q) (r ?x)) (:action a :effect {effect}))")
    assert domain_of(write_domain(domain)) == domain


def test_empty_sections() -> None:
    domain = domain_of("(define (domain d) (:requirements) (:predicates))")
    assert domain_of(write_domain(domain)) == domain
    task = task_of(domain, "(define (problem p) (:domain d) (:requirements :adl) (:init) (:goal ()))")
    assert_same_task(rewritten(task), task)


@given(st.floats(0, 1e300, allow_subnormal=True))
def test_numbers_survive(value: float) -> None:
    task = task_of(DOMAIN, PROBLEM)
    task.problem.values[("distance", "north", "home")] = value
    assert rewritten(task).problem.values == task.problem.values


@pytest.mark.parametrize("name", IPC_DOMAINS)
def test_ipc_problems(ipc: Path, name: str) -> None:
    domain = parse_domain(Source.from_file(ipc / name / "domain.pddl"))
    hard = sorted((ipc / name / "testing").rglob("*.pddl"), key=lambda path: path.stat().st_size)[-1]
    for path in (*easy_problems(ipc, name, 15), hard):
        task = load(domain, path)
        assert_same_task(load(ipc / name / "domain.pddl", path), task)
        assert_same_task(rewritten(task), task)


def test_written_problem_is_a_file_of_the_same_domain(tmp_path: Path) -> None:
    task = task_of(RICH_DOMAIN, RICH_PROBLEM)
    (tmp_path / "domain.pddl").write_text(write_domain(task.domain))
    (tmp_path / "problem.pddl").write_text(write_problem(task.domain, task.problem))
    again = load(tmp_path / "domain.pddl", tmp_path / "problem.pddl")
    assert_same_task(again, task)
    assert_same_task(build_task(again.domain, again.problem), again)
