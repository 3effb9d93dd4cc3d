"""`saltus grow`: files, what it says, and its errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.grow.test_grow import HAULING

from saltus.cli.main import run
from saltus.grow import goals
from saltus.policy.exit_codes import ExitCode
from saltus.policy.relaxed import RelaxedFound
from saltus.task import find_suite, load


@pytest.fixture
def ferry(tmp_path: Path) -> Path:
    """A folder with a few training problems."""
    folder = tmp_path / "ferry"
    sizes = ["--set", "cars=3", "--set", "locations=4"]
    assert run(["generate", "ferry", "--count", "3", *sizes, "--out", str(folder)]) == ExitCode.SUCCESS
    return folder


def test_grow_writes_problems_and_says_how_they_were_made(
    ferry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    out = tmp_path / "grown"
    assert run(["grow", str(ferry), "--times", "2", "--count", "2", "--out", str(out)]) == ExitCode.SUCCESS
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert (out / "domain.pddl").read_bytes() == (ferry / "domain.pddl").read_bytes()
    files = find_suite(out).splits["training"]
    assert [path.name for path in files] == ["p01.pddl", "p02.pddl"]
    for line, path in zip(lines, files, strict=True):
        task = load(out / "domain.pddl", path)
        assert line.startswith(f"{path}: {len(task.objects)} objects, from ferry-")
        assert "plan found by search" in line or "state reached by a plan" in line
    again = tmp_path / "again"
    assert run(["grow", str(ferry), "--times", "2", "--count", "2", "--out", str(again)]) == ExitCode.SUCCESS
    assert [path.read_text() for path in files] == [(again / path.name).read_text() for path in files]


def test_grow_leaves_out_goals_that_are_no_conjunctions(
    ferry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    domain, (first, *others) = ferry / "domain.pddl", find_suite(ferry).splits["training"]
    domain.write_text(domain.read_text().replace("(:requirements ", "(:requirements :adl ", 1))
    before, _, goal = first.read_text().partition("(:goal")
    first.write_text(f"{before}(:goal (or (not (empty-ferry)) {goal.strip().removesuffix(')').removesuffix(')')}))\n)")
    out = tmp_path / "grown"
    assert run(["grow", str(ferry), "--times", "2", "--count", "1", "--out", str(out)]) == ExitCode.SUCCESS
    assert f"{first.name} is left out: its goal is no conjunction of literals" in capsys.readouterr().err
    for path in others:
        path.unlink()
    arguments = ["grow", str(ferry), "--out", str(tmp_path / "other")]
    assert run(arguments) == ExitCode.INPUT_ERROR
    assert "no problem to grow others from" in capsys.readouterr().err


def test_grow_refuses_what_makes_no_sense(ferry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", str(tmp_path / "grown")]
    for option, value in (("--times", "0.5"), ("--times", "nan"), ("--times", "1000"), ("--count", "0")):
        assert run(["grow", str(ferry), option, value, *out]) == ExitCode.USAGE_ERROR
        assert f"{option} must be" in capsys.readouterr().err
    assert run(["grow", str(ferry), "--out", str(ferry)]) == ExitCode.INPUT_ERROR
    assert "choose a new or empty folder" in capsys.readouterr().err
    assert run(["grow", str(ferry), "--out", str(ferry / "domain.pddl")]) == ExitCode.INPUT_ERROR
    assert "not a folder" in capsys.readouterr().err
    (ferry / "training").rename(ferry / "validation")
    assert run(["grow", str(ferry), *out]) == ExitCode.INPUT_ERROR
    assert "no training problems" in capsys.readouterr().err
    assert not (tmp_path / "grown").exists()


def test_grow_says_that_nothing_could_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "domain.pddl").write_text(HAULING)
    (tmp_path / "p.pddl").write_text(
        "(define (problem h) (:domain hauling) (:objects c - crate)\n"
        "(:init (at c yard) (crane yard) (idle)) (:goal (up c)))"
    )
    assert run(["grow", str(tmp_path), "--out", str(tmp_path / "grown")]) == ExitCode.NO_PLAN
    assert "no problem could be made: nothing could be added" in capsys.readouterr().err
    assert not (tmp_path / "grown").exists()


def test_grow_names_and_leaves_out_what_says_nothing(
    ferry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Trivial, unsolvable and unreadable problems and those of another domain must not spoil the others."""
    first = (ferry / "training" / "p001.pddl").read_text()
    cut = first.index("(:goal")
    (ferry / "training" / "trivial.pddl").write_text(f"{first[:cut]}(:goal (empty-ferry)))")
    start = first.index("(at-ferry")
    (ferry / "training" / "stuck.pddl").write_text(first[:start] + first[first.index(")", start) + 1 :])
    (ferry / "training" / "torn.pddl").write_text(first[:cut])
    (ferry / "training" / "other.pddl").write_text(first.replace("(:domain ferry)", "(:domain bridge)"))
    capsys.readouterr()
    out = tmp_path / "grown"
    assert run(["grow", str(ferry), "--times", "2", "--count", "2", "--out", str(out)]) == ExitCode.SUCCESS
    said = capsys.readouterr().err
    assert "trivial.pddl is left out: its goal is true at the start" in said
    assert "stuck.pddl is left out: its goal cannot be reached" in said
    assert "torn.pddl is left out:" in said
    assert "never closed" in said
    assert "other.pddl is left out:" in said
    assert "for domain 'bridge'" in said
    for path in find_suite(out).splits["training"]:
        assert path.read_text().count("(at-ferry ") == 1
    for number in (1, 2, 3):
        (ferry / "training" / f"p00{number}.pddl").unlink()
    assert run(["grow", str(ferry), "--out", str(tmp_path / "more")]) == ExitCode.INPUT_ERROR
    assert "no problem to grow others from" in capsys.readouterr().err


def test_one_problem_grows(ferry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (2, 3):
        (ferry / "training" / f"p00{number}.pddl").unlink()
    out = tmp_path / "grown"
    assert run(["grow", str(ferry), "--times", "2", "--count", "2", "--out", str(out)]) == ExitCode.SUCCESS
    capsys.readouterr()
    assert all(len(load(out / "domain.pddl", path).objects) > 7 for path in find_suite(out).splits["training"])


def test_grow_says_that_no_plan_was_found(
    ferry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(goals, "MOST_DECISIONS", 1)
    monkeypatch.setattr("saltus.grow.grower.goal_of_state", lambda *_: None)
    monkeypatch.setattr("saltus.grow.plans.relaxed_search", lambda *_: RelaxedFound())
    options = ["grow", str(ferry), "--times", "2", "--count", "1"]
    assert run([*options, "--out", str(tmp_path / "grown")]) == ExitCode.NO_PLAN
    assert "no plan was found for any of the 4 problems tried" in capsys.readouterr().err
