"""Shell completion: it can be shown, and it knows commands and options."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = [sys.executable, "-c", "from saltus.cli.main import main; main()"]


def complete(words: str) -> list[str]:
    """What the shell offers for the last of some words."""
    variables = {"_SALTUS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    script = "import sys; sys.argv[0] = 'saltus'; from saltus.cli.main import main; main()"
    process = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    return process.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [("saltus pl", ["plan"]), ("saltus train-", ["train-all"]), ("saltus plan --plan", ["--plan-file"])],
)
def test_commands_and_options_are_completed(words: str, offered: list[str]) -> None:
    assert complete(words) == offered


def test_the_script_can_be_shown() -> None:
    process = subprocess.run([*PROGRAM, "--show-completion", "bash"], capture_output=True, text=True, check=False)
    assert process.returncode == 0
    assert "COMPREPLY" in process.stdout
