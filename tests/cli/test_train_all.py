"""`saltus train-all`: every domain and seed, resumed, ended cleanly, and nothing left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from tests.learn.test_run import FAST, options, suite, wait_until
from tests.process.doubles import PROGRAM, children_of, is_running

from saltus.cli.main import run as command
from saltus.errors import ConfigurationError
from saltus.learn import RunFolder
from saltus.learn.train_job import TrainJob
from saltus.process import LocalRunner

__all__ = ["suite"]  # the fixture


def test_train_all_trains_every_domain_and_seed_and_goes_on(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "suites"
    folder.mkdir()
    shutil.copytree(suite, folder / "one")
    (folder / "broken").mkdir()
    (folder / "broken" / "domain.pddl").write_text("(define (domain x))")
    (folder / "broken" / "p1.pddl").write_text("(define")
    arguments = ["train-all", str(folder), "--out", str(tmp_path / "runs"), "--seeds", "2", "--jobs", "2"]
    short = options(episodes=2)[:-2]
    short = [part for i, part in enumerate(short) if part != "--threads" and (i == 0 or short[i - 1] != "--threads")]
    assert command([*arguments, *short]) == 31
    shown = capsys.readouterr().out
    assert shown.count("done after 2 episodes") == 2
    assert shown.count("broken seed") == 2
    assert "exit code 31" in shown
    assert {path.parent.name for path in (tmp_path / "runs" / "one").glob("*/policy.safetensors")} == {
        "seed-0",
        "seed-1",
    }
    assert command([*arguments, "--domain", "one", "--seeds", "1", *short]) == 0  # nothing left to do
    assert capsys.readouterr().out.count("done after 2 episodes") == 1
    assert command([*arguments, "--domain", "two", *short]) == 33
    log = (tmp_path / "runs" / "one" / "seed-0" / "train.log").read_text()
    assert log.count("episode 2 of 2: loss ") == 1
    assert log.count("one: done after 2 episodes") == 2
    assert "saltus: error: " in (tmp_path / "runs" / "broken" / "seed-0" / "train.log").read_text()
    again = [*arguments, "--domain", "one", "--seeds", "1", *short]
    assert command([*again, "--set", "batch=5"]) == 33
    assert "training.batch" in capsys.readouterr().out
    assert command([*again, "--set", "episodes=3"]) == 0
    assert capsys.readouterr().out.count("done after 3 episodes") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_train_all_leaves_no_run_behind(suite: Path, tmp_path: Path, number: int) -> None:
    settings = [*FAST, "episodes=100000", "validate_every=100000"]
    process = subprocess.Popen(
        [*PROGRAM, "train-all", str(suite), "--out", str(tmp_path), "--seeds", "2", "--jobs", "1", "--device", "cpu"]
        + [part for text in settings for part in ("--set", text)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    first, second = (tmp_path / suite.name / f"seed-{seed}" for seed in (0, 1))
    wait_until(lambda: (first / "log.jsonl").exists() and (first / "log.jsonl").read_text().count("\n") >= 2)
    process.send_signal(number)
    assert process.wait(timeout=60) == (-number if number == signal.SIGKILL else 130)

    def is_free() -> bool:
        folder = RunFolder(first)
        try:
            folder.hold()
        except ConfigurationError:
            return False
        folder.close()
        return True

    wait_until(is_free)
    assert (first / "state.safetensors").exists()  # it was told, not killed
    assert not (second / "config.json").exists()
    assert "stopped by SIGTERM after" in (first / "train.log").read_text()


def test_a_second_interrupt_kills_runs_that_do_not_end(suite: Path, tmp_path: Path) -> None:
    settings = [*FAST, "episodes=100000", "stop_after=0"]
    process = subprocess.Popen(
        [*PROGRAM, "train-all", str(suite), "--out", str(tmp_path), "--seeds", "1", "--device", "cpu"]
        + [part for text in settings for part in ("--set", text)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: (tmp_path / suite.name / "seed-0" / "log.jsonl").exists())
    (worker,) = children_of(process.pid)
    os.kill(worker, signal.SIGSTOP)  # it cannot end by itself
    process.send_signal(signal.SIGINT)
    wait_until(lambda: is_pending(worker, signal.SIGTERM))
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert not is_running(worker)


def is_pending(process: int, number: signal.Signals) -> bool:
    """Whether a signal waits for the process to go on."""
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    pending = sum(int(line.split()[1], 16) for line in status if line.startswith("ShdPnd:"))
    return bool(pending >> (number - 1) & 1)


def test_a_run_that_cannot_be_started_is_no_obstacle_to_others(suite: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    short = {"settings": ("episodes=1", *FAST), "config": "tiny", "device": "cpu", "threads": 1}
    jobs = [
        TrainJob("one", str(suite), str(tmp_path / "file" / "seed-0"), **short),
        TrainJob("two", str(suite), str(tmp_path / "run"), **short),
    ]
    first, second = (entry.result for entry in sorted(LocalRunner().run(jobs), key=lambda entry: entry.number))
    assert first.exit_code == 31
    assert "Not a directory" in first.summary
    assert (second.exit_code, "done after 1 episode" in second.summary) == (0, True)


def test_a_killed_run_is_a_crash(suite: Path, tmp_path: Path) -> None:
    job = TrainJob(
        "one",
        str(suite),
        str(tmp_path / "run"),
        settings=("episodes=100000", "stop_after=0", *FAST),
        config="tiny",
        device="cpu",
    )
    others = children_of(os.getpid())

    def kill(number: int) -> None:
        def later() -> None:
            wait_until(lambda: (tmp_path / "run" / "log.jsonl").exists())
            (worker,) = set(children_of(os.getpid())).difference(others)
            os.kill(worker, signal.SIGKILL)

        threading.Thread(target=later).start()

    (ended,) = LocalRunner().run([job], kill)
    assert (ended.result.exit_code, ended.result.summary) == (32, "failed, exit code 32: killed by SIGKILL")


def test_ray(suite: Path, tmp_path: Path) -> None:
    """Runs on a Ray cluster finish as they do here, and end cleanly when they are interrupted."""
    pytest.importorskip("ray")
    arguments = [*PROGRAM, "train-all", str(suite), "--out", str(tmp_path), "--seeds", "2", "--jobs", "2"]
    arguments += ["--threads", "1", "--device", "cpu", "--ray", "local"]

    def settings(*values: str) -> list[str]:
        return [part for text in (*FAST, *values) for part in ("--set", text)]

    done = subprocess.run([*arguments, *settings("episodes=2")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done after 2 episodes") == 2
    folders = [tmp_path / suite.name / f"seed-{seed}" for seed in (0, 1)]
    process = subprocess.Popen([*arguments, *settings("episodes=100000")], stdout=subprocess.DEVNULL)
    wait_until(lambda: all((folder / "log.jsonl").read_text().count("\n") >= 4 for folder in folders))
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 130
    for folder in folders:  # they have ended before the program does
        assert "stopped by SIGTERM after" in (folder / "train.log").read_text()
