"""Stage `learn`: where a contest stands, as a file: `contest.json` in its folder.

Written after everything that changes it, so that a contest that was killed goes on where it was. How the candidates did
is in the logs of their runs; the scores here are for people to read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from saltus.errors import ConfigurationError, InputError, plural
from saltus.files import SETTINGS_BYTES, read_whole, write_whole
from saltus.learn.candidates import Candidate
from saltus.learn.config import saved_settings
from saltus.learn.final import Placing
from saltus.learn.ranking import parts_from
from saltus.model.schema import read_spec
from saltus.model.tensor_file import DamageError, parse_json

FILE = "contest.json"
VERSION = 2
"""In version 1, ways to play were runs of their own."""
SECONDS = "seconds"
"""The unit of time in the file."""
HALVING, WINNER, FINAL = "halving", "winner", "final"
KINDS = (HALVING, WINNER, FINAL)
OLDER_KINDS = {"restart": WINNER, "last": WINNER}
"""Kinds of rounds that earlier versions had, in which the winner went on, alone or beside its like with another seed;
and what they are now."""

STARTUP = 10.0
"""Seconds that a job is expected to take before it trains, until that has been measured."""

LEAST_SHARE = 1.0
"""Shortest time, in seconds, for which it is worth starting a run once more."""


@dataclass(frozen=True)
class Budget:
    """The time of a contest."""

    amount: float
    unit: str = SECONDS


def share(seconds: float, runs: int, slots: int, startup: float) -> float:
    """What each of some runs gets of the seconds for all of them, which pass for as many runs at a time as there are
    slots; every run takes some to start."""
    return max(LEAST_SHARE, seconds / math.ceil(runs / slots) - startup) if runs else 0.0


def fits(seconds: float, runs: int, slots: int, overhead: float) -> bool:
    """Whether so many seconds allow a round of so many runs, those that follow it considered, in which they train at
    least half of their time; `overhead` is what a run needs besides."""
    return seconds / parts_from(runs) / math.ceil(runs / slots) >= 2 * overhead


@dataclass
class Round:
    """Some runs that train, each up to a target."""

    kind: str
    """halving: all train, and the better half goes on; winner: the winner trains; final: policies play far larger
    problems, each in several ways, and nobody trains."""
    targets: dict[str, float]
    """What each run may have used at the end of the round, in all; by name."""
    done: list[str] = field(default_factory=list)
    """Runs that have had their share."""
    dropped: list[str] = field(default_factory=list)
    """Runs that do not go on after it."""
    scores: list[str] = field(default_factory=list)
    """How all runs of the round stood at its end, best first."""

    @property
    def title(self) -> str:
        """What happens in it, for people to read."""
        names = ", ".join(self.targets)
        return f"{plural(len(self.targets), 'candidate')}: {names}" if self.kind == HALVING else f"{names} goes on"


@dataclass
class ContestState:
    """A contest: what it was started with, and what came of it so far."""

    problems: str
    """Folder of the problems."""
    seed: int
    settings: list[str]
    budget: Budget
    candidates: list[Candidate]
    contestants: list[str]
    """Candidates that have not been dropped."""
    used: float = 0.0
    """Seconds that have been used."""
    rounds: list[Round] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    """Runs that have ended by themselves."""
    stable: list[str] = field(default_factory=list)
    """Runs that have ended because their validations are stable."""
    failed: dict[str, str] = field(default_factory=dict)
    """Runs that cannot go on, and why."""
    winner: str = ""
    reason: str = ""
    """Why the winner won; empty as long as nothing has been validated."""
    ended_by: str = ""
    """What ended the contest; empty as long as it goes on."""
    placings: list[Placing] = field(default_factory=list)
    """How policies did in the last final, best first; empty before it."""
    digest: str = ""
    """Hash of the training problems, since folders move and change."""

    def candidate(self, name: str) -> Candidate:
        """The candidate of that name."""
        return next(entry for entry in self.candidates if entry.name == name)

    def ending(self, name: str, stopped_by: str = "") -> str:
        """How the contest on the problems of that name ended, after how much."""
        why = f"stopped by {stopped_by}" if stopped_by else f"done: {self.ended_by}"
        tried = f"{plural(len(self.rounds), 'round')} of {plural(len(self.candidates), 'run')}"
        return f"{name}: {why}, after {tried} and {self.used:,.0f} s"

    def write(self, folder: Path) -> None:
        """Writes `contest.json`."""
        write_whole(folder / FILE, json.dumps({"version": VERSION, **asdict(self)}, indent=2) + "\n")

    @classmethod
    def read(cls, folder: Path) -> ContestState:
        """What `write` wrote; a missing or damaged file is an `InputError`."""
        path = folder / FILE
        if not path.exists():
            raise InputError(f"{folder}: no contest to resume: there is no {FILE}")
        try:
            values = parse_json(read_whole(path, SETTINGS_BYTES))
            version = values.pop("version", None)
            if version not in (1, VERSION):
                raise InputError(f"{path}: made by another version of the program")
            if version == 1:
                values = from_older(values)
            for entry in fields(cls):
                if entry.name not in values:
                    raise DamageError(f"{entry.name}: missing")
            state = read_spec(cls, values, "contest")
            for one in state.rounds:
                one.kind = OLDER_KINDS.get(one.kind, one.kind)
            _check(state)
            state.settings = saved_settings(state.settings)
            state.candidates = [replace(own, settings=tuple(saved_settings(own.settings))) for own in state.candidates]
        except DamageError as error:
            raise InputError(f"{path}: damaged: {error}") from error
        except ConfigurationError as error:
            raise InputError(f"{path}: {error}") from error
        return state


def from_older(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a contest of version 1, in which ways to play were runs that began with another one's policy.

    These runs are gone; where one of them was ahead, the run that it began with is.
    """
    try:
        starts = {entry["name"]: entry.get("start", "") for entry in values["candidates"]}

        def first(name: str) -> str:
            for _ in starts:  # a damaged file may go round in circles
                name = starts.get(name) or name
            return name

        def trained(names: Iterable[str]) -> list[str]:
            return [name for name in names if not starts.get(name)]

        def newer_candidate(entry: dict[str, Any]) -> dict[str, Any]:
            return {key: value for key, value in entry.items() if key != "start"}

        def newer_round(entry: dict[str, Any]) -> dict[str, Any]:
            targets = {name: amount for name, amount in entry["targets"].items() if not starts.get(name)}
            return {**entry, "targets": targets, "done": trained(entry["done"]), "dropped": trained(entry["dropped"])}

        return {
            "digest": "",
            **values,
            "candidates": [newer_candidate(entry) for entry in values["candidates"] if not starts[entry["name"]]],
            "contestants": list(dict.fromkeys(map(first, values["contestants"]))),
            "rounds": [newer_round(entry) for entry in values["rounds"] if entry["kind"] in (*KINDS, *OLDER_KINDS)],
            "finished": trained(values["finished"]),
            "stable": trained(values["stable"]),
            "failed": {name: reason for name, reason in values["failed"].items() if not starts.get(name)},
            "winner": first(values["winner"]),
            "placings": [entry for entry in values.get("placings", []) if not starts.get(entry["run"])],
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise DamageError(f"expected a contest of version 1: {error}") from None


def _check(state: ContestState) -> None:
    """Raises a `DamageError` for names that do not fit together."""
    names = {entry.name for entry in state.candidates}
    for name in names:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
            raise DamageError(f"candidates: {name!r} is no name")
    if not names or len(names) < len(state.candidates):
        raise DamageError("candidates: expected some, each with a name of its own")
    used = [state.contestants, state.finished, state.stable, state.failed, [state.winner] if state.winner else []]
    used.append([entry.run for entry in state.placings])
    used += [group for entry in state.rounds for group in (entry.targets, entry.done, entry.dropped)]
    for group in used:
        for name in group:
            if name not in names:
                raise DamageError(f"there is no candidate {name!r}")
    for entry in state.rounds:
        if entry.kind not in KINDS:
            raise DamageError(f"rounds: kind is {entry.kind!r}, expected one of {', '.join(KINDS)}")
    if state.budget.unit != SECONDS or not state.budget.amount > 0:
        raise DamageError(f"budget: expected more than 0 {SECONDS}")
