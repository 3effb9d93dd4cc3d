"""Stage `learn`: many runs side by side, each a process of its own, on this machine or on a Ray cluster.

A run is the command `saltus train`; its output goes to `train.log` in its folder. A run that exists is resumed, and one
that has done all its episodes ends at once, so that the same call goes on where an earlier one was stopped. Runs end
with whoever started them, killed or not: each reads from a pipe that is closed then.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from saltus.errors import ConfigurationError

PROGRAM = (sys.executable, "-c", "from saltus.cli.main import main; main()")
FOLLOWER = (sys.executable, "-c", f"from {__name__} import end_with_parent; end_with_parent(); {PROGRAM[2]}")
"""The program, which ends cleanly when the process that started it is gone."""

FAILED = 31
"""Exit code of a run that could not be started."""


@dataclass(frozen=True)
class Job:
    """One run: a suite and a seed."""

    suite: str
    seed: int
    folder: Path
    out: Path
    options: tuple[str, ...]

    def command(self) -> list[str]:
        """The command line of the run, new or resumed; a run with another configuration or seed refuses it."""
        resume = ["--resume"] if (self.out / "config.json").exists() else []
        start = [*FOLLOWER, "train", str(self.folder), "--out", str(self.out), "--seed", str(self.seed)]
        return [*start, *resume, *self.options]


@dataclass(frozen=True)
class JobResult:
    """How a run ended."""

    job: Job
    code: int
    summary: str
    """Its last lines on one, or its error."""


class Children:
    """Processes of runs; once they are told to end, no more are started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started: list[subprocess.Popen[str]] = []
        self._ended = False

    def start(self, command: Sequence[str], log: IO[str], pipe: int) -> subprocess.Popen[str] | None:
        """The process of a command in a session of its own; None where all are to end."""
        with self._lock:
            if self._ended:
                return None
            process = subprocess.Popen(
                command, stdin=pipe, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )
            self._started.append(process)
            return process

    def end(self, number: signal.Signals) -> None:
        """Sends a signal to all that still run."""
        with self._lock:
            self._ended = True
            for process in self._started:
                if process.poll() is None:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, number)


def end_with_parent() -> None:
    """Has this process end as on SIGTERM when nobody holds the other end of its standard input any more."""

    def follow() -> None:
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, daemon=True).start()


def run_job(job: Job, children: Children | None = None) -> JobResult:
    """Runs one job to its end."""
    try:
        job.out.mkdir(parents=True, exist_ok=True)
        with (job.out / "train.log").open("a", encoding="utf-8") as log:
            ended = _run(job, children or Children(), log)
        if ended is None:
            return JobResult(job, FAILED, "not started")
        code, text = ended
        if code == 0:
            return JobResult(job, 0, "; ".join(line for line in text.splitlines() if not line.startswith("policy:")))
        lines = (job.out / "train.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError as error:
        return JobResult(job, FAILED, f"failed: {error.filename or job.out}: {error.strerror or error}")
    return JobResult(job, code, f"failed, exit code {code}: {lines[-1] if lines else 'no output'}")


def _run(job: Job, children: Children, log: IO[str]) -> tuple[int, str] | None:
    """Exit code and output of a job's process, which ends if this one does; None if there was none."""
    ours, theirs = os.pipe()[::-1]
    try:
        try:
            process = children.start(job.command(), log, theirs)
        finally:
            os.close(theirs)
        if process is None:
            return None
        text, _ = process.communicate()
        log.write(text)
        return process.returncode, text
    finally:
        os.close(ours)


def run_jobs(jobs: Sequence[Job], parallel: int, ray_address: str | None = None) -> Generator[JobResult, None, None]:
    """Results as the jobs end, at most `parallel` of them at a time; stopped early, the rest is told to end.

    Whoever interrupts that, too, has them killed.
    """
    if ray_address is not None:
        yield from _run_on_ray(jobs, parallel, ray_address)
        return
    children = Children()
    pool = ThreadPoolExecutor(parallel)
    waiting: set[Future[JobResult]] = {pool.submit(run_job, job, children) for job in jobs}
    try:
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        try:
            children.end(signal.SIGTERM)
            pool.shutdown(wait=True, cancel_futures=True)
        except KeyboardInterrupt:
            children.end(signal.SIGKILL)
            raise


def _run_on_ray(jobs: Sequence[Job], parallel: int, address: str) -> Iterator[JobResult]:
    """The same on a cluster, whose machines must see the same folders."""
    try:
        library: Any = importlib.import_module("ray")
    except ImportError as error:
        raise ConfigurationError("--ray: Ray is not installed; pip install 'saltus[cluster]'") from error
    try:
        library.init(
            address=None if address == "local" else address,
            num_cpus=parallel if address == "local" else None,
            log_to_driver=False,
            include_dashboard=False if address == "local" else None,
        )
    except (ConnectionError, ValueError) as error:
        raise ConfigurationError(f"--ray {address}: no cluster there: {error}") from error
    try:
        remote = library.remote(run_job)
        waiting = [remote.remote(job) for job in jobs]
        while waiting:
            done, waiting = library.wait(waiting, num_returns=1)
            yield from library.get(done)
    finally:
        library.shutdown()
