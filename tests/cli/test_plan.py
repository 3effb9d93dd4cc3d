"""`saltus plan` and `ipc-plan`: every outcome, its exit code, its files and what is said about it."""

from __future__ import annotations

import functools
import json
import os
import pty
import select
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT
from tests.policy.test_rollout import CHAIN
from tests.process.doubles import INVALID, children_of, double, is_running, wait_until

import saltus
from saltus.cli.main import run
from saltus.cli.options import limits_of
from saltus.domains.suite import write_suite
from saltus.errors import ConfigurationError
from saltus.lookahead import TreeSpec
from saltus.model.policy_file import load_policy_file, save_policy
from saltus.policy import Limits
from saltus.policy.catalogue import FALLBACK_PLAY, FALLBACK_TREES
from saltus.policy.exit_codes import ExitCode
from saltus.policy.stall import Stall
from saltus.policy.values import IN_DOUBT
from saltus.process import PlanJob, run_job

EXAMPLES = ROOT / "examples" / "blocksworld"
BLOCKS = [str(EXAMPLES / "domain.pddl"), str(EXAMPLES / "p03.pddl")]
LARGE = [str(EXAMPLES / "domain.pddl"), str(EXAMPLES / "p100.pddl")]
UNTRAINED = str(EXAMPLES / "untrained.safetensors")


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def files(tmp_path: Path, domain: str, problem: str) -> list[str]:
    """A domain and a problem file."""
    (tmp_path / "domain.pddl").write_text(domain)
    (tmp_path / "problem.pddl").write_text(problem)
    return [str(tmp_path / "domain.pddl"), str(tmp_path / "problem.pddl")]


def problem(domain: str, init: str, goal: str) -> str:
    """A problem with places a to d and g."""
    return f"(define (problem p) (:domain {domain}) (:objects a b c d g) (:init {init}) (:goal {goal}))"


def plan(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict, str]:
    """Exit code, record and messages of `saltus plan --json`."""
    code = run(["plan", *arguments, "--json"])
    output = capsys.readouterr()
    return code, json.loads(output.out) if output.out else {}, output.err


def test_plan_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sas_plan").write_text("an old plan")
    (tmp_path / "sas_plan.7").write_text("an old plan")
    (tmp_path / "sas_plan.txt").write_text("something else")
    assert run(["plan", *BLOCKS, "--policy", "goal-count"]) == ExitCode.SUCCESS
    output = capsys.readouterr()
    assert output.err == ""
    assert output.out.startswith("plan found (greedy): 4 actions, cost 4 (unit cost)\n2 jumps, ")
    assert output.out.endswith("s, policy goal-count, written to sas_plan\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sas_plan", "sas_plan.txt"]
    assert run(["validate", *BLOCKS, "sas_plan"]) == ExitCode.SUCCESS


def test_the_record_of_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    code, record, errors = plan(*BLOCKS, "--policy", "goal-count", "--plan-file", "x.plan", capsys=capsys)
    assert (code, errors) == (0, "")
    assert (record["outcome"], record["found_by"], record["plan_file"]) == ("plan found", "greedy", "x.plan")
    assert record["limits"] == {"seconds": 1800.0, "memory_mb": 8192.0, "max_jumps": None}
    assert record["method"] == "goal-count"


def test_it_is_said_whether_a_plan_was_improved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(tmp_path / "ferry", "ferry", "validation", 1)
    ferry = [str(tmp_path / "ferry" / "domain.pddl"), str(tmp_path / "ferry" / "validation" / "p001.pddl")]
    file = ["--plan-file", str(tmp_path / "plan")]
    for task, policy, text in (
        (BLOCKS, "blocksworld", "; no better one was found"),
        (ferry, "goal-count", "; improved "),
    ):
        capsys.readouterr()
        assert run(["plan", *task, *file, "--improve", "--policy", policy]) == ExitCode.SUCCESS
        assert text in capsys.readouterr().out.splitlines()[0]


