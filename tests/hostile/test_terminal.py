"""Names in a terminal, where progress is drawn: no name is markup, and no name breaks a command."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.hostile.case import BLOCKS

from saltus.cli.main import run

NAME = "x[/red]"
OWN = re.compile(r"\x1b\[(?:[0-9;]*[mKA]|\?25[lh])|\r")
"""What rich itself writes to draw progress."""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite in a folder and with a domain whose name is markup; both streams are terminals."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "suites" / (NAME.replace("/", "\\") + "[red]\x1b[2J")
    (folder / "training").mkdir(parents=True)
    (folder / "domain.pddl").write_text(
        (BLOCKS / "domain.pddl").read_text().replace("(domain blocksworld)", f"(domain {NAME})")
    )
    for number in range(2):
        text = (BLOCKS / "p03.pddl").read_text().replace("(:domain blocksworld)", f"(:domain {NAME})")
        (folder / "training" / f"p{number}[bold].pddl").write_text(text)
    shutil.copytree(folder, tmp_path / "s")
    return folder


TRAIN = ["--config", "tiny", "--set", "episodes=1", "--device", "cpu", "--threads", "1"]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["ipc-learn", "dk", "s/domain.pddl", "s/training/p0[bold].pddl", *TRAIN], NAME),
        (["train", "{suite}", "--out", "run", *TRAIN], "[red]\\x1b[2J"),
        (["bench", "suites", "--policy", "goal-count", "--out", "r.jsonl"], "[red]\\x1b[2J"),
        (["stats", "suites"], "[red]\\x1b[2J"),
        (["branching", "suites"], "[red]\\x1b[2J"),
        (["info", "s/domain.pddl", "s/training/p0[bold].pddl"], NAME),
        (["plan", "s/domain.pddl", "s/training/p0[bold].pddl", "--policy", "goal-count"], "plan found"),
        (["explain", "s/domain.pddl", "s/training/p0[bold].pddl", "--policy", "goal-count"], "page written"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_names_in_a_terminal(suite: Path, arguments: list[str], shown: str, capfd: pytest.CaptureFixture[str]) -> None:
    code = run([str(suite) if word == "{suite}" else word for word in arguments])
    printed = "".join(capfd.readouterr())
    assert code == 0, printed
    assert shown in printed
    assert "\x1b" not in OWN.sub("", printed)
