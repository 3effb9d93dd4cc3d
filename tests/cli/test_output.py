"""Output: foreign text is shown, never obeyed, and there is no way around the one module that prints."""

from __future__ import annotations

import ast
import io
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text
from tests.conftest import ROOT

from saltus.cli import output
from saltus.errors import printable

SOURCES = sorted((ROOT / "src" / "saltus").rglob("*.py"))
PRINTER = ROOT / "src" / "saltus" / "cli" / "output.py"

ONLY_THERE = {"Console", "TextColumn", "SpinnerColumn", "RenderableColumn", "Prompt", "track", "from_markup", "print"}
"""Calls that print or take markup."""


def faults(source: str) -> list[str]:
    """Calls in a module that could print foreign text as it is, or as markup."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "rich"
            and any(name.name == "print" for name in node.names)
        ):
            found.append("import of rich's print")
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id in ONLY_THERE:
            found.append(function.id)
        if isinstance(function, ast.Attribute):
            if function.attr in ONLY_THERE - {"print"}:
                found.append(function.attr)
            owner = ast.unparse(function.value)
            if function.attr == "write" and owner in ("sys.stdout", "sys.stderr"):
                found.append(f"{owner}.write")
            is_status = function.attr == "status" or (function.attr == "update" and owner == "status")
            if is_status and not all(ast.unparse(value).startswith("Text(") for value in node.args):
                found.append("status without Text")
        if any(keyword.arg in ("markup", "emoji") for keyword in node.keywords):
            found.append("markup or emoji")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT / "src").as_posix())
def test_only_one_module_prints(path: Path) -> None:
    assert path == PRINTER or faults(path.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        'print(f"{name}")',
        "sys.stdout.write(name)",
        "Console().print(name)",
        "rich.console.Console(stderr=True)",
        'TextColumn("{task.description}")',
        "Text.from_markup(name)",
        'terminal.status(f"reading {name}")',
        'status.update(f"reading {name}")',
        "from rich import print",
        "console.print(name, markup=True)",
    ],
)
def test_the_rule_can_fail(source: str) -> None:
    assert faults(source)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ä 漢 ✓\n\tnext", "plain ä 漢 ✓\n\tnext"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\x00\x07\x08\r\x7f", "\\x00\\x07\\x08\\r\\x7f"),
        ("\x85\x9b", "\\x85\\x9b"),
        ("\u202e\u2066\u200b\u2028\ufeff", "\\u202e\\u2066\\u200b\\u2028\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("\udcff", "\\udcff"),
    ],
)
def test_control_characters_are_shown(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown


@pytest.mark.parametrize("thing", ["{}", "Text", "Table", "title", "header"])
def test_consoles_obey_nothing(thing: str) -> None:
    name = "a\x1b[2J\u202eb[/red][bold]:cat:"
    table = Table(title=Text(name) if thing == "title" else None)
    table.add_column(name if thing == "header" else "column")
    table.add_row(name if thing == "Table" else "cell")
    written = io.StringIO()
    for make in (output.console, output.error_console):
        console = make()
        console.file = written
        console.width = 100
        console.print({"{}": name, "Text": Text(name)}.get(thing, table))
    assert written.getvalue().count("a\\x1b[2J\\u202eb[/red") == 2
    assert not set(written.getvalue()) & set("\x1b\u202e\N{CAT}")


def test_a_table_leaves_room_for_what_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    output.console().print(output.table("\x1b", ["column"], [["\x1b[2J" * 5]]))
    assert "\\x1b[2J" * 5 in capsys.readouterr().out