def test_improved_plans_are_numbered_with_falling_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(tmp_path / "ferry", "ferry", "validation", 1)
    task = [str(tmp_path / "ferry" / "domain.pddl"), str(tmp_path / "ferry" / "validation" / "p001.pddl")]
    code, record, _ = plan(*task, "--policy", "goal-count", "--improve", capsys=capsys)
    assert code == 0
    paths = sorted(tmp_path.glob("sas_plan*"), key=lambda path: int(path.suffix[1:]))
    assert [path.name for path in paths] == [f"sas_plan.{i + 1}" for i in range(len(paths))]
    assert len(paths) > 1
    costs = [saltus.validate(saltus.load(*task), saltus.read_plan(path)) for path in paths]
    assert all(costs)
    assert [entry.cost for entry in costs] == sorted({entry.cost for entry in costs}, reverse=True)
    assert (record["plan_file"], record["plan_cost"]) == (paths[-1].name, costs[-1].cost)


def test_policy_failed_and_the_search_that_helps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A spanner that stays behind is a dead end, which goal counts do not see coming."""
    write_suite(tmp_path / "spanner", "spanner", "training", 10)
    task = [str(tmp_path / "spanner" / "domain.pddl"), str(tmp_path / "spanner" / "training" / "p006.pddl")]
    code, record, errors = plan(*task, "--policy", "goal-count", "--greedy", capsys=capsys)
    assert (code, record["outcome"], record["plan_file"], errors) == (ExitCode.NO_PLAN, "policy failed", None, "")
    assert record["search"] is False
    assert run(["plan", *task, "--policy", "goal-count", "--greedy"]) == ExitCode.NO_PLAN
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("no plan: policy failed (")
    assert last.endswith(" s; try --search")
    assert run(["plan", *task, "--policy", "goal-count", "--protocol", "paper"]) == ExitCode.NO_PLAN
    assert capsys.readouterr().out.endswith(" s; try --search\n")
    code, record, _ = plan(*task, "--policy", "goal-count", "--search", capsys=capsys)
    assert (code, record["outcome"], record["found_by"]) == (0, "plan found", "search")
    assert (record["greedy_outcome"], record["search"]) == ("policy failed", True)
    assert record["search_decisions"] > 0
    assert saltus.validate(saltus.load(*task), saltus.read_plan("sas_plan"))
    code, default, _ = plan(*task, "--policy", "goal-count", capsys=capsys)
    same = ("outcome", "configuration", "jumps", "search_decisions", "plan_length")
    assert [default[name] for name in same] == [record[name] for name in same]
    assert run(["plan", *task, "--policy", "goal-count"]) == ExitCode.SUCCESS
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("plan found (search): ")
    goals = f"{record['greedy_goals']} of {record['goal_count']} goals"
    played = f"{record['goal_by_goal_decisions']} jumps goal by goal, {record['search_decisions']} states searched, "
    assert second.startswith(f"greedy failed after {record['jumps']} jumps at {goals}; {played}")


def lights(tmp_path: Path, needed: int, others: int = 0) -> list[str]:
    """Lights some of which must all be on before the goal is in sight, among others that need not be."""
    names = [f"l{i}" for i in range(needed + others)]
    all_on = " ".join(f"(on {light})" for light in names[:needed])
    domain = f"""(define (domain lights) (:constants {" ".join(names)}) (:predicates (on ?x) (off ?x) (done))
      (:action light :parameters (?x) :precondition (off ?x) :effect (and (on ?x) (not (off ?x))))
      (:action dim :parameters (?x) :precondition (on ?x) :effect (and (off ?x) (not (on ?x))))
      (:action finish :parameters () :precondition (and {all_on}) :effect (done)))"""
    off = " ".join(f"(off {light})" for light in names)
    return files(tmp_path, domain, f"(define (problem p) (:domain lights) (:init {off}) (:goal (done)))")


def test_a_rollout_that_stalls_and_the_search_that_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twelve lights: 4,096 states with equal goal counts. After 10,000 states of trees, relaxed plans show the way."""
    task = lights(tmp_path, 12)
    code, record, _ = plan(*task, "--policy", "goal-count", "--lookahead", "kind=flat", capsys=capsys)
    assert (code, record["greedy_outcome"], record["found_by"]) == (0, "stalled", "relaxed search")
    assert record["jumps"] == Stall.of(saltus.load(*task)).patience + 1
    assert run(["plan", *task, "--policy", "goal-count", "--lookahead", "kind=flat"]) == ExitCode.SUCCESS
    second = capsys.readouterr().out.splitlines()[1]
    assert second.startswith(f"greedy stalled after {record['jumps']} jumps at 0 of 1 goals; ")
    assert " states searched, " in second


