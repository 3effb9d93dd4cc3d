"""`--lookahead`: other trees for yardsticks; `--play`: other rules for any policy; in `plan`, `bench` and `explain`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.test_free_moves import files
from tests.conftest import ROOT
from tests.errands import errands_problem

from saltus import load, load_policy
from saltus.cli.main import run
from saltus.domains.suite import write_suite
from saltus.errors import ConfigurationError
from saltus.lab.bench.records import read_records
from saltus.lookahead import TreeSpec
from saltus.policy.catalogue import FALLBACK_TREES
from saltus.policy.exit_codes import ExitCode
from saltus.process import PlanJob

GARDENER = str(ROOT / "examples/gardener")
TRAINED = str(ROOT / "examples/blocksworld/untrained.safetensors")
FREE = ["--policy", "goal-count", "--lookahead", "free_moves=true"]


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_plan_with_free_moves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One jump whichever way the bell is; without free moves, goals 3 places apart are not seen by flat trees."""
    names = files(tmp_path, errands_problem(goal="(and (rung) (at w0 p3))"))
    assert run(["plan", *names, *FREE, "--lookahead", "kind=flat", "--json"]) == ExitCode.SUCCESS
    record = json.loads(capsys.readouterr().out)
    assert (record["policy"], record["method"]) == ("goal-count", "goal-count (kind=flat, free_moves=true)")
    assert (record["jumps"], record["plan_length"]) == (1, 4)
    assert (
        (tmp_path / "sas_plan")
        .read_text()
        .startswith("(walk w0 p0 p1)\n(walk w0 p1 p2)\n(walk w0 p2 p3)\n(ring w0 p3)")
    )
    assert run(["plan", *names, "--policy", "goal-count", "--json"]) == ExitCode.SUCCESS
    assert json.loads(capsys.readouterr().out)["method"] == "goal-count"


def test_budgets_of_yardsticks(capsys: pytest.CaptureFixture[str]) -> None:
    plan = [
        "plan",
        f"{GARDENER}/domain.pddl",
        f"{GARDENER}/large.pddl",
        *FREE,
        "--max-jumps",
        "1",
        "--greedy",
        "--json",
    ]
    assert run(plan) == ExitCode.NO_PLAN
    whole = json.loads(capsys.readouterr().out)
    assert run([*plan, "--play", "max_encoded=10"]) == ExitCode.NO_PLAN
    cut = json.loads(capsys.readouterr().out)
    assert (whole["largest_tree"], whole["left_out_nodes"]) == (62, 0)
    assert (cut["largest_tree"], cut["left_out_nodes"]) == (11, 51)


def test_bench_tells_lookaheads_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Trials with another lookahead are other trials; the default, spelt out, is the default."""
    bench = ["bench", GARDENER, "--out", "records.jsonl", "--jobs", "2"]
    for options, text in (
        (FREE, "4 of 4 trials run now, 0 recorded before"),
        ([*FREE, "--lookahead", "kind=aiw"], "0 of 4 trials run now, 4 recorded before"),
        (["--policy", "goal-count"], "4 of 4 trials run now, 0 recorded before"),
        (["--policy", "goal-count", "--lookahead", "free_moves=false"], "0 of 4 trials run now, 4 recorded before"),
        ([*FREE, "--lookahead", "kind=iw"], "4 of 4 trials run now, 0 recorded before"),
    ):
        assert run([*bench, *options]) == ExitCode.SUCCESS
        assert text in capsys.readouterr().out
    methods = [record.method for record in read_records(tmp_path / "records.jsonl").records]
    assert {name: methods.count(name) for name in methods} == {
        "goal-count (free_moves=true)": 4,
        "goal-count": 4,
        "goal-count (kind=iw, free_moves=true)": 4,
    }
    assert run(["report", "records.jsonl"]) == ExitCode.SUCCESS
    output = capsys.readouterr().out
    for name in dict.fromkeys(methods):
        assert f"{name} + search: 4 of 4 problems solved" in output


def test_configurations_of_older_records_stay() -> None:
    plain = PlanJob("d", "p", policy="goal-count")
    assert plain.configuration() == "da994de2acb0"
    assert PlanJob("d", "p", policy="goal-count", lookahead=("kind=iw",)).configuration() != plain.configuration()


def test_a_flat_yardstick_has_the_papers_limit_for_flat_policies() -> None:
    assert PlanJob("d", "p", policy="goal-count", lookahead=("kind=flat",)).is_flat()
    assert not PlanJob("d", "p", policy="goal-count", lookahead=("kind=iw",)).is_flat()
    assert not PlanJob("d", "p", policy="goal-count").is_flat()


def test_a_job_survives_its_way_to_the_worker() -> None:
    job = PlanJob("d", "p", policy="random", lookahead=("kind=iw", "free_moves=true"))
    assert PlanJob.from_json(json.loads(json.dumps(job.to_json()))) == job


@pytest.mark.parametrize("policy", ["auto", "blocksworld", TRAINED])
@pytest.mark.parametrize("command", ["plan", "bench", "explain"])
def test_trained_policies_have_their_own(command: str, policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = ROOT / "examples/blocksworld"
    places = [str(blocks)] if command == "bench" else [str(blocks / "domain.pddl"), str(blocks / "p03.pddl")]
    options = ["--policy", policy, "--lookahead", "kind=iw", *(["--out", "x"] if command == "bench" else [])]
    assert run([command, *places, *options]) == ExitCode.USAGE_ERROR
    error = capsys.readouterr().err
    assert "cannot be changed: it is the one that it was trained with; only random and goal-count take another" in error
    assert not Path("x").exists()


def test_roles_can_be_set_for_trained_policies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fewer objects in the trees, the same method, another configuration of the record."""
    write_suite(tmp_path / "spanner", "spanner", "validation", 1)
    task = [str(tmp_path / "spanner" / "domain.pddl"), str(tmp_path / "spanner" / "validation" / "p001.pddl")]
    plan = ["plan", *task, "--policy", "spanner", "--json"]
    assert run(plan) == ExitCode.SUCCESS
    whole = json.loads(capsys.readouterr().out)
    assert run([*plan, "--play", "roles=1"]) == ExitCode.SUCCESS
    few = json.loads(capsys.readouterr().out)
    assert few["method"] == whole["method"]
    assert few["tree_nodes"] < whole["tree_nodes"]
    job = PlanJob("d", "p", policy=TRAINED)
    assert replace(job, play=("roles=1",)).configuration() != job.configuration()
    assert run([*plan, "--play", "roles=-1"]) == ExitCode.USAGE_ERROR
    policy, plain = load_policy(TRAINED, play=["roles=2"]), load_policy(TRAINED)
    assert (policy.lookahead, policy.play_spec) == (plain.lookahead, replace(plain.play_spec, roles=2))


