"""Record files: what is read, what is refused, what is warned about, and which records make up a series."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.report.samples import record, write_records

from saltus.errors import InputError
from saltus.report.records import FAILURES, UNEXPLAINED, read_records
from saltus.report.series import make_series


def write(path: Path, *lines: object) -> Path:
    """The path, with lines that are texts, bytes or values to be written as JSON."""
    parts = [
        line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()
        for line in lines
    ]
    path.write_bytes(b"\n".join(parts) + b"\n")
    return path


def test_fields_are_read_and_unknown_ones_ignored(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", record(detail="x", later_field={"a": [1]}), "", record(problem="p02"))
    file = read_records(path)
    assert [entry.problem for entry in file.records] == ["p01", "p02"]
    first = file.records[0]
    assert (first.key, first.plan_length, first.seconds) == (("ferry", "easy", "p01"), 30, 0.5)
    assert (first.version, first.place) == ("0.1.0", f"{path}:1")
    assert file.records[1].line == 3
    assert file.warnings == ()


def test_missing_figures_are_none(tmp_path: Path) -> None:
    short = {key: record()[key] for key in ("format", "version", "domain", "split", "problem", "method", "outcome")}
    (entry,) = read_records(write(tmp_path / "a.jsonl", short)).records
    assert (entry.seconds, entry.plan_length, entry.objects, entry.policy) == (None, None, None, "")
    assert entry.solved
    assert entry.unexplained  # a plan without a length


@pytest.mark.parametrize("outcome", ["plan found", *FAILURES, *UNEXPLAINED, "something new"])
def test_only_plans_count_as_solved(tmp_path: Path, outcome: str) -> None:
    (entry,) = read_records(write(tmp_path / "a.jsonl", record(outcome=outcome))).records
    assert entry.solved == (outcome == "plan found")
    assert entry.unexplained == (outcome in UNEXPLAINED or outcome == "something new")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "a.jsonl: no records in this file"),
        ("not JSON", "a.jsonl:1:1: no record file: no JSON: Expecting value"),
        ('{"format": "saltus-record", "versi', "a.jsonl:1:29: no record file: no JSON: Unterminated string"),
        ("[1, 2]", "a.jsonl:1:1: no record file: no JSON object: '[1, 2]'"),
        (b"\xff\xfe\x00garbage", "a.jsonl:1:1: no record file: no text in UTF-8 (byte 1 of the line)"),
        ("{}", "a.jsonl:1:1: no record: format is none, expected 'saltus-record'"),
        ({"format": "other"}, "a.jsonl:1:1: no record: format is 'other', expected 'saltus-record'"),
        (record(version=2), "a.jsonl:1:1: record of version 2, this program reads up to 1; update saltus"),
        (record(version="1"), "a.jsonl:1:1: no record file: version is '1', expected a whole number"),
        (record(version=True), "a.jsonl:1:1: no record file: version is True, expected a whole number"),
        (record(outcome=None), "a.jsonl:1:1: no record file: outcome is missing"),
        (record(domain=""), "a.jsonl:1:1: no record file: domain is '', expected a name"),
        (record(plan_length=-1), "a.jsonl:1:1: no record file: plan_length is -1, expected a whole number"),
        (record(plan_length=True), "a.jsonl:1:1: no record file: plan_length is True, expected a whole number"),
        (record(seconds=float("nan")), "a.jsonl:1:1: no record file: seconds is nan, expected a number"),
        (record(seconds="fast"), "a.jsonl:1:1: no record file: seconds is 'fast', expected a number"),
        (record(search="no"), "a.jsonl:1:1: no record file: search is 'no', expected true or false"),
        ("[" * 100_000, "a.jsonl:1:1: no record file: too deeply nested"),
        ('{"version": ' + "9" * 5000 + "}", "a.jsonl:1:1: no record file: Exceeds the limit"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else "",
)
def test_what_is_no_record_file_is_refused_with_file_and_line(tmp_path: Path, line: object, message: str) -> None:
    path = write(tmp_path / "a.jsonl", line)
    with pytest.raises(InputError) as caught:
        read_records(path)
    assert str(caught.value).startswith(str(tmp_path / message))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: cannot be read: No such file or directory"):
        read_records(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_records(tmp_path)


def test_a_damaged_line_among_others_is_a_warning(tmp_path: Path) -> None:
    cut = json.dumps(record(problem="p02"))[:50]
    path = write(tmp_path / "a.jsonl", record(), cut, record(problem="p03"), record(problem="p04", outcome=3))
    file = read_records(path)
    assert [entry.problem for entry in file.records] == ["p01", "p03"]
    assert len(file.warnings) == 2
    assert file.warnings[0].startswith(f"{path}:2:51: damaged line left out: no JSON: ")
    assert file.warnings[1] == f"{path}:4:1: damaged line left out: outcome is 3, expected a name"


def test_many_damaged_lines_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", record(), *["x"] * 12)
    warnings = read_records(path).warnings
    assert len(warnings) == 5
    assert warnings[-1] == f"{path}: 8 more damaged lines left out"


@pytest.mark.parametrize("wrong", [{"format": "other"}, record(version=7)], ids=["format", "version"])
def test_other_formats_and_later_versions_are_errors_anywhere(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(InputError, match=r"a\.jsonl:2:1: "):
        read_records(write(tmp_path / "a.jsonl", record(), wrong))


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


def test_of_doubled_records_the_last_counts(tmp_path: Path) -> None:
    path = write_records(tmp_path / "a.jsonl", [record(outcome="time limit"), record(), record(problem="p02")])
    (series,), warnings = make_series([read_records(path)])
    assert len(series.solved) == 2
    assert warnings == [
        f"{path}:2: ferry easy p01 is doubled, first in line 1 (was 'time limit', now 'plan found'); "
        "the last one counts"
    ]


def test_mixed_versions_of_the_program_are_told(tmp_path: Path) -> None:
    records = [record(), record(problem="p02", versions={"saltus": "0.2.0"}), record(problem="p03", versions=None)]
    _, warnings = series_of(tmp_path, a=records)
    assert len(warnings) == 1
    assert warnings[0].endswith("a.jsonl: aiw-ad mixes records of saltus 0.1.0 (1 records), 0.2.0 (1 records)")
