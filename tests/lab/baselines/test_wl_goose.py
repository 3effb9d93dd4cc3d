"""WL-GOOSE as a baseline: training, model files, search, records. Skipped where `wlplan` is not installed."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import ROOT

from saltus.cli.main import run
from saltus.domains.suite import write_suite
from saltus.errors import NoPolicyError, PolicyError, WrongPolicyError
from saltus.lab.baselines import lama
from saltus.lab.baselines.wl_goose import WLGooseJob, greedy_search
from saltus.lab.baselines.wl_model import WLModel, WLTask, load_model, model_digest, read_model_entry
from saltus.lab.baselines.wl_training import WLTrainJob, label, linear_weights, train_wl_goose
from saltus.lab.bench.benchmark import make_trials
from saltus.lab.bench.records import read_records
from saltus.policy.exit_codes import ExitCode
from saltus.process import run_job
from saltus.task import Plan, State, find_suites, load, read_plan, validate

BLOCKS = ROOT / "examples" / "blocksworld"
SIGNATURE: dict[str, list[str]] = {"types": [], "constants": [], "predicates": [], "schemas": []}
EXPERIMENT = """
problems = "suites"

[testing]
time_limit = "1m"

[machines]
runs = 1
trials = 1

[systems.peer]
planner = "wl-goose"
plan_time = "5s"
"""
NEEDS_WLPLAN = pytest.mark.skipif(
    find_spec("wlplan") is None or find_spec("up_fast_downward") is None,
    reason="wlplan or up-fast-downward is not installed",
)


@pytest.fixture(scope="module")
def ferry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small problems of a domain."""
    folder = tmp_path_factory.mktemp("suites") / "ferry"
    write_suite(folder, "ferry", "training", 4, seed=1, overrides={"cars": 3, "locations": 3})
    write_suite(folder, "ferry", "validation", 2, seed=1, overrides={"cars": 3, "locations": 4})
    return folder


