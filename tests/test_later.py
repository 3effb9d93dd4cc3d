"""Names that packages import when they are first used: all there, and the same as type checkers see."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.conftest import ROOT

import saltus

SOURCE = ROOT / "src"
PACKAGES = sorted(
    path.parent.relative_to(SOURCE).as_posix().replace("/", ".")
    for path in SOURCE.rglob("__init__.py")
    if "names_later" in path.read_text(encoding="utf-8")
)


def seen_by_type_checkers(package: str) -> dict[str, str]:
    """Modules of the names that a package imports under `TYPE_CHECKING`."""
    path = SOURCE / package.replace(".", "/") / "__init__.py"
    found: dict[str, str] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for entry in node.body:
                if isinstance(entry, ast.ImportFrom):
                    found |= {alias.name: entry.module or "" for alias in entry.names}
    return found


def test_the_packages_are_found() -> None:
    assert {"saltus", "saltus.task", "saltus.lookahead", "saltus.policy", "saltus.process"} <= set(PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_is_what_type_checkers_see(name: str) -> None:
    package = importlib.import_module(name)
    seen = seen_by_type_checkers(name)
    assert set(seen) == set(package.__all__) - {"__version__"}
    for entry, module in seen.items():
        value = getattr(package, entry)
        assert not isinstance(value, ModuleType)
        assert value is getattr(importlib.import_module(module), entry)
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nonsense'"):
        _ = package.nonsense


NAMES = """
import {first}
from {package} import {name}
assert callable({name}), {name}
import {package}
assert getattr(sys.modules["{package}"], "{name}") is {name}
"""


@pytest.mark.parametrize(
    ("package", "name", "module"),
    [
        ("saltus", "lookahead", "saltus.lookahead.spec"),
        ("saltus", "lookahead", "saltus"),
        ("saltus.task", "validate", "saltus.task.validate"),
        ("saltus.graph", "assemble", "saltus.graph.assemble"),
    ],
)
def test_a_name_stays_that_of_the_function_when_the_submodule_is_imported(
    package: str, name: str, module: str, tmp_path: Path
) -> None:
    code = "import sys\n" + NAMES.format(package=package, name=name, first=module)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_a_name_can_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    real = saltus.lookahead
    with monkeypatch.context() as patch:
        patch.setattr(saltus, "lookahead", len)
        assert saltus.lookahead is len
        importlib.import_module("saltus.lookahead")
        assert saltus.lookahead is len
    assert saltus.lookahead is real
