"""Plain values of options: taken without Typer's checks, and never anything else than what these would make of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saltus.cli.commands import COMMANDS
from saltus.cli.main import load_command
from saltus.cli.values import UNKNOWN, plain_value

TEXTS = [
    *(
        "",
        "x",
        "-",
        "0",
        "1",
        "7",
        "007",
        "-1",
        "1_0",
        "٣",
        "1.5",
        "1e3",
        "9" * 18,
        "9" * 30,
        "true",
        "no",
        "a b",
        " 7",
    ),
    *("none", "ü/ß", "\udcff", "a\x1b[2J", "a\nb", ".", "unreadable", "readable", "dangling", "missing/file", "~"),
]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("readable").write_text("")
    Path("unreadable").write_text("")
    Path("unreadable").chmod(0)
    Path("dangling").symlink_to("nowhere")


def values(parameter: Any) -> list[Any]:
    """What the parser or a default may hand to a parameter."""
    single = [None, parameter.default, True, False, 3, Path("x"), *TEXTS]
    return [*single, (), ("x",), ("x", "1"), ["x", ""]]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_plain_value_is_what_typer_makes_of_it(name: str) -> None:
    command = load_command(name)
    ctx = command.context_class(command)
    plain = 0
    for parameter in command.params:
        for value in values(parameter):
            found = plain_value(parameter, value)
            if found is UNKNOWN:
                continue
            plain += 1
            expected = type(parameter).process_value(parameter, ctx, value)
            assert (type(found), found) == (type(expected), expected), (parameter.name, value)
    assert plain >= 4  # so that something was compared


def test_errors_are_left_to_typer() -> None:
    command = load_command("plan")
    parameters = {parameter.name: parameter for parameter in command.params}
    cases = [
        ("seed", "-1"),
        ("seed", "x"),
        ("threads", "0"),
        ("domain", None),
        ("domain", "\udcff"),
        ("lookahead", "x"),
    ]
    assert [plain_value(parameters[name], value) for name, value in cases] == [UNKNOWN] * len(cases)
