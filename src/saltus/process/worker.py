"""Stage `process`: the process that does the work of a job: `python -m saltus.process.worker`.

It reads one line of JSON from standard input: the job and what the supervisor adds to it (`supervisor.py`). It calls
the function that the job names, and writes messages, one JSON object per line, to the pipe that it was told. What the
messages say depends on the kind of job; the last one is always

    {"event": "end", …}

with what the function returned, or with outcome and detail of the error that it raised, and the peak of its memory.

A worker never outlives its supervisor (`end_with_parent`).
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from saltus.errors import ConfigurationError, SaltusError
from saltus.files import WriteError
from saltus.policy.outcome import Outcome
from saltus.process.supervisor import peak_memory

PACKAGE = "saltus."
"""Start of the names of all modules whose functions a job may name."""


class Worker:
    """What a function that does the work of a job can use."""

    def __init__(self, assignment: Mapping[str, Any]) -> None:
        self.job: Mapping[str, Any] = assignment["job"]
        """The job as plain values."""
        self.started: float = assignment["started"]
        """Time of `time.monotonic` that limits count from."""
        self.scratch: str | None = assignment["scratch"]
        """Folder for temporary files, which is removed afterwards; None if the job has none."""
        self.stopped_by = ""
        """Name of the signal that asked to stop; empty before."""
        self._channel: int = assignment["channel"]

    def send(self, event: str, **values: Any) -> None:
        """Sends a message to the supervisor; without one nobody is told, and the work may still be saved."""
        text = json.dumps({"event": event, **values}).encode() + b"\n"
        with suppress(BrokenPipeError):
            while text:
                text = text[os.write(self._channel, text) :]

    def note(self, line: str) -> None:
        """Writes a line to standard error: the end of it is reported, or it is the log."""
        with suppress(OSError):  # a full disk does not stop the work
            os.write(2, f"{line}\n".encode(errors="replace"))

    def log_to(self, path: Path) -> None:
        """Redirects all further output of this process to the end of a file."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise WriteError(f"{path}: cannot be written: {error.strerror or error}") from error
        for stream in (1, 2):
            os.dup2(file, stream)
        os.close(file)

    def catch_stop(self) -> None:
        """Has SIGTERM and SIGINT only set `stopped_by`, so that the work can end cleanly."""

        def catch(number: int, frame: object) -> None:
            if not self.stopped_by:
                self.stopped_by = signal.Signals(number).name
                self.note(f"saltus: warning: {self.stopped_by}: stopping as soon as the work can be saved")

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, catch)


Work = Callable[[Worker], Mapping[str, Any]]
"""The work of a job; returns the values of the `end` message."""


def run_worker(work: Work | None = None) -> None:
    """Does the job that standard input tells; `work` takes the place of the function that the job names."""
    assignment = json.loads(_first_line(0))
    worker = Worker(assignment)
    if assignment["stops_gently"]:
        worker.catch_stop()
    end_with_parent(
        assignment["parent"],
        gently=assignment["stops_gently"],
        group=assignment["starts_processes"],
        scratch=worker.scratch,
    )
    try:
        values = dict((work or find_work(assignment["work"]))(worker))
    except Exception as error:
        outcome, detail = Outcome.of_error(error), error_text(error)
        if outcome is Outcome.CRASH:
            worker.note(traceback.format_exc().rstrip())
        worker.note(f"saltus: error: {detail}")
        values = {"outcome": outcome, "detail": detail}
    worker.send("end", peak_memory=peak_memory(os.getpid()), **values)  # it may have ended before anybody looks


def find_work(name: str) -> Work:
    """The function `module:function` of this package; any other name is a `ConfigurationError`."""
    module, _, function = name.partition(":")
    if not module.startswith(PACKAGE) or not function.isidentifier():
        raise ConfigurationError(f"work is {name!r}, expected a function of this package as module:function")
    found: Work = getattr(importlib.import_module(module), function)
    return found


def error_text(error: Exception) -> str:
    """What is reported of an error in a line: its message; for a crash, also its kind and its place."""
    if isinstance(error, SaltusError):
        return str(error)
    text = f"{type(error).__name__}: {error}".split("\n")[0]
    if Outcome.of_error(error) is not Outcome.CRASH:
        return text
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{text} ({os.path.basename(frame.filename)}:{frame.lineno})"


def end_with_parent(parent: int, *, gently: bool = False, group: bool = False, scratch: str | None = None) -> None:
    """Makes sure that this process ends when the process `parent` does, even if that is killed.

    The kernel kills this process with its parent if it can (Linux). In any case, a thread waits until standard input is
    closed and then kills the process group. With `group`, only the thread does, because the kernel would spare the
    children; it also removes the scratch folder. With `gently`, the process gets SIGTERM instead and may take its time.
    """
    if sys.platform == "linux" and not group and not gently:
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:  # it died before we asked
        os.killpg(0, signal.SIGKILL)

    def follow() -> None:
        while os.read(0, 4096):
            pass
        if gently:
            os.kill(os.getpid(), signal.SIGTERM)
            return
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=follow, daemon=True).start()


def _first_line(descriptor: int) -> bytes:
    """The first line, and not a byte more than was written with it."""
    text = b""
    while not text.endswith(b"\n"):
        part = os.read(descriptor, 65536)
        if not part:
            break
        text += part
    return text


if __name__ == "__main__":
    run_worker()
