"""Runs the hostile cases of all modules of this package."""

from __future__ import annotations

import importlib
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from tests.hostile.case import Case

from saltus.cli.main import run
from saltus.policy.exit_codes import ExitCode

MODULES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith(("__", "test_")))
FOUND: list[tuple[str, Case]] = [
    (f"{module}-{case.name}", case)
    for module in MODULES
    for case in getattr(importlib.import_module(f"tests.hostile.{module}"), "CASES", [])
]
CASES = dict(FOUND)

SECONDS = 10
"""Longest time that a case may take."""

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What a terminal obeys or hides: nothing of it is ever printed, whatever a file holds."""


@pytest.fixture
def _limited() -> Iterator[None]:
    """A test that takes too long fails; a umask that a case sets does not outlive it."""

    def fail(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"still running after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, fail)
    mask = os.umask(0o022)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    os.umask(mask)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("_limited")
@pytest.mark.parametrize("name", CASES)
def test_hostile_case(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    case = CASES[name]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("saltus.files.FIFO_SECONDS", 0.3)
    check = case.setup(tmp_path)
    code = run(case.arguments())
    printed = "".join(capfd.readouterr())
    assert code == case.code, printed
    assert code in list(ExitCode)
    assert "Traceback" not in printed
    assert not CONTROL.search(printed), f"control characters reach the terminal: {printed!r}"
    if case.message is None:
        assert printed == ""
    else:
        assert case.message in printed
    if check is not None:
        check()


def test_every_case_has_a_name_of_its_own() -> None:
    assert len(CASES) == len(FOUND)
    assert len(CASES) >= 60
