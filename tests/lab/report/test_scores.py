"""Scores of the IPC, with answers worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from tests.lab.report.samples import record, series_of, write_records

from saltus.lab.bench.record import Record, parse_record
from saltus.lab.report.charts import coverage_by_size, size_groups
from saltus.lab.report.report import make_report
from saltus.lab.report.scores import best_lengths, quality_score, score_table, time_score

OURS = [
    record(problem="p1", plan_length=10, seconds=0.2),
    record(problem="p2", plan_length=20, seconds=math.sqrt(1800)),
    record(problem="p3", outcome="time limit", seconds=1800.0),
    record("miconic", problem="p1", plan_length=8, seconds=1.0),
]
LAMA = [
    record(problem="p1", plan_length=20, seconds=1.0, method="lama-first"),
    record(problem="p2", plan_length=10, seconds=1800.0, method="lama-first"),
    record(problem="p3", plan_length=7, seconds=3000.0, method="lama-first"),
    record("miconic", problem="p1", outcome="time limit", method="lama-first"),
]


def parsed(**changes: object) -> Record:
    """A record of one problem."""
    return parse_record(json.dumps(record(**changes)).encode(), "records.jsonl", 1)


def test_quality_is_the_best_length_known_over_the_length() -> None:
    best = {("ferry", "easy", "p01"): 15}
    assert quality_score(parsed(plan_length=30), best) == 0.5
    assert quality_score(parsed(plan_length=30), {}) == 1.0
    assert quality_score(parsed(plan_length=10), best) == 1.0  # better than the best known
    assert quality_score(parsed(outcome="time limit"), best) == 0.0
    assert quality_score(parsed(plan_length=0), best) == 1.0


def test_time_score_falls_with_the_logarithm() -> None:
    assert time_score(parsed(seconds=0.01)) == 1.0
    assert time_score(parsed(seconds=1.0)) == 1.0
    assert time_score(parsed(seconds=math.sqrt(1800))) == pytest.approx(0.5)
    assert time_score(parsed(seconds=1800.0)) == 0.0
    assert time_score(parsed(seconds=5000.0)) == 0.0
    assert time_score(parsed(outcome="time limit", seconds=1.0)) == 0.0


def test_best_lengths_are_those_of_solved_problems() -> None:
    ours, lama = series_of(OURS, LAMA)
    found = best_lengths([*ours.records.values(), *lama.records.values()])
    assert found == {
        ("ferry", "easy", "p1"): 10,
        ("ferry", "easy", "p2"): 10,
        ("ferry", "easy", "p3"): 7,
        ("miconic", "easy", "p1"): 8,
    }


def test_table_of_scores() -> None:
    table = score_table(series_of(OURS, LAMA))
    assert table.texts() == [
        ["ferry", "2/3", "3/3", "1.5", "2.5", "1.5", "1.0"],
        ["miconic", "1/1", "0/1", "1.0", "0.0", "1.0", "0.0"],
        ["all", "3/4", "3/4", "2.5", "2.5", "2.5", "1.0"],
    ]
    assert [cell.sign for cell in table.rows[0].cells] == ["", "", "", "", "better", "better", ""]
    assert [cell.sign for cell in table.rows[2].cells] == ["", "", "", "", "", "better", ""]
    assert len(table.notes) == 1


def test_series_with_other_problems_are_noted_and_not_ranked() -> None:
    table = score_table(series_of(OURS, LAMA[:2]))
    assert "Not all series tried the same problems" in table.notes[-1]
    assert not any(cell.sign for row in table.rows for cell in row.cells)
    assert table.texts()[1] == ["miconic", "1/1", "-", "1.0", "-", "1.0", "-"]


def test_references_count_without_being_shown(tmp_path: Path) -> None:
    ours = write_records(tmp_path / "ours.jsonl", OURS)
    lama = write_records(tmp_path / "lama.jsonl", LAMA)
    alone, against = make_report([ours]).table("scores"), make_report([ours], references=[lama]).table("scores")
    assert alone is not None
    assert against is not None
    assert alone.texts()[-1] == ["all", "3/4", "3.0", "2.5"]
    assert against.texts()[-1] == ["all", "3/4", "2.5", "2.5"]


def test_groups_of_sizes() -> None:
    assert size_groups([]) == []
    assert size_groups([5, 6]) == [(5, 6)]
    assert size_groups([1, 2, 3, 3, 3, 3, 3, 3, 4, 5, 6, 7]) == [(1, 3), (4, 7)]
    assert size_groups([3] * 100) == [(3, 3)]
    groups = size_groups(list(range(1, 1001)))
    assert len(groups) == 10
    assert groups[0] == (1, 100)
    assert groups[-1] == (901, 1000)


def test_coverage_by_size_takes_the_size_from_any_series() -> None:
    ours = [record(problem=f"p{i}", objects=i) for i in range(1, 13)]
    lama = [
        record(problem=f"p{i}", objects=i if i < 4 else None, method="lama", outcome="plan found" if i < 4 else "crash")
        for i in range(1, 13)
    ]
    drawn = coverage_by_size(series_of(ours, lama))
    assert "aiw-ad: 6 of 6 problems with 1 to 6 objects" in drawn
    assert "lama: 3 of 6 problems with 1 to 6 objects" in drawn
    assert "lama: 0 of 6 problems with 7 to 12 objects" in drawn
    assert "left out" not in drawn
    assert coverage_by_size(series_of([record(objects=None)])) == ""
    assert "1 problem of unknown size" in coverage_by_size(series_of([record(), record(problem="p2", objects=None)]))
