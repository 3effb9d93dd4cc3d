"""Runs on disk: folders, logs, checkpoints, signals, kill -9, and everything that can be wrong at the start."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console
from safetensors.torch import load_file
from tests.learn.small import small_tasks
from tests.process.doubles import PROGRAM

from saltus.cli.main import run as command
from saltus.cli.train import shown
from saltus.domains import generate_problem
from saltus.domains.suite import write_suite
from saltus.learn import load_configuration, load_problems, open_run
from saltus.learn.folder import RunFolder
from saltus.learn.problems import hold_out, spread
from saltus.learn.validation import Coverage, Validation
from saltus.model.policy_file import load_policy_file
from saltus.policy.exit_codes import ExitCode

FAST = ["steps=2", "batch=4", "layers=2", "embedding=8", "horizon=5", "larger_problems=0"]


def options(*extra: str, episodes: int = 6) -> list[str]:
    """Options of a short run."""
    settings = [*FAST, f"episodes={episodes}", "validate_every=3", *extra]
    return ["--config", "tiny", "--device", "cpu", "--threads", "1", *(p for text in settings for p in ("--set", text))]


@pytest.fixture(autouse=True)
def saves_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is saved after every second episode."""
    monkeypatch.setattr("saltus.learn.run.CHECKPOINT_EVERY", 2)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a few small problems."""
    folder = tmp_path_factory.mktemp("blocks")
    write_suite(folder, "blocksworld", "training", 40)
    for path in sorted((folder / "training").glob("*.pddl"))[6:]:
        path.unlink()
    write_suite(folder, "blocksworld", "validation", 1)
    return folder


def log_of(folder: Path) -> list[dict[str, object]]:
    """Entries of a run's log, without times."""
    entries = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [
        {key: value for key, value in entry.items() if key not in ("elapsed", "seconds", "steps_per_second")}
        for entry in entries
    ]


