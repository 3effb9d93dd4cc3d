"""Reading within limits, and writing whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import ROOT

from saltus import files
from saltus.errors import InputError
from saltus.files import WriteError, format_size, parse_size, read_lines, read_whole, write_whole


@given(st.lists(st.sampled_from([b"", b"a", b"bc\r", b"x" * 7])), st.booleans(), st.integers(1, 9))
def test_lines_are_those_of_python(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], end: bool, block: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines"
    text = b"\n".join(lines) + b"\n" * end
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK", block)
        found = list(read_lines(path))
    with path.open("rb") as file:
        assert found == [line.rstrip(b"\r\n") for line in file]


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("500000", 500_000), ("2k", 2048), ("64M", 64 * 2**20), ("1G", 2**30)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text, "x") == size


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5G", "1T", "G", "1 G", "٣", "9" * 20])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InputError, match="size is "):
        parse_size(text, "size")


@pytest.mark.parametrize(
    ("size", "text"), [(2**30, "1 GiB"), (1536 * 2**20, "1,536 MiB"), (2**10, "1 KiB"), (1000, "1,000 bytes")]
)
def test_sizes_in_words(size: int, text: str) -> None:
    assert format_size(size) == text


def test_a_file_of_the_limit_is_read_and_one_more_byte_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"x" * 100)
    assert read_whole(path, 100) == b"x" * 100
    with pytest.raises(InputError, match="x: larger than 99 bytes; 'saltus --max-file-size' sets another limit"):
        read_whole(path, 99)
    monkeypatch.setenv("SALTUS_MAX_FILE_SIZE", "100")
    assert read_whole(path, 99) == b"x" * 100


def test_files_without_a_size_are_read() -> None:
    assert read_whole("/proc/self/status", 2**20).startswith(b"Name:")


def test_nothing_is_left_of_a_file_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(tmp_path / "x", "old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("saltus.files.os.fsync", fail)
    with pytest.raises(WriteError, match="x: cannot be written: No space left on device"):
        write_whole(tmp_path / "x", "new")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_special_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.touch()
    path.chmod(0o2711)
    write_whole(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o2711


def test_names_of_any_length_that_the_system_takes(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    write_whole(path, "new")
    assert path.read_text() == "new"


def test_standard_output_that_is_a_file_takes_plan_and_result(tmp_path: Path) -> None:
    """The shell has opened the file: it is added to, not replaced."""
    program = "import sys; from saltus.cli.main import run; sys.exit(run(sys.argv[1:]))"
    blocks = ROOT / "examples" / "blocksworld"
    arguments = ["plan", str(blocks / "domain.pddl"), str(blocks / "p03.pddl"), "--policy", "goal-count"]
    with (tmp_path / "out").open("w") as out:
        number = os.fstat(out.fileno()).st_ino
        command = [sys.executable, "-c", program, *arguments, "--plan-file", "/dev/stdout"]
        assert subprocess.run(command, stdout=out, cwd=tmp_path, check=False).returncode == 0
    text = (tmp_path / "out").read_text()
    assert (tmp_path / "out").stat().st_ino == number
    assert text.index("; cost = ") < text.index("plan found (greedy)")


def test_plans_that_a_kill_left_hidden_go(tmp_path: Path) -> None:
    from saltus.cli.plan_writer import PlanWriter

    (tmp_path / "plan").write_text("old")
    for name in (".plan.earlier", ".plan.7.earlier"):
        (tmp_path / name).write_text("older")
    (tmp_path / ".planet.earlier").write_text("not ours")
    writer = PlanWriter(tmp_path / "plan", numbered=False)
    writer.clear()
    assert not (tmp_path / "plan").exists()
    writer.drop_earlier()
    assert [path.name for path in tmp_path.iterdir()] == [".planet.earlier"]
