"""Stage `process`: what a job is, and running one in a process of its own from start to end.

A job names the function that does its work, so that one worker (`worker.py`) serves every kind of job. A
`ResultBuilder` turns the messages of the worker and the end of its process into the job's result.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from saltus.policy.outcome import Limits, Outcome
from saltus.process.limits import thread_variables
from saltus.process.supervisor import Ended, Message, Start, Stop, supervise

WORKER = (sys.executable, "-P", "-m", "saltus.process.worker")
"""Command of the worker; -P keeps files of the current folder from hiding modules."""

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class ResultBuilder(Protocol[Result_co]):
    """Makes the result of a job from the messages of its worker."""

    def receive(self, message: Message) -> bool:
        """Takes the next message; returns whether the job is done."""

    def result(self, ended: Ended) -> Result_co:
        """The result of the job, once its process has ended."""


Watch = Callable[[Message, Result], None]
"""Called with every message and the result so far, which already includes that message."""


@dataclass(frozen=True, kw_only=True)
class Job(ABC, Generic[Result]):
    """A unit of work as plain values."""

    work: ClassVar[str]
    """Function that does the work in the worker, as `module:function`; see `worker.Work`."""
    starts_processes: ClassVar[bool] = False
    """Whether the work starts further processes. They are killed with the worker, and it gets a scratch folder."""
    stops_gently: ClassVar[bool] = False
    """Whether the worker is sent SIGTERM when it should stop, to save its work, instead of being killed."""

    limits: Limits = field(default_factory=Limits)
    device: str = "auto"
    threads: int | None = None
    """Threads of the process; None for one per core."""

    @abstractmethod
    def result_builder(self, watch: Watch[Result] | None = None) -> ResultBuilder[Result]:
        """A builder of the job's result, which has not received a message yet."""

    def to_json(self) -> dict[str, Any]:
        """The job as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The job of plain values; lists become tuples."""
        chosen: dict[str, Any] = {}
        for entry in fields(cls):
            value = values[entry.name]
            chosen[entry.name] = tuple(value) if isinstance(value, list) else value
        chosen["limits"] = Limits(**values["limits"])
        return cls(**chosen)


def run_job(
    job: Job[Result],
    watch: Watch[Result] | None = None,
    *,
    stop: Stop | None = None,
    started: float | None = None,
    command: Sequence[str] | Start = WORKER,
) -> Result:
    """The result of a job; nothing that its process does raises an exception here.

    Time counts from `started`, a time of `time.monotonic` (default: now). `command` is the worker's, or a function that
    starts it.
    """
    builder = job.result_builder(watch)
    with tempfile.TemporaryDirectory(prefix="saltus-") if job.starts_processes else nullcontext() as folder:
        assignment = {
            "work": job.work,
            "job": job.to_json(),
            "starts_processes": job.starts_processes,
            "stops_gently": job.stops_gently,
            "scratch": folder,
        }
        ended = supervise(
            command,
            assignment,
            job.limits,
            builder.receive,
            stop=stop,
            gently=job.stops_gently,
            environment={**os.environ, **thread_variables(job.threads)},
            started=started,
        )
    return builder.result(ended)


def explain(ended: Ended) -> tuple[Outcome, str]:
    """Outcome and detail of a process that ended without saying how."""
    if ended.kill is not None:
        return ended.kill, ""
    if ended.code < 0:
        try:
            name = signal.Signals(-ended.code).name
        except ValueError:
            name = f"signal {-ended.code}"
        reason = f"killed by {name}"
    else:
        reason = f"exit code {ended.code} without a result"
    last = ended.last_stderr.splitlines()[-1] if ended.last_stderr else ""
    return Outcome.CRASH, f"{reason}: {last}" if last else reason