def same_weights(one: Path, two: Path) -> bool:
    """Whether two policy files have the same weights, bit for bit."""
    left, right = load_file(one), load_file(two)
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def test_a_run_leaves_all_that_it_should(suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert command(["train", str(suite), "--out", str(out), "--seed", "4", *options()]) == 0
    shown = capsys.readouterr()
    assert "policy:" in shown.out
    assert "validation" in shown.err
    config = json.loads((out / "config.json").read_text())
    assert (config["seed"], config["training"]["episodes"], config["model"]["layers"]) == (4, 6, 2)
    kinds = [entry["kind"] for entry in log_of(out)]
    assert kinds == ["episode", "episode", "episode", "validation"] * 2
    assert sorted(path.name for path in (out / "checkpoints").iterdir()) == ["0003.safetensors", "0006.safetensors"]
    policy = load_policy_file(out / "policy.safetensors")
    assert policy.record["episode"] in (3, 6)
    assert policy.record["training_problems"] == 6
    assert policy.record["configuration"]["training"]["batch"] == 4
    assert not list(out.rglob("*.tmp"))


def test_curves_for_tensorboard(suite: Path, tmp_path: Path) -> None:
    """They have the values of the log, once each."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    out = trained(suite, tmp_path / "run")
    events = accumulator.EventAccumulator(str(out))
    events.Reload()
    log = log_of(out)
    for name, kind, values in (
        ("training/loss", "episode", [entry["loss"] for entry in log if entry["kind"] == "episode"]),
        ("validation/actions", "validation", [entry["actions"] for entry in log if entry["kind"] == "validation"]),
    ):
        found = events.Scalars(name)
        assert [entry.step for entry in found] == [entry["episode"] for entry in log if entry["kind"] == kind]
        assert [entry.value for entry in found] == pytest.approx(values, rel=1e-4)


def test_a_folder_with_a_run_is_not_overwritten(suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert command(["train", str(suite), "--out", str(out), *options(episodes=1)]) == 0
    before = (out / "log.jsonl").read_text()
    assert command(["train", str(suite), "--out", str(out), *options(episodes=1)]) == 33
    assert (out / "log.jsonl").read_text() == before


def test_killed_and_resumed_equals_uninterrupted(suite: Path, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert command(["train", str(suite), "--out", str(whole), *options("stop_after=0", episodes=40)]) == 0
    process = subprocess.Popen(
        [*PROGRAM, "train", str(suite), "--out", str(broken), *options("stop_after=0", episodes=40)],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    log = broken / "log.jsonl"
    wait_until(lambda: log.exists() and log.read_text().count("\n") >= 9)
    process.kill()
    process.wait()
    assert 9 <= len(log.read_text().splitlines()) < len(log_of(whole))
    with log.open("a") as file:
        file.write('{"kind": "epis')  # as if killed in the middle of a line
    assert command(["train", str(suite), "--out", str(broken), "--resume", "--device", "cpu", "--threads", "1"]) == 0
    assert log_of(broken) == log_of(whole)
    assert same_weights(broken / "checkpoints/0039.safetensors", whole / "checkpoints/0039.safetensors")
    assert same_weights(broken / "policy.safetensors", whole / "policy.safetensors")


def trained(suite: Path, out: Path, *extra: str, episodes: int = 6) -> Path:
    """Folder of a run that is done."""
    assert command(["train", str(suite), "--out", str(out), *options(*extra, episodes=episodes)]) == 0
    return out


class TestFrom:
    """Runs that begin with the weights of a policy."""

    def test_begins_with_its_weights(self, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        first = trained(suite, tmp_path / "first", episodes=3) / "policy.safetensors"
        out = tmp_path / "second"
        out.mkdir()
        (out / "state.safetensors").touch()  # of a run that is no more
        settings = ("layers=3", "precision=tf32", "average=0.9")
        slow = options(*settings, "learning_rate=1e-12", "learning_rate_episodes=1000000", episodes=2)
        assert command(["train", str(suite), "--out", str(out), "--from", str(first), "--seed", "9", *slow]) == 0
        before, after = load_file(first), load_file(out / "policy.safetensors")
        assert all(torch.allclose(before[name], after[name], atol=1e-6) for name in before)
        state = load_file(out / "state.safetensors")
        for name, weights in before.items():
            assert all(
                torch.allclose(weights, state[f"learner.{part}.{name}"], atol=1e-6) for part in ("network", "averaged")
            )
        start = load_policy_file(out / "policy.safetensors").record["start"]
        assert start == json.loads((out / "config.json").read_text())["start"]
        assert (start["policy"], start["seed"], start["episode"]) == (str(first), 0, 3)
        capsys.readouterr()
        assert command(["policies", str(out / "policy.safetensors"), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)[0]["from"] == "first, episode 3"

    def test_goes_on_whatever_has_become_of_the_policy(
        self, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        first = trained(suite, tmp_path / "first", episodes=3)
        other = trained(suite, tmp_path / "other", "embedding=8", "learning_rate=0.01", episodes=3)
        whole, broken = tmp_path / "whole", tmp_path / "broken"
        assert command(["train", str(suite), "--out", str(whole), "--from", str(first), *options(episodes=4)]) == 0
        killed = [*PROGRAM, "train", str(suite), "--out", str(broken), "--from", str(first), *options(episodes=4)]
        process = subprocess.Popen(killed, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_until((broken / "state.safetensors").exists)
        process.kill()
        process.wait()
        copied = shutil.copy(first / "policy.safetensors", tmp_path / "copied.safetensors")
        shutil.copy(other / "policy.safetensors", first / "policy.safetensors")
        resume = ["--out", str(broken), "--resume", "--device", "cpu", "--threads", "1"]
        capsys.readouterr()
        assert command(["train", str(suite), *resume, "--from", str(other)]) == 33
        assert "--from cannot change it" in capsys.readouterr().err
        assert command(["train", str(suite), *resume, "--from", str(copied)]) == 0
        assert log_of(broken) == log_of(whole)
        assert same_weights(broken / "policy.safetensors", whole / "policy.safetensors")
        assert command(["train", str(suite), "--out", str(other), *resume[2:], "--from", str(copied)]) == 33
        assert "began with random weights" in capsys.readouterr().err
        (broken / "state.safetensors").unlink()
        assert command(["train", str(suite), *resume]) == 31
        assert "not saved anywhere else" in capsys.readouterr().err

    def test_what_does_not_fit_is_refused(
        self, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        first = trained(suite, tmp_path / "first", episodes=1)
        for start, setting, code, words in (
            (str(first), "embedding=16", 33, "model.embedding is 16, but 8"),
            (str(first), "encoding.kind=int", 33, "encoding.kind is int, but ad"),
            ("auto", "embedding=8", 33, "model.embedding is 8, but 32"),
            ("goal-count", "embedding=8", 33, "goal-count has no weights"),
            ("miconic", "embedding=8", 31, "another domain"),
            (str(tmp_path / "none.safetensors"), "embedding=8", 31, "no such file"),
            (str(tmp_path), "embedding=8", 31, "this folder holds no policies, neither policy.safetensors of"),
            ("mconic", "embedding=8", 31, "did you mean 'miconic'"),
        ):
            out = tmp_path / "refused"
            capsys.readouterr()
            assert command(["train", str(suite), "--out", str(out), "--from", start, *options(setting)]) == code, start
            assert words in capsys.readouterr().err
            assert not out.exists()


class TestResume:
    """What may change and what may not when a run goes on."""

    def refused(self, capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
        """What is said about arguments that are refused."""
        capsys.readouterr()
        assert command(["train", *arguments, "--resume", "--device", "cpu", "--threads", "1"]) == code
        return capsys.readouterr().err

    def test_other_problems_are_refused(self, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = trained(suite, tmp_path / "run", episodes=2)
        other = tmp_path / "other"
        shutil.copytree(suite, other)
        (other / "training" / "p001.pddl").unlink()
        assert "not those" in self.refused(capsys, 31, str(other), "--out", str(out), "--set", "episodes=4")
        moved = tmp_path / "moved"
        shutil.copytree(suite, moved)
        resume = ["train", str(moved), "--out", str(out), "--resume", "--device", "cpu", "--set", "episodes=3"]
        assert command(resume) == 0

    def test_only_episodes_can_change(self, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = trained(suite, tmp_path / "run", episodes=2)
        place = [str(suite), "--out", str(out)]
        assert "training.batch" in self.refused(capsys, 33, *place, "--set", "batch=9")
        assert "model.embedding" in self.refused(capsys, 33, *place, "--config", "tiny")
        assert "seed is 0" in self.refused(capsys, 33, *place, "--seed", "3")
        with (out / "log.jsonl").open("a") as log:
            log.write("{}\n")  # after the last checkpoint
        before = [(out / name).read_text() for name in ("config.json", "log.jsonl")]
        assert "already made 2 episodes" in self.refused(capsys, 33, *place, "--set", "episodes=1")
        assert [(out / name).read_text() for name in ("config.json", "log.jsonl")] == before
        resume = ["train", *place, "--resume", "--seed", "0", "--set", "batch=4", "--set", "episodes=3"]
        assert command([*resume, "--device", "cpu"]) == 0
        assert json.loads((out / "config.json").read_text())["training"]["episodes"] == 3
        assert [entry["episode"] for entry in log_of(out) if entry["kind"] == "episode"] == [1, 2, 3]

    def test_a_log_that_lost_its_end_is_not_filled_up(self, suite: Path, tmp_path: Path) -> None:
        out = trained(suite, tmp_path / "run", episodes=2)
        text = (out / "log.jsonl").read_text()
        (out / "log.jsonl").write_text(text[: text.index("\n") + 10])
        resume = ["train", str(suite), "--out", str(out), "--resume", "--device", "cpu", "--set", "episodes=3"]
        assert command(resume) == 0
        assert [entry["episode"] for entry in log_of(out)][:2] == [1, 3]

    def test_the_best_checkpoint_becomes_the_policy_again(self, suite: Path, tmp_path: Path) -> None:
        out = trained(suite, tmp_path / "run")
        best = load_policy_file(out / "policy.safetensors").record["episode"]
        other = 9 - best  # of 3 and 6
        shutil.copy(out / f"checkpoints/000{other}.safetensors", out / "policy.safetensors")
        assert command(["train", str(suite), "--out", str(out), "--resume", "--device", "cpu"]) == 0
        assert load_policy_file(out / "policy.safetensors").record["episode"] == best

    def test_one_process_at_a_time(self, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = trained(suite, tmp_path / "run", episodes=2)
        other = RunFolder(out)
        other.hold()
        assert "another process" in self.refused(capsys, 33, str(suite), "--out", str(out))
        other.close()
        assert command(["train", str(suite), "--out", str(out), "--resume", "--device", "cpu"]) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_save_and_end_the_run(suite: Path, tmp_path: Path, number: int) -> None:
    out = tmp_path / "run"
    process = subprocess.Popen(
        [*PROGRAM, "train", str(suite), "--out", str(out), *options(episodes=100_000)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = out / "log.jsonl"
    wait_until(lambda: log.exists() and log.read_text().count("\n") >= 2)
    process.send_signal(number)
    shown, errors = process.communicate(timeout=60)
    assert process.returncode == (ExitCode.INTERRUPTED if number == signal.SIGINT else ExitCode.SUCCESS)
    assert "stopped by" in shown
    assert "Traceback" not in errors
    done = int(shown.split("after ")[1].split()[0])
    assert len([entry for entry in log_of(out) if entry["kind"] == "episode"]) == done
    assert load_policy_file(out / "policy.safetensors").record["episode"] <= done
    resume = ["train", str(suite), "--out", str(out), "--resume", "--threads", "1", "--set", f"episodes={done + 2}"]
    assert command(resume) == 0
    assert [entry["episode"] for entry in log_of(out) if entry["kind"] == "episode"] == list(range(1, done + 3))


def test_the_time_limit_ends_the_run_after_a_validation(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    limited = ["--time-limit", "4s", *options("validate_every=100000", episodes=100_000)]
    assert command(["train", str(suite), "--out", str(out), *limited]) == 0
    lines = capsys.readouterr().out.splitlines()
    done = int(lines[0].split("after ")[1].split()[0])
    assert lines[0].startswith(f"{suite.name}: stopped by the time limit after {done} episodes and ")
    assert lines[-1].startswith("to continue: --resume and a longer --time-limit")
    assert lines[1] == f"best: episode {done}"
    assert [(entry["kind"], entry["episode"]) for entry in log_of(out)[-2:]] == [
        ("episode", done),
        ("validation", done),
    ]
    assert load_policy_file(out / "policy.safetensors").record["validation"]["episode"] == done
    resume = ["train", str(suite), "--out", str(out), "--resume", "--device", "cpu", "--threads", "1"]
    assert command([*resume, "--set", f"episodes={done + 1}"]) == 0
    kinds = [entry["kind"] for entry in log_of(out)]
    assert kinds == [*["episode"] * done, "validation", "episode", "validation"]  # the validation was saved, too


def test_some_of_the_time_limit_is_kept_free_for_the_last_validation(suite: Path, tmp_path: Path) -> None:
    """A clock that moves on by 10 s per episode and by 15 s per validation."""
    now = [0.0]
    settings = [*FAST, "episodes=100", "validate_every=2"]
    run = open_run(suite, tmp_path / "run", config="tiny", settings=settings, device="cpu", threads=1)
    trainer = run.trainer
    real = trainer.validate

    def validate() -> Validation:
        now[0] += 15.0
        found = real()
        trainer.validation_seconds = 15.0
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "validate", validate)
        patch.setattr("saltus.learn.run.time", Clock(now))
        seen = []
        for event in run.events(seconds=70.0):
            if event.kind == "episode":
                now[0] += 10.0
            seen.append((event.kind, event.episode, now[0]))
    # After episode 3 it is 45 s: the next one would end at 55 s, when 15 s are to be kept free.
    assert seen[2:] == [("validation", 2, 35.0), ("episode", 3, 45.0), ("episode", 4, 55.0), ("validation", 4, 70.0)]
    assert run.stopped_by == "the time limit"


class Clock:
    """Stands for the module `time`; `now` is moved on by the test."""

    def __init__(self, now: list[float]) -> None:
        self.now = now
        self.strftime, self.gmtime, self.perf_counter = time.strftime, time.gmtime, time.perf_counter

    def monotonic(self) -> float:
        """The time of the test."""
        return self.now[0]


def test_a_run_ends_with_what_its_policy_solved(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    monkeypatch.setattr("saltus.learn.trainer.LARGER_FROM", 0.0)
    solvable = options("larger_problems=1", episodes=2)
    assert command(["train", str(suite), "--out", str(out), *solvable]) == 0
    first, best, held_out, larger, policy = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{suite.name}: done after 2 episodes and ")
    assert (best, policy) == ("best: episode 2", f"policy: {out}/policy.safetensors")
    assert re.fullmatch(r"validation: [01] of 1, [\d,]+ actions", held_out)
    assert re.fullmatch(r"larger: [01] of 1, [\d,]+ actions", larger)


def test_without_validation_problems_the_largest_quarter_is_held_out(suite: Path, tmp_path: Path) -> None:
    folder = tmp_path / "flat"
    shutil.copytree(suite / "training", folder)
    shutil.copy(suite / "domain.pddl", folder)
    for path in (suite / "training").glob("*.pddl"):
        shutil.copy(path, folder / f"again-{path.name}")
    configuration = load_configuration("tiny")
    found = load_problems(folder, configuration)
    assert (len(found.training), len(found.held_out)) == (9, 3)
    assert max(len(task.objects) for task in found.training) <= min(len(task.objects) for task in found.held_out)
    assert found.warnings == ["no validation problems: the 3 largest of 12 training problems are held out"]
    for path in sorted(folder.glob("*p0*.pddl"))[3:]:
        path.unlink()
    few = load_problems(folder, configuration)
    assert (len(few.training), few.held_out) == (3, few.training)  # better than no validation at all
    assert "3 training problems are too few to hold any out (4 are needed)" in few.warnings[0]
    for path in sorted(folder.glob("*p0*.pddl"))[1:]:
        path.unlink()
    one = load_problems(folder, configuration)
    assert (len(one.training), one.held_out) == (1, one.training)
    assert "1 training problem is too few" in one.warnings[0]
    assert "how it does on other problems is not known" in one.warnings[0]
    many = [small_tasks("blocksworld", 1)[0]] * 200
    assert [len(part) for part in hold_out(many)] == [176, 24]


def test_few_validation_problems_are_spread_over_the_sizes() -> None:
    tasks = small_tasks("blocksworld", 9)
    sizes = sorted(len(task.objects) for task in tasks)
    assert spread(tasks, 0) == spread(tasks, 9) == tasks
    assert [len(task.objects) for task in spread(tasks, 3)] == [sizes[0], sizes[4], sizes[8]]
    assert [len(task.objects) for task in spread(tasks, 1)] == [sizes[8]]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_progress_fits_the_terminal(suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    written = io.StringIO()
    terminal = Console(file=written, force_terminal=True, width=width, soft_wrap=True, color_system=None)
    monkeypatch.setattr("saltus.cli.output.error_console", lambda: terminal)
    settings = [*FAST, "episodes=2", "validate_every=2"]
    run = open_run(suite, tmp_path / "run", config="tiny", settings=settings, device="cpu", threads=1)
    run.problems = replace(run.problems, name="a-domain-with-a-rather-long-name")
    with shown(run) as show:
        for event in run.events():
            show(event)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", written.getvalue().replace("\r", "\n")).splitlines()
    assert max(len(line.rstrip()) for line in lines) <= width
    bars = [line for line in lines if "2/2" in line]
    assert bars
    assert all("loss " in line and "success " in line for line in bars)
    assert any(line.startswith("episode 2: validation ") for line in lines)


def test_a_full_disk_is_told_and_the_run_goes_on(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    real, calls = os.fsync, [0]

    def full(handle: int) -> None:
        calls[0] += 1
        if 3 <= calls[0] <= 5:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr("saltus.files.os.fsync", full)
    assert command(["train", str(suite), "--out", str(out), *options()]) == 0
    assert "No space left on device" in capsys.readouterr().err
    assert (out / "policy.safetensors").exists()
    assert not list(out.rglob("*.tmp"))


def test_a_disk_that_stays_full_is_an_error_at_the_end(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, calls = os.fsync, [0]

    def full(handle: int) -> None:
        calls[0] += 1
        if calls[0] >= 3:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr("saltus.files.os.fsync", full)
    assert command(["train", str(suite), "--out", str(tmp_path / "run"), *options()]) == 31
    assert "Traceback" not in capsys.readouterr().err


class TestWrongInput:
    """Each is told at the start, with its name, and nothing is left behind."""

    def refused(self, folder: Path, code: int, *words: str, capsys: pytest.CaptureFixture[str]) -> None:
        """The command ends with a code and says these words."""
        out = folder.parent / "out"
        assert command(["train", str(folder), "--out", str(out), *options(episodes=1)]) == code
        text = capsys.readouterr().err
        assert all(word in text for word in words), text
        assert not out.exists()

    @pytest.fixture
    def copy(self, suite: Path, tmp_path: Path) -> Path:
        """A copy of the suite."""
        folder = tmp_path / "copy"
        (folder / "training").mkdir(parents=True)
        (folder / "domain.pddl").write_bytes((suite / "domain.pddl").read_bytes())
        for path in (suite / "training").iterdir():
            (folder / "training" / path.name).write_bytes(path.read_bytes())
        return folder

    def test_empty_folder(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        folder = tmp_path / "empty"
        folder.mkdir()
        self.refused(folder, 31, "domain.pddl", capsys=capsys)

    def test_no_problems(self, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for path in (copy / "training").iterdir():
            path.unlink()
        self.refused(copy, 31, "no problems", capsys=capsys)

    def left_out(self, folder: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> None:
        """The command warns with these words, names the problem p002, and trains on the others."""
        out = folder.parent / "out"
        assert command(["train", str(folder), "--out", str(out), *options(episodes=1)]) == 0
        (warning,) = (line for line in capsys.readouterr().err.splitlines() if "p002.pddl is left out: " in line)
        assert all(word in warning for word in words), warning
        assert load_policy_file(out / "policy.safetensors").record["training_problems"] == 4

    def test_unreadable_problem(self, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (copy / "training" / "p002.pddl").write_text("(define (problem x) (:domain blocksworld) (:objects a b")
        self.left_out(copy, "p002.pddl:1", capsys=capsys)

    def test_problem_of_another_domain(self, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
        text = (copy / "training" / "p002.pddl").read_text()
        (copy / "training" / "p002.pddl").write_text(text.replace("(:domain blocksworld)", "(:domain ferry)"))
        self.left_out(copy, "ferry", capsys=capsys)

    def test_unreachable_goal(self, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Nothing is on the table, and nothing can be put there: no block is clear."""
        text = (copy / "training" / "p002.pddl").read_text()
        text = re.sub(r"\(clear [^)]*\)", "", text[: text.index("(:goal")]) + text[text.index("(:goal") :]
        (copy / "training" / "p002.pddl").write_text(text)
        self.left_out(copy, "its goal cannot be reached from its initial state", capsys=capsys)

    def test_nothing_but_unreadable_problems(self, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for path in (copy / "training").iterdir():
            path.write_text("(define")
        self.refused(copy, 31, "no training problem is left", "p001.pddl:1", capsys=capsys)

    def test_wrong_key(self, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = tmp_path / "out"
        assert command(["train", str(suite), "--out", str(out), "--set", "epsiodes=3"]) == 33
        assert "episodes" in capsys.readouterr().err
        assert not out.exists()

    @pytest.mark.parametrize("text", ["soon", "", "-5", "0", "5x"])
    def test_wrong_time(self, suite: Path, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert command(["train", str(suite), "--out", str(tmp_path / "out"), f"--time-limit={text}"]) == 33
        assert "--time-limit" in capsys.readouterr().err

    def test_wrong_device(self, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert command(["train", str(suite), "--out", str(tmp_path / "out"), "--device", "tpu"]) == 33
        assert "--device" in capsys.readouterr().err

    def test_nothing_to_resume(self, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert command(["train", str(suite), "--out", str(tmp_path / "none"), "--resume"]) == 31
        assert "no run to resume" in capsys.readouterr().err

    def test_damaged_state(self, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = tmp_path / "out"
        assert command(["train", str(suite), "--out", str(out), *options(episodes=2)]) == 0
        (out / "state.safetensors").write_bytes(b"nonsense")
        assert command(["train", str(suite), "--out", str(out), "--resume"]) == 31
        assert "damaged" in capsys.readouterr().err

    def test_goals_that_teach_nothing_are_left_out(self, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
        text = (copy / "training" / "p003.pddl").read_text()
        start = text.index("(:goal")
        (copy / "training" / "p003.pddl").write_text(text[:start] + "(:goal (and (arm-empty))))")
        out = copy.parent / "out"
        assert command(["train", str(copy), "--out", str(out), *options(episodes=1)]) == 0
        errors = capsys.readouterr().err
        assert "p003.pddl is left out: its goal is true at the start" in errors
        assert "no validation problems: the largest of 5 training problems is held out" in errors
        assert load_policy_file(out / "policy.safetensors").record["training_problems"] == 4

    def test_an_unsolvable_problem_is_no_obstacle(self, copy: Path) -> None:
        text = (copy / "training" / "p003.pddl").read_text()
        start = text.index("(:goal")
        (copy / "training" / "p003.pddl").write_text(text[:start] + "(:goal (and (on b1 b2) (on b2 b1))))")
        assert command(["train", str(copy), "--out", str(copy.parent / "out"), *options(episodes=3)]) == 0


def test_half_a_line_does_not_stay_in_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    folder = RunFolder(tmp_path, told.append)
    event = Validation(1, Coverage(1, 1, 1, 1), None, 0.0)
    folder.append(event, 1.0)
    before = folder.log.read_bytes()

    class Full(io.FileIO):
        def write(self, content: bytes, /) -> int:
            return super().write(bytes(content)[:5])

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda path, mode, buffering: Full(path, mode))
        folder.append(event, 2.0)
    assert len(told) == 1
    assert folder.log.read_bytes() == before
    folder.append(event, 3.0)
    assert [entry["elapsed"] for entry in map(json.loads, folder.log.read_text().splitlines())] == [1.0, 3.0]


def test_log_of_a_run_that_cannot_be_written_is_told(suite: Path, tmp_path: Path) -> None:
    told: list[str] = []
    folder = RunFolder(tmp_path / "missing", told.append)
    folder.append(Validation(1, Coverage(1, 1, 1, 1), None, 0.0), 1.0)
    assert len(told) == 1
    assert "lost" in told[0]


def wait_until(done, seconds: float = 60.0) -> None:  # type: ignore[no-untyped-def]
    """Waits for a condition; a test that waits longer fails."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def test_ipc_learn_numbers_its_policies(suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problems = sorted(str(path) for path in (suite / "training").glob("*.pddl"))
    prefix = tmp_path / "dk"
    arguments = ["ipc-learn", str(prefix), str(suite / "domain.pddl"), *problems]
    assert command([*arguments, *options(episodes=6)]) == 0
    count = int(capsys.readouterr().out.split()[0])
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"dk.{i}" for i in range(1, count + 1)]
    record = load_policy_file(prefix.with_name(f"dk.{count}")).record
    assert record["training_problems"] == 5  # one of six is held out
    assert command([*arguments, *options(episodes=1)]) == 0  # an earlier call's policies must not outlast a later's
    assert f"dk.{count + 1}" in capsys.readouterr().out
    nowhere = ["ipc-learn", str(tmp_path / "none" / "dk"), str(suite / "domain.pddl"), *problems]
    assert command([*nowhere, *options(episodes=1)]) == 31
    assert "no such folder" in capsys.readouterr().err
    plan = tmp_path / "plan"
    assert command(["ipc-plan", str(prefix), str(suite / "domain.pddl"), problems[0], str(plan)]) in (0, 12)


def test_ipc_learn_ends_cleanly_when_told_and_leaves_a_policy(suite: Path, tmp_path: Path) -> None:
    problems = sorted(str(path) for path in (suite / "training").glob("*.pddl"))
    command_line = [*PROGRAM, "ipc-learn", str(tmp_path / "dk"), str(suite / "domain.pddl"), *problems]
    process = subprocess.Popen(
        [*command_line, *options(episodes=100_000)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until((tmp_path / "dk.1").exists)
    process.send_signal(signal.SIGTERM)
    shown, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "the last one in" in shown
    assert "Traceback" not in errors
    assert load_policy_file(tmp_path / "dk.1").record["seed"] == 0


def test_a_signal_ends_a_long_validation_which_is_made_up_for(suite: Path, tmp_path: Path) -> None:
    """The run ends in the middle of its first validation; resumed, it equals one that was not interrupted."""
    folder = tmp_path / "suite"
    shutil.copytree(suite / "training", folder / "training")
    shutil.copy(suite / "domain.pddl", folder)
    (folder / "validation").mkdir()
    (folder / "validation" / "p1.pddl").write_text(generate_problem("blocksworld", "medium", 0, 30))
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    settings = options("validate_every=2", "layers=8", episodes=3)
    assert command(["train", str(folder), "--out", str(whole), *settings]) == 0
    process = subprocess.Popen(
        [*PROGRAM, "train", str(folder), "--out", str(broken), *settings],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = broken / "log.jsonl"
    wait_until(lambda: log.exists() and log.read_text().count("\n") >= 2)
    process.send_signal(signal.SIGTERM)
    shown, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "stopped by SIGTERM after 2 episodes" in shown
    assert [entry["kind"] for entry in log_of(broken)] == ["episode", "episode"]
    assert command(["train", str(folder), "--out", str(broken), "--resume", "--device", "cpu", "--threads", "1"]) == 0
    assert log_of(broken) == log_of(whole)
    assert same_weights(broken / "policy.safetensors", whole / "policy.safetensors")


SWITCHES = """(define (domain switches) (:requirements :negative-preconditions) (:predicates (on ?x) (next ?x ?y))
  (:action light :parameters (?x) :precondition (not (on ?x)) :effect (on ?x))
  (:action pass :parameters (?x ?y) :precondition (and (on ?x) (next ?x ?y)) :effect (and (not (on ?x)) (on ?y))))"""


def test_negated_goals_are_encoded_where_there_are_any(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "switches"
    (folder / "training").mkdir(parents=True)
    (folder / "domain.pddl").write_text(SWITCHES)
    for number in range(4):
        goal = "(and (on b) (not (on a)))" if number % 2 else "(on b)"
        (folder / "training" / f"p{number}.pddl").write_text(
            f"(define (problem p) (:domain switches) (:objects a b) (:init (on a) (next a b)) (:goal {goal}))"
        )
    train = ["train", str(folder), "--out", str(tmp_path / "run"), *options(episodes=1)]
    assert command(train) == 0
    assert "left out" not in capsys.readouterr().err
    assert json.loads((tmp_path / "run" / "config.json").read_text())["encoding"]["negative_goals"] is True
    assert command([*train, "--resume", "--set", "episodes=2"]) == 0
    other = ["train", str(folder), "--out", str(tmp_path / "other"), *options("negative_goals=false", episodes=1)]
    assert command(other) == 0
    assert capsys.readouterr().err.count("which need encoding.negative_goals=true") == 2
