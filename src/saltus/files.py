"""Files: written whole or not at all, locked against a second writer, read line by line.

A reader never sees half a file, and a full disk loses nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from saltus.errors import InputError, shorten


class WriteError(InputError):
    """A file that cannot be written."""


def write_whole(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Writes a file under another name, makes sure that it is on the disk, and renames it."""
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        reason = error.strerror if isinstance(error, OSError) else None
        raise WriteError(f"{target}: cannot be written: {reason or error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise WriteError(f"{target}: cannot be written: {error.strerror or error}") from error
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def lock(descriptor: int) -> bool:
    """Whether the open file or folder is now locked for this process; False if another process has locked it.

    The lock lasts until the descriptor is closed, at the latest with the process. A file system without locks raises
    an `OSError`.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def read_lines(name: str) -> Iterator[bytes]:
    """Lines of a file without their ends; a file that cannot be read is an `InputError`."""
    try:
        with open(name, "rb") as file:
            for line in file:
                yield line.rstrip(b"\r\n")
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from error


def parse_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; a `ValueError` says what is wrong, a `JSONDecodeError` also where."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 (byte {error.start + 1} of the line)") from None
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("too deeply nested") from None
    if not isinstance(value, dict):
        raise ValueError(f"not a JSON object: {shorten(text)!r}")
    return value
