"""Stage `process`: the runner for a Ray cluster (extra `cluster`).

Every job is a Ray task that occupies as many cores as it has threads, and a share of a GPU if it uses one, on any
machine that has them free. There, the local runner starts and supervises its process. All machines must see the files
of the jobs under the same names, and the folder in which names that are not full begin.
"""

from __future__ import annotations

import importlib
import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

from saltus.errors import ConfigurationError
from saltus.policy.outcome import Outcome
from saltus.process.job import Job, Result
from saltus.process.runner import WAKE_UP, Finished, LocalRunner, never, timestamp
from saltus.process.supervisor import Ended

LOCAL = "local"
"""Address that starts a new Ray on this machine."""


def execute(job: Job[Result], folder: str) -> Finished[Result]:
    """The job, run to its end on this machine in that folder: the Ray task.

    A cancelled task ends its job as the local runner does.
    """
    os.chdir(folder)
    with closing(LocalRunner().run([job])) as finished:
        return next(finished)


class RayRunner:
    """Jobs as tasks of a Ray cluster, at most `parallel` at a time; None for as many as the cluster has cores."""

    def __init__(self, address: str, parallel: int | None = None) -> None:
        try:
            self.ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise ConfigurationError("--ray needs Ray: pip install 'saltus[cluster]'") from error
        self.address = address
        self.parallel = parallel

    def run(
        self,
        jobs: Sequence[Job[Result]],
        begin: Callable[[int], None] = lambda number: None,
        is_over: Callable[[], bool] = never,
    ) -> Generator[Finished[Result], None, None]:
        """Jobs as they end."""
        if not jobs:
            return
        self._connect(max(job.threads or 1 for job in jobs))
        running: dict[Any, int] = {}
        waiting = list(reversed(range(len(jobs))))
        try:
            most = self.parallel or max(1, int(self.ray.cluster_resources().get("CPU", 1)))
            while (waiting or running) and not is_over():
                while waiting and len(running) < most:
                    number = waiting.pop()
                    begin(number)
                    running[self._submit(jobs[number])] = number
                ready, _ = self.ray.wait(list(running), num_returns=1, timeout=WAKE_UP)
                for reference in ready:
                    number = running.pop(reference)
                    yield self._fetch(reference, number, jobs[number])
        finally:
            try:
                self._cancel(list(running))
            finally:
                self.ray.shutdown()

    def _connect(self, threads: int) -> None:
        """Connects to the cluster, or starts one with room for all parallel jobs."""
        own: dict[str, Any] = {}
        if self.address == LOCAL:
            cores = None if self.parallel is None else self.parallel * threads
            own = {"num_cpus": cores, "include_dashboard": False}
        address = None if self.address == LOCAL else self.address
        # With this variable set, `init` would join a running cluster even if a new one is wanted.
        kept = os.environ.pop("RAY_ADDRESS", None) if self.address == LOCAL else None
        handler = signal.getsignal(signal.SIGTERM)
        try:
            self.ray.init(address=address, log_to_driver=False, logging_level="ERROR", **own)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ConfigurationError(f"--ray {self.address}: no Ray cluster found: {error}") from error
        finally:
            if kept is not None:
                os.environ["RAY_ADDRESS"] = kept
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, handler)  # Ray replaces it

    def _submit(self, job: Job[Result]) -> Any:
        largest = max((node["Resources"].get("CPU", 1) for node in self.ray.nodes() if node["Alive"]), default=1)
        room: dict[str, Any] = {"num_cpus": min(job.threads or 1, largest), "max_retries": 0}
        if job.device == "cuda":
            room["num_gpus"] = 0.125
        return self.ray.remote(**room)(execute).remote(job, os.getcwd())

    def _fetch(self, reference: Any, number: int, job: Job[Result]) -> Finished[Result]:
        try:
            answer: Finished[Result] = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            builder = job.result_builder()
            text = str(error).strip().splitlines()
            detail = f"Ray task: {text[0] if text else type(error).__name__}"
            builder.receive({"event": "end", "outcome": Outcome.CRASH, "detail": detail})
            return Finished(number, timestamp(), builder.result(Ended.unknown()))
        return Finished(number, answer.started, answer.result)

    def _cancel(self, references: list[Any]) -> None:
        """Ends tasks and waits until their jobs have ended; an interrupt kills them."""
        if not references:
            return
        try:
            for reference in references:
                self.ray.cancel(reference, force=False)
            self.ray.wait(references, num_returns=len(references))
        except BaseException:
            for reference in references:
                self.ray.cancel(reference, force=True)
            raise
