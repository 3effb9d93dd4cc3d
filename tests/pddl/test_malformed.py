"""Every malformed input gives its own message at its own place."""

from __future__ import annotations

import pytest
from tests.pddl.malformed import CASES, DOMAIN, PROBLEM, Case

from saltus.pddl import Source, parse_domain, parse_problem
from saltus.task import build_task


def read(domain: bytes, problem: bytes) -> None:
    """Reads both texts as files of these names."""
    parsed = parse_domain(Source.from_bytes(domain, "domain.pddl"))
    build_task(parsed, parse_problem(Source.from_bytes(problem, "problem.pddl"), parsed))


def test_unchanged_texts_are_accepted() -> None:
    read(DOMAIN.encode(), PROBLEM.encode())


def test_names_of_cases_are_distinct() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 45


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_malformed(case: Case) -> None:
    with pytest.raises(case.error) as caught:
        read(case.domain, case.problem)
    assert type(caught.value) is case.error
    assert str(caught.value) == f"{case.wrong}.pddl:{case.line}:{case.column}: {case.message}"
    position = caught.value.position
    assert position is not None
    assert (position.file, position.line, position.column) == (f"{case.wrong}.pddl", case.line, case.column)
