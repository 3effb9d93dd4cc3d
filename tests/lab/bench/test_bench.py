"""Benchmarks: complete records, valid plans, resumed after a kill; baselines and clusters alike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.process.doubles import children_of, is_running, wait_until

from saltus.cli.main import run
from saltus.cli.options import limits_of
from saltus.domains.suite import write_suite
from saltus.errors import ConfigurationError, InputError, NoPolicyError, PolicyError
from saltus.lab.bench.benchmark import make_trials, run_trials
from saltus.lab.bench.record import Record
from saltus.lab.bench.records import RecordFile, read_records
from saltus.lookahead import TreeSpec
from saltus.model.policy_file import load_policy_file, save_policy
from saltus.policy import Limits, Outcome
from saltus.policy.catalogue import FALLBACK_PLAY, FALLBACK_TREES, policy_path
from saltus.policy.exit_codes import ExitCode
from saltus.policy.outcome import PROTOCOLS
from saltus.process import LocalRunner, PlanJob, PlanResult
from saltus.task import find_suites, load, read_plan, validate

POLICY = ROOT / "examples" / "blocksworld" / "untrained.safetensors"
NEEDS_LAMA = pytest.mark.skipif(find_spec("up_fast_downward") is None, reason="up-fast-downward is not installed")
SLOW = ["--policy", "random", "--time-limit", "none"]
"""Random jumps on a hundred blocks: no end in sight."""


@pytest.fixture
def suites(tmp_path: Path) -> Path:
    """Twelve problems of two domains."""
    for name in ("ferry", "miconic"):
        write_suite(tmp_path / "suites" / name, name, "training", 4, seed=1)
        write_suite(tmp_path / "suites" / name, name, "validation", 2, seed=1)
    return tmp_path / "suites"


def records_of(path: Path) -> list[Record]:
    """Records of a file without damage; none if it is empty."""
    if path.stat().st_size == 0:
        return []
    read = read_records(path)
    assert read.warnings == ()
    return list(read.records)


def call(*arguments: object) -> int:
    """Exit code of `saltus bench`."""
    return run(["bench", *map(str, arguments)])


@contextmanager
def start(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """`saltus bench` as a process of its own, which is gone afterwards, whatever happened."""
    program = Path(sys.executable).with_name("saltus")
    command = [program, "bench", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_papers_protocol_depends_on_the_policy(tmp_path: Path) -> None:
    """The time limit of flat policies is part of their configuration; that of the others stays."""
    write_suite(tmp_path / "suites" / "blocksworld", "blocksworld", "training", 1, seed=1)
    flat = tmp_path / "flat.safetensors"
    save_policy(flat, replace(load_policy_file(POLICY), lookahead=TreeSpec(kind="flat")))
    job = PlanJob("", "", limits=limits_of("paper", None, None, None), play=("take_goals=false",), device="cpu")
    trials = {
        path.stem: make_trials(
            find_suites(tmp_path / "suites"),
            replace(job, policy=str(path)),
            rules=PROTOCOLS["paper"],
        )[0]
        for path in (flat, POLICY)
    }
    assert {name: trial.job.limits.seconds for name, trial in trials.items()} == {"flat": 900, "untrained": 3600}
    for trial in trials.values():
        assert trial.configuration == trial.job.configuration()


def test_records_are_complete_and_plans_valid(suites: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "records.jsonl"
    options = [suites, "--policy", "goal-count", "--jobs", "2", "--out", out]
    assert call(*options) == ExitCode.SUCCESS
    told = capsys.readouterr()
    assert "12 of 12 trials run now, 0 recorded before" in told.out
    records = records_of(out)
    for record in records:
        text = f"{' '.join(record.name)}: plan found, {record.plan_length:,} actions, {record.seconds:.1f} s"
        assert text in told.err
    for name in {record.domain for record in records}:
        sums = Counter[str]()
        for record in records:
            sums[record.split] += record.plan_length if record.domain == name else 0
        for split, actions in sums.items():
            row = next(line for line in told.out.splitlines() if line.startswith(f"│ {name} ") and f" {split} " in line)
            assert row.split("│")[5].strip() == f"{actions:,}"
    found = {suite.name: suite for suite in find_suites(suites)}
    wanted = {(s.name, split, path.stem) for s in found.values() for split, paths in s.splits.items() for path in paths}
    assert {(record.domain, record.split, record.problem) for record in records} == wanted
    assert len(records) == len(wanted) == 12
    for record in records:
        assert (record.outcome, record.exit_code, record.threads) == ("plan found", 0, 1)
        suite = found[record.domain]
        problem = next(path for path in suite.splits[record.split] if path.stem == record.problem)
        task = load(suite.domain, problem)
        verdict = validate(task, read_plan(tmp_path / record.plan_file))
        assert verdict.valid
        assert (verdict.length, verdict.cost) == (record.plan_length, record.plan_cost)
        assert record.objects == task.object_count
        assert record.jumps > 0
        assert record.seconds >= record.seconds_plan > record.seconds_read > 0
        assert 20 < record.peak_memory_mb < 1000

    assert call(*options) == ExitCode.SUCCESS  # nothing is left to do
    assert "0 of 12 trials run now, 12 recorded before" in capsys.readouterr().out
    assert records_of(out) == records


def test_only_what_is_missing_is_run(suites: Path, tmp_path: Path) -> None:
    out = tmp_path / "records.jsonl"
    options = [suites / "ferry", "--policy", "goal-count", "--out", out]
    assert call(*options, "--split", "validation") == ExitCode.SUCCESS
    first = records_of(out)
    text = out.read_text()
    out.write_text(text + text[:100])  # as a killed writer may leave it
    assert call(*options) == ExitCode.SUCCESS
    records = records_of(out)
    assert records[:2] == first
    assert Counter(record.split for record in records) == {"validation": 2, "training": 4}
    assert call(*options, "--split", "validation", "--seed", "1") == ExitCode.SUCCESS
    assert len(records_of(out)) == 8  # another configuration makes other records
    assert len({record.configuration for record in records_of(out)}) == 2


def test_a_killed_benchmark_leaves_nothing_and_goes_on(suites: Path, tmp_path: Path) -> None:
    """The first call is killed with a run under way; the second one makes just what is missing."""
    out = tmp_path / "records.jsonl"
    slow = tmp_path / "suite"
    slow.mkdir()
    blocks = ROOT / "examples" / "blocksworld"
    for name in ("domain.pddl", "p03.pddl", "p100.pddl"):
        (slow / name).symlink_to(blocks / name)
    with start(slow, *SLOW, "--jobs", "2", "--out", out) as process:
        wait_until(lambda: len(records_of(out)) == 1 if out.exists() else False)
        (worker,) = children_of(process.pid)
        group = os.getsid(worker)
        assert group == worker != os.getsid(process.pid)
        process.kill()
    wait_until(lambda: not is_running(worker), 5)
    (kept,) = records_of(out)
    assert (kept.problem, kept.outcome) == ("p03", "plan found")
    job = PlanJob("", "", policy="random", limits=Limits(None, 8192.0, None), search=True, device="cpu", threads=1)
    trials = make_trials(find_suites(slow), job)
    made: list[str] = []

    def quick(job: PlanJob, **_: object) -> PlanResult:
        made.append(Path(job.problem).stem)
        return PlanResult(Outcome.FAILED)

    with RecordFile(out) as file:
        run_trials([(file, trial) for trial in trials], LocalRunner(2, quick), protocol="open")
    assert made == ["p100"]
    assert [record.problem for record in records_of(out)] == ["p03", "p100"]


def test_ctrl_c_stops_all_processes_and_records_nothing_of_them(tmp_path: Path) -> None:
    out = tmp_path / "records.jsonl"
    (tmp_path / "suite").mkdir()
    for name in ("domain.pddl", "p100.pddl"):
        (tmp_path / "suite" / name).symlink_to(ROOT / "examples" / "blocksworld" / name)
    with start(tmp_path / "suite", *SLOW, "--out", out) as process:
        wait_until(lambda: children_of(process.pid))
        (worker,) = children_of(process.pid)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    told = f"saltus: warning: 0 of 1 trials are in {out}; the same command continues with the others\n"
    assert (process.returncode, errors) == (ExitCode.INTERRUPTED, told + "saltus: error: interrupted\n")
    assert not is_running(worker)
    assert records_of(out) == []


def test_a_worker_that_is_killed_is_a_crash_and_the_benchmark_goes_on(suites: Path, tmp_path: Path) -> None:
    blocks = tmp_path / "suite"
    blocks.mkdir()
    for name in ("domain.pddl", "p100.pddl"):
        (blocks / name).symlink_to(ROOT / "examples" / "blocksworld" / name)
    (blocks / "z03.pddl").symlink_to(ROOT / "examples" / "blocksworld" / "p03.pddl")
    out = tmp_path / "records.jsonl"
    with start(blocks, *SLOW, "--out", out) as process:
        wait_until(lambda: children_of(process.pid))
        os.kill(children_of(process.pid)[0], signal.SIGSEGV)
        output, _ = process.communicate(timeout=30)
    assert process.returncode == ExitCode.CRITICAL_ERROR
    assert "1 crash" in output
    records = {record.problem: record for record in records_of(out)}
    assert records["p100"].outcome == "crash"
    assert records["p100"].detail == "killed by SIGSEGV"
    assert records["z03"].outcome == "plan found"


def test_an_error_while_recording_stops_the_benchmark(suites: Path, tmp_path: Path) -> None:
    trials = make_trials(find_suites(suites), PlanJob("", "", policy="goal-count"))

    class Full(RecordFile):
        def append(self, record: Record) -> None:
            raise InputError("disk full")

    with Full(tmp_path / "records.jsonl") as file, pytest.raises(InputError, match="disk full"):
        run_trials([(file, trial) for trial in trials], LocalRunner(2), protocol="open")
    assert children_of(os.getpid()) == []


def test_a_name_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "blocksworld").mkdir()  # as where the suites are
    monkeypatch.chdir(tmp_path)
    trials = make_trials(find_suites(ROOT / "examples" / "blocksworld"), PlanJob("", "", policy="blocksworld"))
    assert {run.job.policy for run in trials} == {str(policy_path("blocksworld"))}


def test_policies_of_suites(suites: Path, tmp_path: Path) -> None:
    blocks = find_suites(ROOT / "examples" / "blocksworld")
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "any-name.safetensors").symlink_to(POLICY)
    trials = make_trials(blocks, PlanJob("", "", policy=str(folder)))
    assert {Path(run.job.policy).name for run in trials} == {"any-name.safetensors"}
    with pytest.raises(NoPolicyError, match=r"fits the domain '.*saltus train.*goal-count"):
        make_trials(find_suites(suites), PlanJob("", "", policy=str(folder)))
    warnings: list[str] = []
    assert (
        make_trials([*find_suites(suites), *blocks], PlanJob("", "", policy=str(folder)), warn=warnings.append)
        == trials
    )
    assert [text.partition("fits the domain ")[2].partition(" ")[0] for text in warnings] == ["'ferry'", "'miconic'"]
    write_suite(tmp_path / "more" / "ferry", "ferry", "easy", 1, seed=1)
    both = [*find_suites(tmp_path / "more"), *blocks]
    with pytest.raises(NoPolicyError, match="'ferry'"):  # nothing is left of the split
        make_trials(both, PlanJob("", "", policy=str(folder)), ["easy"])
    warnings.clear()
    assert make_trials(both, PlanJob("", "", policy=str(folder)), ["training"], warn=warnings.append)
    assert warnings == []  # it has no such split
    with pytest.raises(PolicyError, match="no such file"):
        make_trials(blocks, PlanJob("", "", policy="none.safetensors"))
    with pytest.raises(PolicyError, match=r"there is no policy 'goal-cuont'.*did you mean 'goal-count'"):
        make_trials(blocks, PlanJob("", "", policy="goal-cuont"))
    with pytest.raises(ConfigurationError, match="no split 'trainin'; did you mean 'training'"):
        make_trials(blocks, PlanJob("", "", policy="random"), ["trainin"])


def test_problems_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text("")
    for place in ("training/easy/p01", "training/hard/p01", "training/hard/p02"):
        path = tmp_path / f"{place}.pddl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    trials = make_trials(find_suites(tmp_path), PlanJob("", "", policy="random"))
    assert [run.problem for run in trials] == ["easy-p01", "hard-p01", "p02"]


def test_a_policy_of_another_domain_is_refused_at_once(
    suites: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "records.jsonl"
    assert call(suites / "ferry", "--policy", POLICY, "--split", "validation", "--out", out) == ExitCode.INPUT_ERROR
    assert "trained on another domain than 'ferry'" in capsys.readouterr().err
    assert not out.exists()


def test_bad_files_are_outcomes(suites: Path, tmp_path: Path) -> None:
    ferry = suites / "ferry"
    (ferry / "training" / "p001.pddl").write_text("(define")
    out = tmp_path / "records.jsonl"
    assert call(ferry, "--policy", "random", "--max-jumps", "1", "--split", "training", "--out", out) == 0
    record = next(entry for entry in records_of(out) if entry.problem == "p001")
    assert (record.outcome, record.exit_code, record.objects) == ("input error", 31, None)
    assert "p001.pddl:1:1: parenthesis is never closed" in record.detail


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--planner", "fd"], "--planner fd: expected one of policy, lama, wl-goose"),
        (
            ["--planner", "lama", "--search"],
            "cannot be combined with --policy, --search, --greedy, --lookahead or --play",
        ),
        (
            ["--planner", "lama", "--greedy"],
            "cannot be combined with --policy, --search, --greedy, --lookahead or --play",
        ),
        (["--split", "nope"], "there is no split 'nope'"),
        (["--protocol", "ipc"], "--protocol ipc: expected one of paper, open"),
        (["--device", "tpu"], "--device tpu: expected one of"),
    ],
)
def test_usage_errors(options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = [] if "lama" in options else ["--policy", "random"]
    code = call(ROOT / "examples" / "blocksworld", *policy, *options, "--out", tmp_path / "records.jsonl")
    assert code == ExitCode.USAGE_ERROR
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_a_bundled_policy_goal_count_runs_and_the_records_say_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("saltus.policy.catalogue.POLICIES", tmp_path)
    out = tmp_path / "records.jsonl"
    write_suite(tmp_path / "ferry", "ferry", "training", 2)
    ferry = [tmp_path / "ferry"]
    assert call(*ferry, "--out", out) == 0
    warning = "saltus: warning: no policy for domain 'ferry': using goal-count, which goes by"
    assert capsys.readouterr().err.startswith(warning)
    records = records_of(out)
    assert {entry.policy for entry in records} == {"goal-count"}
    assert {entry.method for entry in records} == {
        f"goal-count ({', '.join((*FALLBACK_TREES.settings, *FALLBACK_PLAY.settings))})"
    }
    assert all(entry.solved and entry.search and entry.device == "cpu" for entry in records)
    settings = [part for setting in FALLBACK_TREES.settings for part in ("--lookahead", setting)]
    settings += [part for setting in FALLBACK_PLAY.settings for part in ("--play", setting)]
    assert call(*ferry, "--policy", "goal-count", *settings, "--out", out) == 0  # the same trials, spelt out
    assert f"0 of {len(records)} trials run now, {len(records)} recorded before" in capsys.readouterr().out


def test_protocols_search_or_play_greedily(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Searching and greedy trials are other trials; the paper's protocol plays greedily."""
    out = tmp_path / "records.jsonl"
    write_suite(tmp_path / "ferry", "ferry", "training", 1)
    bench = [tmp_path / "ferry", "--policy", "goal-count", "--max-jumps", "9", "--out", out]
    for options, text in (
        ([], "1 of 1 trials run now, 0 recorded before"),
        (["--search"], "0 of 1 trials run now, 1 recorded before"),
        (["--greedy"], "1 of 1 trials run now, 0 recorded before"),
        (["--protocol", "paper"], "1 of 1 trials run now, 0 recorded before"),
        (["--protocol", "paper", "--greedy"], "0 of 1 trials run now, 1 recorded before"),
        (["--protocol", "paper", "--search"], "1 of 1 trials run now, 0 recorded before"),
    ):
        assert call(*bench, *options) == 0
        assert text in capsys.readouterr().out
    ways = [(entry.protocol, entry.search) for entry in records_of(out)]
    assert ways == [("open", True), ("open", False), ("paper", False), ("paper", True)]