def test_relaxed_plans_help_a_rollout_without_progress_before_it_stalls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With larger trees, 10,000 states come sooner."""
    task = lights(tmp_path, 12, others=60)
    code, record, _ = plan(*task, "--policy", "goal-count", "--lookahead", "kind=flat", capsys=capsys)
    assert (code, record["greedy_outcome"], record["found_by"]) == (0, "stalled", "relaxed search")
    assert record["search_decisions"] == 0
    assert IN_DOUBT < record["jumps"] < Stall.of(saltus.load(*task)).patience
    assert len(saltus.read_plan("sas_plan")) == 13


def test_no_applicable_jump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = files(tmp_path, CHAIN, problem("chain", "(at a)", "(at g)"))
    code, record, errors = plan(*task, "--policy", "random", "--search", capsys=capsys)
    assert (code, record["outcome"], errors) == (ExitCode.NO_PLAN, "no applicable jump", "")
    assert run(["plan", *task, "--policy", "random"]) == ExitCode.NO_PLAN
    shown = capsys.readouterr().out
    assert shown.startswith("no plan: the problem has none (no applicable jump); 0 jumps, ")
    assert "--search" not in shown  # it would not help


def test_jump_limit(capsys: pytest.CaptureFixture[str]) -> None:
    code, record, _ = plan(*LARGE, "--policy", "random", "--max-jumps", "3", capsys=capsys)
    assert (code, record["outcome"], record["jumps"]) == (ExitCode.NO_PLAN, "jump limit", 3)
    assert not Path("sas_plan").exists()


def test_time_limit(capsys: pytest.CaptureFixture[str]) -> None:
    code, record, _ = plan(*LARGE, "--policy", "random", "--greedy", "--time-limit", "2s", capsys=capsys)
    assert (code, record["outcome"], record["limits"]["seconds"]) == (ExitCode.OUT_OF_TIME, "time limit", 2.0)
    assert record["jumps"] > 0  # figures are there although the process was stopped


def test_memory_limit(capsys: pytest.CaptureFixture[str]) -> None:
    code, record, _ = plan(*BLOCKS, "--policy", "goal-count", "--memory-limit", "20M", capsys=capsys)
    assert (code, record["outcome"]) == (ExitCode.OUT_OF_MEMORY, "memory limit")
    assert 20 <= record["peak_memory_mb"] < 40


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none.pddl", BLOCKS[1]], 31, "none.pddl: cannot be read: No such file or directory"),
        ([BLOCKS[1], BLOCKS[0]], 31, f"{BLOCKS[1]}:1:9: not a domain file"),
        ([*BLOCKS, "--policy", "blocksword"], 31, "there is no policy 'blocksword', neither a file nor a name"),
        ([*BLOCKS, "--policy", "none.safetensors"], 31, "none.safetensors: cannot be read: no such file"),
        ([*BLOCKS, "--plan-file", "none/sas_plan"], 31, "none: no such folder"),
        ([*BLOCKS, "--plan-file", "/"], 31, "/: is a folder"),
        ([*BLOCKS, "--time-limit", "0"], 33, "--time-limit 0: expected more than 0"),
        ([*BLOCKS, "--time-limit", "5x"], 33, "--time-limit 5x: expected a time such as 90, 10m or 1h30m"),
        ([*BLOCKS, "--memory-limit", "-1"], 33, "--memory-limit -1: expected a number"),
        ([*BLOCKS, "--max-jumps", "many"], 33, "--max-jumps many: expected a whole number, or none"),
        ([*BLOCKS, "--protocol", "ipc"], 33, "--protocol ipc: expected one of paper, open"),
        ([*BLOCKS, "--device", "tpu"], 33, "--device tpu: expected one of auto, cpu, cuda"),
    ],
)
def test_input_and_usage_errors(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = [] if "--policy" in arguments else ["--policy", "random"]
    assert run(["plan", *arguments, *policy]) == code
    output = capsys.readouterr()
    assert output.err.startswith(f"saltus: error: {message}")
    assert (output.out, output.err.count("\n")) == ("", 1)


def test_a_plan_never_overwrites_an_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = files(tmp_path, CHAIN, problem("chain", "(at a)", "(at a)"))
    text = Path(task[1]).read_text()
    assert run(["plan", *task, "--policy", "random", "--plan-file", "problem.pddl"]) == ExitCode.USAGE_ERROR
    assert "would overwrite an input file" in capsys.readouterr().err
    assert Path(task[1]).read_text() == text


def test_nor_does_it_remove_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbered plans of an earlier call go; a problem or a policy of such a name is refused."""
    shutil.copy(BLOCKS[1], "p.1")
    assert run(["plan", BLOCKS[0], "p.1", "--policy", "random", "--plan-file", "p"]) == ExitCode.USAGE_ERROR
    shutil.copy(UNTRAINED, "dk.1")
    assert run(["plan", *BLOCKS, "--policy", "dk.1", "--plan-file", "dk"]) == ExitCode.USAGE_ERROR
    assert run(["ipc-plan", "dk", *BLOCKS, "dk"]) == ExitCode.USAGE_ERROR
    assert capsys.readouterr().err.count("would overwrite an input file") == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dk.1", "p.1"]


