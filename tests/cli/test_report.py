"""The commands `report` and `explain`: what they print and write, and what they refuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.test_cli import process
from tests.conftest import ROOT
from tests.lab.report.samples import paper_records, record, write_records, write_run

from saltus.cli.main import run
from saltus.policy.exit_codes import ExitCode

BLOCKS = [str(ROOT / "examples" / "blocksworld" / name) for name in ("domain.pddl", "p03.pddl")]


def test_report_prints_errors_before_coverage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = paper_records("AIW-AD")
    records[0] |= {"outcome": "crash", "detail": "[bold]fault", "plan_length": None}
    path = write_records(tmp_path / "a.jsonl", records)
    assert run(["report", str(path)]) == ExitCode.SUCCESS
    output = capsys.readouterr()
    assert output.err == ""
    assert output.out.startswith(f"aiw-ad: 667 of 900 problems solved ({path})\n")
    assert output.out.index("Unexplained errors") < output.out.index("IPC 2023 Learning Track")
    assert "[bold]fault" in output.out
    (total,) = [line.split() for line in output.out.splitlines() if line.split()[:1] == ["total"]]
    assert total[1:] == [
        "667/900▼",
        *(f"{solved}/900" for solved in (668, 529, 457, 463, 519, 586, 589, 502, 737)),
    ]


def test_splits_not_tried_and_ablations_are_printed_only_if_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(write_records(tmp_path / "a.jsonl", [record("ferry", "hard")]))
    assert run(["report", path]) == ExitCode.SUCCESS
    short = capsys.readouterr().out
    assert (short.count("  hard"), short.count("  easy"), short.count("childsnack")) == (1, 0, 1)
    assert "no unexplained errors" in short
    assert "Reduced goals" not in short
    assert run(["report", path, "--all-tables"]) == ExitCode.SUCCESS
    assert "Reduced goals" in capsys.readouterr().out


def test_report_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [
        str(write_records(tmp_path / "a.jsonl", [record(), record(problem="p02", outcome="crash")])),
        str(write_records(tmp_path / "b.jsonl", [record(method="lama-first", plan_length=60)])),
    ]
    assert run(["report", *paths, "--json"]) == ExitCode.SUCCESS
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"warnings", "series", "tables"}
    assert [(entry["label"], entry["records"], entry["solved"], entry["unexplained"]) for entry in found["series"]] == [
        ("aiw-ad", 2, 1, 1),
        ("lama-first", 1, 1, 0),
    ]
    tables = {table["key"]: table for table in found["tables"]}
    assert next(iter(tables)) == "unexplained"
    assert tables["ipc2023"]["rows"][-1]["cells"][:4] == ["total", "1/2", "1/1", "668/900"]
    assert tables["compare aiw-ad lama-first"]["rows"][-1]["cells"][5:8] == ["30", "60", "2"]


def test_report_of_runs_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(2):
        write_run(tmp_path / "ferry" / f"seed-{seed}", seed)
    page = tmp_path / "page.html"
    assert run(["report", "--run", str(tmp_path), "--html", str(page)]) == ExitCode.SUCCESS
    assert "Training runs" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "ferry (mean of 2 runs)" in text
    assert 'id="coverage"' not in text


def test_warnings_go_to_standard_error_and_into_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_records(tmp_path / "a.jsonl", [record(), record()])
    with path.open("a", encoding="utf-8") as file:
        file.write('{"format": "saltus-rec')
    assert run(["report", str(path), "--html", str(tmp_path / "page.html")]) == ExitCode.SUCCESS
    damaged, doubled = capsys.readouterr().err.splitlines()
    assert damaged.startswith(f"saltus: warning: {path}:3:12: damaged line ignored: not JSON: ")
    assert doubled.startswith(f"saltus: warning: {path}:2: duplicate record of ferry easy p01, first in line 1 (both ")
    assert f"{path}:2: duplicate record of ferry easy p01" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["report"], ExitCode.USAGE_ERROR, "nothing to report: name a record file, or a training run with --run"),
        (["report", "none.jsonl"], ExitCode.INPUT_ERROR, "none.jsonl: cannot be read: No such file or directory"),
        (["report", "text"], ExitCode.INPUT_ERROR, "text:1:1: not a record file: not JSON: "),
        (["report", "empty"], ExitCode.INPUT_ERROR, "empty: no records in this file"),
        (["report", "good", "--html", "none/a.html"], ExitCode.INPUT_ERROR, "none/a.html: cannot be written: No such"),
        (["report", "good", "--run", "none"], ExitCode.INPUT_ERROR, "none: no such folder"),
        (["report", "good", "--run", "good"], ExitCode.INPUT_ERROR, "good: not a folder"),
        (
            ["report", "good", "--run", "."],
            ExitCode.INPUT_ERROR,
            ".: no training run found: no log.jsonl in this folder",
        ),
        (
            ["explain", *BLOCKS, "--policy", "goalcount", "--out", "a.html"],
            ExitCode.INPUT_ERROR,
            "there is no policy 'goalcount', neither a file nor a name; did you mean 'goal-count'?",
        ),
        (
            ["explain", *BLOCKS, "--policy", "zzz", "--out", "a.html"],
            ExitCode.INPUT_ERROR,
            "there is no policy 'zzz', neither a file nor a name; known are",
        ),
        (
            ["explain", *BLOCKS, "--policy", "text", "--out", "a.html"],
            ExitCode.INPUT_ERROR,
            "text: not a policy file, or damaged: ",
        ),
        (
            ["explain", *BLOCKS, "--policy", "random", "--out", "none/a.html"],
            ExitCode.INPUT_ERROR,
            "none/a.html: cannot be written: No such file or directory",
        ),
    ],
    ids=lambda value: " ".join(value[-3:]) if isinstance(value, list) else "",
)
def test_refusals(
    arguments: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("hello\n")
    Path("empty").write_text("\n")
    write_records(Path("good"), [record()])
    assert run(arguments) == code
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"saltus: error: {message}")
    assert not Path("a.html").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "good", "text"]


def test_explain_with_a_policy_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    policy = str(ROOT / "examples" / "blocksworld" / "untrained.safetensors")
    assert run(["explain", *BLOCKS, "--policy", policy, "--out", str(page), "--max-jumps", "2"]) == ExitCode.SUCCESS
    line = f"not solved after 2 jumps: stopped by the jump limit; page written to {page}\n"
    assert capsys.readouterr().out == line
    assert '"steps":[{' in page.read_text(encoding="utf-8")


def test_reports_do_not_wait_for_pytorch() -> None:
    """Importing it takes a second; only commands that use a network should."""
    script = "import sys; import saltus.cli.main; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    path = write_records(tmp_path / "a.jsonl", paper_records("LAMA"))
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = process("report", str(path), stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