@NEEDS_LAMA
def test_lama(suites: Path, tmp_path: Path) -> None:
    out = tmp_path / "records.jsonl"
    options = [suites / "ferry", "--planner", "lama", "--split", "validation", "--jobs", "2", "--out", out]
    assert call(*options, "--time-limit", "60") == ExitCode.SUCCESS
    for record in records_of(out):
        assert (record.outcome, record.policy, record.method) == ("plan found", "lama-first", "lama-first")
        task = load(suites / "ferry" / "domain.pddl", suites / "ferry" / "validation" / f"{record.problem}.pddl")
        assert validate(task, read_plan(tmp_path / record.plan_file))
    assert call(*options, "--time-limit", "0.1") == ExitCode.SUCCESS
    records = records_of(out)
    assert [record.outcome for record in records[2:]] == ["time limit"] * 2
    assert len({record.configuration for record in records}) == 2


@NEEDS_LAMA
def test_all_iterations_of_lama(suites: Path, tmp_path: Path) -> None:
    out = tmp_path / "records.jsonl"
    options = [suites / "ferry", "--planner", "lama", "--split", "validation", "--time-limit", "6", "--out", out]
    assert call(*options) == ExitCode.SUCCESS
    assert call(*options, "--improve", "--jobs", "2") == ExitCode.SUCCESS
    records = records_of(out)
    first, improved = ({entry.problem: entry for entry in half} for half in (records[:2], records[2:]))
    assert first.keys() == improved.keys()
    for name, record in improved.items():
        assert (record.outcome, record.method, record.improve) == ("plan found", "lama", True)
        assert record.plan_length is not None
        assert record.plan_length <= (first[name].plan_length or 0)
        task = load(suites / "ferry" / "domain.pddl", suites / "ferry" / "validation" / f"{name}.pddl")
        assert validate(task, read_plan(tmp_path / record.plan_file))


