"""The runner for Ray, with a stand-in for Ray itself; `test_ray` of the commands needs the real one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.process.fake_ray import FakeRay

from saltus.cli.main import run
from saltus.domains.suite import write_suite
from saltus.errors import ConfigurationError
from saltus.lab.bench.records import read_records
from saltus.policy import Limits, Outcome
from saltus.process import PlanJob, RayRunner, ray_runner

BLOCKS = ROOT / "examples" / "blocksworld"
FAST = ["episodes=2", "steps=2", "batch=4", "layers=2", "embedding=8", "horizon=5", "larger_problems=0"]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    """A cluster with two cores."""
    fake = FakeRay(cores=2)
    monkeypatch.setitem(sys.modules, "ray", fake)
    return fake


def job(problem: str = "p03", **changes: object) -> PlanJob:
    """Goal-count on a problem with three or a hundred blocks."""
    values: dict[str, object] = {"policy": "goal-count", "device": "cpu", "threads": 1, **changes}
    return PlanJob(str(BLOCKS / "domain.pddl"), str(BLOCKS / f"{problem}.pddl"), **values)  # type: ignore[arg-type]


def test_a_benchmark_on_ray_makes_the_records_of_a_local_one(
    ray: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path / "ferry", "ferry", "validation", 3, seed=1)
    options = ["bench", "ferry", "--policy", "goal-count"]
    assert run([*options, "--ray", "local", "--jobs", "2", "--out", "ray.jsonl"]) == 0
    assert run([*options, "--jobs", "2", "--out", "local.jsonl"]) == 0
    facts = [
        sorted((record.key, record.outcome, record.plan_length, record.jumps) for record in read_records(name).records)
        for name in ("ray.jsonl", "local.jsonl")
    ]
    assert facts[0] == facts[1]
    assert len(facts[0]) == 3
    assert (ray.connected, ray.most_running) == (["init", "shutdown"], 2)
    assert ray.options["num_cpus"] == 2


def test_training_on_ray(ray: FakeRay, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = [part for text in FAST for part in ("--set", text)]
    arguments = ["train-all", str(BLOCKS), "--out", str(tmp_path), "--seeds", "2", "--config", "tiny", *settings]
    assert run([*arguments, "--ray", "local", "--jobs", "2", "--threads", "1", "--device", "cpu"]) == 0
    assert capsys.readouterr().out.count("done after 2 episodes") == 2
    assert all((tmp_path / "blocksworld" / f"seed-{seed}" / "policy.safetensors").exists() for seed in (0, 1))
    assert ray.connected == ["init", "shutdown"]


def test_at_most_so_many_jobs_as_asked_for(ray: FakeRay) -> None:
    begun: list[int] = []
    ended = list(RayRunner("somewhere", 1).run([job(), job(), job(device="cuda", threads=8)], begun.append))
    assert [entry.number for entry in ended] == begun == [0, 1, 2]
    assert ray.most_running == 1
    assert [room["num_cpus"] for room in ray.rooms] == [1, 1, 2]  # a job gets no more cores than a machine has
    assert [room.get("num_gpus") for room in ray.rooms] == [None, None, 0.125]
    assert "num_cpus" not in ray.options  # somebody else's cluster


def test_a_task_that_fails_is_a_crash(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(sent: PlanJob, folder: str) -> None:
        raise MemoryError("the machine is gone")

    monkeypatch.setattr(ray_runner, "execute", fail)
    (ended,) = RayRunner("local").run([job()])
    assert ended.result.outcome is Outcome.CRASH
    assert ended.result.detail == "Ray task: MemoryError: the machine is gone"


def test_jobs_end_before_the_runner_does(ray: FakeRay) -> None:
    slow = job("p100", policy="random", limits=Limits(seconds=100))
    running = RayRunner("local", 2).run([job(), slow])
    assert next(running).number == 0
    running.close()
    assert ray.tasks[1].cancelled == [False]
    assert ray.tasks[1].done.is_set()
    assert isinstance(ray.tasks[1].error, KeyboardInterrupt)
    assert ray.connected == ["init", "shutdown"]


def test_a_cluster_that_does_not_answer_is_named(ray: FakeRay) -> None:
    with pytest.raises(ConfigurationError, match="--ray nowhere: no Ray cluster found: nobody answers"):
        list(RayRunner("nowhere").run([job()]))
    assert ray.connected == []


def test_a_new_cluster_is_not_a_running_one(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "somewhere")
    seen: list[str | None] = []
    start = ray.init
    monkeypatch.setattr(ray, "init", lambda **options: (seen.append(os.environ.get("RAY_ADDRESS")), start(**options)))
    assert len(list(RayRunner("local").run([job()]))) == 1
    assert (seen, os.environ["RAY_ADDRESS"]) == ([None], "somewhere")
