"""Scripts of the IPC 2023 experiment: the plans of its results are judged, and its logs are read."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from tests.conftest import ROOT

FOLDER = ROOT / "experiments" / "2026-11-15-ipc2023"
PLAN = "(unstack b2 b1)\n(putdown b2)\n(pickup b1)\n(stack b1 b2)\n; cost = 4 (unit cost)\n"
NAMES = [("blocksworld", "easy", "p01"), ("blocksworld", "hard", "p02")]


def pack(path: Path, texts: dict[str, str]) -> Path:
    """An archive of texts by name."""
    with tarfile.open(path, "w:xz") as file:
        for name, text in texts.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            file.addfile(member, io.BytesIO(text.encode()))
    return path


@pytest.fixture
def ipc_copy(tmp_path: Path) -> Path:
    """A folder like the track's with two problems of two blocks, b2 on b1, that are to change places."""
    from saltus.domains import DOMAINS

    folder = tmp_path / "ipc" / "blocksworld"
    problem = (
        "(define (problem two) (:domain blocksworld) (:objects b1 b2 - object)"
        " (:init (arm-empty) (clear b2) (on b2 b1) (on-table b1)) (:goal (and (on b1 b2))))"
    )
    for _, split, name in NAMES:
        (folder / "testing" / split).mkdir(parents=True)
        (folder / "testing" / split / f"{name}.pddl").write_text(problem)
    (folder / "domain.pddl").write_bytes(DOMAINS["blocksworld"].path.read_bytes())
    return folder.parent


def judge(tmp_path: Path, ipc: Path, plans: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """What `validate_all.py` says about some plans for the two problems, which the records call solved."""
    line = json.loads((ROOT / "examples/records/goal-count.jsonl").read_text().splitlines()[0])
    records = tmp_path / "records.jsonl"
    names = ("domain", "split", "problem")
    solved = {"outcome": "plan found", "plan_length": 4}
    records.write_text(
        "".join(json.dumps(line | solved | dict(zip(names, name, strict=True))) + "\n" for name in NAMES)
    )
    archive = pack(tmp_path / "plans.tar.xz", plans)
    command = [sys.executable, str(FOLDER / "validate_all.py"), str(ipc), "--jobs", "1"]
    command += ["--plans", str(archive), "--records", str(records)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_valid_plans_are_counted(tmp_path: Path, ipc_copy: Path) -> None:
    done = judge(tmp_path, ipc_copy, {f"{'/'.join(name)}.plan": PLAN for name in NAMES})
    assert done.stdout.splitlines() == ["blocksworld: 2 of 2 valid, 8 actions", "total: 2 of 2 valid, 8 actions"]
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "goal is not reached: (on b1 b2) missing"),
        (PLAN.replace("(putdown b2)\n", ""), "step 2 (pickup b1): precondition"),
        ("unstack b2 b1", "not an action"),
        (None, "no plan in the archive"),
    ],
    ids=["empty", "step missing", "not a plan", "missing"],
)
def test_a_broken_or_missing_plan_is_named(tmp_path: Path, ipc_copy: Path, text: str | None, reason: str) -> None:
    plans = {"blocksworld/easy/p01.plan": PLAN} | ({} if text is None else {"blocksworld/hard/p02.plan": text})
    done = judge(tmp_path, ipc_copy, plans)
    assert done.returncode == 1
    assert "total: 1 of 2 valid, 4 actions" in done.stdout
    assert done.stderr.startswith("blocksworld/hard/p02: ")
    assert reason in done.stderr


def test_the_kept_plans_are_those_of_the_results() -> None:
    """402 plans, and nothing that changes from one packing to the next."""
    with tarfile.open(FOLDER / "plans.tar.xz") as file:
        members = file.getmembers()
    assert len(members) == 402
    assert [member.name for member in members] == sorted(member.name for member in members)
    assert {(member.uid, member.gid, member.mtime, member.uname) for member in members} == {(0, 0, 0, "")}
    assert (FOLDER / "plans.tar.xz").stat().st_size < 1_000_000


def test_the_kept_plans_are_valid(ipc: Path) -> None:
    command = [sys.executable, str(FOLDER / "validate_all.py"), str(ipc), "--jobs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "total: 402 of 402 valid, 89,745 actions"


def test_claims_of_a_log(tmp_path: Path) -> None:
    """Everything at episode 50, not at 75, again at 100 with fewer actions; larger problems are not tried at 25."""
    lines = [{"kind": "episode", "episode": 103, "elapsed": 12.4}]
    for episode, solved, larger, actions in ((25, 3, None, 9), (50, 30, 8, 90), (75, 29, 8, 80), (100, 30, 8, 85)):
        tried = None if larger is None else 8
        lines.append(
            {"kind": "validation", "episode": episode, "solved": solved, "problems": 30, "actions": actions}
            | {"larger_solved": larger, "larger_problems": tried, "larger_actions": tried, "elapsed": episode / 10}
        )
    texts = {
        "runs/rovers/seed-1/log.jsonl": "\n".join(json.dumps(line) for line in lines),
        "runs/rovers/seed-1/config.json": json.dumps({"training": {"episodes": 300}}),
    }
    archive = pack(tmp_path / "figures.tar.xz", texts)
    command = [sys.executable, str(FOLDER / "claims.py"), "rovers", "--runs", str(archive)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = "| rovers/seed-1 | 103 of 300 | 12 | 100: 30 + 8 | 100: 30 + 8 | 50 | 2 of 3 |"
    assert done.stdout.splitlines()[2:] == [expected]


def test_the_page_cites_the_rovers_and_childsnack_runs_as_they_are() -> None:
    command = [sys.executable, str(FOLDER / "claims.py"), "rovers", "childsnack"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown[2:]]
    iw = [row for row in rows if row[0].startswith("rovers/iw")]
    relaxed = [row for row in rows if "childsnack" in row[0] and "relaxed" in row[0]]
    assert sorted(row[5] for row in iw) == ["25"] * 6 + ["50"]
    for some, stayed, checkpoints in ((iw, 40, 57), (relaxed, 42, 43)):
        counts = [[int(number) for number in row[6].split(" of ")] for row in some]
        assert [sum(column) for column in zip(*counts, strict=True)] == [stayed, checkpoints]
