"""Comparison of series, with answers worked out by hand."""

from __future__ import annotations

import pytest
from tests.lab.report.samples import record, series_of

from saltus.lab.report.compare import common_problems, comparisons, geometric_mean

LEFT = [
    record(problem="p1", plan_length=10, seconds=1.0),
    record(problem="p2", plan_length=20, seconds=4.0),
    record(problem="p3", outcome="time limit", seconds=1800.0),
    record("miconic", problem="p1", plan_length=5, seconds=0.0),
    record("miconic", problem="p2", plan_length=7, seconds=1.0),
    record("spanner", problem="p1"),
]
RIGHT = [
    record(problem="p1", plan_length=20, seconds=2.0, method="lama-first"),
    record(problem="p2", plan_length=90, seconds=8.0, method="lama-first"),
    record(problem="p3", plan_length=3, seconds=8.0, method="lama-first"),
    record("miconic", problem="p1", plan_length=5, seconds=0.002, method="lama-first"),
    record("miconic", problem="p2", outcome="policy failed", method="lama-first"),
]


def test_geometric_mean() -> None:
    assert geometric_mean([1, 10, 100]) == pytest.approx(10)
    assert geometric_mean([]) is None


def test_a_pair_is_compared_on_what_both_solved() -> None:
    series = series_of(LEFT, RIGHT)
    assert len(common_problems(series)) == 3
    (table,) = comparisons(series)
    assert table.title == "aiw-ad and lama-first"
    # domain, tried, both, only left, only right, lengths and ratio, seconds and ratio, plans shorter, same, longer
    assert table.texts() == [
        ["ferry", "3", "2", "0", "1", "14.1", "42.4", "3", "2", "4", "2", "2", "0", "0"],
        ["miconic", "2", "1", "1", "0", "5", "5", "1", "0.001", "0.002", "2", "0", "1", "0"],
        ["all", "5", "3", "1", "1", "10", "20.8", "2.08", "0.159", "0.317", "2", "2", "1", "0"],
    ]
    ratios = [[row.cells[i].sign for i in (7, 10)] for row in table.rows]
    assert ratios == [["better", "better"], ["", "better"], ["better", "better"]]
    assert "1 problem tried only by aiw-ad: left out." in table.notes


def test_ratios_are_means_of_ratios_not_ratios_of_sums() -> None:
    left = [record(problem="p1", plan_length=1), record(problem="p2", plan_length=1000)]
    right = [record(problem="p1", plan_length=4, search=True), record(problem="p2", plan_length=1000, search=True)]
    (table,) = comparisons(series_of(left, right))
    assert table.texts()[-1][7] == "2"


def test_nothing_solved_in_common() -> None:
    (table,) = comparisons(series_of([record()], [record(outcome="crash", method="x")]))
    assert table.texts()[-1] == ["all", "1", "0", "1", "0", *["-"] * 9]
    assert comparisons(series_of([record()], [record("miconic", method="x")])) == []


def test_plans_of_no_action_and_missing_times_are_left_out_of_means() -> None:
    left = [record(problem="p1", plan_length=0), record(problem="p2", plan_length=4, seconds=None)]
    right = [record(problem="p1", plan_length=0, method="x"), record(problem="p2", plan_length=8, method="x")]
    (table,) = comparisons(series_of(left, right))
    assert table.texts()[-1] == ["all", "2", "2", "0", "0", "4", "8", "2", "0.5", "0.5", "1", "1", "0", "0"]


def test_more_than_two_series() -> None:
    third = [entry | {"method": "goal-count", "plan_length": 40} for entry in LEFT[:2]]
    tables = comparisons(series_of(LEFT, RIGHT, third))
    assert [table.title for table in tables] == [
        "Solved by all",
        "aiw-ad and lama-first",
        "aiw-ad and goal-count",
        "lama-first and goal-count",
    ]
    assert tables[0].texts()[-1] == ["all", "2", "14.1", "42.4", "40", "2", "4", "2"]
    assert [cell.sign for cell in tables[0].rows[-1].cells[2:5]] == ["better", "", ""]
    many = comparisons(series_of(*[[record(method=f"m{i}")] for i in range(6)]))
    assert [table.title for table in many[1:]] == [f"m0 and m{i}" for i in range(1, 6)]
