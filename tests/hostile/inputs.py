"""Files that cannot be read, that are not what they should be, or that never end."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from tests.hostile.case import BLOCKS, Case, Check, nothing


def holding(name: str, content: bytes) -> Callable[[Path], None]:
    """Setup that makes one file."""

    def setup(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return setup


def sparse(name: str, size: int) -> Callable[[Path], None]:
    """Setup that makes a file of null bytes that takes no space."""

    def setup(folder: Path) -> None:
        (folder / name).touch()
        os.truncate(folder / name, size)

    return setup


def fifo(folder: Path) -> None:
    """Setup with a FIFO that no process opens."""
    os.mkfifo(folder / "fifo")


def fed_fifo(name: str, source: Path) -> Callable[[Path], Check]:
    """Setup with a FIFO that another thread writes a file to."""

    def setup(folder: Path) -> Check:
        os.mkfifo(folder / name)
        thread = threading.Thread(target=lambda: (folder / name).write_bytes(source.read_bytes()))
        thread.start()
        return thread.join

    return setup


def endless_fifo(line: str) -> Callable[[Path], Check]:
    """Setup with a FIFO to which the same line is written again and again."""

    def setup(folder: Path) -> Check:
        os.mkfifo(folder / "endless")
        writer = subprocess.Popen(["sh", "-c", 'exec yes "$0" > endless', line], cwd=folder, stderr=subprocess.DEVNULL)

        def check() -> None:
            writer.kill()
            writer.wait()

        return check

    return setup


def loop(folder: Path) -> None:
    """Setup with a symbolic link to itself."""
    (folder / "loop").symlink_to("loop")


def endless_suite(folder: Path) -> None:
    """Setup with a suite whose problem is an endless device."""
    shutil.copy(BLOCKS / "domain.pddl", folder / "domain.pddl")
    (folder / "training").mkdir()
    (folder / "training" / "p01.pddl").symlink_to("/dev/zero")


def endless_domain(folder: Path) -> None:
    """Setup with a domain that is an endless device."""
    (folder / "domain.pddl").symlink_to("/dev/zero")


LARGER = "larger than 1 KiB; 'saltus --max-file-size' sets another limit"

CASES = [
    Case("missing domain", nothing, "info missing.pddl {problem}", 31, "missing.pddl: cannot be read: No such file"),
    Case("folder as domain", nothing, "info . {problem}", 31, ".: cannot be read: Is a directory"),
    Case("folder as plan", nothing, "validate {domain} {problem} .", 31, ".: cannot be read: Is a directory"),
    Case("loop of links", loop, "info loop {problem}", 31, "loop: cannot be read: Too many levels of symbolic links"),
    Case("name too long", nothing, f"info {'x' * 300} {{problem}}", 31, "cannot be read: File name too long"),
    Case("file as folder", nothing, "info {domain}/x {problem}", 31, "cannot be read: Not a directory"),
    Case("empty domain", holding("d", b""), "info d {problem}", 31, "d:1:1: empty file"),
    Case("empty device", nothing, "info /dev/null {problem}", 31, "/dev/null:1:1: empty file"),
    Case("info zero", nothing, "info /dev/zero {problem}", 31, "/dev/zero: not a text file: byte 1 is a null byte"),
    Case("problem zero", nothing, "info {domain} /dev/zero", 31, "/dev/zero: not a text file"),
    Case("info urandom", nothing, "info /dev/urandom {problem}", 31, "/dev/urandom: not a text file"),
    Case("validate urandom", nothing, "validate {domain} {problem} /dev/urandom", 31, "/dev/urandom: not a text file"),
    Case("validate zero", nothing, "validate {domain} {problem} /dev/zero", 31, "/dev/zero: not a text file"),
    Case("plan zero", nothing, "plan {domain} /dev/zero --policy goal-count", 31, "/dev/zero: not a text file"),
    Case("graph zero", nothing, "graph /dev/zero {problem}", 31, "/dev/zero: not a text file"),
    Case("lookahead zero", nothing, "lookahead {domain} /dev/zero", 31, "/dev/zero: not a text file"),
    Case("report zero", nothing, "report /dev/zero", 31, "/dev/zero: not a text file"),
    Case("report urandom", nothing, "report /dev/urandom", 31, "/dev/urandom: not a text file"),
    Case("suite of endless problems", endless_suite, "stats .", 31, "p01.pddl: not a text file"),
    Case("generate over zero", endless_domain, "generate ferry --out .", 31, "domain.pddl: not a text file"),
    Case("policy zero", nothing, "policies /dev/zero", 31, "/dev/zero: not a policy file, or damaged"),
    Case("policy FIFO", fifo, "policies ./fifo", 31, "not a plain file"),
    Case("bench with policy zero", nothing, "bench {suite} --policy /dev/zero --out r", 31, "/dev/zero"),
    Case("configuration zero", nothing, "train {suite} --out run --config /dev/zero", 33, "/dev/zero: no such file"),
    Case("large binary domain", sparse("d", 2**20), "info d {problem}", 31, "d: not a text file"),
    Case("domain of 3 GiB", sparse("d", 3 * 2**30), "info d {problem}", 31, "d: larger than 1 GiB"),
    Case("plan of 1 GiB", sparse("p", 2**30), "validate {domain} {problem} p", 31, "p: larger than 64 MiB"),
    Case("records of 1 GiB", sparse("r", 2**30), "report r", 31, "r: larger than 256 MiB"),
    Case("limit on PDDL", nothing, "--max-file-size 1K info {domain} {large_problem}", 31, f"p100.pddl: {LARGER}"),
    Case(
        "limit on plans",
        nothing,
        "--max-file-size 4K validate {domain} {problem} {plan}",
        31,
        "p100.plan: larger than 4 KiB",
    ),
    Case("limit on records", nothing, "--max-file-size 1K report {records}", 31, f"goal-count.jsonl: {LARGER}"),
    Case(
        "limit holds in workers",
        nothing,
        "--max-file-size 1K plan {domain} {large_problem}",
        31,
        f"p100.pddl: {LARGER}",
    ),
    Case("limit that allows", nothing, "--max-file-size 1G info {domain} {problem}", 0, "blocksworld"),
    Case(
        "limit that is no size",
        nothing,
        "--max-file-size many info {domain} {problem}",
        33,
        "expected a number of bytes",
    ),
    Case("limit of nothing", nothing, "--max-file-size 0 info {domain} {problem}", 33, "expected a number of bytes"),
    Case(
        "FIFO without writer", fifo, "info fifo {problem}", 31, "fifo: cannot be read: no process writes to this FIFO"
    ),
    Case("FIFO with writer", fed_fifo("d", BLOCKS / "domain.pddl"), "info d {problem}", 0, "blocksworld"),
    Case(
        "endless text as domain",
        endless_fifo("y"),
        "--max-file-size 1M info endless {problem}",
        31,
        "larger than 1 MiB",
    ),
    Case("endless text as plan", endless_fifo("y"), "validate {domain} {problem} endless", 31, "larger than 64 MiB"),
    Case(
        "endless text as records", endless_fifo("y"), "report endless", 31, "endless:1:1: not a record file: not JSON"
    ),
    Case("deep nesting", holding("d", b"(" * 10**6), "info d {problem}", 31, "nested more than 200 deep"),
    Case("plan that is not text", holding("p", b"\xff\xfe(a)"), "validate {domain} {problem} p", 31, "it is not text"),
    Case("plan with brackets", holding("p", b"((a))"), "validate {domain} {problem} p", 31, "p:1:1: not an action"),
    Case("swapped files", nothing, "info {problem} {domain}", 31, "p03.pddl:"),
    Case("policy as domain", nothing, "info {policy} {problem}", 31, "untrained.safetensors: not a text file"),
    Case("domain as policy", nothing, "policies {domain}", 31, "domain.pddl: not a policy file, or damaged"),
]
