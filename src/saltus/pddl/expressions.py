"""Stage `pddl`, part 2: from tokens to nested expressions, with the small checks that every section needs.

Takes a `Source` and a token range; gives `Word` and `Group`. Used for domains and for every section of a problem except
`:init`, whose atoms stay flat (`problem.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from saltus.errors import PddlError, UnsupportedError, suggestion
from saltus.pddl.source import CLOSE, Source


@dataclass(frozen=True, slots=True)
class Word:
    """One name, in lower case, at a byte offset."""

    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class Group:
    """One parenthesised list at a byte offset."""

    items: tuple[Expression, ...]
    offset: int

    def head(self) -> str | None:
        """Text of the first word, or None."""
        return self.items[0].text if self.items and isinstance(self.items[0], Word) else None


Expression = Word | Group


def top_level(source: Source) -> list[tuple[int, int]]:
    """Token ranges [open, close] of the sections of `(define …)`; the first is the head, such as `(domain x)`."""
    token = source.token
    if len(token) < 2 or token[1] < 0 or source.symbols[token[1]] != "define":
        fail(source, int(source.offset[1 if len(token) > 1 else 0]), "not a PDDL definition", "'define'")
    sections = []
    i = 2
    while token[i] != CLOSE:
        if token[i] >= 0:
            fail(source, int(source.offset[i]), "word between sections", "a section such as '(:init …)'")
        close = ~int(token[i])
        sections.append((i, close))
        i = close + 1
    return sections


def _tokens(source: Source, begin: int, end: int, step: int = 4096) -> Iterator[tuple[int, int]]:
    """Tokens and offsets as Python numbers; converted in pieces, because all at once would take 80 bytes per token."""
    for start in range(begin, end, step):
        stop = min(start + step, end)
        yield from zip(source.token[start:stop].tolist(), source.offset[start:stop].tolist(), strict=True)


def children(source: Source, begin: int) -> Iterator[int]:
    """Token indices of the entries in the list that begins at token `begin`."""
    end = ~int(source.token[begin])
    i = begin + 1
    while i < end:
        yield i
        i = i + 1 if source.token[i] >= 0 else ~int(source.token[i]) + 1


def build(source: Source, begin: int, end: int) -> Group:
    """The nested expression from token `begin` ("(") to token `end` (its ")"); not recursive, so any depth is fine."""
    symbols = source.symbols
    glued = source.glued
    stack: list[tuple[list[Expression], int]] = []
    for token, offset in _tokens(source, begin, end + 1):
        if token >= 0:
            if glued and token in glued:
                stack[-1][0].extend(_split(source, glued[token], offset))
            else:
                stack[-1][0].append(Word(symbols[token], offset))
        elif token == CLOSE:
            items, start = stack.pop()
            group = Group(tuple(items), start)
            if not stack:
                return group
            stack[-1][0].append(group)
        else:
            stack.append(([], offset))
    raise AssertionError("unbalanced token range")


def _split(source: Source, parts: tuple[str, ...], offset: int) -> Iterator[Word]:
    source.warn(offset, f"no space before '?' in {''.join(parts)!r}")
    for part in parts:
        yield Word(part, offset)
        offset += len(part.encode())


def fail(source: Source, offset: int, message: str, expected: str | None = None, *, hint: str = "") -> NoReturn:
    """Raises a `PddlError` that quotes the text at `offset`."""
    raise PddlError(message + hint, source.position(offset), found=source.excerpt(offset), expected=expected)


def unknown(source: Source, word: Word, what: str, known: list[str]) -> NoReturn:
    """Raises a `PddlError` for an unknown name and suggests the closest known one."""
    raise PddlError(f"unknown {what} {word.text!r}{suggestion(word.text, known)}", source.position(word.offset))


def unsupported(source: Source, offset: int, feature: str) -> NoReturn:
    """Raises an `UnsupportedError` at `offset`."""
    raise UnsupportedError(feature, source.position(offset))


def as_group(source: Source, item: Expression, expected: str) -> Group:
    """`item`, which must be a list."""
    if isinstance(item, Word):
        fail(source, item.offset, "not a list", expected)
    return item


def as_word(source: Source, item: Expression, expected: str) -> Word:
    """`item`, which must be a word."""
    if isinstance(item, Group):
        fail(source, item.offset, "not a word", expected)
    return item


def name_of(source: Source, item: Expression, expected: str) -> Word:
    """`item`, which must be a plain name: no variable, no keyword, no leading hyphen (`a -t` lacks a space)."""
    word = as_word(source, item, expected)
    if word.text[0] in "?:-":
        fail(source, word.offset, "not a name", expected)
    return word


def variable_of(source: Source, item: Expression, expected: str = "a variable such as '?x'") -> Word:
    """`item`, which must be a variable."""
    word = as_word(source, item, expected)
    if word.text[0] != "?" or len(word.text) < 2:
        fail(source, word.offset, "not a variable", expected)
    return word


def words_and_types(
    source: Source, items: tuple[Expression, ...], *, variables: bool, what: str
) -> Iterator[tuple[Word, tuple[Word, ...]]]:
    """Entries of a typed list `a b - t c`: every name with the words of its type, none for an untyped name."""
    pending: list[Word] = []
    i = 0
    while i < len(items):
        item = items[i]
        if isinstance(item, Word) and item.text == "-":
            if i + 1 >= len(items):
                fail(source, item.offset, "type is missing after '-'", "a type")
            if not pending:
                source.warn(item.offset, f"type without {what} before '-'")
            types = type_words(source, items[i + 1])
            yield from ((word, types) for word in pending)
            pending = []
            i += 2
            continue
        pending.append(variable_of(source, item) if variables else name_of(source, item, what))
        i += 1
    yield from ((word, ()) for word in pending)


def type_words(source: Source, item: Expression) -> tuple[Word, ...]:
    """Words of a type: one name, or the names of `(either a b)`."""
    if isinstance(item, Word):
        return (name_of(source, item, "a type"),)
    if item.head() != "either" or len(item.items) < 2:
        fail(source, item.offset, "not a type", "a type name or '(either …)'")
    return tuple(name_of(source, word, "a type") for word in item.items[1:])
