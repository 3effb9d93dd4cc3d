"""Stage `pddl`, part 1: a named text, split into tokens by the kernel.

Takes a file or a string; gives a `Source`. Positions are byte offsets everywhere; lines and columns are computed only
for error messages. Cost: one read of the file and 8 bytes per token (by design at most 20 times the file's size).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from saltus import _kernel
from saltus.errors import InputError, PddlError, Position
from saltus.files import PDDL_BYTES, read_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_NESTING = 200
"""Deepest nesting of parentheses, and of types; real domains come nowhere near it, and deeper text is garbage or an
attack."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

CLOSE = -1
"""Token of a closing parenthesis; "(" is ~(index of its closing parenthesis), a name is its symbol number."""

SCAN_ERRORS = {
    1: ("empty file", "'(define …)'"),
    2: ("illegal character", "a name or a parenthesis"),
    3: ("extra closing parenthesis", "the end of the file"),
    4: ("parenthesis is never closed", "')' before the end of the file"),
    5: ("text outside the definition", "'(define …)'"),
    6: ("second expression after the definition", "the end of the file"),
    7: (f"parentheses nested more than {MAX_NESTING} deep", "a PDDL definition"),
}


class Scanner(Protocol):
    """Signature shared by the kernel's `scan` and its twin in `tests/twins/reader.py`."""

    def __call__(
        self, text: bytes, max_nesting: int
    ) -> tuple[NDArray[np.int32], NDArray[np.uint32], list[str], int, int]: ...


@dataclass(frozen=True, eq=False)
class Source:
    """Tokens of one text: `token[i]` as described at `CLOSE`, its byte offset `offset[i]`, and the distinct names.

    Some flaws that other planners accept are warnings; if the source is `strict`, they are errors.
    """

    name: str
    text: bytes = field(repr=False)
    token: NDArray[np.int32] = field(repr=False)
    offset: NDArray[np.uint32] = field(repr=False)
    symbols: list[str] = field(repr=False)
    strict: bool = False
    warnings: list[str] = field(default_factory=list, repr=False)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], name: str | None = None, *, strict: bool = False) -> Source:
        """Tokens of a file, whose name in messages may be another; one that cannot be read raises an `InputError`."""
        return cls.from_bytes(read_whole(path, PDDL_BYTES), name or os.fspath(path), strict=strict)

    @classmethod
    def from_bytes(
        cls, text: bytes, name: str = "<text>", scan: Scanner = _kernel.scan, *, strict: bool = False
    ) -> Source:
        """Tokens of `text`; unbalanced parentheses, illegal characters and the like raise a `PddlError`."""
        most = 2**31 - 1  # whatever the limit on files is: offsets have 32 bits
        if len(text) > most:
            raise InputError(f"{name}: text of {len(text):,} bytes is too large (limit {most:,})")
        token, offset, symbols, code, where = scan(text, MAX_NESTING)
        if code:
            message, expected = SCAN_ERRORS[code]
            found = excerpt(text, where) if code != 1 else None
            raise PddlError(message, position_of(text, where, name), found=found, expected=expected)
        return cls(name, text, token, offset, symbols, strict)

    def warn(self, offset: int, message: str) -> None:
        """Notes a flaw that can be mended; a strict source raises a `PddlError` instead."""
        if self.strict:
            raise PddlError(message, self.position(offset))
        if len(self.warnings) < 10:
            self.warnings.append(f"{self.position(offset)}: {message}")
        elif len(self.warnings) == 10:
            self.warnings.append(f"{self.name}: more flaws, not listed")

    @cached_property
    def glued(self) -> dict[int, tuple[str, ...]]:
        """Words with a variable attached, such as `p?x`, by symbol number, split before each question mark."""
        if b"?" not in self.text:
            return {}
        inner = ((i, name) for i, name in enumerate(self.symbols) if "?" in name[1:])
        return {i: tuple(re.split(r"(?<=.)(?=\?)", name)) for i, name in inner}

    def position(self, offset: int) -> Position:
        """Line and column of a byte offset."""
        return position_of(self.text, offset, self.name)

    def excerpt(self, offset: int) -> str:
        """The word, or the beginning of the list, at a byte offset."""
        return excerpt(self.text, offset)


def position_of(text: bytes, offset: int, name: str) -> Position:
    """Line and column of a byte offset in `text`, counted from 1; a byte order mark takes no column."""
    line = text.count(b"\n", 0, offset) + 1
    start = text.rfind(b"\n", 0, offset) + 1
    if start == 0 and offset >= len(BYTE_ORDER_MARK) and text.startswith(BYTE_ORDER_MARK):
        start = len(BYTE_ORDER_MARK)
    return Position(name, line, offset - start + 1)


def excerpt(text: bytes, offset: int) -> str:
    """The text at `offset` as an error message quotes it: one word, or the first words of a list."""
    piece = text[offset : offset + 60].split(b"\n")[0].decode("utf-8", "replace")
    if piece.startswith("("):
        depth = 0
        for i, character in enumerate(piece):
            depth += (character == "(") - (character == ")")
            if depth == 0:
                return piece[: i + 1]
        return piece.rstrip() + "…"
    word = ""
    for character in piece:
        if word and (character.isspace() or character in "();"):
            break
        word += character
    return word
