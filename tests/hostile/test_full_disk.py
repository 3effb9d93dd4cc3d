"""A full disk: a command ends with an error, and every file that was there before is as it was."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.hostile.case import BLOCKS

from saltus.cli.main import run

DISK = 2**20
"""Bytes of the small disk."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own; a test skips where it may not make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)], capture_output=True, check=False
    ).returncode
    if made != 0:
        pytest.skip("no rights to mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Leaves no room at all on a disk."""
    with (folder / "filler").open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder, hidden ones included."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


PLAN = ["plan", str(BLOCKS / "domain.pddl"), str(BLOCKS / "p03.pddl"), "--policy", "goal-count"]
BENCH = ["bench", str(BLOCKS), "--policy", "goal-count", "--split", "training"]
REPORT = ["report", str(ROOT / "examples" / "records" / "goal-count.jsonl")]
TRAIN = ["train", str(BLOCKS), "--config", "tiny", "--device", "cpu", "--threads", "1", "--set"]


def old_plan(folder: Path) -> None:
    """Files of an earlier call."""
    (folder / "out").write_text("; an earlier plan\n")
    (folder / "out.1").write_text("; another one\n")


def old_page(folder: Path) -> None:
    """An earlier page."""
    (folder / "out").write_text("an earlier page")


@pytest.mark.parametrize(
    ("before", "arguments"),
    [
        (old_plan, [*PLAN, "--plan-file", "out"]),
        (old_plan, [*PLAN, "--plan-file", "out", "--improve"]),
        (old_page, [*REPORT, "--html", "out"]),
        (old_page, ["explain", *PLAN[1:], "--out", "out"]),
        (old_page, ["graph", *PLAN[1:3], "--out", "out"]),
        (old_page, ["branching", str(BLOCKS), "--out", "out"]),
    ],
    ids=["plan", "plan --improve", "report", "explain", "graph", "branching"],
)
def test_a_full_disk_loses_nothing(
    disk: Path,
    before: Callable[[Path], None],
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(disk)
    before(disk)
    fill(disk)
    kept = contents(disk)
    assert run(arguments) == 31
    assert "cannot be written: No space left on device" in capfd.readouterr().err
    assert contents(disk) == kept
    monkeypatch.chdir("/")


def test_bench_keeps_its_records(
    disk: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(disk)
    shutil.copytree(BLOCKS / "training", disk / "s" / "training")
    shutil.copy(BLOCKS / "domain.pddl", disk / "s")
    for path in sorted((disk / "s" / "training").iterdir())[2:]:
        path.unlink()
    bench = ["bench", "s", "--policy", "goal-count", "--out", "r.jsonl"]
    assert run([*bench, "--max-jumps", "100"]) == 0
    fill(disk)
    kept = contents(disk)
    capfd.readouterr()
    assert run([*bench, "--max-jumps", "101"]) == 31
    assert "No space left on device" in capfd.readouterr().err
    assert contents(disk) == kept
    (disk / "filler").unlink()
    assert run([*bench, "--max-jumps", "101"]) == 0
    monkeypatch.chdir("/")


def test_train_keeps_the_last_save(
    disk: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["mount", "-o", f"remount,size={64 * DISK}", str(disk)], check=True)
    out = disk / "run"
    assert run([*TRAIN, "episodes=1", "--out", str(out)]) == 0
    fill(disk)
    kept = contents(out)
    capfd.readouterr()
    resumed = ["train", str(BLOCKS), "--out", str(out), "--resume", "--set", "episodes=2", "--device", "cpu"]
    assert run(resumed) == 31
    assert "No space left on device" in capfd.readouterr().err
    assert contents(out) == kept
    (disk / "filler").unlink()
    assert run(resumed) == 0


def limited(arguments: list[str], size: int, folder: Path) -> subprocess.CompletedProcess[str]:
    """The program, which may write no file larger than a size: a full disk for those who may not mount one."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    program = "import sys; from saltus.cli.main import run; sys.exit(run(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


@pytest.mark.parametrize(
    ("arguments", "size"),
    [
        ([*PLAN, "--plan-file", "out"], 10),
        ([*REPORT, "--html", "out"], 1000),
        ([*BENCH, "--max-jumps", "3", "--out", "r.jsonl"], 10),
        ([*TRAIN, "episodes=1", "--out", "run"], 2000),
    ],
    ids=["plan", "report", "bench", "train"],
)
def test_a_file_that_becomes_too_large_loses_nothing(tmp_path: Path, arguments: list[str], size: int) -> None:
    (tmp_path / "out").write_text("an earlier output")
    (tmp_path / "r.jsonl").touch()
    done = limited(arguments, size, tmp_path)
    assert done.returncode == 31, done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "out").read_text() == "an earlier output"
    assert (tmp_path / "r.jsonl").read_bytes() == b""
    assert not list(tmp_path.rglob("*.tmp"))
