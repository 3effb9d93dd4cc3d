"""Stage `report`: a table as plain values, which the command line prints and the page shows."""

from __future__ import annotations

from dataclasses import dataclass, field

from saltus.errors import plural as plural  # every table counts something

NOTHING = "-"
"""Where there is no figure."""


@dataclass(frozen=True)
class Column:
    """A column's head; columns of one `group` next to each other share a head above theirs."""

    name: str
    group: str = ""
    text: bool = False
    """Whether it holds words, to the left, and no figures."""
    title: str = ""


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table."""

    text: str
    title: str = ""
    """Said when the pointer rests on it."""
    share: float | None = None
    """Part of 1 that was solved, for the colour."""
    sign: str = ""
    """`better`, `worse`, `bad` or nothing."""


@dataclass(frozen=True)
class Row:
    """Cells for all columns; `level` is `whole`, `split`, `total` or nothing."""

    cells: tuple[Cell, ...]
    level: str = ""
    tried: bool = True
    """Whether it has anything of ours."""


@dataclass(frozen=True)
class Table:
    """A table with what must be said about it."""

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = field(default=())
    main: bool = True
    """Whether it is shown without being asked for."""

    def texts(self) -> list[list[str]]:
        """The texts of all rows."""
        return [[cell.text for cell in row.cells] for row in self.rows]


def figure(value: float | None, digits: int = 3) -> str:
    """A number in few digits, thousands with commas."""
    if value is None:
        return NOTHING
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}" if abs(value) >= 0.001 else f"{value:.1e}"
