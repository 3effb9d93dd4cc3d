"""Workers that are forks of the program: `saltus plan` starts one interpreter, not two.

A fork has all modules of its parent, so nothing is imported twice; the parent imports little (no NumPy), so the fork
has no more than it needs. Otherwise it is the worker that `saltus.process` starts elsewhere: a session of its own,
killed at its limits by its supervisor, ending with its parent.

Only the program itself forks, not a library: it knows that it has a single thread, so that no lock is held by a thread
that the fork does not have. Where that is not so, and on systems other than Linux, the worker is a fresh interpreter.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, NoReturn

from saltus.process.worker import run_worker

PROGRAM = "saltus"

BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def is_program() -> bool:
    """Whether this process is the program `saltus`, not another one that calls its functions."""
    return os.path.splitext(os.path.basename(sys.argv[0]))[0] == PROGRAM


def can_fork() -> bool:
    """Whether a fork is safe here: in the program itself, on Linux, with one thread and all standard streams open."""
    if sys.platform != "linux" or not is_program() or None in (sys.stdin, sys.stdout, sys.stderr):
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


class ForkedProcess:
    """A forked worker: what a supervisor needs of `subprocess.Popen`."""

    def __init__(self, pid: int, stdin: IO[bytes], stderr: IO[bytes]) -> None:
        self.pid = pid
        self.stdin: IO[bytes] | None = stdin
        self.stderr: IO[bytes] | None = stderr
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, minus the signal's number if a signal ended the process; None while it runs."""
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self) -> int:
        """The exit code, once the process has ended."""
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


def fork_worker(channel: int, environment: Mapping[str, str]) -> ForkedProcess:
    """A fork that does the job which it is told on standard input, and writes messages to the channel.

    Returns once the fork leads a session of its own, so that its group can be killed.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # the command will notice
            stream.flush()
    job_end, stdin = os.pipe()
    stderr, error_end = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        for descriptor in (job_end, stdin, stderr, error_end):
            os.close(descriptor)
        raise
    if pid == 0:
        _work(job_end, error_end, channel, environment)
    os.close(job_end)
    os.close(error_end)
    os.read(stderr, 1)  # the sign that it has started, or nothing if it died before
    return ForkedProcess(pid, os.fdopen(stdin, "wb"), os.fdopen(stderr, "rb", buffering=0))


def _work(job_end: int, error_end: int, channel: int, environment: Mapping[str, str]) -> NoReturn:
    """The life of the fork. It never returns to the code of its parent."""
    code = 1
    try:
        os.setsid()
        os.write(error_end, b"\n")
        os.dup2(job_end, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(error_end, 2)
        os.closerange(3, channel)
        os.closerange(channel + 1, os.sysconf("SC_OPEN_MAX"))
        sys.path[:] = [folder for folder in sys.path if folder]  # files of the current folder hide no modules
        os.environ.update(environment)
        import_numpy()
        run_worker()
        code = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode(errors="replace"))
    finally:
        os._exit(code)


def import_numpy() -> None:
    """Imports NumPy without the threads of its BLAS: nothing uses them, and starting them takes long."""
    is_set = BLAS_THREADS in os.environ
    os.environ.setdefault(BLAS_THREADS, "1")
    importlib.import_module("numpy")
    if not is_set:
        del os.environ[BLAS_THREADS]  # for other libraries, such as PyTorch, it may matter
