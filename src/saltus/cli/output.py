"""Command line: where text goes. Results to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

Entry = TypeVar("Entry")

FILE_WIDTH = 200
"""Columns of a table that does not go to a terminal."""


class TextFile(Protocol):
    """Something to write text to."""

    def write(self, text: str, /) -> object: ...


class _Console(Console):
    """A console that leaves it to the command what happens when the reader of its output goes away."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console() -> Console:
    """Console for results; made when needed, so that a redirected stream is seen, which takes wide tables."""
    result = _Console(highlight=False, markup=False)
    return result if result.is_terminal else _Console(highlight=False, markup=False, width=FILE_WIDTH)


def error_console() -> Console:
    """Console for messages and progress."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def error(message: str) -> None:
    """One line that says what went wrong."""
    _complain(f"saltus: error: {message}")


def warning(message: str) -> None:
    """One line about something odd that did not stop the work."""
    _complain(f"saltus: warning: {message}")


def note(message: str) -> None:
    """One line of progress."""
    _complain(message)


def _complain(line: str) -> None:
    with contextlib.suppress(OSError):  # nobody is left to be told
        print(line, file=sys.stderr)


def print_json(value: object) -> None:
    """The value as JSON on standard output."""
    print(json.dumps(value, indent=2))


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, left: int = 1, last_left: bool = False
) -> Table:
    """A table whose first `left` columns, and with `last_left` the last one, are text and whose others are figures."""
    result = Table(title=Text(title), title_justify="left", header_style="bold")
    for i, column in enumerate(columns):
        text = i < left or (last_left and i == len(columns) - 1)
        result.add_column(column, justify="left" if text else "right", overflow="fold")
    for row in rows:
        result.add_row(*(Text(f"{cell:,}" if isinstance(cell, int) else str(cell)) for cell in row))
    return result


def progress(entries: Sequence[Entry], description: str) -> Iterator[Entry]:
    """The entries with a progress bar on standard error, if that is a terminal."""
    terminal = error_console()
    yield from track(
        entries, description=description, console=terminal, transient=True, disable=not terminal.is_terminal
    )
