"""Files that are written whole or not at all: a reader never sees half a file, and a full disk loses nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from saltus.errors import InputError


class WriteError(InputError):
    """A file that cannot be written."""


def write_whole(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Writes a file under another name, makes sure that it is on the disk, and gives it its name."""
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
