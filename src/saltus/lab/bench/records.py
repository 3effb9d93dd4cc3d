"""Stage `lab.bench`: record files: one record per line (JSON lines), one line per trial.

Reading is tolerant and says where something is wrong: a damaged line, as a killed writer leaves it, is a warning, and
the rest of the file counts. A file without a single record, another format and a later version are errors.

Writing loses nothing: a record is written whole and synced to the disk. A process killed in between leaves at most half
a line at the end, which is dropped when the file is opened again; a whole record that only lacks its end of line is
kept. Anything else that is not a record, or not the beginning of one, is an error, and the file stays as it is. A lock
keeps two benchmarks from writing to the same file. Which trials are left: `benchmark.run_trials`.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from saltus.errors import InputError, Position
from saltus.files import RECORD_BYTES, lock, read_lines, read_whole
from saltus.lab.bench.record import DamageError, Key, Record, parse_record
from saltus.process import PlanResult
from saltus.task import write_plan

SHOWN_WARNINGS = 5
"""Warnings of one kind that are shown one by one; further ones are counted."""

BEGINNING = b'{"format": "saltus-record"'
"""How every line that `RecordFile` writes begins: half a line that begins otherwise is somebody else's."""


@dataclass(frozen=True)
class RecordList:
    """Records of a file, in the file's order."""

    path: str
    records: tuple[Record, ...]
    warnings: tuple[str, ...] = ()


def read_records(path: str | os.PathLike[str]) -> RecordList:
    """The records of a file; a line that cannot be read is a warning if other lines can be read."""
    name = os.fspath(path)
    records, damages, more = _read(read_lines(name), name)
    if not records:
        if not damages:
            raise InputError(f"{name}: no records in this file")
        number, damage = damages[0]
        raise InputError(f"not a record file: {damage}", Position(name, number, damage.column))
    warnings = [f"{name}:{number}:{damage.column}: damaged line ignored: {damage}" for number, damage in damages]
    return RecordList(name, tuple(records), tuple(limited(warnings, f"{name}: %d more damaged lines ignored", more)))


Damages = list[tuple[int, DamageError]]
"""What is wrong with lines, by number."""


def _read(lines: Iterable[bytes], name: str) -> tuple[list[Record], Damages, int]:
    """Records of lines, what is wrong with the first few other lines, and how many more of these there are.

    A text that does not look like records at all is not read to its end.
    """
    records: list[Record] = []
    damages: Damages = []
    more = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            records.append(parse_record(line, name, number))
        except DamageError as error:
            if len(damages) <= SHOWN_WARNINGS:
                damages.append((number, error))
            else:
                more += 1
            if not records and more >= 1000:
                break
    return records, damages, more


def limited(messages: list[str], more: str, others: int = 0) -> list[str]:
    """The first few messages, and how many more there are, including `others` that are not in the list."""
    if len(messages) <= SHOWN_WARNINGS:
        return messages
    return [*messages[: SHOWN_WARNINGS - 1], more % (len(messages) + others - SHOWN_WARNINGS + 1)]


class RecordFile:
    """A record file that is locked, repaired and open for more records; use it in a `with` block."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise InputError(f"{self.path}: cannot be written: {reason or error}") from error
        try:
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise InputError(f"{self.path}: not a plain file; results are read again and added to")
            self._lock()
            self.records = self._repair()
        except BaseException:
            os.close(self._file)
            raise
        self.done: set[Key] = {record.key for record in self.records}

    def __enter__(self) -> RecordFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def append(self, record: Record) -> None:
        """Writes a record; a second record of the same trial is a `ValueError`."""
        if record.key in self.done:
            raise ValueError(f"{self.path}: there already is a record of {record.key}")
        text = json.dumps(record.to_json()).encode() + b"\n"
        size = os.fstat(self._file).st_size
        try:
            while text:
                text = text[os.write(self._file, text) :]
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):  # a full disk: nobody needs half a line
                os.ftruncate(self._file, size)
            raise InputError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        self.done.add(record.key)
        self.records.append(record)

    def store_plan(self, result: PlanResult, key: Key) -> str | None:
        """Where the plan of a result was written, relative to the record file; None if there is no plan."""
        if result.plan is None or result.cost is None:
            return None
        *folders, problem = key
        place = self.path.with_name(f"{self.path.stem}.plans").joinpath(*folders, f"{problem}.plan")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{place.parent}: cannot be created: {error.strerror or error}") from error
        write_plan(place, result.plan, result.cost, unit_cost=result.unit_cost)
        return place.relative_to(self.path.parent).as_posix()

    def _lock(self) -> None:
        try:
            free = lock(self._file)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be locked: {error.strerror or error}") from error
        if not free:
            raise InputError(f"{self.path}: another benchmark is writing to this file")

    def _repair(self) -> list[Record]:
        """The records of the file, once half a line at its end is dropped."""
        name = str(self.path)
        text = read_whole(name, RECORD_BYTES)
        *lines, rest = text.split(b"\n")
        records, damages, _ = _read(lines, name)
        if damages:
            number, damage = damages[0]
            raise InputError(f"not a record: {damage}", Position(name, number, damage.column))
        if not rest.strip():
            return records
        try:
            records.append(parse_record(rest, name, len(lines) + 1))
        except DamageError as damage:
            if rest[: len(BEGINNING)] != BEGINNING[: len(rest)]:
                raise InputError(f"not a record: {damage}", Position(name, len(lines) + 1, damage.column)) from None
            self._change(lambda: os.ftruncate(self._file, len(text) - len(rest)))
        else:
            self._change(lambda: os.write(self._file, b"\n"))
        return records

    def _change(self, change: Callable[[], object]) -> None:
        try:
            change()
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror or error}") from error
