"""Names with escape sequences, markup and characters that turn text around: they are shown, never obeyed.

ESC [2J clears a terminal, U+009B begins a sequence in one character, U+202E turns the direction of the text around.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from safetensors import safe_open
from safetensors.numpy import save_file
from tests.hostile.case import BLOCKS, Case, nothing
from tests.hostile.records import RECORD

CLEAR = "\x1b[2J\x08owned"
SHOWN = "\\x1b[2J\\x08owned"
C1 = "\x9b31m"
BIDI = "\u202eevil"


def record(**changes: object) -> Callable[[Path], None]:
    """Setup with a record file `r` of one record."""

    def setup(folder: Path) -> None:
        (folder / "r").write_text(json.dumps(RECORD | changes) + "\n")

    return setup


def text(name: str, content: str) -> Callable[[Path], None]:
    """Setup with a text file."""

    def setup(folder: Path) -> None:
        (folder / name).write_text(content, encoding="utf-8")

    return setup


def policy(**changes: object) -> Callable[[Path], None]:
    """Setup with a policy `p.safetensors` whose record of the training has other values."""

    def setup(folder: Path) -> None:
        with safe_open(BLOCKS / "untrained.safetensors", framework="numpy") as file:
            metadata = dict(file.metadata())
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (no mapping)
        description = json.loads(metadata["saltus-policy"])
        description["record"] |= changes
        save_file(tensors, folder / "p.safetensors", {"saltus-policy": json.dumps(description)})

    return setup


def suite(name: str) -> Callable[[Path], None]:
    """Setup with a suite `s/NAME` of one problem of that name."""

    def setup(folder: Path) -> None:
        place = folder / "s" / name
        (place / "training").mkdir(parents=True)
        shutil.copy(BLOCKS / "domain.pddl", place / "domain.pddl")
        shutil.copy(BLOCKS / "p03.pddl", place / "training" / f"{name}.pddl")

    return setup


def undecodable(folder: Path) -> None:
    """Setup with a domain whose name is not UTF-8."""
    shutil.copy(BLOCKS / "domain.pddl", os.fsencode(folder) + b"/\xff.pddl")
    (folder / "link").symlink_to(os.fsdecode(b"\xff.pddl"))


VALIDATE = "validate {domain} {problem} p"
POLICIES = "policies ./p.safetensors"
BENCH = "--policy goal-count --out r.jsonl"

CASES = [
    Case("missing file that clears", nothing, f"info '{CLEAR}' {{problem}}", 31, f"{SHOWN}: cannot be read"),
    Case("missing file with C1", nothing, f"info '{C1}' {{problem}}", 31, "\\x9b31m: cannot be read"),
    Case("missing file with BIDI", nothing, f"info '{BIDI}' {{problem}}", 31, "\\u202eevil: cannot be read"),
    Case("missing file with bytes", nothing, "info '\udcff' {problem}", 31, "\\udcff: cannot be read"),
    Case("missing file with markup", nothing, "info 'x[/red]' {problem}", 31, "x[/red]: cannot be read"),
    Case("missing plan", nothing, f"validate {{domain}} {{problem}} '{CLEAR}'", 31, SHOWN),
    Case("missing records", nothing, f"report '{CLEAR}'", 31, SHOWN),
    Case("missing policy", nothing, f"plan {{domain}} {{problem}} --policy '{CLEAR}'", 31, "x1b[2J"),
    Case("missing folder of a plan", nothing, f"plan {{domain}} {{problem}} --plan-file '{CLEAR}/p'", 31, SHOWN),
    Case("extra argument", nothing, f"info {{domain}} {{problem}} '{CLEAR}'", 33, "x1b[2J"),
    Case("unknown option", nothing, f"info --'{CLEAR}'", 33, "x1b[2J"),
    Case("unknown command", nothing, f"'{CLEAR}'", 33, "x1b[2J"),
    Case("unknown key", nothing, f"train {{suite}} --out run --set '{CLEAR}=1'", 33, "x1b[2J"),
    Case("unknown domain", nothing, f"generate '{CLEAR}' --out s", 33, "x1b[2J"),
    Case("PDDL", text("d", f"(define {CLEAR})"), "info d {problem}", 31, "x1b[2J"),
    Case("PDDL with C1", text("d", f"(define {C1})"), "info d {problem}", 31, "illegal character"),
    Case("PDDL with BIDI", text("d", f"(define {BIDI})"), "info d {problem}", 31, "illegal character"),
    Case("markup in PDDL", text("d", "(define (domain x[/red]) (:x[/red]))"), "info d {problem}", 31, "x[/red]"),
    Case("plan", text("p", CLEAR), VALIDATE, 31, "x1b[2J"),
    Case("action", text("p", f"({CLEAR})"), VALIDATE, 1, "x1b[2j"),
    Case("action with C1", text("p", f"({C1})"), VALIDATE, 1, "x9b31m"),
    Case("action with BIDI", text("p", f"({BIDI})"), VALIDATE, 1, "u202eevil"),
    Case("argument", text("p", f"(pickup {CLEAR})"), VALIDATE, 1, "x1b[2j"),
    Case("action as JSON", text("p", f"({CLEAR})"), f"{VALIDATE} --json", 1, "[2j"),
    Case("domain of a record", record(domain=CLEAR), "report r", 0, "x1b[2J"),
    Case("domain of a record with C1", record(domain=C1), "report r", 0, "x9b31m"),
    Case("domain of a record with BIDI", record(domain=BIDI), "report r", 0, "u202eevil"),
    Case("domain of a record with markup", record(domain="x[/red]"), "report r", 0, "x[/red]"),
    Case("domain of a record with emoji", record(domain=":cat:"), "report r", 0, ":cat:"),
    Case("method of a record", record(method=CLEAR), "report r", 0, "x1b[2J"),
    Case("policy of a record", record(policy=CLEAR), "report r --all-tables", 0, "goal-count"),
    Case("outcome of a record", record(outcome=CLEAR), "report r", 0, "x1b[2J"),
    Case("detail of a record", record(outcome="crash", detail=CLEAR), "report r", 0, "x1b[2J"),
    Case("format of a record", record(format=CLEAR), "report r", 31, "x1b[2J"),
    Case("domain of a policy", policy(domain=CLEAR), POLICIES, 0, "x1b[2J"),
    Case("date of a policy", policy(date=CLEAR), POLICIES, 0, "x1b[2J"),
    Case("date of a policy with markup", policy(date="x[/red]"), POLICIES, 0, "x[/red]"),
    Case("domain of a policy as JSON", policy(domain=CLEAR), f"{POLICIES} --json", 0, "u001b[2J"),
    Case("suite", suite(CLEAR), "stats s", 0, "x1b[2J"),
    Case("suite with markup", suite("x[red]"), "stats s", 0, "x[red]"),
    Case("suite with bytes", suite("\udcff"), "stats s", 0, "\\udcff"),
    Case("suite as CSV", suite(CLEAR), "branching s", 0, "x1b[2J"),
    Case("suite of a benchmark", suite(CLEAR), f"bench s {BENCH}", 0, "x1b[2J"),
    Case("suite of a benchmark with bytes", suite("\udcff"), f"bench s {BENCH}", 0, "\\udcff"),
    Case("record file", nothing, f"bench {{suite}} --policy goal-count --split none --out '{CLEAR}'", 33, "none"),
    Case("file that is not UTF-8", undecodable, "info link {problem}", 0, "blocksworld"),
]
