"""The library as its users see it: training, planning and printing from Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.learn.small import small_tasks

import saltus
from saltus.learn import Configuration, EpisodeReport, Trainer, Validation, load_configuration, open_run
from saltus.policy import LearnedPolicy
from saltus.task.plan import parse_plan

EXAMPLE = ROOT / "examples" / "train_and_plan.py"
BLOCKS = ROOT / "examples" / "blocksworld"
GARDENER = ROOT / "examples" / "gardener"
FAST = ["episodes=4", "steps=2", "batch=4", "layers=2", "embedding=8", "horizon=5", "larger_problems=0"]
FAST += ["validate_every=2"]


def test_ten_lines_train_a_policy_plan_with_it_and_print_the_plan() -> None:
    assert len([line for line in EXAMPLE.read_text().splitlines() if line]) <= 10
    shown = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=True)
    assert shown.stderr == ""
    plan = parse_plan(shown.stdout)
    assert len(plan) > 100
    assert saltus.validate(saltus.load(GARDENER / "domain.pddl", GARDENER / "large.pddl"), plan)


def test_train_returns_a_run_with_its_best_policy(tmp_path: Path) -> None:
    told: list[str] = []
    out = tmp_path / "run"
    run = saltus.train(BLOCKS, config="tiny", settings=FAST, out=out, seed=3, device="cpu", threads=1, warn=told.append)
    assert run.folder == out
    assert repr(run) == f"<Run '{out}', 4 of 4 episodes>"
    assert run.validation is not None
    assert run.validation.episode in (2, 4)
    policy = run.best_policy()
    assert isinstance(policy, LearnedPolicy)
    domain = "blocksworld"
    assert repr(policy) == f"<LearnedPolicy '{out}/policy.safetensors', aiw-ad, trained on {domain}, 2 layers, on cpu>"
    assert repr(saltus.load_policy(out, device="cpu")) == repr(policy)
    assert told == []
    again = saltus.train(BLOCKS, settings=["episodes=5"], out=out, resume=True, device="cpu", threads=1)
    assert (again.trainer.episode, again.description.seed) == (5, 3)
    with pytest.raises(saltus.ConfigurationError, match="already holds a run"):
        saltus.train(BLOCKS, config="tiny", settings=FAST, out=out)


def test_a_run_without_a_folder_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    configuration = load_configuration("tiny", FAST)
    assert isinstance(configuration, Configuration)
    run = saltus.train(BLOCKS, config=configuration, settings=["episodes=1"], device="cpu", threads=1)
    assert list(tmp_path.iterdir()) == [run.folder]
    policy = run.best_policy()
    del run
    assert list(tmp_path.iterdir()) == []
    task = saltus.load(BLOCKS / "domain.pddl", BLOCKS / "p03.pddl")
    assert policy.plan(task, search=True) is not None
    with pytest.raises(saltus.InputError, match="no such folder"):
        saltus.train(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_events_are_typed(tmp_path: Path) -> None:
    run = open_run(BLOCKS, tmp_path / "run", config="tiny", settings=FAST, device="cpu", threads=1)
    kinds: list[str] = []
    for event in run.events():
        kinds.append(event.kind)
        assert isinstance(event, EpisodeReport if event.kind == "episode" else Validation)
    assert kinds == ["episode", "episode", "validation"] * 2


def test_a_trainer_learns_from_tasks_in_memory() -> None:
    trainer = Trainer(load_configuration("tiny", FAST), small_tasks("ferry", 3), seed=0, threads=1)
    assert len(list(trainer.train())) == 6
    assert repr(trainer.policy()) == "<LearnedPolicy unsaved, aiw-ad, 2 layers, on cpu>"


def test_importing_saltus_imports_no_pytorch() -> None:
    code = "import sys, saltus; assert 'train' in dir(saltus); print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"


def test_a_run_that_is_given_up_is_saved(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run = open_run(BLOCKS, out, config="tiny", settings=FAST, device="cpu", threads=1)
    for event in run.events():
        if event.episode == 1:
            break
    assert isinstance(run.best_policy(), LearnedPolicy)
    again = open_run(BLOCKS, out, resume=True, device="cpu", threads=1)
    assert again.trainer.episode == 1
    assert [event.episode for event in again.events() if event.kind == "episode"] == [2, 3, 4]


@pytest.mark.parametrize("limit", [-1, 0, float("inf"), "3m"])
def test_senseless_time_limits_are_refused(limit: float) -> None:
    with pytest.raises(saltus.ConfigurationError, match=f"time_limit is {limit!r}, expected a number of seconds"):
        saltus.train(BLOCKS, config="tiny", settings=FAST, time_limit=limit, device="cpu", threads=1)
