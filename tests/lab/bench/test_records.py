"""The file of records: nothing lost, nothing doubled, half a line repaired, never two writers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from saltus.errors import InputError
from saltus.lab.baselines.lama import LamaJob
from saltus.lab.bench.record import Record, make_record
from saltus.lab.bench.records import RecordFile, read_records
from saltus.policy import Figures, Limits, Outcome
from saltus.process import PlanJob, PlanResult
from saltus.task import Plan, read_plan

JOB = PlanJob("domain.pddl", "p01.pddl", policy="goal-count", limits=Limits(10.0, 100.0, 5))


def record_of(problem: str, outcome: Outcome = Outcome.FAILED) -> Record:
    """A record of a run that did not find a plan."""
    result = PlanResult(outcome, detail="two\nlines")
    return record_with(result, problem=problem)


def record_with(result: PlanResult, problem: str = "p01", plan_file: str | None = None) -> Record:
    """The record of a result."""
    return make_record(
        JOB,
        result,
        problem=("ferry", "hard", problem),
        configuration=JOB.configuration(),
        protocol="open",
        plan_file=plan_file,
        started="2020-01-01T00:00:00Z",
    )


def test_a_record_has_the_fields_that_were_agreed_on() -> None:
    result = PlanResult(
        Outcome.FOUND,
        plan=Plan.of(["(sail a b)"]),
        cost=1.0,
        seconds=1.23456,
        peak_memory_mb=50.06,
        policy="goal-count",
        method="goal-count",
        device="cpu",
        objects=5,
        figures=Figures(jumps=2, found_by="greedy", greedy_outcome=Outcome.FOUND, seconds_lookahead=0.5),
    )
    record = json.loads(json.dumps(record_with(result, plan_file="x.plan").to_json()))
    agreed = """format version domain split problem objects policy method configuration protocol search improve outcome
        detail exit_code jumps plan_length plan_cost found_by greedy_outcome tree_nodes largest_tree seconds
        seconds_read seconds_lookahead seconds_graph seconds_network seconds_dead_ends peak_memory_mb limits device
        plan_file versions started host"""
    assert set(agreed.split()) <= set(record)
    assert (record["format"], record["version"]) == ("saltus-record", 2)
    assert (record["outcome"], record["exit_code"], record["plan_length"], record["plan_cost"]) == (
        "plan found",
        0,
        1,
        1,
    )
    assert record["limits"] == {"seconds": 10, "memory_mb": 100, "max_jumps": 5}
    assert (record["jumps"], record["tree_nodes"], record["seconds_lookahead"]) == (2, None, 0.5)
    assert set(record["versions"]) == {"saltus", "python", "torch"}


def test_configurations_differ_by_what_can_change_the_result(tmp_path: Path) -> None:
    policy = tmp_path / "a.safetensors"
    policy.write_bytes(b"one")
    base = replace(JOB, policy=str(policy))
    same = [base, replace(base, threads=3), replace(base, problem="p02.pddl"), replace(base, seed=4)]
    same += [replace(base, play=play) for play in (("take_goals=true",), ("take_goals=false", "take_goals=true"))]
    assert len({job.configuration() for job in same}) == 1
    copied = tmp_path / "b.safetensors"
    copied.write_bytes(b"one")
    assert replace(base, policy=str(copied)).configuration() == base.configuration()
    others = [
        base,
        replace(base, search=True),
        replace(base, improve=True),
        replace(base, play=("take_goals=false",)),
        replace(base, play=("roles=8",)),
        replace(base, play=("roles=8", "take_goals=false")),
        replace(base, device="cuda"),
        replace(base, limits=Limits(11.0, 100.0, 5)),
        replace(base, limits=Limits(10.0, 101.0, 5)),
        replace(base, limits=Limits(10.0, 100.0, None)),
        LamaJob(base.domain, base.problem, limits=base.limits),
        JOB,
        replace(JOB, seed=1),
        replace(JOB, search=True),
        replace(JOB, policy="random"),
    ]
    hashes = [job.configuration() for job in others]
    assert len(set(hashes)) == len(others)
    assert all(len(text) == 12 and int(text, 16) >= 0 for text in hashes)
    before = base.configuration()
    policy.write_bytes(b"two")
    assert base.configuration() != before


def test_the_configuration_of_stored_records_stays() -> None:
    """As in the records of the experiments, so that a benchmark of theirs can still be continued."""
    assert LamaJob("", "", limits=Limits(120.0, 8192.0, None), device="cpu").configuration() == "4f11d9284bdb"


def test_records_of_searches_depend_on_the_stall_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """So those from before the rule are told apart; records of greedy rollouts are as before."""
    greedy, search = JOB.configuration(), replace(JOB, search=True).configuration()
    monkeypatch.setattr("saltus.process.plan_job.PATIENCE", 7)
    assert JOB.configuration() == greedy
    assert replace(JOB, search=True).configuration() != search


def test_records_are_kept_and_never_doubled(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    with RecordFile(path) as file:
        file.append(record_of("p01"))
        with pytest.raises(ValueError, match="already is a record"):
            file.append(record_of("p01"))
    with RecordFile(path) as file:
        assert file.done == {record_of("p01").key}
        file.append(record_of("p02"))
    assert [record.problem for record in read_records(path).records] == ["p01", "p02"]
    assert read_records(path).records[0].detail == "two lines"


@pytest.mark.parametrize("cut", [1, 5, 200])
def test_half_a_line_at_the_end_is_dropped(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "records.jsonl"
    whole = "".join(json.dumps(record_of(name).to_json()) + "\n" for name in ("p01", "p02"))
    path.write_text(whole + json.dumps(record_of("p03").to_json())[:cut])
    assert [record.problem for record in read_records(path).records] == ["p01", "p02"]
    with RecordFile(path) as file:
        assert [record.problem for record in file.records] == ["p01", "p02"]
        assert path.read_text() == whole
        file.append(record_of("p03"))
    assert [record.problem for record in read_records(path).records] == ["p01", "p02", "p03"]


def test_a_whole_record_without_an_end_of_line_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(record_of("p01").to_json()))
    assert len(read_records(path).records) == 1
    with RecordFile(path) as file:
        file.append(record_of("p02"))
    assert [record.problem for record in read_records(path).records] == ["p01", "p02"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "records.jsonl:1:1: not a record: not JSON"),
        ("[1]", "records.jsonl:1:1: not a record: not a JSON object"),
        ('{"format": "other"}', "not a record: format is 'other', expected 'saltus-record'"),
        ('{"format": "saltus-record", "version": 3}', "version 3, this program reads version 2"),
        ('{"format": "saltus-record", "version": 2}', "domain is missing"),
    ],
)
def test_what_is_no_file_of_records_is_left_alone(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "records.jsonl"
    text = f"{line}\n{json.dumps(record_of('p01').to_json())}\n"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        RecordFile(path)
    assert path.read_text() == text


def test_two_benchmarks_cannot_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    code = "import sys; from saltus.lab.bench.records import RecordFile\nwith RecordFile(sys.argv[1]): print('in')"
    command = [sys.executable, "-c", code, str(path)]
    with RecordFile(path):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "another benchmark is writing to this file" in done.stderr
        assert done.stdout == ""
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "in\n"


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        RecordFile(tmp_path)
    with pytest.raises(InputError, match="cannot be written: No such file"):
        RecordFile(tmp_path / "none" / "records.jsonl")
    with pytest.raises(InputError, match="cannot be read"):
        read_records(tmp_path / "none.jsonl")


def test_plans_lie_next_to_the_records(tmp_path: Path) -> None:
    plan = Plan.of(["(sail a b)", "(board c b)"])
    names = ("ferry", "hard", "p01")
    with RecordFile(tmp_path / "records.jsonl") as file:
        place = file.store_plan(PlanResult(Outcome.FOUND, plan=plan, cost=2.0), ("0123456789ab", *names))
        other = file.store_plan(PlanResult(Outcome.FOUND, plan=plan, cost=2.0), ("ba9876543210", *names))
        assert file.store_plan(PlanResult(Outcome.FAILED), ("0123456789ab", *names)) is None
    assert place is not None
    assert place != other  # runs of other configurations have plans of their own
    assert place.startswith("records.plans/")
    assert not os.path.isabs(place)
    assert read_plan(tmp_path / place).steps == plan.steps
