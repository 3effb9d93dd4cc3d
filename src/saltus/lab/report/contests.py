"""Stage `lab.report`: what contests chose, from the folders that `saltus train` writes.

A contest is a folder with `contest.json`. Only what is shown is read from it: the report works without PyTorch, which
the stage that holds contests needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saltus.errors import InputError, plural
from saltus.files import SETTINGS_BYTES, parse_object, read_whole
from saltus.lab.report.tables import NOTHING, Cell, Column, Row, Table

FILE = "contest.json"
DEPTH = 2
"""Levels of subfolders in which contests are sought."""


@dataclass(frozen=True)
class ContestResult:
    """How a contest went."""

    path: str
    domain: str
    candidates: int
    rounds: int
    winner: str
    """Empty as long as nothing has been validated."""
    score: str
    """How the chosen policy did: in the final, or, without one, in the validation of the winner's best checkpoint."""
    runner_up: str
    """The next best policy or candidate, and how it did; empty if there is none."""
    used: str
    """Time or episodes used, of how many."""
    ended_by: str
    """Empty as long as it goes on."""


def read_contests(folders: Iterable[str | Path]) -> tuple[list[ContestResult], list[str]]:
    """The contests in some folders and below, by domain, and warnings about those that cannot be read."""
    found: dict[Path, Path] = {}
    for folder in folders:
        for depth in range(DEPTH + 1):
            for path in sorted(Path(folder).glob("/".join(["*"] * depth + [FILE]))):
                found.setdefault(path.resolve(), path)
    contests: list[ContestResult] = []
    warnings: list[str] = []
    for path in found.values():
        try:
            contests.append(_read(path))
        except InputError as error:
            warnings.append(f"contest ignored: {error}")
    return sorted(contests, key=lambda entry: (entry.domain, entry.path)), warnings


def _read(path: Path) -> ContestResult:
    try:
        values = parse_object(read_whole(path, SETTINGS_BYTES))
        budget = values["budget"]
        unit = {"seconds": "s"}.get(str(budget["unit"]), str(budget["unit"]))
        first, _, second = str(values["reason"]).partition("; next: ")
        return ContestResult(
            path=str(path.parent),
            domain=Path(str(values["problems"])).name,
            candidates=len(_listed(values, "candidates")),
            rounds=len(_listed(values, "rounds")),
            winner=str(values["winner"]),
            score=first.partition(": ")[2],
            runner_up=second,
            used=f"{float(values['used']):,.0f} of {float(budget['amount']):,.0f} {unit}",
            ended_by=str(values["ended_by"]),
        )
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path}: damaged: {reason}") from error


def _listed(values: dict[str, Any], name: str) -> list[Any]:
    entries = values[name]
    if not isinstance(entries, list):
        raise TypeError(f"{name} is no list")
    return entries


def contest_table(contests: Iterable[ContestResult]) -> Table | None:
    """What every contest chose, and the next best; None if there are none."""
    rows = [
        Row(
            tuple(
                Cell(text or NOTHING)
                for text in (
                    entry.domain,
                    entry.path,
                    entry.winner,
                    entry.score,
                    entry.runner_up,
                    f"{plural(entry.rounds, 'round')} of {plural(entry.candidates, 'run')}",
                    entry.used,
                    entry.ended_by or "goes on",
                )
            )
        )
        for entry in contests
    ]
    if not rows:
        return None
    names = ("domain", "contest", "chosen", "chosen by", "next", "tried", "used", "ended by")
    columns = tuple(Column(name, text=True) for name in names)
    return Table("contests", "Contests", columns, tuple(rows))
