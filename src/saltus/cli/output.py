"""Output of the command line: results go to standard output, everything else to standard error."""

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
"""Width in characters of a table that is not shown on a terminal."""


class TextFile(Protocol):
    """Anything that text can be written to."""

    def write(self, text: str, /) -> object: ...


class _Console(Console):
    """A console that lets the command handle a closed pipe."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console() -> Console:
    """A console for results; made when needed, so that redirection is noticed. A redirected one takes wide tables."""
    result = _Console(highlight=False, markup=False)
    return result if result.is_terminal else _Console(highlight=False, markup=False, width=FILE_WIDTH)


def error_console() -> Console:
    """A console for messages and progress."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def error(message: str) -> None:
    """Prints one line that says what went wrong."""
    _print_line(f"saltus: error: {message}")


def warning(message: str) -> None:
    """Prints one line about a problem that did not stop the command."""
    _print_line(f"saltus: warning: {message}")


def note(message: str) -> None:
    """Prints one line of progress."""
    _print_line(message)


def _print_line(line: str) -> None:
    with contextlib.suppress(OSError):  # standard error is closed: there is nowhere to print
        print(line, file=sys.stderr)


def print_json(value: object) -> None:
    """Prints a value as JSON on standard output."""
    print(json.dumps(value, indent=2))


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, left: int = 1, last_left: bool = False
) -> Table:
    """A table whose first `left` columns hold text, as does the last with `last_left`; the others hold figures."""
    result = Table(title=Text(title), title_justify="left", header_style="bold")
    for i, column in enumerate(columns):
        text = i < left or (last_left and i == len(columns) - 1)
        result.add_column(column, justify="left" if text else "right", overflow="fold")
    for row in rows:
        result.add_row(*(Text(f"{cell:,}" if isinstance(cell, int) else str(cell)) for cell in row))
    return result


def progress(entries: Sequence[Entry], description: str) -> Iterator[Entry]:
    """The entries one by one, with a progress bar if standard error is a terminal."""
    terminal = error_console()
    yield from track(
        entries, description=description, console=terminal, transient=True, disable=not terminal.is_terminal
    )