@NEEDS_LAMA
def test_nothing_of_lama_outlives_a_killed_benchmark(suites: Path, tmp_path: Path) -> None:
    write_suite(tmp_path / "large", "blocksworld", "validation", 1, overrides={"blocks": 120})

    def descendants(pid: int) -> list[int]:
        return [found for child in children_of(pid) for found in (child, *descendants(child))]

    with start(tmp_path / "large", "--planner", "lama", "--out", tmp_path / "records.jsonl") as process:
        wait_until(lambda: len(descendants(process.pid)) >= 3)  # the worker, the driver, a component
        pids = descendants(process.pid)
        (folder,) = (Path(f"/proc/{pid}/cwd").resolve() for pid in pids[1:2])
        assert folder.name.startswith("saltus-")
        process.kill()
    wait_until(lambda: not any(is_running(pid) for pid in pids), 5)
    assert not folder.exists()


def test_ray(suites: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    options = [suites / "ferry", "--policy", "goal-count", "--split", "validation"]
    with start(*options, "--ray", "local", "--jobs", "2", "--out", tmp_path / "ray.jsonl") as process:
        _, errors = process.communicate(timeout=120)
    assert process.returncode == ExitCode.SUCCESS, errors
    assert call(*options, "--jobs", "2", "--out", tmp_path / "local.jsonl") == ExitCode.SUCCESS
    timed = ("seconds", "memory", "started", "plan_file")

    def comparable(name: str) -> list[dict]:
        records = [record.to_json() for record in sorted(records_of(tmp_path / name), key=lambda entry: entry.problem)]
        return [{k: v for k, v in record.items() if not any(word in k for word in timed)} for record in records]

    assert comparable("ray.jsonl") == comparable("local.jsonl")
    assert len(comparable("ray.jsonl")) == 2


def test_ray_is_asked_for_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    code = call(ROOT / "examples" / "blocksworld", "--policy", "random", "--ray", "local", "--out", "none.jsonl")
    assert code == ExitCode.USAGE_ERROR
    assert "pip install 'saltus[cluster]'" in capsys.readouterr().err
