"""Outputs that are no plain files: nothing but a plain file is ever replaced or removed."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

from tests.hostile import records
from tests.hostile.case import Case, Check

PLAN = "plan {domain} {problem} --policy goal-count --plan-file"
PAGE = "explain {domain} {problem} --policy goal-count --out"
REPORT = "report {records} --html"


def device(name: str) -> Callable[[Path], Check]:
    """Setup with a check that a device is still one."""

    def setup(folder: Path) -> Check:
        kind = os.stat(name).st_rdev

        def check() -> None:
            status = os.lstat(name)
            assert stat.S_ISCHR(status.st_mode)
            assert status.st_rdev == kind

        return check

    return setup


def link_to_device(folder: Path) -> Check:
    """Setup with a link to a device, which stays one."""
    (folder / "out").symlink_to("/dev/null")

    def check() -> None:
        assert os.readlink(folder / "out") == "/dev/null"
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)

    return check


def link_to_file(folder: Path) -> Check:
    """Setup with a link to a file with permissions of its own; the file is replaced, the link and they stay."""
    (folder / "place").mkdir()
    target = folder / "place" / "target"
    target.write_text("old")
    target.chmod(0o640)
    (folder / "out").symlink_to("place/target")

    def check() -> None:
        assert os.readlink(folder / "out") == "place/target"
        assert target.read_text() not in ("old", "")
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
        assert [path.name for path in (folder / "place").iterdir()] == ["target"]

    return check


def links_of_links(folder: Path) -> Check:
    """Setup with a link to a link to a file that does not exist yet."""
    (folder / "place").mkdir()
    (folder / "out").symlink_to("second")
    (folder / "second").symlink_to("place/target")

    def check() -> None:
        assert (folder / "out").is_symlink()
        assert (folder / "second").is_symlink()
        assert (folder / "place" / "target").read_text()

    return check


def link_to_nowhere(folder: Path) -> None:
    """Setup with a link into a folder that does not exist."""
    (folder / "out").symlink_to("missing/target")


def loop(folder: Path) -> None:
    """Setup with a link to itself."""
    (folder / "out").symlink_to("out")


def read_fifo(folder: Path) -> Check:
    """Setup with a FIFO that is read; what is read is the whole output."""
    os.mkfifo(folder / "out")
    read: list[str] = []
    thread = threading.Thread(target=lambda: read.append((folder / "out").read_text()))
    thread.start()

    def check() -> None:
        thread.join()
        assert stat.S_ISFIFO(os.lstat(folder / "out").st_mode)
        assert read[0].rstrip().endswith(("(unit cost)", "</html>"))

    return check


def fifo(folder: Path) -> Check:
    """Setup with a FIFO that no process reads."""
    os.mkfifo(folder / "out")
    return lambda: is_fifo(folder / "out")


def is_fifo(path: Path) -> None:
    """Fails unless a path is a FIFO."""
    assert stat.S_ISFIFO(os.lstat(path).st_mode)


def a_folder(folder: Path) -> Check:
    """Setup with a folder in the place of the output."""
    (folder / "out").mkdir()
    (folder / "out" / "kept").write_text("kept")

    def check() -> None:
        assert (folder / "out" / "kept").read_text() == "kept"

    return check


def foreign(name: str, content: bytes) -> Callable[[Path], Check]:
    """Setup with a file of somebody else, which is not touched."""

    def setup(folder: Path) -> Check:
        (folder / name).write_bytes(content)

        def check() -> None:
            assert (folder / name).read_bytes() == content

        return check

    return setup


def numbered_links(folder: Path) -> Check:
    """Setup with a link, a FIFO and a plain file under the names of an earlier call's plans; only the last one goes."""
    (folder / "kept").write_text("kept")
    (folder / "out.1").symlink_to("kept")
    os.mkfifo(folder / "out.2")
    (folder / "out.3").write_text("an earlier plan")

    def check() -> None:
        assert (folder / "kept").read_text() == "kept"
        assert (folder / "out.1").is_symlink()
        is_fifo(folder / "out.2")
        assert not (folder / "out.3").exists()
        assert not list(folder.glob(".*"))

    return check


def restricted(folder: Path) -> Check:
    """Setup with an old plan that only its owner may read; so is the new one."""
    (folder / "out").write_text("old")
    (folder / "out").chmod(0o600)

    def check() -> None:
        assert stat.S_IMODE((folder / "out").stat().st_mode) == 0o600
        assert (folder / "out").read_text() != "old"

    return check


def masked(folder: Path) -> Check:
    """Setup with a umask, which a new file honours."""
    os.umask(0o027)

    def check() -> None:
        assert stat.S_IMODE((folder / "out").stat().st_mode) == 0o640

    return check


NOTES = b"notes that nobody wants to lose"
RECORD = json.dumps(records.RECORD).encode() + b"\n"
BENCH = "bench {suite} --policy goal-count --out out"
FULL = "cannot be written: No space left on device"

