"""Progress in a terminal: one line that also fits into a narrow one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from saltus.cli import output
from saltus.errors import shorten

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, TaskID

WIDE = 100
"""Columns from which on a terminal has room for a bar and long names."""

SEPARATOR = " · "

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Bar:
    """A line of progress that is shown."""

    terminal: Console
    progress: Progress
    task: TaskID

    @property
    def is_wide(self) -> bool:
        """Whether the terminal has room for a bar and long names."""
        return self.terminal.width >= WIDE

    def update(self, completed: int, text: str = "") -> None:
        """Shows how far it has come, and a text that should be short in a narrow terminal."""
        self.progress.update(self.task, completed=completed, text=text)

    def say(self, line: str) -> None:
        """Prints a line above it."""
        self.terminal.print(line)


@contextmanager
def bar(name: str, total: int, completed: int = 0) -> Iterator[Bar | None]:
    """A line of progress on standard error as long as the block lasts; None where that is no terminal."""
    terminal = output.error_console()
    if not terminal.is_terminal:
        yield None
        return
    from rich.progress import Progress

    with Progress(*columns(terminal), console=terminal, transient=True) as progress:
        yield Bar(terminal, progress, progress.add_task(name, total=total, completed=completed, text=""))


def each(entries: Sequence[Entry], name: str) -> Iterator[Entry]:
    """The entries one by one, with a line of progress."""
    with bar(name, len(entries)) as shown:
        for number, entry in enumerate(entries, start=1):
            yield entry
            if shown is not None:
                shown.update(number)


def columns(terminal: Console) -> list[ProgressColumn]:
    """What a line of progress shows; it fits into 60 columns, and wide terminals get a bar. Its text gives way."""
    from rich.progress import BarColumn, MofNCompleteColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Column

    is_wide = terminal.width >= WIDE
    name = Column(no_wrap=True, overflow="ellipsis", max_width=30 if is_wide else 12)
    return [
        output.text_column("{task.description}", table_column=name),
        *([BarColumn(bar_width=20)] if is_wide else []),
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
