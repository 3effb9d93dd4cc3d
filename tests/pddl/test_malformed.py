"""Every malformed input gives its own message at its own place."""

from __future__ import annotations

import pytest
from tests.pddl.malformed import CASES, DOMAIN, FLAWS, PROBLEM, Case

from saltus.errors import PddlError
from saltus.pddl import Source, parse_domain, parse_problem
from saltus.task import Task, build_task


def read(domain: bytes, problem: bytes, *, strict: bool = False) -> Task:
    """Reads both texts as files of these names."""
    parsed = parse_domain(Source.from_bytes(domain, "domain.pddl", strict=strict))
    return build_task(parsed, parse_problem(Source.from_bytes(problem, "problem.pddl", strict=strict), parsed))


def test_unchanged_texts_are_accepted() -> None:
    assert read(DOMAIN.encode(), PROBLEM.encode(), strict=True).problem.warnings == ()


def test_names_of_cases_are_distinct() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 45
    assert len({case.name for case in FLAWS}) == len(FLAWS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_malformed(case: Case) -> None:
    with pytest.raises(case.error) as caught:
        read(case.domain, case.problem)
    assert type(caught.value) is case.error
    assert str(caught.value) == f"{case.wrong}.pddl:{case.line}:{case.column}: {case.message}"
    position = caught.value.position
    assert position is not None
    assert (position.file, position.line, position.column) == (f"{case.wrong}.pddl", case.line, case.column)


@pytest.mark.parametrize("case", FLAWS, ids=lambda case: case.name)
def test_flaws_are_warnings_and_errors_if_strict(case: Case) -> None:
    message = f"{case.wrong}.pddl:{case.line}:{case.column}: {case.message}"
    assert read(case.domain, case.problem).problem.warnings == (message,)
    with pytest.raises(PddlError) as caught:
        read(case.domain, case.problem, strict=True)
    assert str(caught.value) == message


def test_flaws_change_nothing_else() -> None:
    """The task is the one without the flaw; a second supertype counts."""
    plain = read(DOMAIN.encode(), PROBLEM.encode())
    for case in FLAWS:
        task = read(case.domain, case.problem)
        assert task.objects == plain.objects, case.name
        assert len(task.initial_state) == len(plain.initial_state)
        assert [schema.precondition for schema in task.schemas] == [schema.precondition for schema in plain.schemas]
    second = next(case for case in FLAWS if case.name == "second supertype")
    assert read(second.domain, second.problem).domain.ancestors("crate") == {"crate", "thing", "place", "object"}


def test_many_flaws_are_not_all_listed() -> None:
    text = DOMAIN.replace("home - place)", f"home {'home ' * 50}- place)")
    warnings = read(text.encode(), PROBLEM.encode()).problem.warnings
    assert len(warnings) == 11
    assert warnings[-1] == "domain.pddl: more flaws, not listed"
