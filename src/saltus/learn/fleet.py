"""Stage `learn`: many runs side by side, each a process of its own, on this machine or on a Ray cluster.

A run is the command `saltus train`; its output goes to `train.log` in its folder. A run that exists is resumed, and one
that has done all its episodes ends at once, so that the same call goes on where an earlier one was stopped.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saltus.errors import ConfigurationError
from saltus.files import WriteError

PROGRAM = (sys.executable, "-c", "from saltus.cli.main import main; main()")


@dataclass(frozen=True)
class Job:
    """One run: a suite and a seed."""

    suite: str
    seed: int
    folder: Path
    out: Path
    options: tuple[str, ...]

    def command(self) -> list[str]:
        """The command line of the run, new or resumed."""
        start = [*PROGRAM, "train", str(self.folder), "--out", str(self.out)]
        if not (self.out / "config.json").exists():
            return [*start, "--seed", str(self.seed), *self.options]
        kept: list[str] = []
        for key, value in zip(self.options[::2], self.options[1::2], strict=True):
            kept += [key, value] if key in ("--device", "--threads", "--time-limit") else []
        return [*start, "--resume", *kept]


@dataclass(frozen=True)
class JobResult:
    """How a run ended."""

    job: Job
    code: int
    summary: str
    """Its last lines on one, or its error."""


def run_job(job: Job, started: list[subprocess.Popen[str]] | None = None) -> JobResult:
    """Runs one job to its end."""
    try:
        job.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"{job.out}: cannot be written: {error.strerror or error}") from error
    with (job.out / "train.log").open("a", encoding="utf-8") as log:
        process = subprocess.Popen(job.command(), stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
        if started is not None:
            started.append(process)
        text, _ = process.communicate()
        log.write(text)
    if process.returncode == 0:
        return JobResult(job, 0, "; ".join(line for line in text.splitlines() if not line.startswith("policy:")))
    lines = (job.out / "train.log").read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["no output"]
    return JobResult(job, process.returncode, f"failed, exit code {process.returncode}: {lines[-1]}")


def run_jobs(jobs: Sequence[Job], parallel: int, ray_address: str | None = None) -> Iterator[JobResult]:
    """Results as the jobs end, at most `parallel` of them at a time; stopped early, the rest is told to end."""
    if ray_address is not None:
        yield from _run_on_ray(jobs, parallel, ray_address)
        return
    processes: list[subprocess.Popen[str]] = []
    pool = ThreadPoolExecutor(parallel)
    waiting: set[Future[JobResult]] = {pool.submit(run_job, job, processes) for job in jobs}
    try:
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        for future in waiting:
            future.cancel()
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        pool.shutdown(wait=True)


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
