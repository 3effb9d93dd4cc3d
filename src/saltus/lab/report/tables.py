"""Stage `lab.report`: a table as plain values, for the command line and the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

NOTHING = "-"
"""Text of a cell without a figure."""


@dataclass(frozen=True)
class Column:
    """The heading of a column; adjacent columns of one `group` share a heading above their own."""

    name: str
    group: str = ""
    text: bool = False
    """Whether it holds text, aligned left, rather than figures."""
    title: str = ""


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    text: str
    title: str = ""
    """Tooltip."""
    share: float | None = None
    """Share of problems solved, from 0 to 1, for the background colour."""
    sign: str = ""
    """`better`, `worse`, `bad` or empty."""


@dataclass(frozen=True)
class Row:
    """One cell per column; `level` is `whole`, `split`, `total` or empty."""

    cells: tuple[Cell, ...]
    level: str = ""
    tried: bool = True
    """Whether it has a result of ours."""


@dataclass(frozen=True)
class Table:
    """A table with its notes."""

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = field(default=())
    main: bool = True
    """Whether it is shown by default."""

    def texts(self) -> list[list[str]]:
        """The texts of all rows."""
        return [[cell.text for cell in row.cells] for row in self.rows]

    def to_json(self) -> dict[str, Any]:
        """The table as plain values."""
        return {
            "key": self.key,
            "title": self.title,
            "columns": [[column.group, column.name] if column.group else column.name for column in self.columns],
            "rows": [{"level": row.level, "cells": [cell.text for cell in row.cells]} for row in self.rows],
            "notes": list(self.notes),
        }


def figure(value: float | None, digits: int = 3) -> str:
    """A number in few digits, with commas for thousands."""
    if value is None:
        return NOTHING
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}" if abs(value) >= 0.001 else f"{value:.1e}"
