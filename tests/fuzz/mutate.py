"""Mutations of inputs: bytes, tokens, s-expressions and JSON values, all drawn from one seeded generator.

Every function takes the generator, the input and the corpus that it comes from, and returns another input. Results are
cut at `LONGEST` bytes, so that doubling what was doubled cannot run away.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

LONGEST = 1 << 16

Mutation = Callable[[random.Random, bytes, Sequence[bytes]], bytes]

TOKENS = re.compile(rb"[()\[\]{},:=\"]|[^\s()\[\]{},:=\"]+|\s+")

WORDS = [
    *(b"( ) () - ? ?x = not and or forall exists when increase total-cost :init :goal :objects either object".split()),
    *(b"define domain problem :action :parameters :precondition :effect :types :constants number imply".split()),
    *(b"0 1 -1 4.5 1e400 -1e400 nan inf NaN Infinity -Infinity null true false none [] {} '' 1e-400 2e308".split()),
    *(b"18446744073709551616 9223372036854775807 -9223372036854775809 4294967296 2147483648 00 0x10 1_000".split()),
    b"9" * 400,
    b"9" * 5000,
    b"a" * 3000,
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    "é\u2028\u202e\u0130\u017f".encode(),
    b"\x1b[31m",
    b"[/red]",
    b"\r",
    b"\n",
    b";",
    b"%s{0}",
    b"../../etc",
    b"\xed\xa0\x80",
]

EVIL: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        4.5,
        -0.0,
        1e308,
        -1e308,
        1e-320,
        2**31,
        2**32,
        2**53 + 1,
        2**63,
        2**64,
        -(2**63),
    ),
    *(float("nan"), float("inf"), float("-inf"), 10**30, -(10**30), 10**400, 50, 1000, 1001, 10**6, 10**9),
    *(
        "",
        " ",
        "a",
        "nan",
        "-1",
        "1e9",
        "\x1b[31m",
        "[/red]",
        "é\u202e",
        "\ud800",
        "\x00",
        "a" * 3000,
        "../x",
        "/dev/zero",
    ),
    *([], {}, [[]], [None], {"": None}, [0] * 100, {"a": {"b": {}}}, [[[[[[[[[[]]]]]]]]]], ["a", 1], [-1], {"kind": 1}),
]
"""Values to put in the place of others."""


def evil(rng: random.Random) -> Any:
    """A value to put in the place of another; a copy, since later mutations may change it."""
    return copy.deepcopy(rng.choice(EVIL))


def flip(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """One byte becomes another."""
    place = rng.randrange(max(1, len(text)))
    return text[:place] + bytes([rng.randrange(256)]) + text[place + 1 :]


def cut(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """The text ends early."""
    return text[: rng.randrange(len(text) + 1)]


def drop(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """A piece is missing."""
    place = rng.randrange(len(text) + 1)
    return text[:place] + text[place + rng.randrange(1, 64) :]


def repeat(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """A piece occurs several times."""
    place = rng.randrange(len(text) + 1)
    piece = text[place : place + rng.choice((1, 4, 16, 256))]
    return text[:place] + piece * rng.choice((2, 3, 50, 300)) + text[place:]


def insert(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """Random bytes, or a word, in the middle."""
    place = rng.randrange(len(text) + 1)
    piece = rng.choice(WORDS) if rng.random() < 0.7 else rng.randbytes(rng.randrange(1, 12))
    return text[:place] + piece + text[place:]


def splice(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """The beginning of one input and the end of another."""
    other = rng.choice(corpus)
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :]


def replace_token(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """A token becomes a word of the languages, or another token of the text."""
    tokens = TOKENS.findall(text) or [b" "]
    new = rng.choice(WORDS) if rng.random() < 0.6 else rng.choice(tokens)
    tokens[rng.randrange(len(tokens))] = new
    return b"".join(tokens)


def swap_tokens(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """Two tokens change places."""
    tokens = TOKENS.findall(text) or [b" "]
    one, two = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    tokens[one], tokens[two] = tokens[two], tokens[one]
    return b"".join(tokens)


def delete_tokens(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """A few tokens are missing."""
    tokens = TOKENS.findall(text) or [b" "]
    place = rng.randrange(len(tokens))
    del tokens[place : place + rng.randrange(1, 4)]
    return b"".join(tokens)


def shuffle_lines(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """Lines in another order, one of them twice."""
    lines = text.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join([*lines, rng.choice(lines)])


TEXT: tuple[Mutation, ...] = (
    flip,
    cut,
    drop,
    repeat,
    insert,
    splice,
    replace_token,
    replace_token,
    swap_tokens,
    delete_tokens,
)
"""Mutations of any text."""


# S-expressions ------------------------------------------------------------------------------------------------------


def expressions(text: bytes) -> list[tuple[int, int]]:
    """Start and end of every s-expression whose parentheses match."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    for match in re.finditer(rb"[()]", text):
        if match[0] == b"(":
            opened.append(match.start())
        elif opened:
            found.append((opened.pop(), match.end()))
    return found


