"""The README's promises that a machine can check."""

from __future__ import annotations

import re

from tests.conftest import ROOT

from saltus.cli.main import COMMANDS

README = (ROOT / "README.md").read_text()


def test_the_python_example_runs() -> None:
    """The snippet is run as it stands, from the checkout."""
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code.replace("examples/", f"{ROOT}/examples/"), "README.md", "exec"), {})


def test_no_figure_was_left_out() -> None:
    assert re.findall(r"\b[A-Z]+_[A-Z_]+\b", README.replace("SALTUS_IPC2023", "")) == []


def test_every_command_is_listed() -> None:
    listed = set(re.findall(r"^    saltus ([\w-]+)", README, re.MULTILINE))
    assert listed == set(COMMANDS)


def test_folders_of_the_map_exist() -> None:
    for folder in re.findall(r"^\| `([^`]+/)` \|", README, re.MULTILINE):
        assert (ROOT / folder).is_dir(), folder
