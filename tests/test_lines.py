"""Lines of the source fit into 120 columns, also in files that no formatter checks; and files are not long."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import ROOT

WIDTH = 120
PATTERNS = ("*.py", "*.pyi", "*.cpp", "*.hpp", "*.toml", "*.js", "*.css", "*.sh", "Makefile", ".ci/run")
PRAGMAS = ("  # noqa", "  # type: ignore")
"""Comments for tools, which do not count, as in ruff."""


EXEMPT = {"dead-ends.toml"}
"""Files with a long line."""


def long_lines(path: Path) -> Iterator[str]:
    """Places in a file where a line is too long."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if len(line) > WIDTH and not any(len(line.split(pragma)[0]) <= WIDTH for pragma in PRAGMAS if pragma in line):
            yield f"{path.name}:{number}: {len(line)} columns"


def source_files() -> list[Path]:
    """Files under version control; none outside of a checkout."""
    done = subprocess.run(["git", "ls-files", *PATTERNS], cwd=ROOT, capture_output=True, text=True, check=False)
    return [ROOT / name for name in done.stdout.splitlines() if (ROOT / name).exists()]


def test_no_line_is_too_long() -> None:
    files = [path for path in source_files() if path.name not in EXEMPT]
    if not files:
        pytest.skip("not a checkout")
    assert len(files) > 200
    assert [place for path in files for place in long_lines(path)] == []


MODULE_LINES = 450
"""Most lines of a module."""

KERNEL_LINES = 700
"""Most lines of a file of the kernel."""

LONG: set[str] = set()
"""The one file that is longer, and is to be shortened."""


def most_lines(name: str) -> float:
    """How long a file may be."""
    if name.startswith("src/") and name.endswith(".py"):
        return MODULE_LINES
    return KERNEL_LINES if name.startswith("kernel/") else math.inf


def test_no_file_is_too_long() -> None:
    lines = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in source_files()
    }
    if not lines:
        pytest.skip("not a checkout")
    assert sum(most_lines(name) < math.inf for name in lines) > 200
    assert {name for name, count in lines.items() if count > most_lines(name)} == LONG


def test_the_rule_can_fail(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text(
        "x" * 121 + "\n" + "y" * 120 + "\n" + "z" * 110 + "  # noqa: A002\n", encoding="utf-8"
    )
    assert list(long_lines(tmp_path / "a.css")) == ["a.css:1: 121 columns"]