@pytest.mark.parametrize(
    "arguments",
    [["none.pddl", BLOCKS[1]], [BLOCKS[0], "none.pddl"], [*BLOCKS, "--policy", "ferry"], [*BLOCKS, "--policy", "none"]],
)
def test_a_refused_call_leaves_earlier_plans_alone(arguments: list[str]) -> None:
    Path("sas_plan").write_text("the last good plan")
    assert run(["plan", *arguments]) == ExitCode.INPUT_ERROR
    assert Path("sas_plan").read_text() == "the last good plan"


def test_a_call_that_finds_nothing_removes_earlier_plans() -> None:
    """Also where it did not come to the policy."""
    for limit in (["--max-jumps", "0"], ["--time-limit", "0.001"]):
        Path("sas_plan").write_text("an old plan")
        run(["plan", *LARGE, "--policy", "random", *limit])
        assert not Path("sas_plan").exists()


def test_unsupported_pddl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    domain = CHAIN.replace("(domain chain)", "(domain chain) (:requirements :durative-actions)")
    task = files(tmp_path, domain, problem("chain", "(at a)", "(at g)"))
    code, record, errors = plan(*task, "--policy", "random", capsys=capsys)
    assert (code, record["outcome"]) == (ExitCode.UNSUPPORTED, "unsupported")
    assert errors.startswith(f"saltus: error: {task[0]}:1:")


ADL = """\
(define (domain doors) (:requirements :adl :derived-predicates)
  (:predicates (at ?x) (open ?x ?y) (near ?x ?y) (reach ?x) (seen ?x))
  (:derived (reach ?x) (or (at ?x) (exists (?y) (and (reach ?y) (or (open ?x ?y) (open ?y ?x))))))
  (:action unlock :parameters (?x ?y)
    :precondition (and (or (near ?x ?y) (near ?y ?x)) (reach ?x) (not (reach ?y))) :effect (open ?x ?y))
  (:action look :parameters () :precondition (exists (?x) (and (reach ?x) (not (seen ?x))))
    :effect (forall (?x) (when (imply (not (reach ?x)) (seen ?x)) (seen ?x)))))
"""
NEAR = "(at a) (near a b) (near c b) (near c d) (near d g)"


