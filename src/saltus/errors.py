"""Exceptions of the library: everything it raises on purpose derives from `SaltusError`.

Only the command line turns them into messages and exit codes (`policy/outcome.py` says which).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class SaltusError(Exception):
    """Base class of all errors that the library raises on purpose."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text file; lines and columns are counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class ConfigurationError(SaltusError):
    """An invalid value; the message names the option or field."""


class InputError(SaltusError):
    """Input that is unreadable or meaningless; `position` says where.

    The message reads "FILE:LINE:COLUMN: MESSAGE: expected EXPECTED, found FOUND".
    """

    def __init__(
        self, message: str, position: Position | None = None, *, found: str | None = None, expected: str | None = None
    ) -> None:
        self.position = position
        text = message if position is None else f"{position}: {message}"
        details = [f"expected {expected}"] if expected is not None else []
        if found is not None:
            details.append(f"found {shorten(found)!r}")
        super().__init__(f"{text}: {', '.join(details)}" if details else text)


class PddlError(InputError):
    """Malformed or meaningless PDDL."""


class UnsupportedError(InputError):
    """Well-formed PDDL outside the supported language; its message says what."""

    def __init__(self, feature: str, position: Position | None = None) -> None:
        super().__init__(f"{feature} is not supported", position)


class PlanError(InputError):
    """A plan file that cannot be read."""


class PolicyError(InputError):
    """A policy that cannot be read or found."""


class NoPolicyError(PolicyError):
    """None of the available policies was trained on the domain."""


class WrongPolicyError(PolicyError):
    """A policy that was trained on another domain."""


def shorten(text: str, limit: int = 40) -> str:
    """`text` cut to `limit` characters; a cut text ends in an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


_UNUSUAL = re.compile(r"[^ -~\n\t]")
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of characters that control a terminal, change the direction of text, or cannot be encoded."""


def printable(text: str) -> str:
    """`text` as a terminal may show it: control characters other than newline and tab are written as `\\x1b`."""
    return _UNUSUAL.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    character = found[0]
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def plural(count: int, word: str) -> str:
    """`1 problem`, `1,234 problems`, `2 policies`."""
    if count != 1:
        word = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return f"{count:,} {word}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` if a known name is close to `name`, otherwise the empty string."""
    if len(name) >= 100:
        return ""
    # a message about one of millions of objects must not take a minute
    similar = islice((entry for entry in known if abs(len(entry) - len(name)) <= 3), 100_000)
    close = get_close_matches(name, list(similar), n=1, cutoff=0.7)
    return f"; did you mean {str(close[0])!r}?" if close else ""
