"""Stage `report`: record files in, `Record`s out: one JSON object a line, as `bench` writes them.

Keys that are not known are ignored, figures that are missing are None. What is wrong with a file is said with its line:
a file without a single record, lines of another format and records of a later version are errors; a damaged line, as a
killed writer leaves it, is a warning, and the rest of the file counts. Only the outcome "plan found" counts as solved.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from saltus.errors import InputError, Position, shorten

FORMAT = "saltus-record"
VERSION = 1

SOLVED = "plan found"
SEARCHES = ("search", "goal search")
"""Who found a plan, where it was not the policy alone."""
FAILURES = ("policy failed", "no applicable jump", "jump limit", "time limit", "memory limit")
"""Outcomes without a plan that need no explanation: the policy or the limits were not good enough."""
UNEXPLAINED = ("crash", "invalid plan", "input error", "unsupported", "wrong policy", "interrupted")
"""Outcomes that someone must look at, worst first."""

SHOWN_WARNINGS = 5
"""Lines of one file that are warned about one by one; the others are counted."""

Key = tuple[str, str, str]
"""Domain, split and name of a problem."""


@dataclass(frozen=True)
class Record:
    """How one attempt at one problem ended; see the format's description for the fields."""

    domain: str
    split: str
    problem: str
    method: str
    outcome: str
    policy: str = ""
    configuration: str = ""
    protocol: str = ""
    search: bool = False
    improve: bool = False
    detail: str = ""
    objects: int | None = None
    jumps: int | None = None
    plan_length: int | None = None
    plan_cost: float | None = None
    seconds: float | None = None
    peak_memory_mb: float | None = None
    found_by: str = ""
    """greedy, search, or search beside, where there is a plan."""
    version: str = ""
    """Of the program that wrote it."""
    file: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)

    @property
    def key(self) -> Key:
        """The problem."""
        return self.domain, self.split, self.problem

    @property
    def solved(self) -> bool:
        """Whether a valid plan was found."""
        return self.outcome == SOLVED

    @property
    def by_search(self) -> bool:
        """Whether a search found the plan, not the policy alone."""
        return self.found_by in SEARCHES

    @property
    def unexplained(self) -> bool:
        """Whether someone must look at it: an error, an outcome that is not known, or a plan without a length."""
        return self.outcome not in (SOLVED, *FAILURES) or (self.solved and self.plan_length is None)

    @property
    def place(self) -> str:
        """File and line it came from."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class RecordFile:
    """A file of records, in the file's order."""

    path: str
    records: tuple[Record, ...]
    warnings: tuple[str, ...] = ()


class _DamageError(Exception):
    """What is wrong with a line, and the column where that is known."""

    def __init__(self, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.column = column


def read_records(path: str | os.PathLike[str]) -> RecordFile:
    """The records of a file; a line that cannot be read becomes a warning if other lines can."""
    name = os.fspath(path)
    records: list[Record] = []
    damaged: list[tuple[int, _DamageError]] = []
    for number, line in enumerate(read_lines(name), 1):
        if not line.strip():
            continue
        try:
            records.append(_record(_parse(line), name, number))
        except _DamageError as error:
            damaged.append((number, error))
    if not records:
        if not damaged:
            raise InputError(f"{name}: no records in this file")
        number, damage = damaged[0]
        raise InputError(f"no record file: {damage}", Position(name, number, damage.column))
    warnings = [f"{name}:{number}:{damage.column}: damaged line left out: {damage}" for number, damage in damaged]
    return RecordFile(name, tuple(records), tuple(limited(warnings, f"{name}: %d more damaged lines left out")))


def read_lines(name: str) -> Iterator[bytes]:
    """Lines of a file, without their ends; what the system says is an `InputError`."""
    try:
        with open(name, "rb") as file:
            for line in file:
                yield line.rstrip(b"\r\n")
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from error


def limited(messages: list[str], more: str) -> list[str]:
    """The first few messages, and how many there are beyond them."""
    if len(messages) <= SHOWN_WARNINGS:
        return messages
    return [*messages[: SHOWN_WARNINGS - 1], more % (len(messages) - SHOWN_WARNINGS + 1)]


def parse_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; `ValueError` says what is wrong, JSONDecodeError also where."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"no text in UTF-8 (byte {error.start + 1} of the line)") from None
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("too deeply nested") from None
    if not isinstance(value, dict):
        raise ValueError(f"no JSON object: {shorten(text)!r}")
    return value


def _parse(line: bytes) -> dict[str, Any]:
    try:
        return parse_object(line)
    except json.JSONDecodeError as error:
        raise _DamageError(f"no JSON: {error.msg}", error.colno) from None
    except ValueError as error:  # no text, a number of thousands of digits, …
        raise _DamageError(str(error)) from None


def _record(fields: Mapping[str, Any], file: str, line: int) -> Record:
    """The record of a JSON object; another format or a later version is an `InputError`."""
    position = Position(file, line, 1)
    if fields.get("format") != FORMAT:
        found = shorten(repr(fields["format"])) if "format" in fields else "none"
        raise InputError(f"no record: format is {found}, expected {FORMAT!r}", position)
    version = fields.get("version")
    if type(version) is not int or version < 1:
        raise _DamageError(f"version is {shorten(repr(version))}, expected a whole number")
    if version > VERSION:
        raise InputError(f"record of version {version}, this program reads up to {VERSION}; update saltus", position)
    values: dict[str, Any] = {}
    for name, (kind, check, required) in _FIELDS.items():
        value = fields.get(name)
        if value is None:
            if required:
                raise _DamageError(f"{name} is missing")
        elif not check(value):
            raise _DamageError(f"{name} is {shorten(repr(value))}, expected {kind}")
        else:
            values[name] = value
    versions = fields.get("versions")
    writer = versions.get("saltus") if isinstance(versions, dict) else None
    return Record(**values, version=writer if isinstance(writer, str) else "", file=file, line=line)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_figure(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf  # type: ignore[operator]


_FIELDS: dict[str, tuple[str, Callable[[object], bool], bool]] = {
    **dict.fromkeys(("domain", "split", "problem", "method", "outcome"), ("a name", _is_name, True)),
    **dict.fromkeys(("policy", "configuration", "protocol", "detail", "found_by"), ("a text", _is_text, False)),
    **dict.fromkeys(("search", "improve"), ("true or false", _is_flag, False)),
    **dict.fromkeys(("objects", "jumps", "plan_length"), ("a whole number", _is_count, False)),
    **dict.fromkeys(("plan_cost", "seconds", "peak_memory_mb"), ("a number", _is_figure, False)),
}
"""Fields that are read: what is expected, its test, and whether the field must be there."""