@pytest.mark.parametrize(
    ("goal", "length"),
    [
        ("(reach g)", 4),
        ("(forall (?x) (seen ?x))", 5),
        ("(or (reach zz) (reach c))", 2),
        ("(not (exists (?x) (not (reach ?x))))", 4),
    ],
)
def test_a_plan_for_a_task_with_formulas(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], goal: str, length: int
) -> None:
    """Plan, improved plan and validator; plans name the user's actions."""
    task = files(tmp_path, ADL, problem("doors", NEAR, goal.replace("zz", "d")))
    code, record, errors = plan(*task, "--policy", "goal-count", "--improve", capsys=capsys)
    assert (code, errors, record["plan_length"]) == (ExitCode.SUCCESS, "", length)
    names = {line.split()[0].strip("()") for line in (tmp_path / record["plan_file"]).read_text().splitlines()[:-1]}
    assert names <= {"unlock", "look"}
    assert run(["validate", *task, str(tmp_path / record["plan_file"])]) == ExitCode.SUCCESS


def test_flaws_are_refused_if_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = files(tmp_path, CHAIN, problem("chain", "(at a)", "(at a)").replace("(:objects a", "(:objects a a"))
    code, _, errors = plan(*task, "--policy", "random", capsys=capsys)
    assert code == ExitCode.SUCCESS
    assert "warning" in errors
    assert "duplicate object 'a'" in errors
    for command in (["plan", *task, "--policy", "random"], ["info", *task], ["validate", *task, "sas_plan"]):
        assert run([*command, "--strict"]) == ExitCode.INPUT_ERROR
        assert "error" in capsys.readouterr().err


def test_wrong_and_missing_policies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = files(tmp_path, CHAIN, problem("chain", "(at a)", "(at g)"))
    code, record, errors = plan(*task, "--policy", UNTRAINED, capsys=capsys)
    assert (code, record["outcome"]) == (ExitCode.INPUT_ERROR, "wrong policy")
    assert errors.startswith("saltus: error: wrong policy: the policy was trained on another domain than 'chain'")
    empty = tmp_path / "empty"
    empty.mkdir()
    for name, message in (("no-such-policy", "there is no policy 'no-such-policy'"), (str(empty), "holds no policies")):
        code, record, errors = plan(*task, "--policy", name, capsys=capsys)
        assert (code, record["outcome"]) == (ExitCode.INPUT_ERROR, "input error")
        assert message in errors


def test_without_a_policy_for_the_domain_goals_are_searched_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    links = "(next a b) (next b c) (next c d)"
    objects = "(define (problem p) (:domain chain) (:objects a b c d)"
    task = files(tmp_path, CHAIN, f"{objects} (:init (at a) {links}) (:goal (at d)))")
    code, record, errors = plan(*task, capsys=capsys)
    assert (code, record["outcome"], record["plan_length"]) == (0, "plan found", 3)
    settings = ", ".join((*FALLBACK_TREES.settings, *FALLBACK_PLAY.settings))
    assert (record["policy"], record["method"]) == ("goal-count", f"goal-count ({settings})")
    assert record["search"] is True
    assert errors.splitlines() == [
        "saltus: warning: no policy for domain 'chain': using goal-count, which goes by the number of goals alone;"
        " `saltus train FOLDER --out RUN` learns one"
    ]
    code, record, errors = plan(*task, "--greedy", capsys=capsys)
    assert (code, record["policy"], record["search"]) == (0, "goal-count", False)
    assert "no policy for domain 'chain'" in errors


def test_a_policy_file(capsys: pytest.CaptureFixture[str]) -> None:
    code, record, _ = plan(*BLOCKS, "--policy", UNTRAINED, "--search", "--threads", "1", capsys=capsys)
    assert (code, record["outcome"], record["method"], record["policy"]) == (0, "plan found", "aiw-ad", UNTRAINED)
    for part in ("read", "lookahead", "graph", "network"):
        assert record[f"seconds_{part}"] > 0


