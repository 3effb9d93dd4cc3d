"""A figure is declared once: what planning measures arrives in the record, is read again, and shows in the report."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT

from saltus.lab.bench.record import STORED, Record, make_record
from saltus.lab.bench.records import RecordFile, read_records
from saltus.lab.report.page import report_page
from saltus.lab.report.report import make_report
from saltus.policy import Figures, Limits, Outcome
from saltus.policy.figures import FIGURES, Kind, declarations
from saltus.policy.outcome import Clock
from saltus.process import PlanJob, PlanResult, run_job
from saltus.task import Plan

EXAMPLES = ROOT / "examples" / "blocksworld"
JOB = PlanJob(str(EXAMPLES / "domain.pddl"), str(EXAMPLES / "p03.pddl"), policy="goal-count", device="cpu")
SAMPLES: dict[Kind, Any] = {Kind.COUNT: 7654, Kind.SECONDS: 0.0321, Kind.TEXT: "words", Kind.OUTCOME: Outcome.JUMPS}


def stored(figures: Figures, path: Path) -> Record:
    """The record with these figures, written to a file and read again."""
    result = PlanResult(Outcome.FOUND, plan=Plan.of(["(a)"]), cost=1.0, seconds=1.0, figures=figures)
    record = make_record(
        JOB,
        result,
        problem=("blocks", "easy", "p03"),
        configuration=JOB.configuration(),
        protocol="open",
        plan_file=None,
        started="2020-01-01T00:00:00Z",
    )
    with RecordFile(path) as file:
        file.append(record)
    (read,) = read_records(path).records
    assert read == record
    return read


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_goes_from_its_measurement_to_the_report(name: str, tmp_path: Path) -> None:
    value = SAMPLES[FIGURES[name].kind]
    sent = json.loads(json.dumps(Figures(**{name: value}).to_json()))
    assert set(sent) == set(FIGURES)
    received = Figures.from_json(sent)
    assert (getattr(received, name), type(getattr(received, name))) == (value, type(value))
    record = stored(received, tmp_path / "records.jsonl")
    assert Figures.of(record) == received
    page = report_page(make_report([tmp_path / "records.jsonl"]))
    shown = {7654: "7654", 0.0321: "0.0321", "words": "words", Outcome.JUMPS: "jump limit"}[value]
    assert (f">{shown}<" in page) == bool(FIGURES[name].column)


def test_a_real_run_measures_every_figure_there_is() -> None:
    """Of a policy that may search, nothing that is declared stays unmeasured."""
    policy = str(EXAMPLES / "untrained.safetensors")
    limits = Limits(seconds=600)
    job = replace(JOB, policy=policy, search=True, limits=limits)
    result = run_job(job)
    assert result.outcome is Outcome.FOUND
    assert [name for name, value in result.figures.to_json().items() if value is None] == []


def test_declarations_are_complete() -> None:
    assert all(entry.about.endswith(".") for entry in STORED.values())
    assert set(Clock().figures()) <= set(FIGURES)
    assert set(SAMPLES) >= {entry.kind for entry in FIGURES.values()}
    assert set(declarations(Record)) == set(STORED)
    assert {entry.name for entry in Record.__dataclass_fields__.values()} - set(STORED) == {"file", "line"}


NEW_FIGURE = """
import importlib.machinery, json, sys, types
from pathlib import Path

LINE = "    seconds_plan: float"
MORE = '    widest: int | None = declare(Kind.COUNT, "Widest tree.", column="widest tree")\\n'

class Figures(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        source = Path(self.path).read_text()
        assert source.count(LINE) == 1
        return compile(source.replace(LINE, MORE + LINE), self.path, "exec")

class Finder:
    def find_spec(name, path, target=None):
        if name == "saltus.policy.figures":
            return importlib.machinery.ModuleSpec(name, Figures(name, sys.argv[1]))

sys.meta_path.insert(0, Finder)

import saltus.policy.planning as planning
see = planning._Planning._see
def measure(self, name, decision):
    see(self, name, decision)
    self.now = planning.replace(self.now, widest=4321)
planning._Planning._see = measure

from saltus.lab.bench.record import make_record
from saltus.lab.bench.records import RecordFile
from saltus.process import PlanJob
from saltus.process.plan_work import solve
from saltus.process.supervisor import Ended
from saltus.lab.report.page import report_page
from saltus.lab.report.report import make_report

job = PlanJob(sys.argv[2], sys.argv[3], policy="goal-count", device="cpu")
builder = job.result_builder()
def send(event, **values):
    builder.receive(json.loads(json.dumps({"event": event, **values})))
worker = types.SimpleNamespace(job=json.loads(json.dumps(job.to_json())), started=None, send=send)
send("end", **solve(worker))
record = make_record(job, builder.result(Ended.unknown()), problem=("blocks", "easy", "p03"), configuration="x",
                     protocol="open", plan_file=None, started="")
with RecordFile(sys.argv[4]) as file:
    file.append(record)
page = report_page(make_report([sys.argv[4]]))
print(json.loads(Path(sys.argv[4]).read_text())["widest"], "widest tree" in page, "4321" in page)
"""


def test_a_new_figure_takes_one_line_and_its_measurement(tmp_path: Path) -> None:
    """The line is added to the source of `policy/figures.py`; nothing else knows of it, and the report shows it."""
    figures = ROOT / "src" / "saltus" / "policy" / "figures.py"
    arguments = [str(figures), JOB.domain, JOB.problem, str(tmp_path / "records.jsonl")]
    done = subprocess.run([sys.executable, "-c", NEW_FIGURE, *arguments], capture_output=True, text=True, check=False)
    assert done.stdout == "4321 True True\n", done.stderr
