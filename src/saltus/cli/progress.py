"""Progress in a terminal: one line that also fits into a narrow one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from saltus.cli import output
from saltus.errors import shorten

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn

WIDE = 100
"""Columns from which on a terminal has room for a bar and long names."""

SEPARATOR = " · "


def is_wide(terminal: Console) -> bool:
    """Whether a terminal has room for a bar and long names."""
    return terminal.width >= WIDE


def columns(terminal: Console) -> list[ProgressColumn]:
    """What a line of progress shows; it fits into 60 columns, and wide terminals get a bar.

    The task's field `text` should be short in a narrow terminal: other columns give way to it.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Column

    name = Column(no_wrap=True, overflow="ellipsis", max_width=30 if is_wide(terminal) else 12)
    return [
        output.text_column("{task.description}", table_column=name),
        *([BarColumn(bar_width=20)] if is_wide(terminal) else []),
        MofNCompleteColumn(),
        output.text_column("{task.fields[text]}", table_column=Column(no_wrap=True)),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
    ]


def running_text(names: Sequence[str], width: int, room: int) -> str:
    """What is running, in `room` columns of a terminal that is just wide; empty in a narrow one, or for nothing."""
    if not names or width < WIDE:
        return ""
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return shorten(f"running {', '.join(names[:2])}{more}", width - WIDE + room)


def fitting(parts: Iterable[str], width: int) -> str:
    """The parts in one line, the most important first; those for which there is no room are left out."""
    line = ""
    for part in parts:
        longer = f"{line}{SEPARATOR}{part}" if line else part
        if len(longer) <= width or not line:
            line = longer
    return line
