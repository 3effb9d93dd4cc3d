"""A hostile case, and what cases share."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT

BLOCKS = ROOT / "examples" / "blocksworld"
NAMES = {
    "domain": BLOCKS / "domain.pddl",
    "problem": BLOCKS / "p03.pddl",
    "large_problem": BLOCKS / "p100.pddl",
    "plan": BLOCKS / "p100.plan",
    "suite": BLOCKS,
    "policy": BLOCKS / "untrained.safetensors",
    "records": ROOT / "examples" / "records" / "goal-count.jsonl",
}
"""Files that a command line may name, as in `info {domain} {problem}`."""

Check = Callable[[], None]


class Case(NamedTuple):
    """What is set up, what is called, and what must come of it; the package's docstring describes the fields."""

    name: str
    setup: Callable[[Path], Check | None]
    command: str
    code: int
    message: str | None

    def arguments(self) -> list[str]:
        """The arguments of the program."""
        return [word.format(**NAMES) for word in shlex.split(self.command)]


def nothing(folder: Path) -> None:
    """Setup of a case that needs no files."""
