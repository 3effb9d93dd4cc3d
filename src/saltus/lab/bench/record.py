"""Stage `lab.bench`: `Record`, one line of a record file: what came of one trial.

Every field is declared once, with the kind of its values: those of planning in `policy/figures.py`, the others here.
Writing, reading and checking follow from the declarations. Keys that are not known are ignored, and fields that are
missing are None or empty, unless they are required.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from saltus.errors import ConfigurationError, InputError, Position, shorten
from saltus.files import parse_object
from saltus.policy.figures import FIGURES, Figures, Kind, declarations, declare
from saltus.policy.outcome import Limits, Outcome
from saltus.policy.portfolio import DRAWN, GOAL_BY_GOAL, GOAL_SEARCH, RELAXED_SEARCH, SEARCH
from saltus.process import PlanJob, PlanResult

FORMAT = "saltus-record"
VERSION = 2

Problem = tuple[str, str, str]
"""Domain, split and name of a problem."""
Key = tuple[str, str, str, str]
"""Configuration, domain, split and problem: what identifies a trial."""


class DamageError(Exception):
    """What is wrong with a line, and in which column if that is known."""

    def __init__(self, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True, kw_only=True)
class Record(Figures):
    """What came of one trial: the fields below, and the figures of planning."""

    domain: str = declare(Kind.NAME, "Name of the domain.", required=True)
    split: str = declare(Kind.NAME, "Split of the suite.", required=True)
    problem: str = declare(Kind.NAME, "Name of the problem.", required=True)
    objects: int | None = declare(Kind.COUNT, "Objects of the problem.")
    policy: str = declare(Kind.TEXT, "Name or file of the policy.", default="")
    method: str = declare(Kind.NAME, "Lookahead and encoding, a yardstick, a baseline, or a system.", required=True)
    configuration: str = declare(Kind.TEXT, "Hash of policy and options.", default="")
    protocol: str = declare(Kind.TEXT, "Protocol that the limits come from.", default="")
    search: bool = declare(Kind.FLAG, "Whether a search followed a failed rollout.", default=False)
    improve: bool = declare(Kind.FLAG, "Whether plans were improved.", default=False)
    outcome: Outcome | str = declare(Kind.OUTCOME, "How planning ended.", required=True)
    detail: str = declare(Kind.TEXT, "More about the outcome.", default="")
    exit_code: int | None = declare(Kind.COUNT, "Exit code of `saltus plan` for the outcome.")
    plan_length: int | None = declare(Kind.COUNT, "Actions of the best plan.")
    plan_cost: float | None = declare(Kind.NUMBER, "Cost of the best plan.")
    seconds: float | None = declare(Kind.SECONDS, "Wall-clock time of the whole process.")
    peak_memory_mb: float | None = declare(Kind.NUMBER, "Peak resident memory in MiB.")
    limits: Limits = declare(Kind.LIMITS, "Limits of the trial.", default=Limits())
    device: str = declare(Kind.TEXT, "cpu or cuda.", default="")
    threads: int | None = declare(Kind.COUNT, "Threads of the process; null for one per core.")
    seed: int | None = declare(Kind.COUNT, "Seed of the yardsticks.")
    plan_file: str | None = declare(Kind.TEXT, "The best plan, relative to the record file.")
    versions: Mapping[str, str | None] | None = declare(Kind.VERSIONS, "Versions of Saltus, Python and PyTorch.")
    started: str = declare(Kind.TEXT, "Start of the trial (UTC).", default="")
    host: str = declare(Kind.TEXT, "Name of the machine.", default="")
    file: str = field(default="", compare=False)
    """File that the record was read from; not stored."""
    line: int = field(default=0, compare=False)
    """Its line there; not stored."""

    @property
    def key(self) -> Key:
        """What identifies the trial."""
        return self.configuration, self.domain, self.split, self.problem

    @property
    def name(self) -> Problem:
        """Domain, split and name of the problem."""
        return self.domain, self.split, self.problem

    @property
    def place(self) -> str:
        """File and line that the record was read from."""
        return f"{self.file}:{self.line}"

    @property
    def solved(self) -> bool:
        """Whether there is a validated plan."""
        return isinstance(self.outcome, Outcome) and self.outcome.is_solved

    @property
    def by_search(self) -> bool:
        """Whether it took more than the greedy rollout to find the plan: a search, or the policy goal by goal."""
        return self.found_by in (DRAWN, SEARCH, GOAL_SEARCH, RELAXED_SEARCH, GOAL_BY_GOAL)

    @property
    def unexplained(self) -> bool:
        """Whether someone must look at the record: an error, an unknown outcome, or a plan without a length."""
        if self.solved:
            return self.plan_length is None
        return not (isinstance(self.outcome, Outcome) and self.outcome.is_failure)

    @property
    def saltus_version(self) -> str:
        """Version of Saltus that wrote the record; empty if that is unknown."""
        found = (self.versions or {}).get("saltus")
        return found if isinstance(found, str) else ""

    def to_json(self) -> dict[str, Any]:
        """The record as plain values."""
        values = {name: getattr(self, name) for name in STORED}
        limits = {name: getattr(self.limits, name) for name in ("seconds", "memory_mb", "max_jumps")}
        return {"format": FORMAT, "version": VERSION, **values, "limits": limits}


STORED = {name: entry for name, entry in declarations(Record).items() if name not in FIGURES} | FIGURES
"""All declared fields by name, in the order in which they are written: figures last."""


def make_record(
    job: PlanJob,
    result: PlanResult,
    *,
    problem: Problem,
    configuration: str,
    protocol: str,
    plan_file: str | None,
    started: str,
    method: str = "",
) -> Record:
    """The record of a job that has ended; `method` takes the place of that of the policy."""
    domain, split, name = problem
    return Record(
        domain=domain,
        split=split,
        problem=name,
        objects=result.objects,
        policy=job.policy_label(result),
        method=method or result.method or job.method(),
        configuration=configuration,
        protocol=protocol,
        search=job.search,
        improve=job.improve,
        outcome=result.outcome,
        detail=" ".join(result.detail.split()),
        exit_code=result.exit_code,
        plan_length=len(result.plan) if result.plan is not None else None,
        plan_cost=result.cost,
        seconds=round(result.seconds, 4),
        peak_memory_mb=None if result.peak_memory_mb is None else round(result.peak_memory_mb, 1),
        limits=job.limits,
        device=result.device or job.device,
        threads=job.threads,
        seed=job.seed,
        plan_file=plan_file,
        versions=versions(),
        started=started,
        host=platform.node(),
        **result.figures.to_json(),
    )


def versions() -> dict[str, str | None]:
    """Versions of the programs that compute."""
    found: dict[str, str | None] = {"saltus": version("saltus"), "python": platform.python_version()}
    try:
        found["torch"] = version("torch")
    except PackageNotFoundError:
        found["torch"] = None
    return found


def parse_record(line: bytes, file: str, number: int) -> Record:
    """The record of a line; another format or a later version is an `InputError`, anything else a `DamageError`."""
    try:
        values = parse_object(line)
    except json.JSONDecodeError as error:
        raise DamageError(f"not JSON: {error.msg}", error.colno) from None
    except ValueError as error:  # not text, a number of thousands of digits, …
        raise DamageError(str(error)) from None
    position = Position(file, number, 1)
    if values.get("format") != FORMAT:
        found = shorten(repr(values["format"])) if "format" in values else "missing"
        raise InputError(f"not a record: format is {found}, expected {FORMAT!r}", position)
    stored = values.get("version")
    if type(stored) is not int or stored < 1:
        raise DamageError(f"version is {shorten(repr(stored))}, expected a whole number")
    if stored != VERSION:
        raise InputError(f"record of version {shorten(str(stored))}, this program reads version {VERSION}", position)
    return Record(**_checked(values), file=file, line=number)


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the declared fields; one that is not of its kind, or a required one that is missing, is damage."""
    checked: dict[str, Any] = {}
    for name, entry in STORED.items():
        value = values.get(name)
        if value is None:
            if entry.required:
                raise DamageError(f"{name} is missing")
        elif not entry.kind.accepts(value):
            raise DamageError(f"{name} is {shorten(repr(value))}, expected {entry.kind.value}")
        else:
            try:
                checked[name] = entry.kind.read(value)
            except (ConfigurationError, TypeError) as error:
                raise DamageError(f"{name} is {shorten(repr(value))}: {error}") from None
    return checked
