"""Twin of the kernel's reader: the same signatures and results in plain Python, ten times slower.

It specifies what the kernel does; property tests compare the two on random texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACE = b" \t\n\r\f\v"
FOREIGN = b"\"'`,\\{}"


def scan(text: bytes, max_nesting: int) -> tuple[NDArray[np.int32], NDArray[np.uint32], list[str], int, int]:
    """Tokens, offsets, symbols, error code, error offset; names are interned in lower case, "(" points to its ")"."""
    token: list[int] = []
    offset: list[int] = []
    symbols: dict[str, int] = {}
    opened: list[int] = []

    def failed(code: int, where: int) -> tuple[NDArray[np.int32], NDArray[np.uint32], list[str], int, int]:
        return np.zeros(0, np.int32), np.zeros(0, np.uint32), [], code, where

    i = 3 if text.startswith(b"\xef\xbb\xbf") else 0
    while i < len(text):
        character = text[i]
        if character in SPACE:
            i += 1
        elif character == ord(";"):
            end = text.find(b"\n", i)
            i = end if end >= 0 else len(text)
        elif character == ord("("):
            if not opened and token:
                return failed(6, i)
            if len(opened) >= max_nesting:
                return failed(7, i)
            opened.append(len(token))
            token.append(0)
            offset.append(i)
            i += 1
        elif character == ord(")"):
            if not opened:
                return failed(3, i)
            token[opened.pop()] = ~len(token)
            token.append(-1)
            offset.append(i)
            i += 1
        elif is_name(character):
            if not opened:
                return failed(5, i)
            end = i
            while end < len(text) and is_name(text[end]):
                end += 1
            token.append(symbols.setdefault(text[i:end].decode("ascii").lower(), len(symbols)))
            offset.append(i)
            i = end
        else:
            return failed(2, i)
    if opened:
        return failed(4, offset[opened[-1]])
    if not token:
        return failed(1, 0)
    return np.array(token, np.int32), np.array(offset, np.uint32), list(symbols), 0, 0


def is_name(character: int) -> bool:
    """Whether a byte can be part of a name."""
    return 32 < character < 127 and character not in b"();" and character not in FOREIGN


def read_atoms(
    token: NDArray[np.int32],
    begin: int,
    end: int,
    predicate_of_symbol: NDArray[np.int32],
    object_of_symbol: NDArray[np.int32],
    arity: NDArray[np.int32],
    first_slot: NDArray[np.int32],
    allowed: NDArray[np.uint8],
    object_type: NDArray[np.int32],
    types: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], int]:
    """Predicates, arguments, special entries, repeated entries, and the first refused entry (-1 if there is none)."""
    atoms: dict[tuple[int, ...], None] = {}
    special: list[int] = []
    duplicate: list[int] = []
    refused = -1
    i = begin
    while i < end:
        stop = ~int(token[i])
        if token[i] >= -1 or token[i + 1] < 0:
            refused = i
            break
        predicate = int(predicate_of_symbol[token[i + 1]])
        if predicate == -2:
            special.append(i)
            i = stop + 1
            continue
        symbols = [int(symbol) for symbol in token[i + 2 : stop]]
        if predicate < 0 or min(symbols, default=0) < 0 or len(symbols) != arity[predicate]:
            refused = i
            break
        objects = [int(object_of_symbol[symbol]) for symbol in symbols]
        slots = range(int(first_slot[predicate]), int(first_slot[predicate]) + len(objects))
        if min(objects, default=0) < 0 or not all(
            allowed[slot * types + object_type[entry]] for slot, entry in zip(slots, objects, strict=True)
        ):
            refused = i
            break
        atom = (predicate, *objects)
        if atom in atoms:
            duplicate.append(i)
        atoms[atom] = None
        i = stop + 1
    return (
        np.array([atom[0] for atom in atoms], np.int32),
        np.array([entry for atom in atoms for entry in atom[1:]], np.int32),
        np.array(special, np.int32),
        np.array(duplicate, np.int32),
        refused,
    )
