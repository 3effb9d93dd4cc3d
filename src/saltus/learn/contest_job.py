"""Stage `learn`: a contest as a job: a suite, a seed and a time in, the folder of a contest out.

A contest that exists is resumed, and one that has ended ends at once. Its runs are processes of its own, and they end
with it. Everything that they say goes to `train.log` in their folders, and what the contest says to that in its own. A
job that should stop ends its runs, which save their state.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

from saltus.learn.contest import STABLE
from saltus.learn.contest_opening import open_contest
from saltus.learn.contest_state import FILE, Budget
from saltus.learn.events import ContestEvent
from saltus.learn.train_job import LOG, LearnJob
from saltus.process.worker import Worker


@dataclass(frozen=True)
class ContestJob(LearnJob):
    """One contest. `threads` are those of all its runs together."""

    work: ClassVar[str] = "saltus.learn.contest_job:hold"

    seconds: float | None = None
    """Time of the contest; None for the default of the device."""
    slots: int = 1
    """Runs side by side."""


def hold(worker: Worker) -> Mapping[str, Any]:
    """Plays the contest until it has ended or should stop; returns a summary."""
    job = ContestJob.from_json(worker.job)
    out = Path(job.out)
    worker.log_to(out / LOG)
    contest = open_contest(
        job.folder,
        out,
        settings=job.settings,
        seed=job.seed,
        budget=None if job.seconds is None else Budget(job.seconds),
        device=job.device,
        threads=None if job.threads is None else max(1, job.threads // job.slots),
        slots=job.slots,
        resume=(out / FILE).exists(),
        warn=lambda message: worker.note(f"saltus: warning: {message}"),
    )

    def tell(event: ContestEvent) -> None:
        if event.kind != "episode":
            worker.note(f"{event.used:,.0f} of {event.limit:,.0f} s: {event.text}")
            worker.send(event.kind, text=event.text)

    try:
        interrupt_on_stop(worker)
        if not worker.stopped_by:
            contest.play(tell)
    except KeyboardInterrupt:
        if not worker.stopped_by:
            raise
    finally:
        worker.catch_stop()
    lines = contest.summary(worker.stopped_by)
    worker.note("\n".join(lines))
    return {
        "summary": "; ".join(line for line in lines if not line.startswith("policy:")),
        "is_finished": bool(contest.state.ended_by) and not contest.is_out_of_time,
        "is_stable": contest.state.ended_by == STABLE,
        "stopped_by": worker.stopped_by,
    }


def interrupt_on_stop(worker: Worker) -> None:
    """Has the first signal that asks to stop interrupt what is going on, too; a second one would kill the runs."""

    def catch(number: int, frame: FrameType | None) -> None:
        if not worker.stopped_by:
            worker.stopped_by = signal.Signals(number).name
            raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, catch)
