"""Output of the command line: results go to standard output, everything else to standard error.

Text of files, names and plans is foreign: it may hold escape sequences or rich's markup. Nothing else prints in this
program, and everything here shows such text as it is: control characters are escaped (`errors.printable`), brackets are
brackets. JSON escapes on its own.

Rich is imported only where something is drawn: most commands print a line or two, or nothing.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltus.errors import printable
from saltus.files import write_whole

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.progress import TextColumn
    from rich.segment import Segment
    from rich.table import Column, Table
    from rich.text import Text


@functools.cache
def _console_class() -> Callable[..., Console]:
    """A console without markup that escapes control characters, and lets the command handle a closed pipe."""
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        def __init__(self, **options: Any) -> None:
            super().__init__(highlight=False, markup=False, emoji=False, **options)

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            """Segments of anything that is printed; those of rich's own that move the cursor stay as they are."""
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(printable(segment.text), segment.style)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return SafeConsole


def console() -> Console:
    """A console for results; made when needed, so that redirection is noticed. A redirected one takes wide tables."""
    result = _console_class()()
    return result if result.is_terminal else _console_class()(width=200)


def error_console() -> Console:
    """A console for messages and progress."""
    return _console_class()(stderr=True, soft_wrap=True)


def is_terminal() -> bool:
    """Whether standard error is a terminal on which lines can be drawn, without importing rich."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def draw(line: str) -> None:
    """Draws a line on standard error in place of the last one that was drawn; an empty one removes it."""
    with contextlib.suppress(OSError):
        print(f"\r\x1b[2K{printable(line)}", end="", file=sys.stderr, flush=True)


def text_column(template: str, style: str = "none", table_column: Column | None = None) -> TextColumn:
    """A column of a progress bar; what is filled in is no markup."""
    from rich.progress import TextColumn

    return TextColumn(template, style=style, markup=False, table_column=table_column)


def foreign(text: str, style: str = "") -> Text:
    """Text for tables, escaped before its width is measured."""
    from rich.text import Text

    return Text(printable(text), style=style)


def result(text: str, *, flush: bool = False) -> None:
    """Prints a result on standard output."""
    print(printable(text), flush=flush)


def write(text: str, out: Path | None) -> None:
    """Writes a result to a file, or prints it if there is none."""
    if out is None:
        sys.stdout.write(printable(text))
    else:
        write_whole(out, text.encode("utf-8", errors="backslashreplace"))


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
        print(printable(line), file=sys.stderr)


def print_json(value: object) -> None:
    """Prints a value as JSON on standard output."""
    print(json.dumps(value, indent=2))


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, left: int = 1, last_left: bool = False
) -> Table:
    """A table whose first `left` columns hold text, as does the last with `last_left`; the others hold figures."""
    from rich.table import Table

    result = Table(title=foreign(title), title_justify="left", header_style="bold")
    for i, column in enumerate(columns):
        text = i < left or (last_left and i == len(columns) - 1)
        result.add_column(column, justify="left" if text else "right", overflow="fold")
    for row in rows:
        result.add_row(*(foreign(f"{cell:,}" if isinstance(cell, int) else str(cell)) for cell in row))
    return result
