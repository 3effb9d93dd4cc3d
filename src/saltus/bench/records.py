"""Stage `bench`: the file of records: one JSON object a line, one line a run.

A record is written whole: one write, then the disk is waited for. A process killed in between leaves at most half a
line at the end, which is dropped when the file is opened again; a whole record that only misses its end of line is
kept. Anything else that is no record is an error and stays as it is. A lock keeps two benchmarks from writing to one
file; the system frees it with the process.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any

from saltus.bench.job import LAMA, LAMA_NAME, Job, Result
from saltus.errors import InputError
from saltus.policy.catalogue import AUTO, policy_name
from saltus.policy.policies import YARDSTICKS
from saltus.task import write_plan

FORMAT = "saltus-record"
VERSION = 1

Record = dict[str, Any]
Key = tuple[str, str, str, str]
"""Configuration, domain, split, problem: what makes a run."""

FIGURES = (
    "jumps",
    "search_decisions",
    "goal_search_decisions",
    "found_by",
    "greedy_outcome",
    "tree_nodes",
    "largest_tree",
    "goals",
    "goal_count",
    "seconds_read",
    "seconds_lookahead",
    "seconds_graph",
    "seconds_network",
    "seconds_dead_ends",
    "seconds_plan",
)
"""Of a result, as they stand in a record; null where the run did not come to them."""


def make_record(
    job: Job,
    result: Result,
    *,
    names: tuple[str, str, str],
    configuration: str,
    protocol: str,
    plan_file: str | None,
    started: str,
) -> Record:
    """The record of a run; `names` are domain, split and problem."""
    domain, split, problem = names
    lama = job.planner == LAMA
    known = job.policy != AUTO and job.prefix is None
    return {
        "format": FORMAT,
        "version": VERSION,
        "domain": domain,
        "split": split,
        "problem": problem,
        "objects": result.objects,
        "policy": LAMA_NAME if lama else policy_name(job.policy) if known else result.policy or job.policy,
        "method": result.method or (LAMA_NAME if lama else job.policy if job.policy in YARDSTICKS else None),
        "configuration": configuration,
        "protocol": protocol,
        "search": job.search,
        "improve": job.improve,
        "outcome": result.outcome,
        "detail": " ".join(result.detail.split()),
        "exit_code": result.exit_code,
        "plan_length": len(result.plan) if result.plan is not None else None,
        "plan_cost": result.cost,
        **{name: result.figures.get(name) for name in FIGURES},
        "seconds": round(result.seconds, 4),
        "peak_memory_mb": None if result.peak_memory_mb is None else round(result.peak_memory_mb, 1),
        "limits": {
            "seconds": job.limits.seconds,
            "memory_mb": job.limits.memory_mb,
            "jumps": job.limits.max_jumps,
        },
        "device": result.device or job.device,
        "threads": job.threads,
        "seed": job.seed,
        "plan_file": plan_file,
        "versions": versions(),
        "started": started,
        "host": platform.node(),
    }


def versions() -> dict[str, str | None]:
    """Versions of what computes."""
    found: dict[str, str | None] = {"saltus": version("saltus"), "python": platform.python_version()}
    try:
        found["torch"] = version("torch")
    except PackageNotFoundError:
        found["torch"] = None
    return found


def timestamp() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def key_of(record: Mapping[str, Any]) -> Key:
    """What makes the run of a record."""
    return str(record["configuration"]), str(record["domain"]), str(record["split"]), str(record["problem"])


class RecordFile:
    """A file of records that is locked, repaired and open for more; use it in a `with` block."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        try:
            self._lock()
            self.records = self._repair()
        except BaseException:
            os.close(self._file)
            raise
        self.done: set[Key] = {key_of(record) for record in self.records}

    def __enter__(self) -> RecordFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def append(self, record: Record) -> None:
        """Writes a record; one whose run is already there is a `ValueError`."""
        key = key_of(record)
        if key in self.done:
            raise ValueError(f"{self.path}: there already is a record of {key}")
        text = json.dumps(record, ensure_ascii=False).encode() + b"\n"
        try:
            while text:
                text = text[os.write(self._file, text) :]
            os.fsync(self._file)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        self.done.add(key)
        self.records.append(record)

    def store_plan(self, result: Result, key: Key) -> str | None:
        """Where the plan of a result was written, relative to the file of records; None if there is none."""
        if result.plan is None or result.cost is None:
            return None
        *folders, problem = key
        place = self.path.with_name(f"{self.path.stem}.plans").joinpath(*folders, f"{problem}.plan")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{place.parent}: cannot be made: {error.strerror or error}") from error
        write_plan(place, result.plan, result.cost, unit_cost=result.unit_cost)
        return place.relative_to(self.path.parent).as_posix()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"{self.path}: another benchmark writes to this file") from error
        except OSError as error:
            raise InputError(f"{self.path}: cannot be locked: {error.strerror or error}") from error

    def _repair(self) -> list[Record]:
        """The records there are, once half a line at the end is gone."""
        text = self.path.read_bytes()
        whole, _, rest = text.rpartition(b"\n")
        if rest:
            try:
                _parse(rest)
            except ValueError:
                os.ftruncate(self._file, len(text) - len(rest))
            else:
                os.write(self._file, b"\n")
                whole = text
        return list(_records(whole, str(self.path)))


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """Records of a file that may be being written: half a line at its end is left out."""
    name = os.fspath(path)
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from error
    whole, _, rest = text.rpartition(b"\n")
    records = list(_records(whole, name))
    try:
        return [*records, _parse(rest)]
    except ValueError:
        return records


def _records(text: bytes, name: str) -> Iterator[Record]:
    for number, line in enumerate(text.split(b"\n"), start=1):
        if line.strip():
            try:
                yield _parse(line)
            except ValueError as error:
                raise InputError(f"{name}:{number}: no record: {error}") from error


def _parse(line: bytes) -> Record:
    record = json.loads(line)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f"expected an object of format {FORMAT!r}")
    if not isinstance(record.get("version"), int) or record["version"] > VERSION:
        raise ValueError(f"version {record.get('version')}, this program reads up to {VERSION}")
    missing = [name for name in ("configuration", "domain", "split", "problem") if name not in record]
    if missing:
        raise ValueError(f"{missing[0]!r} is missing")
    return record
