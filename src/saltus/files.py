"""Files: reading within a limit, and writing whole or not at all.

Reading: no file, pipe or device makes the program read without end. Every reader names the limit of its kind of file;
`saltus --max-file-size`, or the environment variable `SALTUS_MAX_FILE_SIZE`, sets another one for all kinds. A pipe or
a large file that begins like a binary file is refused after its first block. Standard input is read as a pipe is.

Writing: what is at the path decides, and it is decided here alone.

    nothing, a plain file       a new file takes its place at once: readers see the old or the new one, never half
    a symbolic link             the same for the file that it points to; the link stays
    a device, a FIFO, a socket  it is opened and written to; it is never removed or replaced
    /dev/stdout, /dev/fd/N      the open file of this process is written to
    a folder                    an error

A file that is replaced hands its permissions, and where possible its owner, to the new one; a new file gets those that
the umask leaves.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import secrets
import select
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from saltus.errors import InputError, shorten

MIB = 2**20

PDDL_BYTES = 1024 * MIB
"""Most bytes of a domain or problem file."""
PLAN_BYTES = 64 * MIB
"""Most bytes of a plan file."""
RECORD_BYTES = 256 * MIB
"""Most bytes of a record file or a training log."""
SETTINGS_BYTES = 16 * MIB
"""Most bytes of a configuration."""

SIZE_VARIABLE = "SALTUS_MAX_FILE_SIZE"
SIZE_UNITS = {"": 1, "k": 2**10, "m": MIB, "g": 1024 * MIB}

BLOCK = 2**16
"""Bytes read at once."""

STANDARD_INPUT = "<standard input>"
"""Name of standard input in messages."""

FIFO_SECONDS = 5.0
"""How long a FIFO may have no process at its other end."""


class WriteError(InputError):
    """A file that cannot be written."""


# -- reading ---------------------------------------------------------------------------------------------------------


def size_limit(default: int) -> int:
    """Most bytes of a file: what `SALTUS_MAX_FILE_SIZE` says, else the default."""
    text = os.environ.get(SIZE_VARIABLE, "")
    return parse_size(text, SIZE_VARIABLE) if text else default


def parse_size(text: str, name: str) -> int:
    """Bytes of a size such as 500000, 64M or 2G; `name` is what an error calls it."""
    found = re.fullmatch(r"([0-9]{1,15})([kmg]?)", text.strip().lower())
    if found is None or int(found[1]) == 0:
        raise InputError(f"{name} is {shorten(text)!r}, expected a number of bytes, optionally with suffix K, M or G")
    return int(found[1]) * SIZE_UNITS[found[2]]


def format_size(count: int) -> str:
    """`1 GiB`, `64 MiB`, `1,000 bytes`: the largest unit that leaves a whole number."""
    for unit, name in ((1024 * MIB, "GiB"), (MIB, "MiB"), (2**10, "KiB")):
        if count and count % unit == 0:
            return f"{count // unit:,} {name}"
    return f"{count:,} bytes"


def read_whole(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a text file; more than `most` of them, or a binary file, is an `InputError`."""
    return b"".join(read_blocks(path, most, at_once=True))


def read_blocks(path: str | os.PathLike[str], most: int, *, at_once: bool = False) -> Iterator[bytes]:
    """The bytes of a text file in blocks, as `read_whole` reads them; with `at_once`, a plain file is one block."""
    yield from _blocks(lambda: _open_to_read(path), os.fspath(path), size_limit(most), at_once=at_once)


def read_standard_input(most: int) -> bytes:
    """The bytes of standard input, to its end, under the conditions of `read_whole`."""
    return b"".join(_blocks(lambda: (os.dup(0), b""), STANDARD_INPUT, size_limit(most), at_once=False))


def _blocks(open_file: Callable[[], tuple[int, bytes]], name: str, limit: int, *, at_once: bool) -> Iterator[bytes]:
    """The blocks of a file that is opened, of which the first one may have been read then, and closed afterwards."""
    try:
        descriptor, block = open_file()
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # no file can have such a name
        raise InputError(f"{name!r}: cannot be read: {error}") from error
    try:
        status = os.fstat(descriptor)
        plain_size = status.st_size if stat.S_ISREG(status.st_mode) else None
        if plain_size is not None and plain_size > limit:
            raise too_large(name, limit)
        step = max(BLOCK, plain_size + 1) if at_once and plain_size is not None else BLOCK
        block = block or os.read(descriptor, step)
        # A small binary file is left to its reader, which says what is wrong with it and where.
        null = block.find(0, 0, BLOCK)
        if null >= 0 and (plain_size is None or plain_size > BLOCK):
            raise InputError(f"{name}: not a text file: byte {null + 1} is a null byte")
        count = 0
        while block:
            count += len(block)
            if count > limit:
                raise too_large(name, limit)
            yield block
            block = os.read(descriptor, step)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from error
    finally:
        os.close(descriptor)