def change_expression(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """An s-expression is deleted, doubled, wrapped, or replaced by another one of this or of another text."""
    own = expressions(text)
    if not own:
        return insert(rng, text, corpus)
    start, end = rng.choice(own)
    kind = rng.randrange(6)
    if kind == 0:
        new = b""
    elif kind == 1:
        new = text[start:end] * rng.choice((2, 2, 3, 40))
    elif kind == 2:
        depth = rng.choice((1, 2, 10, 100, 300))
        head = rng.choice((b"(", b"(and ", b"(not ", b"(forall (?y) ", b"(when (and) ", b"(or "))
        new = head * depth + text[start:end] + b")" * depth
    elif kind == 3:
        other = rng.choice(corpus)
        spans = expressions(other) or [(0, len(other))]
        low, high = rng.choice(spans)
        new = other[low:high]
    else:
        low, high = rng.choice(own)
        new = text[low:high]
    return text[:start] + new + text[end:]


def swap_expressions(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """Two s-expressions that do not overlap change places."""
    own = expressions(text)
    if len(own) < 2:
        return insert(rng, text, corpus)
    (a, b), (c, d) = sorted(rng.sample(own, 2))
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:] if b <= c else text


LISP: tuple[Mutation, ...] = (*TEXT, *(change_expression,) * 6, *(swap_expressions,) * 3)
"""Mutations of PDDL and plans."""


# JSON ---------------------------------------------------------------------------------------------------------------


def change_values(rng: random.Random, value: Any) -> Any:
    """The value with one to three of its parts replaced, doubled or deleted; a copy."""
    changed = json.loads(json.dumps(value))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        changed = _change_one(rng, changed)
    return changed


def _change_one(rng: random.Random, value: Any) -> Any:
    places: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        parent = waiting.pop()
        keys = (
            list(parent)
            if isinstance(parent, dict)
            else range(min(len(parent), 20))
            if isinstance(parent, list)
            else ()
        )
        for key in keys:
            places.append((parent, key))
            if isinstance(parent[key], dict | list):
                waiting.append(parent[key])
    if not places or rng.random() < 0.01:
        return evil(rng)
    parent, key = rng.choice(places)
    kind = rng.random()
    if kind < 0.75:
        old = parent[key]
        near = isinstance(old, int | float) and abs(old) < 1e300 and rng.random() < 0.3
        parent[key] = old * rng.choice((-1, 2, 1000, 0.5)) if near else evil(rng)
    elif kind < 0.85:
        del parent[key]
    elif kind < 0.95:
        other, place = rng.choice(places)
        # A copy: a part that contains itself is no JSON.
        try:
            parent[key] = json.loads(json.dumps(other[place]))
        except (KeyError, IndexError, TypeError):
            del parent[key]
    elif isinstance(parent, dict):
        parent[rng.choice(("", "x", "kind", "a" * 300, "\x1b[2J"))] = evil(rng)
    else:
        parent.extend(parent[:3])
    return value


def change_line(rng: random.Random, text: bytes, corpus: Sequence[bytes]) -> bytes:
    """A line that is a JSON object, with parts of it changed."""
    lines = text.split(b"\n")
    place = rng.randrange(len(lines))
    try:
        lines[place] = json.dumps(change_values(rng, json.loads(lines[place]))).encode()
    except (ValueError, RecursionError):
        return insert(rng, text, corpus)
    return b"\n".join(lines)


JSON_LINES: tuple[Mutation, ...] = (*TEXT, shuffle_lines, *(change_line,) * 11)
"""Mutations of files with a JSON object per line."""

TOML: tuple[Mutation, ...] = (*TEXT, shuffle_lines, *(replace_token,) * 6)
"""Mutations of configurations."""


def mutated(rng: random.Random, text: bytes, corpus: Sequence[bytes], kinds: Sequence[Mutation]) -> bytes:
    """The text after one to four mutations."""
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        text = rng.choice(kinds)(rng, text, corpus)[:LONGEST]
    return text
