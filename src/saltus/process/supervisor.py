"""Stage `process`: one process under hard limits.

Takes a command or a function that starts the process, a job for it, and limits; returns how the process ended. The
process runs in a session of its own. It is told its job as one line of JSON on standard input, which then stays open,
and answers with lines of JSON on a pipe of its own. The supervisor checks the resident memory of the process and its
descendants, the time, and whether somebody wants it to stop, up to a hundred times a second. A process that breaks a
limit is killed together with its process group, by a signal that nothing can ignore: it does not matter what the
process is doing. Resident memory is what counts, because PyTorch and CUDA map far more than they use.

Nothing is left behind: the group is killed at the end in any case, and a process whose supervisor dies ends by itself
(`worker.end_with_parent`).
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from saltus.policy.outcome import Limits, Outcome

Message = dict[str, Any]


class Process(Protocol):
    """A process that has been started: what a supervisor needs of `subprocess.Popen`."""

    pid: int
    """Its number, which is also that of its process group."""
    stdin: IO[bytes] | None
    """Where it is told its job."""
    stderr: IO[bytes] | None
    """Where its standard error can be read."""

    def poll(self) -> int | None:
        """Its exit code if it has ended."""

    def wait(self) -> int:
        """Its exit code, once it has ended."""


Start = Callable[[int, Mapping[str, str]], Process]
"""Starts a process, given the descriptor that it writes messages to and environment variables."""


class Stop:
    """Tells supervisors to end their processes: first with `ask`, then, if that takes too long, with `force`."""

    def __init__(self) -> None:
        self.is_asked = False
        """Whether processes should end: with SIGTERM if their job stops gently, else at once."""
        self.is_forced = False
        """Whether processes should be killed."""

    def ask(self) -> None:
        """Ends processes."""
        self.is_asked = True

    def force(self) -> None:
        """Kills all processes."""
        self.is_asked = self.is_forced = True


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    code: int
    """Exit code; minus the signal's number if a signal ended it."""
    kill: Outcome | None
    """What it was killed for here; None if it ended by itself, or after its job was done."""
    seconds: float
    peak_memory_mb: float
    last_stderr: str
    """The end of what it wrote to standard error."""

    @classmethod
    def unknown(cls) -> Ended:
        """The end of a process that nobody saw."""
        return cls(0, None, 0.0, 0.0, "")


def supervise(
    command: Sequence[str] | Start,
    job: Mapping[str, Any],
    limits: Limits,
    receive: Callable[[Message], bool],
    *,
    stop: Stop | None = None,
    gently: bool = False,
    environment: Mapping[str, str] | None = None,
    started: float | None = None,
) -> Ended:
    """How the command ended under the limits.

    `receive` is called with every message and returns whether the job is done; the process is not waited for then. The
    job is told with three additions: `started`, a time of `time.monotonic` from which limits count (default: now),
    `parent`, the process number of the supervisor, and `channel`, the descriptor to write messages to. With `gently`, a
    process that should stop gets SIGTERM, and is killed only if `stop` is forced.
    """
    read_end, write_end = channel_pipe()
    started = time.monotonic() if started is None else started
    try:
        variables = dict(os.environ if environment is None else environment)
        process = command(write_end, variables) if callable(command) else spawn(command, write_end, variables)
    except BaseException:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    assignment = {**job, "started": started, "parent": os.getpid(), "channel": write_end}
    supervision = _Supervision(process, read_end, limits, started, receive, gently)
    try:
        with suppress(BrokenPipeError):  # it has died already, which the first check will show
            assert process.stdin is not None
            process.stdin.write(json.dumps(assignment).encode() + b"\n")
            process.stdin.flush()
        supervision.until_end(stop)
    finally:
        supervision.close()
    return Ended(
        process.wait(),
        supervision.kill,
        time.monotonic() - started,
        supervision.peak / 2**20,
        supervision.last_stderr(),
    )


def channel_pipe() -> tuple[int, int]:
    """Both ends of a pipe for messages.

    The end for writing is no number of a standard stream, even if this process has closed its own: in the process that
    is started, these are taken.
    """
    read_end, low_end = os.pipe()
    write_end = fcntl.fcntl(low_end, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(low_end)
    return read_end, write_end


def spawn(command: Sequence[str], channel: int, environment: Mapping[str, str]) -> Process:
    """The process of a command, in a session of its own."""
    return subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=(channel,),
        env=environment,
    )


