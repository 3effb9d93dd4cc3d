"""The order of the stages, and who may print, exit or know Python; read from the source, so that nothing is missed."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
from tests.conftest import ROOT

PACKAGE = ROOT / "src" / "saltus"
STAGES = (
    "pddl",
    "task",
    "lookahead",
    "graph",
    "model",
    "policy",
    "process",
    "domains",
    "grow",
    "learn",
    "up",
    "lab",
    "cli",
)
PARTS_OF_LAB = ("baselines", "bench", "report", "experiment")
FREE = {"errors", "files", "later", "_kernel"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def stage_of(path: Path) -> str:
    """The folder of a module below the package, or the module's own name at the top."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else path.stem


def tree_of(path: Path) -> ast.Module:
    """The parsed module."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported(tree: ast.Module) -> set[str]:
    """Parts of the package a module imports, `""` for the package itself; relative imports are refused."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            module = node.module or ""
            names = [f"saltus.{alias.name}" for alias in node.names] if module == "saltus" else [module]
        else:
            continue
        for name in names:
            top, *rest = name.split(".")
            if top == "saltus":
                found.add(rest[0] if rest else "")
    return found


def imported_modules(tree: ast.Module) -> set[str]:
    """Dotted names of the modules that a module imports, or imports names from."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found |= {f"saltus.{alias.name}" for alias in node.names} if module == "saltus" else {module}
    return found


def parts_of_lab(tree: ast.Module) -> set[str]:
    """Parts of the laboratory that a module imports."""
    return {name.split(".")[2] for name in imported_modules(tree) if name.startswith("saltus.lab.")}


def violations(stage: str, tree: ast.Module) -> set[str]:
    """What a module of a stage imports and must not."""
    allowed = FREE | set(STAGES[: STAGES.index(stage) + 1])
    if stage == "cli":
        allowed.add("")  # the version
    return imported(tree) - allowed


def intrusions(stage: str, part: str, tree: ast.Module) -> set[str]:
    """What a module imports of the laboratory and must not: outside, anything but in `cli`; within, later parts."""
    if stage == "lab":
        return parts_of_lab(tree) - set(PARTS_OF_LAB[: PARTS_OF_LAB.index(part) + 1])
    return {"lab"} & imported(tree) if stage != "cli" else set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_stage_imports_only_stages_above_it(path: Path) -> None:
    stage = stage_of(path)
    if stage in ("errors", "files", "later"):
        assert imported(tree_of(path)) <= {"errors"} - {stage}
    elif stage == "__init__":
        assert imported(tree_of(path)) <= FREE | (set(STAGES) - {"lab", "cli"})
    else:
        assert stage in STAGES, f"{stage} is no stage"
        assert violations(stage, tree_of(path)) == set()


@pytest.mark.parametrize(
    ("stage", "text", "found"),
    [
        ("pddl", "from saltus.task import load", {"task"}),
        ("pddl", "import saltus", {""}),
        ("task", "def f():\n    from saltus.cli.main import run", {"cli"}),
        ("task", "from saltus import policy, _kernel, pddl", {"policy"}),
        ("cli", "import saltus\nfrom saltus.lab.bench.records import read_records", set()),
        ("up", "from saltus.lab.bench.records import read_records", {"lab"}),
    ],
)
def test_the_rule_can_fail(stage: str, text: str, found: set[str]) -> None:
    assert violations(stage, ast.parse(text)) == found


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if path != PACKAGE / "lab" / "__init__.py"],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_only_the_command_line_uses_the_laboratory(path: Path) -> None:
    parts = path.relative_to(PACKAGE).parts
    assert intrusions(stage_of(path), parts[1] if len(parts) > 2 else "", tree_of(path)) == set()


@pytest.mark.parametrize(
    ("stage", "part", "text", "found"),
    [
        ("cli", "", "from saltus.lab.bench.records import read_records", set()),
        ("learn", "", "from saltus.lab.bench.records import read_records", {"lab"}),
        ("learn", "", "def f():\n    import saltus.lab.report.html", {"lab"}),
        ("policy", "", "from saltus import lab", {"lab"}),
        ("lab", "report", "from saltus.lab.bench.records import read_records", set()),
        ("lab", "bench", "from saltus.lab.report.html import write_page", {"report"}),
        ("lab", "baselines", "from saltus.lab.bench.record import Record", {"bench"}),
    ],
)
def test_the_rule_about_the_laboratory_can_fail(stage: str, part: str, text: str, found: set[str]) -> None:
    assert intrusions(stage, part, ast.parse(text)) == found


def speech(tree: ast.Module) -> list[str]:
    """Calls and names by which a module prints, exits or reads the command line."""
    found: list[str] = []
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("print", "exit", "quit", "input")
        ):
            found.append(node.func.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
            if name in ("sys.argv", "sys.exit", "sys.stdout", "sys.stderr", "os._exit", "os.abort"):
                found.append(name)
        elif isinstance(node, ast.ImportFrom) and node.module in ("sys", "os"):
            found += [alias.name for alias in node.names if alias.name in ("argv", "exit", "stdout", "stderr", "_exit")]
        elif isinstance(node, ast.Name) and node.id == "SystemExit":
            found.append(node.id)
    return found


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if stage_of(path) != "cli"],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_only_the_command_line_prints_exits_or_reads_arguments(path: Path) -> None:
    assert speech(tree_of(path)) == []


def test_the_command_line_does_print() -> None:
    assert "sys.exit" in speech(tree_of(PACKAGE / "cli" / "main.py"))
    assert "print" in speech(tree_of(PACKAGE / "cli" / "output.py"))


def test_only_the_bindings_know_python() -> None:
    knowing = re.compile(r'#include\s*[<"](?:Python\.h|nanobind|pybind11)')
    files = [path for path in (ROOT / "kernel").rglob("*") if path.suffix in (".cpp", ".hpp", ".h", ".cc")]
    known = {path.name for path in files if knowing.search(path.read_text(encoding="utf-8"))}
    assert known
    assert all(fnmatch(name, "bindings*.[ch]pp") for name in known)
