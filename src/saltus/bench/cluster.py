"""Stage `bench`: the same runs through Ray (extra `cluster`).

Every run is a task that occupies its threads' worth of cores, and on a GPU a share of it, on whichever machine has them
free; there it starts and watches a process of its own exactly as it would here. The records are written by the process
that was called, so nothing but the problem and policy files must be seen by all machines, under the same names.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from saltus.bench.benchmark import Ended, Trial
from saltus.bench.job import Job, Result
from saltus.bench.records import timestamp
from saltus.bench.run import run_job
from saltus.errors import ConfigurationError, SaltusError
from saltus.policy.outcome import Outcome
from saltus.policy.policies import YARDSTICKS

LOCAL = "local"
"""Address that starts a Ray of one's own on this machine."""

GPU_SHARE = 0.125
"""Of a GPU that a run occupies."""


def execute(values: Mapping[str, Any]) -> tuple[str, Result]:
    """The time a job started and what came of it; what a task of the cluster does."""
    started = timestamp()
    return started, run_job(Job.from_json(values))


class RayRunner:
    """Runs as tasks of a Ray cluster, so many at a time; None for as many as it has room for."""

    def __init__(self, address: str, jobs: int | None = None) -> None:
        if jobs is not None and jobs < 1:
            raise ConfigurationError(f"jobs is {jobs}, expected at least 1")
        try:
            self.ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise ConfigurationError("--ray needs Ray: pip install 'saltus[cluster]'") from error
        self.address = address
        self.jobs = jobs

    def __call__(self, runs: Sequence[Trial], begin: Callable[[Trial], None]) -> Generator[Ended]:
        """Runs as they end; closing the generator kills those that are running."""
        if not runs:
            return
        self._connect()
        flying: dict[Any, Trial] = {}
        waiting = list(reversed(runs))
        try:
            most = self.jobs or max(1, int(self.ray.cluster_resources().get("CPU", 1)))
            while waiting or flying:
                while waiting and len(flying) < most:
                    run = waiting.pop()
                    begin(run)
                    flying[self._submit(run)] = run
                ready, _ = self.ray.wait(list(flying), num_returns=1)
                for reference in ready:
                    run = flying.pop(reference)
                    yield (run, *self._fetch(reference))
        finally:
            for reference in flying:
                self.ray.cancel(reference, force=True)
            self.ray.shutdown()

    def _connect(self) -> None:
        own = {"num_cpus": self.jobs, "include_dashboard": False} if self.address == LOCAL else {}
        address = None if self.address == LOCAL else self.address
        # A Ray that runs here already would be joined because of this variable even where our own is asked for.
        kept = os.environ.pop("RAY_ADDRESS", None) if self.address == LOCAL else None
        try:
            self.ray.init(address=address, log_to_driver=False, logging_level="ERROR", **own)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise SaltusError(f"no Ray cluster at {self.address!r}: {error}") from error
        finally:
            if kept is not None:
                os.environ["RAY_ADDRESS"] = kept

    def _submit(self, run: Trial) -> Any:
        job = with_full_paths(run.job)
        room: dict[str, Any] = {"num_cpus": job.threads or 1, "max_retries": 0}
        if job.device == "cuda":
            room["num_gpus"] = GPU_SHARE
        return self.ray.remote(**room)(execute).remote(job.to_json())

    def _fetch(self, reference: Any) -> tuple[str, Result]:
        try:
            answer: tuple[str, Result] = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            text = str(error).strip().splitlines()
            return timestamp(), Result(
                Outcome.CRASH, f"task of the cluster: {text[0] if text else type(error).__name__}"
            )
        return answer


def with_full_paths(job: Job) -> Job:
    """The job with files that mean the same in every folder."""
    policy = job.policy if job.policy in YARDSTICKS or not os.path.exists(job.policy) else os.path.abspath(job.policy)
    return replace(job, domain=os.path.abspath(job.domain), problem=os.path.abspath(job.problem), policy=policy)
