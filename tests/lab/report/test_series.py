"""Which records make up a series, and what it is called."""

from __future__ import annotations

from pathlib import Path

from tests.lab.report.samples import record, write_records

from saltus.lab.bench.records import read_records
from saltus.lab.report.series import make_series


def series_of(tmp_path: Path, **files: list[dict[str, object]]) -> tuple[list[tuple[str, int]], list[str]]:
    """Labels and sizes of the series of some files, and the warnings."""
    read = [read_records(write_records(tmp_path / f"{name}.jsonl", records)) for name, records in files.items()]
    series, warnings = make_series(read)
    return [(entry.label, len(entry.records)) for entry in series], warnings


def test_files_of_one_method_that_share_no_problem_are_one_series(tmp_path: Path) -> None:
    found, warnings = series_of(
        tmp_path,
        blocks=[record("blocksworld", policy="blocksworld", configuration="a" * 12)],
        ferry=[record("ferry", policy="ferry", configuration="b" * 12)],
    )
    assert (found, warnings) == ([("aiw-ad", 2)], [])


def test_files_that_share_problems_are_compared_and_named_apart(tmp_path: Path) -> None:
    found, _ = series_of(tmp_path, old=[record()], new=[record(), record(problem="p02")])
    assert found == [("aiw-ad · old", 1), ("aiw-ad · new", 2)]


def test_ways_of_planning_are_told_apart(tmp_path: Path) -> None:
    found, _ = series_of(
        tmp_path, a=[record(), record(search=True), record(method="lama-first"), record(protocol="paper")]
    )
    assert found == [("aiw-ad · open", 1), ("aiw-ad + search", 1), ("lama-first", 1), ("aiw-ad · paper", 1)]


def test_policies_and_configurations_are_told_apart_where_they_must_be(tmp_path: Path) -> None:
    found, warnings = series_of(tmp_path, a=[record(policy="runs/1/best.st"), record(policy="runs/2/last.st")])
    assert (found, warnings) == ([("aiw-ad · best.st", 1), ("aiw-ad · last.st", 1)], [])
    found, warnings = series_of(tmp_path, a=[record(configuration="a" * 12), record(configuration="b" * 12)])
    assert (found, warnings) == ([(f"aiw-ad · {'a' * 12}", 1), (f"aiw-ad · {'b' * 12}", 1)], [])


def test_the_same_file_twice_has_two_names(tmp_path: Path) -> None:
    path = write_records(tmp_path / "a.jsonl", [record()])
    series, _ = make_series([read_records(path), read_records(path)])
    assert [entry.label for entry in series] == ["aiw-ad (1)", "aiw-ad (2)"]


def test_of_duplicate_records_the_last_counts(tmp_path: Path) -> None:
    path = write_records(tmp_path / "a.jsonl", [record(outcome="time limit"), record(), record(problem="p02")])
    (series,), warnings = make_series([read_records(path)])
    assert len(series.solved) == 2
    assert warnings == [
        f"{path}:2: duplicate record of ferry easy p01, first in line 1 (was 'time limit', now 'plan found'); "
        "the last one counts"
    ]


def test_mixed_versions_of_the_program_are_told(tmp_path: Path) -> None:
    records = [record(), record(problem="p02", versions={"saltus": "0.2.0"}), record(problem="p03", versions=None)]
    _, warnings = series_of(tmp_path, a=records)
    assert len(warnings) == 1
    assert warnings[0].endswith("a.jsonl: aiw-ad mixes records of saltus 0.1.0 (1 records), 0.2.0 (1 records)")
