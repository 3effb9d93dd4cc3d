"""`-` in place of a file: standard input, once per command; messages name it with line and column."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT

from saltus.policy.exit_codes import ExitCode

BLOCKS = ROOT / "examples" / "blocksworld"
DOMAIN, PROBLEM = BLOCKS / "domain.pddl", BLOCKS / "p03.pddl"
BROKEN = "(define (problem x)\n  (:domain blocksworld)\n  (:objekts a))\n"
NAME = "<standard input>"
PLAN = "(unstack b a)\n(stack b c)\n(pickup a)\n(stack a b)\n; cost = 4 (unit cost)\n"


def saltus(
    folder: Path, *arguments: str | Path, given: str | bytes = b"", program: str = "saltus"
) -> subprocess.CompletedProcess[str]:
    """A command with this standard input, as the program that forks its workers or as another one."""
    code = f"import sys; sys.argv[0] = {program!r}; from saltus.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=folder,
        input=given.encode() if isinstance(given, str) else given,
        env={**os.environ, "COLUMNS": "100", "TMPDIR": str(folder)},
        capture_output=True,
        check=False,
    )
    assert not list(folder.glob("saltus-*")), "temporary files are left behind"
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("program", ["saltus", "other"])
@pytest.mark.parametrize(("domain", "problem", "given"), [(DOMAIN, "-", PROBLEM), ("-", PROBLEM, DOMAIN)])
def test_a_plan_for_what_is_piped_in(
    domain: Path | str, problem: Path | str, given: Path, program: str, tmp_path: Path
) -> None:
    done = saltus(tmp_path, "plan", domain, problem, "--json", given=given.read_bytes(), program=program)
    assert (done.returncode, done.stderr) == (ExitCode.SUCCESS, "")
    record = json.loads(done.stdout)
    assert (record["domain"], record["problem"]) == tuple(
        NAME if name == "-" else str(name) for name in (domain, problem)
    )
    assert record["policy"] == "blocksworld"
    done = saltus(tmp_path, "validate", DOMAIN, PROBLEM, "-", given=(tmp_path / "sas_plan").read_bytes())
    assert (done.returncode, done.stdout) == (ExitCode.SUCCESS, "valid: 4 actions, cost 4 (unit cost)\n")


def test_the_plan_can_be_piped_on(tmp_path: Path) -> None:
    done = saltus(tmp_path, "plan", DOMAIN, "-", "--plan-file", "/dev/stdout", given=PROBLEM.read_bytes())
    assert done.stdout.startswith(PLAN)
    assert "plan found" in done.stdout


def test_a_dash_prints_the_plan_alone(tmp_path: Path) -> None:
    done = saltus(tmp_path, "plan", DOMAIN, PROBLEM, "--plan-file", "-")
    assert (done.returncode, done.stdout) == (ExitCode.SUCCESS, PLAN)
    assert done.stderr.startswith("plan found (greedy): 4 actions")
    assert list(tmp_path.iterdir()) == []
    done = saltus(tmp_path, "plan", DOMAIN, PROBLEM, "--plan-file", "-", "--json")
    assert (done.returncode, done.stdout) == (ExitCode.USAGE_ERROR, "")
    assert done.stderr == "saltus: error: --plan-file -: --json prints to standard output as well\n"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["info", DOMAIN, "-"], "blocksworld / three-blocks"),
        (["lookahead", DOMAIN, "-"], "AIW(1)"),
        (["graph", DOMAIN, "-"], "object (3): a, b, c"),
        (["explain", DOMAIN, "-"], "solved in 2 jumps"),
        (["validate", DOMAIN, "-", "plan"], "valid: 4 actions"),
        (["ipc-plan", BLOCKS / "dk", DOMAIN, "-", "new-plan"], "plan found"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_other_commands(command: list[str | Path], shown: str, tmp_path: Path) -> None:
    (tmp_path / "plan").write_text("(unstack b a)\n(stack b c)\n(pickup a)\n(stack a b)\n", encoding="utf-8")
    done = saltus(tmp_path, *command, given=PROBLEM.read_bytes())
    assert done.returncode == ExitCode.SUCCESS, done.stderr
    assert shown in done.stdout


def test_a_domain_alone(tmp_path: Path) -> None:
    done = saltus(tmp_path, "info", "-", given=DOMAIN.read_bytes())
    assert done.stdout.startswith("blocksworld, 0 constants")


@pytest.mark.parametrize("command", ["plan", "info", "lookahead"])
def test_flaws_are_named_with_their_place(command: str, tmp_path: Path) -> None:
    done = saltus(tmp_path, command, DOMAIN, "-", given=BROKEN)
    message = f"saltus: error: {NAME}:3:4: unknown section ':objekts'; did you mean ':objects'?\n"
    assert (done.returncode, done.stdout, done.stderr) == (ExitCode.INPUT_ERROR, "", message)


def test_warnings_name_it_too(tmp_path: Path) -> None:
    text = PROBLEM.read_text(encoding="utf-8").replace("(:objects ", "(:objects a ")
    done = saltus(tmp_path, "plan", DOMAIN, "-", given=text)
    assert done.returncode == ExitCode.SUCCESS
    assert done.stderr.startswith(f"saltus: warning: {NAME}:")
    done = saltus(tmp_path, "plan", DOMAIN, "-", "--strict", given=text)
    assert done.returncode == ExitCode.INPUT_ERROR
    assert done.stderr.startswith(f"saltus: error: {NAME}:")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (b"", f"{NAME}:1:1: empty file: expected '(define …)'"),
        (b"\x00" * 10, f"{NAME}: not a text file: byte 1 is a null byte"),
    ],
)
def test_what_is_no_pddl(given: bytes, message: str, tmp_path: Path) -> None:
    done = saltus(tmp_path, "plan", DOMAIN, "-", given=given)
    assert (done.returncode, done.stderr) == (ExitCode.INPUT_ERROR, f"saltus: error: {message}\n")


def test_it_is_not_read_without_end(tmp_path: Path) -> None:
    done = saltus(tmp_path, "--max-file-size", "1K", "plan", DOMAIN, "-", given="; comment\n" * 1000)
    assert done.returncode == ExitCode.INPUT_ERROR
    assert done.stderr.startswith(f"saltus: error: {NAME}: larger than 1 KiB; ")


@pytest.mark.parametrize("command", [["plan", "-", "-"], ["info", "-", "-"], ["validate", DOMAIN, "-", "-"]])
def test_it_can_be_one_file_only(command: list[str | Path], tmp_path: Path) -> None:
    done = saltus(tmp_path, *command, given=PROBLEM.read_bytes())
    message = "saltus: error: only one file can be -, which is standard input\n"
    assert (done.returncode, done.stdout, done.stderr) == (ExitCode.USAGE_ERROR, "", message)


def test_it_may_be_closed(tmp_path: Path) -> None:
    command = f"exec <&-; {sys.executable} -c 'from saltus.cli.main import main; main()' info -"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (ExitCode.INPUT_ERROR, "")
    assert done.stderr == f"saltus: error: {NAME}: cannot be read: Bad file descriptor\n"
