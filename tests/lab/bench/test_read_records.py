"""Reading record files: what is read, rejected and warned about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.lab.report.samples import record

from saltus.errors import InputError
from saltus.lab.bench.records import read_records
from saltus.policy import Outcome


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
    assert (first.name, first.plan_length, first.seconds) == (("ferry", "easy", "p01"), 30, 0.5)
    assert (first.saltus_version, first.place) == ("0.1.0", f"{path}:1")
    assert file.records[1].line == 3
    assert file.warnings == ()


def test_missing_figures_are_none(tmp_path: Path) -> None:
    short = {key: record()[key] for key in ("format", "version", "domain", "split", "problem", "method", "outcome")}
    (entry,) = read_records(write(tmp_path / "a.jsonl", short)).records
    assert (entry.seconds, entry.plan_length, entry.objects, entry.policy) == (None, None, None, "")
    assert entry.solved
    assert entry.unexplained  # a plan without a length


@pytest.mark.parametrize("outcome", [*Outcome, "something new"])
def test_only_plans_count_as_solved(tmp_path: Path, outcome: str) -> None:
    (entry,) = read_records(write(tmp_path / "a.jsonl", record(outcome=outcome))).records
    assert entry.solved == (outcome == "plan found")
    fine = {"plan found", "policy failed", "no applicable jump", "jump limit", "time limit", "memory limit"}
    assert entry.unexplained == (outcome not in fine)
    assert isinstance(entry.outcome, Outcome) == (outcome != "something new")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "a.jsonl: no records in this file"),
        ("not JSON", "a.jsonl:1:1: not a record file: not JSON: Expecting value"),
        ('{"format": "saltus-record", "versi', "a.jsonl:1:29: not a record file: not JSON: Unterminated string"),
        ("[1, 2]", "a.jsonl:1:1: not a record file: not a JSON object: '[1, 2]'"),
        (b"\xff\xfe\x00garbage", "a.jsonl:1:1: not a record file: not UTF-8 (byte 1 of the line)"),
        ("{}", "a.jsonl:1:1: not a record: format is missing, expected 'saltus-record'"),
        ({"format": "other"}, "a.jsonl:1:1: not a record: format is 'other', expected 'saltus-record'"),
        (record(version=3), "a.jsonl:1:1: record of version 3, this program reads version 2"),
        (record(version="1"), "a.jsonl:1:1: not a record file: version is '1', expected a whole number"),
        (record(version=True), "a.jsonl:1:1: not a record file: version is True, expected a whole number"),
        (record(outcome=None), "a.jsonl:1:1: not a record file: outcome is missing"),
        (record(domain=""), "a.jsonl:1:1: not a record file: domain is '', expected a name"),
        (record(plan_length=-1), "a.jsonl:1:1: not a record file: plan_length is -1, expected a whole number"),
        (record(plan_length=True), "a.jsonl:1:1: not a record file: plan_length is True, expected a whole number"),
        (record(seconds=float("nan")), "a.jsonl:1:1: not a record file: seconds is nan, expected a number"),
        (record(seconds="fast"), "a.jsonl:1:1: not a record file: seconds is 'fast', expected a number"),
        (record(limits={"seconds": "ten"}), "a.jsonl:1:1: not a record file: limits is {'seconds': 'ten'}: "),
        (record(search="no"), "a.jsonl:1:1: not a record file: search is 'no', expected true or false"),
        ("[" * 100_000, "a.jsonl:1:1: not a record file: too deeply nested"),
        ('{"version": ' + "9" * 5000 + "}", "a.jsonl:1:1: not a record file: Exceeds the limit"),
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
    assert file.warnings[0].startswith(f"{path}:2:51: damaged line ignored: not JSON: ")
    assert file.warnings[1] == f"{path}:4:1: damaged line ignored: outcome is 3, expected an outcome"


def test_many_damaged_lines_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", record(), *["x"] * 12)
    warnings = read_records(path).warnings
    assert len(warnings) == 5
    assert warnings[-1] == f"{path}: 8 more damaged lines ignored"


@pytest.mark.parametrize("wrong", [{"format": "other"}, record(version=7), record(version=1)])
def test_other_formats_and_versions_are_errors_anywhere(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(InputError, match=r"a\.jsonl:2:1: "):
        read_records(write(tmp_path / "a.jsonl", record(), wrong))