@pytest.fixture(scope="module")
def model(ferry: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of that domain, trained by the command."""
    out = tmp_path_factory.mktemp("models") / "ferry.json"
    assert run(["wl-goose", str(ferry), "--out", str(out), "--plan-time", "5"]) == 0
    return out


def test_greedy_search_expands_the_lowest_estimate_first() -> None:
    task = load(BLOCKS / "domain.pddl", BLOCKS / "p03.pddl")
    goals = len(task.goal.positive)
    seen: list[int] = []

    def missing(state: State) -> float:
        return float(len(task.goal.missing(state)))

    plan = greedy_search(task, missing, seen.append)
    assert plan is not None
    assert validate(task, plan)
    blind: list[int] = []
    other = greedy_search(task, lambda state: 0.0, blind.append)
    assert other is not None
    assert validate(task, other)
    assert len(other) <= len(plan)  # without estimates the search is breadth-first
    assert goals > 0
    assert len(seen) < len(blind)


def test_estimates_are_rounded_and_ties_are_broken_by_age() -> None:
    task = load(BLOCKS / "domain.pddl", BLOCKS / "p03.pddl")
    exact = greedy_search(task, lambda state: 2.0)
    assert greedy_search(task, lambda state: 2.0 + len(state) / 1000) == exact


def test_a_search_without_a_plan_ends() -> None:
    task = load(BLOCKS / "domain.pddl", BLOCKS / "p03.pddl")
    goal = task.make_goal([task.atom(f"on {task.objects[0]} {task.objects[0]}")])
    object.__setattr__(task, "goal", goal)
    assert greedy_search(task, lambda state: 0.0) is None


def test_weights_are_those_of_least_squares() -> None:
    rows = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    assert linear_weights(rows, np.array([1.0, 3.0, 5.0, 7.0])) == pytest.approx([1.0, 2.0], abs=1e-5)
    # more features than states: the smallest weights that fit
    assert linear_weights(np.array([[1.0, 1.0, 0.0]]), np.array([4.0])) == pytest.approx([2.0, 2.0, 0.0], abs=1e-5)


def test_labels_count_the_actions_that_follow() -> None:
    task = load(BLOCKS / "domain.pddl", BLOCKS / "p03.pddl")
    plan = greedy_search(task, lambda state: 0.0)
    assert plan is not None
    found = label(task, plan)
    assert found.distances == tuple(range(len(plan), -1, -1))
    assert found.states[0] == task.initial_state
    assert [task.goal.holds(state) for state in found.states] == [False] * len(plan) + [True]


@NEEDS_WLPLAN
def test_a_model_predicts_distances_along_optimal_plans(ferry: Path, model: Path) -> None:
    loaded = load_model(model)
    assert loaded.training["problems"] == loaded.training["problems_given"] == 6
    errors = []
    for path in find_suites(ferry)[0].training_files():
        task = load(ferry / "domain.pddl", path)
        heuristic = loaded.heuristic(WLTask(task))
        plan = greedy_search(task, heuristic)
        assert plan is not None
        assert validate(task, plan)
        errors.append(abs(heuristic(task.initial_state) - len(plan)))
    assert max(errors) <= 2  # these were trained on


@NEEDS_WLPLAN
def test_records_are_like_those_of_policies(ferry: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "records.jsonl"
    options = ["--planner", "wl-goose", "--policy", str(model.parent), "--split", "validation", "--out", str(out)]
    assert run(["bench", str(ferry), *options]) == 0
    records = read_records(out).records
    assert len(records) == 2
    for record in records:
        assert (record.outcome, record.policy, record.method) == ("plan found", "ferry.json", "wl-goose")
        assert (record.search, record.found_by, record.device) == (False, None, "cpu")
        assert record.search_decisions
        assert record.objects
        assert record.seconds_plan is not None
        assert record.plan_file is not None
        task = load(ferry / "domain.pddl", ferry / "validation" / f"{record.problem}.pddl")
        plan = read_plan(tmp_path / record.plan_file)
        assert validate(task, plan)
        assert len(plan) == record.plan_length
    assert run(["bench", str(ferry), *options]) == 0
    assert len(read_records(out).records) == 2  # nothing is run twice


@NEEDS_WLPLAN
def test_time_limits_hold(ferry: Path, model: Path, tmp_path: Path) -> None:
    write_suite(tmp_path / "ferry", "ferry", "hard", 1, seed=3)
    out = tmp_path / "records.jsonl"
    options = ["--planner", "wl-goose", "--policy", str(model), "--time-limit", "2", "--out", str(out)]
    assert run(["bench", str(tmp_path / "ferry"), *options]) == 0
    (record,) = read_records(out).records
    assert record.outcome == "time limit"


@NEEDS_WLPLAN
def test_a_saved_model_is_the_model(ferry: Path, model: Path, tmp_path: Path) -> None:
    trained = train_wl_goose(ferry, seconds=5)
    trained.save(tmp_path / "again.json")
    task = load(ferry / "domain.pddl", find_suites(ferry)[0].training_files()[0])
    values = [
        entry.heuristic(WLTask(task))(task.initial_state)
        for entry in (trained, load_model(tmp_path / "again.json"), load_model(model))
    ]
    assert values == pytest.approx([values[0]] * 3, abs=1e-6)


@NEEDS_WLPLAN
def test_plans_that_are_kept_are_not_searched_for_again(
    ferry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    train_wl_goose(ferry, seconds=5, plans=tmp_path / "plans").save(first)
    assert len(list((tmp_path / "plans").iterdir())) == 6
    monkeypatch.setattr(lama, "find_driver", lambda: pytest.fail("a plan is searched for"))
    train_wl_goose(ferry, seconds=5, plans=tmp_path / "plans").save(second)
    assert model_digest(first) == model_digest(second)


@NEEDS_WLPLAN
def test_training_and_playing_are_parts_of_an_experiment(ferry: Path, tmp_path: Path) -> None:
    write_suite(tmp_path / "suites" / "ferry", "ferry", "easy", 2, seed=1, overrides={"cars": 3, "locations": 3})
    shutil.copytree(ferry / "training", tmp_path / "suites" / "ferry" / "training")
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    arguments = ["experiment", str(tmp_path / "x.toml"), "--out", str(tmp_path / "out")]
    assert run(arguments) == ExitCode.SUCCESS
    folder = tmp_path / "out" / "runs" / "ferry" / "peer" / "seed-0"
    assert "ferry" in json.loads((folder / "model.json").read_text())["domain"]["name"]
    records = read_records(tmp_path / "out" / "records" / "peer.jsonl").records
    assert [(record.method, record.solved) for record in records] == [("peer", True)] * 2
    (folder / "trained.json").unlink()
    assert run(arguments) == ExitCode.SUCCESS  # trained from the plans that are kept, with the same weights
    assert len(read_records(tmp_path / "out" / "records" / "peer.jsonl").records) == 2


def test_a_model_that_cannot_be_trained_is_a_failure(tmp_path: Path) -> None:
    write_suite(tmp_path / "ferry", "ferry", "easy", 1, seed=1)
    result = run_job(WLTrainJob(str(tmp_path / "ferry"), str(tmp_path / "out" / "model.json")))
    assert result.outcome is not None
    assert result.exit_code == result.outcome.exit_code != 0
    assert result.summary.startswith(f"failed, exit code {result.exit_code}: ")
    assert not (tmp_path / "out" / "model.json").exists()


def test_the_digest_of_a_model_is_that_of_its_weights(tmp_path: Path) -> None:
    digests = []
    for seconds, weight in ((1.0, 0.5), (2.0, 0.5), (2.0, 0.25)):
        training = {"seconds": seconds}
        entry = {"format": "saltus-wl-goose", "version": 1, "signature": SIGNATURE, "training": training}
        path = tmp_path / f"{seconds}-{weight}.json"
        path.write_text(json.dumps({"saltus": entry, "weights": [weight]}))
        digests.append(model_digest(path))
    assert digests[0] == digests[1] != digests[2]


@NEEDS_WLPLAN
def test_models_are_found_by_domain_and_checked(ferry: Path, model: Path, tmp_path: Path) -> None:
    job = WLGooseJob("", "", policy=str(model.parent))
    (trial, *_) = make_trials(find_suites(ferry), job)
    assert trial.job.policy == str(model)
    write_suite(tmp_path / "miconic", "miconic", "training", 1, seed=1)
    with pytest.raises(NoPolicyError, match=r"miconic\.json: no model of WL-GOOSE"):
        make_trials(find_suites(tmp_path / "miconic"), job)
    with pytest.raises((WrongPolicyError, NoPolicyError), match=r"another domain than .miconic."):
        make_trials(find_suites(tmp_path / "miconic"), WLGooseJob("", "", policy=str(model)))


def test_other_files_are_no_models(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    for text in (
        "",
        "[]",
        "{}",
        '{"saltus": {"format": "x"}}',
        '{"saltus": {"format": "saltus-wl-goose"}}',
        json.dumps({"saltus": {"format": "saltus-wl-goose", "version": 2, "signature": SIGNATURE}}),
        "[" * 9999,
    ):
        path.write_text(text)
        with pytest.raises(PolicyError, match="not a model of WL-GOOSE"):
            read_model_entry(path)
    with pytest.raises(PolicyError, match=r"[Nn]o such file"):
        read_model_entry(tmp_path / "missing.json")


@NEEDS_WLPLAN
def test_a_damaged_model_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"saltus": {"format": "saltus-wl-goose", "version": 1, "signature": SIGNATURE}}))
    with pytest.raises(PolicyError, match="wlplan cannot read this model"):
        load_model(path)


@NEEDS_WLPLAN
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--planner wl-goose needs --policy"),
        (["--policy", "x.json", "--search"], "cannot be combined with --search"),
        (["--policy", "x.json", "--lookahead", "kind=iw"], "cannot be combined with --search"),
        (["--policy", "x.json", "--play", "roles=8"], "cannot be combined with --search"),
        (["--policy", "x.json"], "x.json: cannot be read"),
    ],
)
def test_options_that_do_not_fit(
    options: list[str], message: str, ferry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "records.jsonl")
    code = run(["bench", str(ferry), "--planner", "wl-goose", *options, "--out", out])
    assert code != ExitCode.SUCCESS
    assert message in " ".join(capsys.readouterr().err.split())


def test_an_invalid_plan_is_not_learned_from() -> None:
    task = load(BLOCKS / "domain.pddl", BLOCKS / "p03.pddl")
    with pytest.raises(Exception, match="invalid optimal plan"):
        label(task, Plan(()))


def test_models_are_plain_values() -> None:
    assert set(WLModel.__dataclass_fields__) == {"features", "signature", "training"}
