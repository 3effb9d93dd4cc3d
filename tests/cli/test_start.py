"""What a command imports before it does anything: nothing that takes long to import and is not needed.

Modules are counted, not seconds, so that no test depends on the machine. `benchmarks/start.py` measures the seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT

from saltus.cli.commands import COMMANDS

BLOCKS = [str(ROOT / "examples" / "blocksworld" / name) for name in ("domain.pddl", "p03.pddl")]

COMMAND_MODULES = {f"saltus.cli.{entry.place.partition(':')[0]}" for entry in COMMANDS.values()}
HEAVY = {"numpy", "torch", "rich", "pydantic", "safetensors", "multiprocessing", "saltus._kernel"}
"""Modules that take long to import."""
STAGES = {"saltus.domains", "saltus.grow", "saltus.learn", "saltus.lab"}

PROGRAM = """
import sys
sys.argv[0] = "saltus"
from saltus.cli.main import run
code = run()
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""

WORKER = """
import sys, time
from saltus.process.plan_job import PlanJob
from saltus.process.plan_work import solve
class Worker:
    job = PlanJob(sys.argv[1], sys.argv[2], policy="goal-count").to_json()
    started = time.monotonic()
    def send(self, event, **values): pass
assert solve(Worker())["outcome"] == "plan found"
print(*sys.modules, file=sys.stderr)
"""


def modules(code: str, *arguments: str, folder: Path = ROOT) -> set[str]:
    """Modules that a program has imported when it ends."""
    environment = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


def test_importing_saltus_imports_next_to_nothing() -> None:
    found = modules("import sys, saltus; print(*sys.modules, file=sys.stderr)")
    assert {name for name in found if name.startswith("saltus")} == {"saltus", "saltus.later"}
    assert found & (HEAVY | {"importlib.metadata"}) == set()


def test_help_and_version_import_no_command() -> None:
    drawn = {"rich"}
    found = modules(PROGRAM, "--help")
    assert found & (HEAVY - drawn | STAGES | COMMAND_MODULES) == set()
    assert drawn <= found  # so the names are those of modules that can be found
    assert modules(PROGRAM, "--version") & (HEAVY | STAGES | COMMAND_MODULES) == set()


def test_a_command_imports_no_other() -> None:
    found = modules(PROGRAM, "plan", "--help")
    assert found & COMMAND_MODULES == {"saltus.cli.plan"}
    assert found & (HEAVY - {"rich"} | STAGES) == set()


def test_planning_imports_what_it_needs(tmp_path: Path) -> None:
    """Little in the program, whose fork imports the rest and no network, no picture, no other stage, no twin."""
    found = modules(PROGRAM, "plan", *BLOCKS, "--policy", "goal-count", folder=tmp_path)
    assert (tmp_path / "sas_plan").is_file()
    assert found & (HEAVY | STAGES | {"importlib.metadata"}) == set()
    assert "saltus.process.supervisor" in found
    found = modules(WORKER, *BLOCKS)
    assert found & (STAGES | {"torch", "rich", "pydantic", "typer", "numpy.ma", "safetensors"}) == set()
    assert {"numpy", "saltus._kernel"} <= found


@pytest.mark.parametrize("name", sorted(HEAVY))
def test_the_names_are_those_of_modules(name: str) -> None:
    """A misspelt name would be absent everywhere."""
    code = f"import sys, {name}; print(*sys.modules, file=sys.stderr)"
    assert name in modules(code)