def read_lines(path: str | os.PathLike[str], most: int = RECORD_BYTES) -> Iterator[bytes]:
    """Lines of a text file without their ends, under the conditions of `read_whole`."""
    rest: list[bytes] = []
    for block in read_blocks(path, most):
        *lines, last = block.split(b"\n")
        if lines:
            yield b"".join((*rest, lines[0])).rstrip(b"\r")
            yield from (line.rstrip(b"\r") for line in lines[1:])
            rest = []
        rest.append(last)
    if last := b"".join(rest):
        yield last.rstrip(b"\r")


def too_large(name: str, limit: int) -> InputError:
    """The error about a file that is larger than its limit."""
    return InputError(f"{name}: larger than {format_size(limit)}; 'saltus --max-file-size' sets another limit")


def check_plain_file(path: str | os.PathLike[str]) -> None:
    """Raises an `OSError` for a folder, a device, a FIFO or a socket: some formats are read from plain files only."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a plain file")


def _open_to_read(path: str | os.PathLike[str]) -> tuple[int, bytes]:
    """A descriptor, and bytes already read from it; a FIFO that no process opens for writing is an `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        begun = _wait_for_writer(descriptor) if stat.S_ISFIFO(os.fstat(descriptor).st_mode) else b""
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, begun


def _wait_for_writer(descriptor: int) -> bytes:
    """The first bytes of a FIFO if there are any; a writer that is silent is left to the next read."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    until = time.monotonic() + FIFO_SECONDS
    while not poll.poll(50):  # no data, and no writer has gone
        try:
            if begun := os.read(descriptor, 1):
                return begun
        except BlockingIOError:
            return b""
        if time.monotonic() > until:
            raise OSError(errno.ETIMEDOUT, "no process writes to this FIFO")
    return b""


# -- writing ---------------------------------------------------------------------------------------------------------


def make_folder(path: Path) -> None:
    """Makes a folder and those above it, unless they exist; where that fails, a `WriteError`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {error.strerror or error}") from error


def write_whole(path: str | os.PathLike[str], content: bytes | str, *, mode: int | None = None) -> None:
    """Writes a file as the module's docstring says; `mode` is the permissions of a file that does not exist yet."""
    data = content.encode() if isinstance(content, str) else content
    try:
        if is_replaceable(path):
            _replace(os.path.realpath(path), data, mode)
        else:
            _write_to(path, data)
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        reason = error.strerror if isinstance(error, OSError) else None
        raise WriteError(f"{os.fspath(path)}: cannot be written: {reason or error}") from error


def is_replaceable(path: str | os.PathLike[str]) -> bool:
    """Whether there is nothing at a path, or a plain file, links followed; a loop of links is an `OSError`."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return True
    return stat.S_ISREG(status.st_mode) and not _descriptor_name(path)


def folder_of(path: str | os.PathLike[str]) -> Path:
    """The folder in which a file is created or replaced, links followed."""
    return Path(os.path.realpath(path)).parent


def _descriptor_name(path: str | os.PathLike[str]) -> str:
    """`/proc/self/fd/1` for `/dev/stdout` and other names of the same; empty for a path that names no open file."""
    name = os.path.abspath(path)
    for _ in range(40):  # as many links as the system follows
        name = os.path.join(os.path.realpath(os.path.dirname(name)), os.path.basename(name))
        if re.fullmatch(r"/proc/[0-9]+(/task/[0-9]+)?/fd/[0-9]+", name):
            return name
        if not os.path.islink(name):
            return ""
        name = os.path.join(os.path.dirname(name), os.readlink(name))
    return ""


def _replace(target: str, data: bytes, mode: int | None) -> None:
    """Writes a file under another name, makes sure that it is on the disk, and renames it."""
    try:
        old = os.stat(target)
    except FileNotFoundError:
        old = None
    temporary = os.path.join(os.path.dirname(target), f".saltus-{secrets.token_hex(8)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        try:
            _write_all(descriptor, data)
            if old is not None:
                with suppress(OSError):  # only root may give files away
                    os.fchown(descriptor, old.st_uid, old.st_gid)
                mode = stat.S_IMODE(old.st_mode)
            if mode is not None:
                os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _write_to(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes to a device, a FIFO or a descriptor; a folder, and a FIFO that no process reads, is an `OSError`."""
    own = re.fullmatch(rf"/proc/{os.getpid()}(?:/task/[0-9]+)?/fd/([0-9]+)", _descriptor_name(path))
    descriptor = os.dup(int(own[1])) if own else _open_to_write(path)
    try:
        _write_all(descriptor, data)
    finally:
        os.close(descriptor)


def _open_to_write(path: str | os.PathLike[str]) -> int:
    until = time.monotonic() + FIFO_SECONDS
    while True:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.ENXIO or not stat.S_ISFIFO(os.stat(path).st_mode):
                raise
            if time.monotonic() > until:
                raise OSError(errno.ENXIO, "no process reads from this FIFO") from None
            time.sleep(0.05)
        else:
            os.set_blocking(descriptor, True)
            return descriptor


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


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
