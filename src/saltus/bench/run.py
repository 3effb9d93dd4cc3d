"""Stage `bench`: one job in a process of its own, start to end.

`saltus plan` and `saltus bench` both come here: what a single call does under limits is what a benchmark measures.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

from saltus.bench.job import LAMA, Job, Result
from saltus.bench.supervise import Ended, Kill, Message, supervise
from saltus.policy.outcome import Outcome
from saltus.task import Plan

WORKER = (sys.executable, "-P", "-m", "saltus.bench.worker")
"""Command of the process; -P keeps files of the current folder from hiding modules."""

KILLS = {Kill.TIME: Outcome.TIME, Kill.MEMORY: Outcome.MEMORY, Kill.STOPPED: Outcome.INTERRUPTED}

Watch = Callable[[Message, Result], None]
"""Called with every message and the result so far, in which that message is already counted."""


def run_job(
    job: Job,
    watch: Watch | None = None,
    *,
    stop: Event | None = None,
    started: float | None = None,
    worker: Sequence[str] = WORKER,
) -> Result:
    """What came of a job; never an exception because of what the process does.

    Time counts from `started`, a time of `time.monotonic`, or from now.
    """
    story = _Story(watch)
    needs_folder = job.planner == LAMA
    with tempfile.TemporaryDirectory(prefix="saltus-") if needs_folder else nullcontext() as folder:
        told: dict[str, Any] = {**job.to_json(), "scratch": folder}
        ended = supervise(
            worker,
            told,
            job.limits,
            story.receive,
            stop=stop,
            environment=_environment(job),
            started=started,
        )
    return story.result(ended)


def _environment(job: Job) -> dict[str, str]:
    """Environment of the process: one that may not use all cores must know before it loads its libraries."""
    environment = dict(os.environ)
    if job.threads is not None:
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            environment[name] = str(job.threads)
    return environment


class _Story:
    """What a process has told so far."""

    def __init__(self, watch: Watch | None) -> None:
        self.watch = watch
        self.so_far = Result(Outcome.INTERRUPTED)
        self.end: tuple[Outcome, str] | None = None

    def receive(self, message: Message) -> bool:
        """Whether the job is done."""
        event = message["event"]
        now = self.so_far
        warnings = (*now.warnings, *message.get("warnings", ()))
        if event == "read":
            figures = {**now.figures, "seconds_read": message["seconds"]}
            now = replace(now, objects=message["objects"], figures=figures, warnings=warnings)
        elif event == "policy":
            names = {name: message[name] for name in ("policy", "method", "device")}
            now = replace(now, **names, warnings=warnings)
        elif event == "figures":
            now = replace(now, figures={**now.figures, **{k: v for k, v in message.items() if k != "event"}})
        elif event == "plan":
            plan = Plan(tuple(tuple(step.split()) for step in message["steps"]))
            now = replace(now, plan=plan, cost=message["cost"], unit_cost=message["unit_cost"])
        elif event == "end":
            self.end = (Outcome(message["outcome"]), message["detail"])
        self.so_far = now
        if self.watch is not None:
            self.watch(message, now)
        return self.end is not None

    def result(self, ended: Ended) -> Result:
        """The whole of it; a plan that was told counts whatever happened afterwards."""
        outcome, detail = self.end or _explain(ended)
        if self.so_far.plan is not None and outcome not in (Outcome.FOUND, Outcome.INTERRUPTED):
            detail = f"then {outcome}{f': {detail}' if detail else ''}"
            outcome = Outcome.FOUND
        peak = ended.peak_memory_mb or None
        return replace(self.so_far, outcome=outcome, detail=detail, seconds=ended.seconds, peak_memory_mb=peak)


def _explain(ended: Ended) -> tuple[Outcome, str]:
    """Outcome and detail of a process that did not come to its end."""
    if ended.kill is not None:
        return KILLS[ended.kill], ""
    if ended.code < 0:
        try:
            name = signal.Signals(-ended.code).name
        except ValueError:
            name = f"signal {-ended.code}"
        reason = f"killed by {name}"
    else:
        reason = f"exit code {ended.code} without a result"
    last = ended.complaint.splitlines()[-1] if ended.complaint else ""
    return Outcome.CRASH, f"{reason}: {last}" if last else reason


def check_folder(path: Path) -> str | None:
    """Why a file cannot be written there, None if it seems it can."""
    folder = path.parent
    if not folder.is_dir():
        return f"{folder}: no such folder"
    if path.is_dir():
        return f"{path}: is a folder"
    return None if os.access(folder, os.W_OK) else f"{folder}: cannot be written to"