CASES = [
    Case("plan to null", device("/dev/null"), f"{PLAN} /dev/null", 0, "written to /dev/null"),
    Case("plans to null", device("/dev/null"), f"{PLAN} /dev/null --improve --max-jumps 50", 0, "written to /dev/null"),
    Case("plan to full", device("/dev/full"), f"{PLAN} /dev/full", 31, f"/dev/full: {FULL}"),
    Case("page to null", device("/dev/null"), f"{PAGE} /dev/null", 0, "page written to /dev/null"),
    Case("page to full", device("/dev/full"), f"{PAGE} /dev/full", 31, f"/dev/full: {FULL}"),
    Case("report to full", device("/dev/full"), f"{REPORT} /dev/full", 31, f"/dev/full: {FULL}"),
    Case("report to null", device("/dev/null"), f"{REPORT} /dev/null", 0, "page written to /dev/null"),
    Case("graph to full", device("/dev/full"), "graph {domain} {problem} --out /dev/full", 31, f"/dev/full: {FULL}"),
    Case("branching to full", device("/dev/full"), "branching {suite} --out /dev/full", 31, f"/dev/full: {FULL}"),
    Case("bench to null", device("/dev/null"), "bench {suite} --out /dev/null", 31, "/dev/null: not a plain file"),
    Case("bench to full", device("/dev/full"), "bench {suite} --out /dev/full", 31, "/dev/full: not a plain file"),
    Case("bench to zero", device("/dev/zero"), "bench {suite} --out /dev/zero", 31, "/dev/zero: not a plain file"),
    Case("bench to FIFO", fifo, BENCH, 31, "out: not a plain file"),
    Case("bench to folder", a_folder, BENCH, 31, "out: cannot be written: Is a directory"),
    Case("train to device", device("/dev/null"), "train {suite} --out /dev/null", 31, "/dev/null: cannot be written"),
    Case("generate to device", device("/dev/null"), "generate ferry --out /dev/null", 31, "/dev/null"),
    Case("plan to standard output", lambda folder: None, f"{PLAN} /dev/stdout", 0, "; cost = "),
    Case("page to standard output", lambda folder: None, f"{PAGE} /dev/stdout", 0, "</html>"),
    Case("plan to link to device", link_to_device, f"{PLAN} out", 0, "written to out"),
    Case("page to link to device", link_to_device, f"{PAGE} out", 0, "page written to out"),
    Case("plan to link", link_to_file, f"{PLAN} out", 0, "written to out"),
    Case("page to link", link_to_file, f"{PAGE} out", 0, "page written to out"),
    Case("report to link", link_to_file, f"{REPORT} out", 0, "page written to out"),
    Case("graph to link", link_to_file, "graph {domain} {problem} --out out", 0, None),
    Case("plan to dangling link", links_of_links, f"{PLAN} out", 0, "written to out"),
    Case("page to dangling link", links_of_links, f"{PAGE} out", 0, "page written to out"),
    Case("plan to link to nowhere", link_to_nowhere, f"{PLAN} out", 31, "missing: no such folder"),
    Case("page to link to nowhere", link_to_nowhere, f"{PAGE} out", 31, "out: cannot be written: No such file"),
    Case("plan to loop", loop, f"{PLAN} out", 31, "out: cannot be written: Too many levels of symbolic links"),
    Case("report to loop", loop, f"{REPORT} out", 31, "out: cannot be written: Too many levels of symbolic links"),
    Case("plan to FIFO", read_fifo, f"{PLAN} out", 0, "written to out"),
    Case("page to FIFO", read_fifo, f"{PAGE} out", 0, "page written to out"),
    Case("report to FIFO without reader", fifo, f"{REPORT} out", 31, "out: cannot be written: no process reads"),
    Case("plan to folder", a_folder, f"{PLAN} out", 31, "out: is a folder"),
    Case("page to folder", a_folder, f"{PAGE} out", 31, "out: cannot be written: Is a directory"),
    Case("report to folder", a_folder, f"{REPORT} out", 31, "out: cannot be written: Is a directory"),
    Case("earlier plans that are no files", numbered_links, f"{PLAN} out", 0, "written to out"),
    Case("permissions of an earlier plan", restricted, f"{PLAN} out", 0, "written to out"),
    Case("permissions of an earlier page", restricted, f"{PAGE} out", 0, "page written to out"),
    Case("umask", masked, f"{REPORT} out", 0, "page written to out"),
    Case("bench over notes", foreign("out", NOTES), BENCH, 31, "out:1:1: not a record: not JSON"),
    Case("bench over notes with ends", foreign("out", NOTES + b"\n" + NOTES), BENCH, 31, "out:1:1: not a record"),
    Case("bench over JSON", foreign("out", b'{"a": 1}'), BENCH, 31, "not a record: format is missing"),
    Case("bench over a number", foreign("out", b"42"), BENCH, 31, "out:1:1: not a record: not a JSON object"),
    Case("bench over bytes", foreign("out", b"\x00\x01\xff"), BENCH, 31, "out:1:1: not a record"),
    Case("bench over records and notes", foreign("out", RECORD + NOTES), BENCH, 31, "out:2:1: not a record: not JSON"),
    Case("bench over a large file", foreign("out", NOTES * 10**5), BENCH, 31, "out:1:1: not a record"),
]
