"""Contests in a report: what was chosen and why, damaged files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.lab.report.samples import write_run
from tests.learn.small import small_tasks

from saltus.lab.report.contests import read_contests
from saltus.lab.report.page import report_page
from saltus.lab.report.report import make_report
from saltus.learn.candidates import candidates_for
from saltus.learn.contest_state import HALVING, WINNER, Budget, ContestState, Round


def write_contest(folder: Path, **changes: Any) -> Path:
    """A contest that is over, with the run of one candidate."""
    candidates = candidates_for(small_tasks("ferry", 2), "cpu")
    state = ContestState("data/ferry", 0, [], Budget(600.0), candidates, ["iw-free"])
    state.rounds = [Round(HALVING, {}), Round(WINNER, {})]
    state.winner, state.used, state.ended_by = "iw-free", 359.6, "the time limit"
    state.reason = "iw-free: 5 of 5 and 12 of 12 larger, 602 actions; next: aiw: 5 of 5, 93 actions"
    for name, value in changes.items():
        setattr(state, name, value)
    write_run(folder / "candidates" / "iw-free", 0)
    state.write(folder)
    return folder


def test_a_report_says_what_contests_chose(tmp_path: Path) -> None:
    write_contest(tmp_path / "runs" / "ferry")
    write_contest(tmp_path / "runs" / "new", problems="data/delivery", winner="", reason="", ended_by="", rounds=[])
    report = make_report([], [tmp_path / "runs", tmp_path / "runs" / "ferry"])
    assert report.table("contests") is not None
    assert report.warnings == ()
    chosen = ["iw-free", "5 of 5 and 12 of 12 larger, 602 actions", "aiw: 5 of 5, 93 actions"]
    ended = ["2 rounds of 8 runs", "360 of 600 s", "the time limit"]
    path = str(tmp_path / "runs")
    assert report.table("contests").texts() == [
        ["delivery", f"{path}/new", "-", "-", "-", "0 rounds of 8 runs", "360 of 600 s", "goes on"],
        ["ferry", f"{path}/ferry", *chosen, *ended],
    ]
    assert report.table("contests") in report.tables()
    assert "5 of 5 and 12 of 12 larger, 602 actions" in report_page(report)


def test_without_contests_there_is_no_table(tmp_path: Path) -> None:
    write_run(tmp_path / "ferry", 0)
    report = make_report([], [tmp_path])
    assert report.table("contests") is None
    assert "Contests" not in report_page(report)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"budget": None}, "damaged"),
        ({"reason": ...}, "reason is missing"),
        ({"candidates": 7}, "candidates is no list"),
        ({"used": "soon"}, "damaged"),
        ({"used": float("inf")}, ""),
    ],
)
def test_damaged_contests_are_warnings(change: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    folder = write_contest(tmp_path / "ferry")
    values = json.loads((folder / "contest.json").read_text())
    values.update(change)
    values = {name: value for name, value in values.items() if value is not ...}
    (folder / "contest.json").write_text(json.dumps(values))
    contests, warnings = read_contests([tmp_path])
    assert len(contests) + len(warnings) == 1
    if complaint:
        (warning,) = warnings
        assert complaint in warning
        assert str(folder) in warning


def test_what_is_no_json_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "contest.json").write_bytes(b"\xff{")
    contests, (warning,) = read_contests([tmp_path])
    assert contests == []
    assert "not UTF-8" in warning
