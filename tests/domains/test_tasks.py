"""Generated problems and our domain files through the project's own reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import IPC_DOMAINS
from tests.tasks import assert_same_task

from saltus.domains import DOMAINS, generate_problem
from saltus.pddl import Source, parse_domain, parse_problem
from saltus.task import build_task, load


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_every_split_is_read_without_warnings(name: str) -> None:
    """The reader accepts every generated problem, and no goal holds in the initial state or is impossible."""
    entry = DOMAINS[name]
    domain = parse_domain(Source.from_file(entry.path))
    for split in entry.splits:
        for index in (0, 3):
            text = generate_problem(name, split, index, 8 if split != "hard" else 30, seed=5)
            task = build_task(domain, parse_problem(Source.from_bytes(text.encode(), name), domain))
            assert task.problem.warnings == ()
            assert not task.goal.impossible
            assert not task.goal.holds(task.initial_state)


@pytest.mark.parametrize("name", IPC_DOMAINS)
def test_our_domain_file_gives_the_same_task(ipc: Path, name: str) -> None:
    """Ours and the IPC's own domain file: same predicates, schemas, initial state and goal for the same problem."""
    theirs = ipc / name / "domain.pddl"
    for problem in ("training/easy/p01.pddl", "training/easy/p40.pddl", "testing/easy/p30.pddl"):
        assert_same_task(load(DOMAINS[name].path, ipc / name / problem), load(theirs, ipc / name / problem))
