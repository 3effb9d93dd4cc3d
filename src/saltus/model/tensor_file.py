"""Stage `model`: safetensors files, checked before anything in them is believed.

A file starts with eight bytes, the length of the header; then come the header, a JSON object, and the tensors. The
header names every tensor with type, shape and place, and holds texts as metadata. It is read here, without PyTorch and
without memory for the tensors: what a header claims is compared with the size of the file first. Anything wrong is a
`DamageError`. Only plain files are read: a pipe or a device would never end.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from typing import IO, Any

from saltus.errors import shorten

METADATA = "__metadata__"

ITEM_BYTES = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "I32": 4, "I64": 8, "BF16": 2, "F16": 2, "F32": 4, "F64": 8}
"""Bytes per number, by type."""


class DamageError(ValueError):
    """What is wrong with a file; the message does not name it."""


@dataclass(frozen=True)
class TensorEntry:
    """What a header says about a tensor."""

    kind: str
    """Type of the numbers, a key of `ITEM_BYTES`."""
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.kind} {list(self.shape)}"


@dataclass(frozen=True)
class Header:
    """The header of a file."""

    metadata: Mapping[str, str]
    tensors: Mapping[str, TensorEntry]
    size: int
    """Size of the whole file in bytes."""


def open_plain(path: str | os.PathLike[str]) -> BufferedReader:
    """A plain file, opened for reading; anything else is a `DamageError`, and a pipe is not waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DamageError("not a plain file")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_header(file: IO[bytes], most: int = 16 << 20) -> Header:
    """The header of an open file, which is left at the first byte after it; those of policies have a few thousand."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > size - 8:
        raise DamageError(f"the file has {size:,} bytes, fewer than its header")
    if length > most:
        raise DamageError(f"the header has {length:,} bytes, expected at most {most:,}")
    entries = parse_json(file.read(length))
    metadata = entries.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise DamageError("the metadata is not an object of texts")
    places: list[tuple[int, int]] = []
    tensors = {name: _entry(name, values, places) for name, values in entries.items()}
    end = 0
    for first, last in sorted(places):
        if first != end:
            raise DamageError("the tensors overlap, or there are gaps between them")
        end = last
    if 8 + length + end != size:
        raise DamageError(f"the file has {size:,} bytes, expected {8 + length + end:,}")
    return Header(metadata, tensors, size)


def _entry(name: str, values: Any, places: list[tuple[int, int]]) -> TensorEntry:
    """Entry of a tensor; its place is added to `places`."""
    match values:
        case {"dtype": str(kind), "shape": [*shape], "data_offsets": [int(first), int(last)]} if kind in ITEM_BYTES:
            is_shape = all(type(length) is int and 0 <= length < 1 << 62 for length in shape)
            if is_shape and 0 <= first <= last and math.prod(shape) * ITEM_BYTES[kind] == last - first:
                places.append((first, last))
                return TensorEntry(kind, tuple(shape))
    raise DamageError(f"the header's entry of tensor {shorten(name)!r} is wrong")


def parse_json(text: bytes | str) -> dict[str, Any]:
    """The JSON object of a text; keys given twice, texts that are no Unicode and deep nesting are refused."""
    try:
        value = json.loads(text.decode("utf-8") if isinstance(text, bytes) else text, object_pairs_hook=_distinct)
    except UnicodeDecodeError as error:
        raise DamageError(f"not UTF-8 (byte {error.start + 1})") from None
    except RecursionError:
        raise DamageError("too deeply nested") from None
    except DamageError:
        raise
    except ValueError as error:  # not JSON, or a number of thousands of digits
        raise DamageError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise DamageError(f"expected a JSON object, found {kind_of(value)}")
    _check_values(value)
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Values by key; a key given twice is refused."""
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise DamageError(f"key {shorten(key)!r} is given twice")
            seen.add(key)
    return values


def _check_values(value: Any, depth: int = 0) -> None:
    """Refuses deep nesting, and texts with half of a surrogate pair, which nothing can print."""
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise DamageError("a text is not Unicode: it has half of a surrogate pair")
        return
    if not isinstance(value, dict | list):
        return
    if depth >= 32:
        raise DamageError("nested more than 32 deep")
    for entry in [*value, *value.values()] if isinstance(value, dict) else value:
        _check_values(entry, depth + 1)


def kind_of(value: Any) -> str:
    """A plain value in a few words, for messages."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return shorten(json.dumps(value))
