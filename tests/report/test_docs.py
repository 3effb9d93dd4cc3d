"""The page `docs/report.md`: its commands run, its pictures are there and small."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.report.samples import write_run

from saltus.cli.exit_codes import ExitCode
from saltus.cli.main import run

TEXT = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (saltus .+)$", TEXT, re.MULTILINE)
PICTURES = re.findall(r"!\[[^]]+\]\(([^)]+)\)", TEXT)


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_run(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    write_run(tmp_path / "runs" / "blocksworld" / "seed-1", 1)
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(line)[1:]
    assert run(arguments) == ExitCode.SUCCESS
    assert capsys.readouterr().err == ""
    (page,) = [argument for argument in arguments if argument.endswith(".html")]
    assert "</html>" in Path(page).read_text(encoding="utf-8")


def test_pictures_are_there_and_small() -> None:
    assert len(COMMANDS) == 3
    assert len(PICTURES) == 5
    for name in PICTURES:
        content = (ROOT / "docs" / name).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) < 300_000


def test_the_example_records_are_whole() -> None:
    """Thirty domains and splits with three problems each, for each of the two."""
    for path in sorted((ROOT / "examples" / "records").glob("*.jsonl")):
        assert len(path.read_text(encoding="utf-8").splitlines()) == 90, path