def test_roles_of_the_fallback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = files(tmp_path, errands_problem(goal="(and (rung) (at w0 p3))"))
    assert run(["plan", *names, "--play", "roles=3", "--json"]) == ExitCode.SUCCESS
    assert "roles=3" in json.loads(capsys.readouterr().out)["method"]


def test_numbered_policies_have_their_own() -> None:
    """A lookahead is that of the yardstick that takes their place, so there must be one."""
    with pytest.raises(ConfigurationError, match="lookahead of policy auto cannot be changed"):
        PlanJob("d", "p", prefix="dk", lookahead=("kind=iw",))
    assert (
        PlanJob("d", "p", policy="goal-count", prefix="dk", lookahead=("kind=iw",)).method() == "goal-count (kind=iw)"
    )


def test_explain_without_a_policy_for_the_domain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = files(tmp_path, errands_problem(goal="(and (rung) (at w0 p3))"))
    assert run(["explain", *names, "--out", "page.html"]) == ExitCode.SUCCESS
    output = capsys.readouterr()
    assert output.err.startswith("saltus: warning: no policy for domain 'errands': using goal-count, which goes by")
    assert output.out.startswith("solved in ")
    assert FALLBACK_TREES.label in (tmp_path / "page.html").read_text()
    assert run(["explain", *names, "--policy", TRAINED, "--out", "other.html"]) == ExitCode.INPUT_ERROR


@pytest.mark.parametrize("option", [["--lookahead", "kind=iw"], ["--play", "roles=8"]])
def test_lama_has_no_lookahead(
    option: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("saltus.cli.bench.find_driver", lambda: None)
    options = ["--planner", "lama", *option, "--out", "records.jsonl"]
    assert run(["bench", GARDENER, *options]) == ExitCode.USAGE_ERROR
    assert "--planner lama cannot be combined with" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["plan", "bench", "explain"])
def test_nonsense_is_refused_before_anything_is_done(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    places = [GARDENER] if command == "bench" else [f"{GARDENER}/domain.pddl", f"{GARDENER}/large.pddl"]
    for setting in ("free_moves=perhaps", "\x1b[31mkind=iw", "kind", "width=2"):
        out = [] if command == "plan" else ["--out", "x"]
        assert run([command, *places, *FREE, "--lookahead", setting, *out]) == ExitCode.USAGE_ERROR
        error = capsys.readouterr().err
        assert error.startswith("saltus: error: lookahead: ")
        assert "\x1b" not in error
    for setting in ("dead_ends=perhaps", "\x1b[31mroles=8", "roles", "frozen_goals=on", "kind=iw"):
        out = [] if command == "plan" else ["--out", "x"]
        assert run([command, *places, *FREE, "--play", setting, *out]) == ExitCode.USAGE_ERROR
        error = capsys.readouterr().err
        assert error.startswith("saltus: error: play: ")
        assert "\x1b" not in error
    assert list(Path().iterdir()) == []


def test_from_python() -> None:
    task = load(f"{GARDENER}/domain.pddl", f"{GARDENER}/large.pddl")
    policy = load_policy("goal-count", lookahead=TreeSpec(free_moves=True))
    progress = policy.solve(task)
    assert progress.solved
    assert (progress.jumps, repr(policy)) == (60, "<GoalCountPolicy AIW(1) modulo free moves>")
    with pytest.raises(ConfigurationError, match="cannot be changed"):
        load_policy("blocksworld", lookahead=TreeSpec())