class _Supervision:
    """The supervision of one process."""

    def __init__(
        self,
        process: Process,
        channel: int,
        limits: Limits,
        started: float,
        receive: Callable[[Message], bool],
        gently: bool,
    ) -> None:
        assert process.stderr is not None
        self.process = process
        self.channel = channel
        self.errors = process.stderr.fileno()
        self.limits = limits
        self.started = started
        self.receive = receive
        self.gently = gently
        self.kill: Outcome | None = None
        self.done = False
        self.peak = 0
        self._pending = b""
        self._last_stderr = b""
        self._selector = selectors.DefaultSelector()
        for source in (self.channel, self.errors):
            os.set_blocking(source, False)
            self._selector.register(source, selectors.EVENT_READ)

    def until_end(self, stop: Stop | None) -> None:
        """Watches until the process has ended, has done its job, or must be killed."""
        most = math.inf if self.limits.memory_mb is None else self.limits.memory_mb * 2**20
        # a check every 0.05 s costs one percent of a core; a process without limits may run for days
        longest = 0.25 if self.limits.seconds is None and math.isinf(most) else 0.05
        interval = 0.01
        asked = False
        self.peak = resident_memory(self.process.pid)  # it may have ended before the next look
        while not self.done:
            self._listen(interval)
            memory = resident_memory(self.process.pid)
            self.peak = max(self.peak, memory)
            # a process may gain 4 GB per second: the time in which it could reach the limit decides
            interval = min(max(0.01, (most - memory) / 4e9), longest)
            if memory > most:
                self.kill = Outcome.MEMORY
            elif self.limits.seconds is not None and time.monotonic() - self.started > self.limits.seconds + 0.25:
                self.kill = Outcome.TIME  # it had a moment to report by itself that its time is up
            elif stop is not None and stop.is_asked and (stop.is_forced or not self.gently):
                self.kill = Outcome.INTERRUPTED
            elif stop is not None and stop.is_asked and not asked:
                asked = True
                os.kill(self.process.pid, signal.SIGTERM)  # not waited for yet: the number is still its own
            if self.kill is not None or has_ended(self.process):
                return

    def _listen(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if not self._selector.get_map():
                time.sleep(left)
                return
            for key, _ in self._selector.select(left):
                if self._read(key.fd) == b"":
                    self._selector.unregister(key.fd)
            if self.done:
                return

    def _read(self, source: int) -> bytes | None:
        """What was read, None if there is nothing to read; complete lines of the channel are passed on."""
        try:
            part = os.read(source, 1 << 20)
        except BlockingIOError:
            return None
        if source == self.errors:
            self._last_stderr = (self._last_stderr + part)[-4096:]
            return part
        *lines, self._pending = (self._pending + part).split(b"\n")
        for line in lines:
            with suppress(json.JSONDecodeError):  # a process that crashes may write anything
                message = json.loads(line)
                self.peak = max(self.peak, message.pop("peak_memory", 0))
                self.done |= self.receive(message)
        return part

    def close(self) -> None:
        """Kills what is left of the group, reads its last output, and frees everything."""
        self.peak = max(self.peak, peak_memory(self.process.pid))
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for source in (self.channel, self.errors):
            while self._read(source):
                pass
        self._selector.close()
        os.close(self.channel)
        for pipe in (self.process.stdin, self.process.stderr):
            with suppress(BrokenPipeError):
                assert pipe is not None
                pipe.close()

    def last_stderr(self) -> str:
        """The end of standard error."""
        return self._last_stderr.decode(errors="replace").strip()


def has_ended(process: Process) -> bool:
    """Whether a child has ended. It is not waited for: its number must stay its own until its group is killed."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def resident_memory(pid: int) -> int:
    """Bytes of resident memory of a process and its descendants; 0 if the system does not tell."""
    total = 0
    waiting = [pid]
    while waiting:
        number = waiting.pop()
        with suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{number}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
            waiting += map(int, Path(f"/proc/{number}/task/{number}/children").read_text().split())
    return total


def peak_memory(pid: int) -> int:
    """Peak resident memory of one process in bytes; 0 if the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
