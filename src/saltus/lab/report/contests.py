"""Stage `lab.report`: what contests chose, from the folders that `saltus train` writes.

A contest is a folder with `contest.json`. Only what is shown is read from it: the report works without PyTorch, which
the stage that holds contests needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from saltus.errors import InputError, plural
from saltus.files import SETTINGS_BYTES, parse_object, read_whole
from saltus.lab.report.runs import files_below
from saltus.lab.report.tables import NOTHING, Cell, Column, Row, Table

FILE = "contest.json"
COLUMNS = ("domain", "contest", "chosen", "chosen by", "next", "tried", "used", "ended by")
"""What is shown: how the chosen policy did, in the final or in a validation, and the next best with how that did."""

Result = tuple[str, ...]
"""How a contest went: a text per column, empty as long as there is nothing to say."""


def read_contests(folders: Iterable[str | Path]) -> tuple[list[Result], list[str]]:
    """The contests in some folders and below, by domain, and warnings about those that cannot be read."""
    found: dict[Path, Path] = {}
    for folder in folders:
        for path in files_below(folder, FILE):
            found.setdefault(path.resolve(), path)
    contests: list[Result] = []
    warnings: list[str] = []
    for path in found.values():
        try:
            contests.append(_read(path))
        except InputError as error:
            warnings.append(f"contest ignored: {error}")
    return sorted(contests), warnings


def _read(path: Path) -> Result:
    try:
        values = parse_object(read_whole(path, SETTINGS_BYTES))
        budget = values["budget"]
        first, _, second = str(values["reason"]).partition("; next: ")
        rounds, candidates = (len(_listed(values, name)) for name in ("rounds", "candidates"))
        return (
            Path(str(values["problems"])).name,
            str(path.parent),
            str(values["winner"]),
            first.partition(": ")[2],
            second,
            f"{plural(rounds, 'round')} of {plural(candidates, 'run')}",
            f"{float(values['used']):,.0f} of {float(budget['amount']):,.0f} s",
            str(values["ended_by"]) or "goes on",
        )
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path}: damaged: {reason}") from error


def _listed(values: dict[str, Any], name: str) -> list[Any]:
    entries = values[name]
    if not isinstance(entries, list):
        raise TypeError(f"{name} is no list")
    return entries


def contest_table(contests: Iterable[Result]) -> Table | None:
    """What every contest chose, and the next best; None if there are none."""
    rows = tuple(Row(tuple(Cell(text or NOTHING) for text in entry)) for entry in contests)
    return Table("contests", "Contests", tuple(Column(name, text=True) for name in COLUMNS), rows) if rows else None