def test_an_invalid_plan_is_an_error_and_not_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("saltus.cli.plan.run_job", functools.partial(run_job, command=INVALID))
    code, record, errors = plan(*BLOCKS, "--policy", "goal-count", "--search", "--improve", capsys=capsys)
    assert (code, record["outcome"], record["plan_file"]) == (ExitCode.CRITICAL_ERROR, "invalid plan", None)
    assert errors.startswith("saltus: error: invalid plan: step 1 (pickup a): precondition (clear a) does not hold")
    assert list(Path().iterdir()) == []


def test_a_crash(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("saltus.cli.plan.run_job", functools.partial(run_job, command=double("os.abort()")))
    code, record, errors = plan(*BLOCKS, "--policy", "goal-count", capsys=capsys)
    assert (code, record["outcome"]) == (ExitCode.CRITICAL_ERROR, "crash")
    assert errors == "saltus: error: crash: killed by SIGABRT\n"


def policy_with(lookahead: TreeSpec, path: Path) -> str:
    """An untrained policy for blocks with another lookahead."""
    save_policy(path, replace(load_policy_file(UNTRAINED), lookahead=lookahead))
    return str(path)


def test_the_papers_protocol(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Flat policies have 15 minutes, the others 60; a limit that is given holds for all."""
    (tmp_path / "flat").mkdir()
    flat = policy_with(TreeSpec(kind="flat"), tmp_path / "flat" / "a.safetensors")
    wide = policy_with(TreeSpec(), tmp_path / "wide.safetensors")
    paper = ("--protocol", "paper", "--max-jumps", "2")

    def limit(*arguments: str) -> float:
        seconds: float = plan(*BLOCKS, "--policy", *arguments, capsys=capsys)[1]["limits"]["seconds"]
        return seconds

    assert [limit(name, *paper) for name in (flat, str(tmp_path / "flat"), wide, "auto")] == [900, 900, 3600, 3600]
    assert limit(flat, *paper, "--time-limit", "30m") == 1800
    assert limit(flat, "--max-jumps", "2") == 1800


def test_the_papers_protocol_takes_the_best_value_only(capsys: pytest.CaptureFixture[str]) -> None:
    """Random values: a goal in the tree is taken at once, or by chance."""
    arguments = (*BLOCKS, "--policy", "random", "--max-jumps", "1000")
    (_, ours, _), (_, papers, _) = (plan(*arguments, "--protocol", name, capsys=capsys) for name in ("open", "paper"))
    assert ours["outcome"] == "plan found"
    assert papers["jumps"] > ours["jumps"]
    assert ours["configuration"] != papers["configuration"]


def test_limits_of_protocols() -> None:
    assert limits_of("paper", None, None, None) == Limits(3600.0, None, 1000)
    assert limits_of("open", None, None, None) == Limits(1800.0, 8192.0, None)
    assert limits_of("paper", "90m", "2.5G", "none") == Limits(5400.0, 2560.0, None)
    assert limits_of("open", "none", "none", "7") == Limits(None, None, 7)
    assert limits_of("open", "0.5h", "512K", None) == Limits(1800.0, 0.5, None)
    for bad in ("", "1e3", "²", "inf", "9" * 400, "1 m"):
        with pytest.raises(ConfigurationError, match="--time-limit"):
            limits_of("open", bad, None, None)


@pytest.mark.parametrize("signal_number", [2, 9, 15])
def test_no_process_survives_the_program(signal_number: int) -> None:
    program = Path(sys.executable).with_name("saltus")
    command = [program, "plan", *LARGE, "--policy", "random", "--time-limit", "none"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: children_of(process.pid))
        (worker,) = children_of(process.pid)
        process.send_signal(signal_number)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == (ExitCode.INTERRUPTED if signal_number == 2 else -signal_number)
    assert errors == ("saltus: error: interrupted\n" if signal_number == 2 else "")
    wait_until(lambda: not is_running(worker), 5)
    assert not Path("sas_plan").exists()


def test_progress_on_a_terminal() -> None:
    """Jumps, goals, tree size and seconds; nothing of it on standard output."""
    leader, follower = pty.openpty()
    program = Path(sys.executable).with_name("saltus")
    command = [program, "plan", *LARGE, "--policy", "random", "--greedy", "--time-limit", "3"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower, env=environment) as process:
        os.close(follower)
        seen = b""
        while select.select([leader], [], [], 20)[0]:
            try:
                part = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
        output, _ = process.communicate(timeout=20)
    os.close(leader)
    assert process.returncode == ExitCode.OUT_OF_TIME
    text = seen.decode()
    for word in ("jumps", "of 111 goals", "trees of up to", " s"):
        assert word in text
    assert output.decode().startswith("no plan: time limit; ")


# -- the IPC's call ----------------------------------------------------------------------------------------------------


def test_ipc_plan_takes_the_last_sound_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (1, 2):
        shutil.copy(UNTRAINED, tmp_path / f"dk.{number}")
    (tmp_path / "dk.10").write_bytes(b"half a file")
    (tmp_path / "plan").write_text("an old plan")
    assert run(["ipc-plan", "dk", *BLOCKS, "plan"]) == ExitCode.SUCCESS
    output = capsys.readouterr()
    assert output.err.startswith("saltus: warning: dk.10: not a policy file, or damaged")
    assert "written to plan" in output.out
    assert saltus.validate(saltus.load(*BLOCKS), saltus.read_plan("plan"))


def test_ipc_plan_without_a_policy_searches_with_goal_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ipc-plan", "none/dk", *BLOCKS, "plan", "--improve"]) == ExitCode.SUCCESS
    output = capsys.readouterr()
    assert "none/dk: no policy; expected none/dk.1, …; continuing with goal-count" in output.err
    assert [path.name for path in tmp_path.iterdir()] == ["plan"]  # better plans take the place of worse ones
    assert saltus.validate(saltus.load(*BLOCKS), saltus.read_plan("plan"))


def test_ipc_plan_takes_a_policy_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The IPC's organisers hand the last of the files on under the prefix's own name."""
    shutil.copy(UNTRAINED, tmp_path / "dk")
    assert run(["ipc-plan", "dk", *BLOCKS, "plan", "--numbered"]) == ExitCode.SUCCESS
    output = capsys.readouterr()
    assert output.err == ""
    assert "policy dk, written to plan.1" in output.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dk", "plan.1"]
    assert run(["ipc-plan", "dk", *BLOCKS, "dk"]) == ExitCode.USAGE_ERROR


def test_ipc_plan_numbers_better_plans(tmp_path: Path) -> None:
    shutil.copy(UNTRAINED, tmp_path / "dk")
    problem = str(EXAMPLES / "training" / "p006.pddl")
    assert run(["ipc-plan", "dk", BLOCKS[0], problem, "plan", "--improve", "--numbered"]) == ExitCode.SUCCESS
    assert [len(saltus.read_plan(f"plan.{number}")) for number in (1, 2)] == [26, 24]


def test_ipc_plan_fails_with_the_outcomes_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = files(tmp_path, CHAIN, problem("chain", "(at a)", "(at g)"))
    assert run(["ipc-plan", "dk", *task, "plan"]) == ExitCode.NO_PLAN
    assert not (tmp_path / "plan").exists()
    assert run(["ipc-plan", "dk", *LARGE, "plan", "--time-limit", "1"]) == ExitCode.OUT_OF_TIME
    assert run(["ipc-plan", "dk", "none", BLOCKS[1], "plan"]) == ExitCode.INPUT_ERROR
    assert "none: cannot be read" in capsys.readouterr().err


def test_an_interruption_names_the_plan_so_far(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = run_job

    def interrupted(job: PlanJob, watch: Any, **options: Any) -> Any:
        def see(message: Any, result: Any) -> None:
            watch(message, result)
            if message["event"] == "plan":
                raise KeyboardInterrupt

        return real(job, see, **options)

    monkeypatch.setattr("saltus.cli.plan.run_job", interrupted)
    assert run(["plan", *BLOCKS, "--policy", "goal-count", "--improve", "--plan-file", "best"]) == ExitCode.INTERRUPTED
    assert capsys.readouterr().err == "the best plan so far is in best.1\nsaltus: error: interrupted\n"
    assert Path("best.1").is_file()
