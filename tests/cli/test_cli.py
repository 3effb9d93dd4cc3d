"""The command line: its examples, its JSON, its exit codes; never a traceback."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.pddl.malformed import CASES, DOMAIN, PROBLEM
from tests.tasks import RICH_DOMAIN, RICH_PROBLEM

import saltus
from saltus.cli.commands import COMMANDS
from saltus.cli.main import run
from saltus.policy.exit_codes import ExitCode

EXAMPLES = [
    (name, line.strip())
    for name, entry in COMMANDS.items()
    for line in (entry.load().__doc__ or "").splitlines()
    if line.strip().startswith("saltus ")
]
BLOCKS = ["examples/blocksworld/domain.pddl", "examples/blocksworld/p100.pddl"]


@pytest.fixture(autouse=True)
def _in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture
def depot(tmp_path: Path) -> list[str]:
    """A domain and a problem file."""
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    (tmp_path / "problem.pddl").write_text(PROBLEM)
    return [str(tmp_path / "domain.pddl"), str(tmp_path / "problem.pddl")]


def process(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    """The installed program, run as a user would."""
    program = Path(sys.executable).with_name("saltus")
    return subprocess.run([program, *arguments], text=True, check=False, cwd=ROOT, **options)


def test_every_command_has_an_example() -> None:
    assert {name for name, _ in EXAMPLES} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_a_command_is_the_first_paragraph_of_its_help(name: str) -> None:
    first = (COMMANDS[name].load().__doc__ or "").split("\n\n")[0]
    assert COMMANDS[name].summary == " ".join(first.split())


@pytest.mark.parametrize(("name", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_examples_run(
    name: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "wl-goose":
        pytest.importorskip("wlplan")
        pytest.importorskip("up_fast_downward")
    for folder in ("examples", "experiments"):  # what an example writes does not go into the checkout
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(line)
    assert (program, arguments[0]) == ("saltus", name)
    assert run(arguments) == ExitCode.SUCCESS
    output = capsys.readouterr()
    assert output.out
    assert not any(word in output.err for word in ("error", "warning", "Traceback"))
    told = ("train", "ipc-learn", "bench", "experiment", "wl-goose")  # which tell how far they are
    assert output.err == "" or name in told


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_the_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == ExitCode.SUCCESS
    output = capsys.readouterr().out
    assert f"saltus {name}" in output
    assert "Example" in output


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == ExitCode.SUCCESS
    assert capsys.readouterr().out == f"saltus {saltus.__version__}\n"


def test_installed_program() -> None:
    done = process("--version", capture_output=True)
    assert (done.returncode, done.stdout) == (0, f"saltus {saltus.__version__}\n")


def test_info_as_json(depot: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", *depot, "--json"]) == ExitCode.SUCCESS
    facts = json.loads(capsys.readouterr().out)
    assert set(facts) == {
        "domain",
        "problem",
        "requirements",
        "objects",
        "atoms",
        "fluent_atoms",
        "goal_atoms",
        "goal_holds",
        "goal_impossible",
        "action_costs",
        "types",
        "predicates",
        "schemas",
        "free_moves",
    }
    assert (facts["domain"], facts["problem"], facts["objects"], facts["atoms"]) == ("depot", "one", 4, 12)
    assert (facts["fluent_atoms"], facts["goal_atoms"], facts["goal_holds"]) == (2, 1, False)
    assert facts["types"] == {"object": 4, "place": 2, "thing": 2, "crate": 1, "truck": 1}
    kinds = {entry["name"]: entry["kind"] for entry in facts["predicates"]}
    assert kinds == {"at": "fluent", "in": "fluent", "closed": "static"}
    (load,) = facts["schemas"]
    assert (load["name"], load["preconditions"], load["adds"], load["deletes"]) == ("load", 2, 1, 1)
    assert load["parameters"] == ["?c - crate", "?t - truck", "?p - place"]


def test_info_as_text(depot: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", *depot]) == ExitCode.SUCCESS
    output = capsys.readouterr().out
    assert "4 objects, 12 atoms, 2 fluent atoms, 1 goal atoms" in output
    for word in ("depot", "one", "crate", "closed", "static", "fluent", "load", "?c - crate"):
        assert word in output


def test_names_that_look_like_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "[bold]d.pddl").write_text(
        "(define (domain [/d]) (:predicates ([red] ?x) ([/p])) (:action [/a] :effect ([/p])))"
    )
    (tmp_path / "p.pddl").write_text("(define (problem [bold]) (:domain [/d]) (:objects [/o]) (:init) (:goal ([/p])))")
    assert run(["info", str(tmp_path / "[bold]d.pddl"), str(tmp_path / "p.pddl")]) == ExitCode.SUCCESS
    output = capsys.readouterr().out
    for name in ("[/d] / [bold]", "[red]", "[/p]", "[/a]"):
        assert name in output


def test_lookahead_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    """No markup is left in the text, a name that looks like markup is kept, and the bars start in one column."""
    assert run(["lookahead", *BLOCKS, "--max-nodes", "200"]) == ExitCode.SUCCESS
    output = capsys.readouterr().out
    assert "[bold" not in output
    assert "[/" not in output
    assert output.startswith("AIW(1) from the initial state of ")
    assert "the tree was truncated (--max-nodes)" in output
    bars = [line.index("█") for line in output.splitlines() if "█" in line]
    assert len(bars) >= 2
    assert len(set(bars)) == 1


def test_lookahead_says_what_it_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lookahead", *BLOCKS, "--json"]) == ExitCode.SUCCESS
    whole = json.loads(capsys.readouterr().out)
    assert (whole["stopped"], whole["left_out"]) == (False, 0)
    assert run(["lookahead", *BLOCKS, "--max-encoded", "50"]) == ExitCode.SUCCESS
    output = capsys.readouterr().out
    assert "51 nodes, " in output
    assert f"{whole['nodes'] - 51:,} nodes left out (--max-encoded)" in output
    assert "truncated" not in output
    assert run(["lookahead", *BLOCKS, "--max-better", "1", "--json"]) == ExitCode.SUCCESS
    fewer = json.loads(capsys.readouterr().out)
    assert (fewer["stopped"], fewer["left_out"], fewer["truncated"]) == (True, 0, False)
    assert fewer["nodes"] < whole["nodes"]
    assert run(["lookahead", *BLOCKS, "--max-better", "1"]) == ExitCode.SUCCESS
    assert "the tree stopped growing (--max-better)" in capsys.readouterr().out
    for option in ("--max-better", "--max-encoded"):
        assert run(["lookahead", *BLOCKS, option, "0"]) == ExitCode.USAGE_ERROR
        assert f"{option[2:].replace('-', '_')} is 0" in capsys.readouterr().err


def test_lookahead_truncated_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """The reason for the truncation is that of the whole tree."""
    assert run(["lookahead", *BLOCKS, "--max-nodes", "200", "--max-encoded", "50"]) == ExitCode.SUCCESS
    output = capsys.readouterr().out
    assert "the tree was truncated (--max-nodes)" in output
    assert "149 nodes left out" in output


def test_stats_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "domain.pddl").write_text(RICH_DOMAIN)
    for place in ("training", "testing/easy", "testing/hard"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "p.pddl").write_text(RICH_PROBLEM)
    assert run(["stats", str(tmp_path), "--json"]) == ExitCode.SUCCESS
    sizes = {"objects_min": 7, "objects_max": 7, "atoms_min": 34, "atoms_max": 34}
    name = tmp_path.name
    assert json.loads(capsys.readouterr().out) == [
        {"domain": name, "split": "training", "problems": 1, **sizes},
        {"domain": name, "split": "test", "problems": 2, **sizes},
    ]


def test_warnings_go_to_standard_error(depot: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path(depot[1]).write_text(PROBLEM.replace("(at box north)", "(at box north) (at box north)"))
    assert run(["info", *depot, "--json"]) == ExitCode.SUCCESS
    output = capsys.readouterr()
    assert output.err == f"saltus: warning: {depot[1]}:4:25: atom (at box north) is repeated\n"
    json.loads(output.out)


@pytest.mark.parametrize(
    ("plan", "code", "output"),
    [
        ("(load box lorry north)", ExitCode.SUCCESS, "valid: 1 action, cost 1 (general cost)\n"),
        ("", ExitCode.INVALID_PLAN, "invalid: goal is not reached: (in box lorry) missing\n"),
        (
            "(load box lorry home)",
            ExitCode.INVALID_PLAN,
            "invalid: step 1 (load box lorry home): precondition (at box home) does not hold\n",
        ),
    ],
)
def test_validate(
    depot: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], plan: str, code: int, output: str
) -> None:
    (tmp_path / "plan").write_text(plan)
    assert run(["validate", *depot, str(tmp_path / "plan")]) == code
    assert capsys.readouterr().out == output
    assert run(["validate", *depot, str(tmp_path / "plan"), "--json"]) == code
    verdict = json.loads(capsys.readouterr().out)
    assert set(verdict) == {"valid", "length", "cost", "unit_cost", "reason", "step"}
    assert verdict["valid"] == (code == 0)


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["info"],
        ["info", *BLOCKS, "extra"],
        ["info", *BLOCKS, "--nonsense"],
        ["validate", *BLOCKS],
        ["stats"],
        ["--nonsense"],
    ],
    ids=" ".join,
)
def test_usage_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == ExitCode.USAGE_ERROR
    output = capsys.readouterr()
    assert output.out == ""
    assert "Usage" in output.err
    assert "Traceback" not in output.err


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_malformed_files(case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "domain.pddl").write_bytes(case.domain)
    (tmp_path / "problem.pddl").write_bytes(case.problem)
    unsupported = case.error is saltus.UnsupportedError
    expected = ExitCode.UNSUPPORTED if unsupported else ExitCode.INPUT_ERROR
    assert run(["info", str(tmp_path / "domain.pddl"), str(tmp_path / "problem.pddl")]) == expected
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"saltus: error: {tmp_path / case.wrong}.pddl:{case.line}:{case.column}: ")
    assert output.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "none.pddl", BLOCKS[1]], "none.pddl: cannot be read: No such file or directory"),
        (["info", BLOCKS[0], "examples"], "examples: cannot be read: Is a directory"),
        (["info", BLOCKS[1], BLOCKS[0]], f"{BLOCKS[1]}:2:9: not a domain file"),
        (["validate", *BLOCKS, "none.plan"], "none.plan: cannot be read: No such file or directory"),
        (["validate", *BLOCKS, "README.md"], "README.md:1:1: not an action"),
        (["stats", "none"], "none: no such folder"),
        (["stats", BLOCKS[0]], f"{BLOCKS[0]}: not a folder"),
        (["branching", "README.md"], "README.md: not a folder"),
        (["stats", "kernel"], "kernel: no domain.pddl in this folder"),
    ],
)
def test_input_errors(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == ExitCode.INPUT_ERROR
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"saltus: error: {message}")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (None, 0),
        (("(:requirements :strips)", "(:requirements :fluents)"), 34),
        (("(:requirements :strips)", "(:requirements :stripes)"), 31),
    ],
)
def test_exit_codes_of_the_process(tmp_path: Path, change: tuple[str, str] | None, code: int) -> None:
    text = Path(BLOCKS[0]).read_text()
    (tmp_path / "domain.pddl").write_text(text.replace(*change) if change else text)
    done = process("info", str(tmp_path / "domain.pddl"), BLOCKS[1], capture_output=True)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", *BLOCKS],
        ["info", *BLOCKS, "--json"],
        ["stats", "examples/blocksworld"],
        ["lookahead", *BLOCKS],
        ["branching", "examples/blocksworld"],
        ["--help"],
        ["--version"],
        ["info", "--help"],
    ],
    ids=" ".join,
)
def test_closed_pipe_is_no_error(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = process(*arguments, stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments",
    [["info", *BLOCKS], ["info", *BLOCKS, "--json"], ["domains"], ["--help"], ["--version"]],
    ids=" ".join,
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_full_disk(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = process(*arguments, stdout=full, stderr=subprocess.PIPE)
    message = "saltus: error: output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (ExitCode.INPUT_ERROR, message)


def test_output_that_the_encoding_lacks() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = process("lookahead", *BLOCKS, capture_output=True, env=environment)
    assert done.returncode == ExitCode.INPUT_ERROR
    assert done.stderr.startswith("saltus: error: output cannot be written in the encoding ascii: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("value", ["99999999999999999999", str(2**62)])
def test_limits_beyond_the_kernel(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lookahead", *BLOCKS, "--max-nodes", value]) == ExitCode.USAGE_ERROR
    assert "max_nodes" in capsys.readouterr().err


def generated(folder: Path, *arguments: str) -> int:
    """Exit code of `generate` into a folder."""
    return run(["generate", *arguments, "--out", str(folder)])


def test_generate_counts_one_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generated(tmp_path, "ferry", "--count", "1") == ExitCode.SUCCESS
    assert capsys.readouterr().out == f"1 problem in {tmp_path / 'training'}\n"


def test_generate_checks_all_splits_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generated(tmp_path, "ferry", "--count", "1", "--split", "validation") == ExitCode.SUCCESS
    splits = ["--split", "training", "--split", "validation"]
    assert generated(tmp_path, "ferry", "--count", "1", *splits) == ExitCode.INPUT_ERROR
    assert not (tmp_path / "training").exists()
    assert f"{tmp_path / 'validation'} already has 1 problem; --force" in capsys.readouterr().err
    assert generated(tmp_path, "ferry", "--count", "1", *splits, "--force") == ExitCode.SUCCESS
    assert generated(tmp_path, "ferry", "--split", "easy", "--split", "trainin") == ExitCode.USAGE_ERROR
    assert not (tmp_path / "testing").exists()
    assert "ferry has no split 'trainin'; did you mean 'training'?" in capsys.readouterr().err


def test_generate_into_what_is_no_suite_of_the_domain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generated(tmp_path / "a", "ferry", "--count", "2") == ExitCode.SUCCESS
    for force in ([], ["--force"]):
        assert generated(tmp_path / "a", "miconic", "--count", "1", *force) == ExitCode.INPUT_ERROR
        assert "is not the domain miconic" in capsys.readouterr().err
    assert "ferry" in (tmp_path / "a" / "domain.pddl").read_text()
    assert len(list((tmp_path / "a" / "training").iterdir())) == 2
    (tmp_path / "b" / "domain.pddl").mkdir(parents=True)
    assert generated(tmp_path / "b", "ferry", "--count", "1") == ExitCode.INPUT_ERROR
    assert "domain.pddl: cannot be read: Is a directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("locatons=3", "ferry has no size 'locatons'; did you mean 'locations'?"),
        ("zzz=3", "ferry has no size 'zzz'; expected one of cars, locations"),
        ("locations=²", "--set locations=²: expected SIZE=VALUE"),
        ("locations=" + "9" * 5000, "expected SIZE=VALUE"),
    ],
    ids=["close", "far", "no digit", "long"],
)
def test_generate_refuses_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str], size: str, message: str) -> None:
    assert generated(tmp_path, "ferry", "--set", size) == ExitCode.USAGE_ERROR
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
