"""Exceptions of the library: everything it raises on purpose derives from `SaltusError`.

Only the command line turns them into messages and exit codes (`cli/exit_codes.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class SaltusError(Exception):
    """Base of all errors the library raises on purpose."""


@dataclass(frozen=True, slots=True)
class Position:
    """Place in a text file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class InputError(SaltusError):
    """Input that cannot be read or means nothing: `position` says where, `found` and `expected` say what."""

    def __init__(
        self, message: str, position: Position | None = None, *, found: str | None = None, expected: str | None = None
    ) -> None:
        self.message = message
        self.position = position
        self.found = found
        self.expected = expected
        text = message if position is None else f"{position}: {message}"
        if found is not None:
            text += f", found {shorten(found)!r}"
        if expected is not None:
            text += f", expected {expected}"
        super().__init__(text)


class PddlError(InputError):
    """Malformed or meaningless PDDL."""


class UnsupportedError(InputError):
    """Well-formed PDDL outside of the supported language; `feature` names what is not supported."""

    def __init__(self, feature: str, position: Position | None = None) -> None:
        self.feature = feature
        super().__init__(f"{feature} is not supported", position)


class PlanError(InputError):
    """A plan file that cannot be read."""


def shorten(text: str, limit: int = 40) -> str:
    """`text` cut to `limit` characters, with an ellipsis where something is missing."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` if a known name is close to `name`, else the empty string."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.7) if len(name) < 100 else []
    return f"; did you mean {close[0]!r}?" if close else ""
