"""One input at a time: what a target does with it, how long that takes, and how much memory.

A failure is an exception that is not the library's own, a warning of numbers out of range, more than `SECONDS`, or more
memory than `FACTOR` times the input and `CONSTANT` bytes (where the system tells the peak of a moment: Linux).
"""

from __future__ import annotations

import contextlib
import os
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.targets import Feed

from saltus.errors import SaltusError

SECONDS = 10.0
FACTOR = 20
CONSTANT = 64 << 20
"""Memory that any input may take: buffers of libraries, pages that the allocator keeps."""


@dataclass(frozen=True)
class Failure:
    """What went wrong; failures of one `kind` have one cause."""

    kind: str
    detail: str


class PeakMemory:
    """The most memory that the process held since `reset`; 0 where the system does not tell."""

    def __init__(self) -> None:
        self._before = 0
        self._reset = _opened("/proc/self/clear_refs", os.O_WRONLY)
        self._status = _opened("/proc/self/status", os.O_RDONLY)

    def reset(self) -> None:
        """Forgets the peak so far."""
        if self._reset is not None:
            os.write(self._reset, b"5")
            self._before = self._peak()

    def grown(self) -> int:
        """Bytes by which the peak exceeds what was held at the reset."""
        return self._peak() - self._before if self._reset is not None else 0

    def _peak(self) -> int:
        if self._status is None:
            return 0
        text = os.pread(self._status, 8192, 0)
        start = text.index(b"VmHWM:") + 6
        return int(text[start : text.index(b"kB", start)]) * 1024


def _opened(name: str, flags: int) -> int | None:
    with contextlib.suppress(OSError):
        return os.open(name, flags)
    return None


class Probe:
    """Feeds inputs to readers and watches."""

    def __init__(self) -> None:
        self._memory = PeakMemory()
        warnings.simplefilter("error", RuntimeWarning)  # NumPy's, about NaN and overflow

    def try_input(self, feed: Feed, text: bytes) -> Failure | None:
        """The failure that an input causes, if any."""
        self._memory.reset()
        started = time.monotonic()
        failure = None
        try:
            feed(text)
        except SaltusError as error:
            failure = _flaw_of_message(error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            failure = Failure(_kind_of(error), "".join(traceback.format_exception(error)))
        grown = self._memory.grown()
        if failure is None and time.monotonic() - started > SECONDS:
            failure = Failure("slow", f"{time.monotonic() - started:.1f} s")
        if failure is None and grown > FACTOR * len(text) + CONSTANT:
            failure = Failure("memory", f"{grown:,} bytes for an input of {len(text):,}")
        return failure


def _flaw_of_message(error: SaltusError) -> Failure | None:
    """An error without words does not help anyone."""
    return None if str(error).strip() else Failure(f"{type(error).__name__} without a message", "")


def _kind_of(error: BaseException) -> str:
    """Type of an exception and the line of the library that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/saltus/" in frame.filename] or frames
    return f"{type(error).__name__} at {Path(own[-1].filename).name}:{own[-1].lineno}"
