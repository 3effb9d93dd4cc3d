"""Stage `learn`: training as a job: a suite, a seed and a configuration in, a run in a folder out.

A run that exists is resumed, and a run that has finished ends at once, so that the same jobs continue where they were
stopped. Everything that the process says goes to `train.log` in the folder of the run. A job that should stop gives
up its episode and saves its state as of the one before; it does the same if the process that started it is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from saltus.learn.open import open_run
from saltus.learn.progress import say
from saltus.process.train_result import LOG, TrainingJob, TrainResult
from saltus.process.worker import Worker

__all__ = ["LOG", "TrainJob", "TrainResult", "train"]


@dataclass(frozen=True)
class LearnJob(TrainingJob):
    """What learns on a suite, with a seed: one run, or a contest of several."""

    stops_gently: ClassVar[bool] = True

    suite: str
    """Name of the suite."""
    folder: str
    """Folder of its problems."""
    out: str
    """Folder of the run or the contest."""
    seed: int = 0
    settings: tuple[str, ...] = ()
    """Changes to the configuration, of a contest to those of all candidates: `key=value`."""


@dataclass(frozen=True)
class TrainJob(LearnJob):
    """One run, of one configuration."""

    work: ClassVar[str] = "saltus.learn.train_job:train"

    config: str | None = None
    """Name or file of the configuration."""
    seconds: float | None = None
    """Time after which the run ends, at the end of an episode."""
    grown: str | None = None
    """Folder in which grown problems are kept (default: `grown` in the folder of the run)."""


def train(worker: Worker) -> Mapping[str, Any]:
    """Trains until the run has finished, its time is up, or it should stop; returns a summary."""
    job = TrainJob.from_json(worker.job)
    out = Path(job.out)
    worker.log_to(out / LOG)
    is_resumed = (out / "config.json").exists()
    run = open_run(
        job.folder,
        out,
        config=job.config,
        settings=job.settings,
        seed=job.seed,
        device=job.device,
        threads=job.threads,
        resume=is_resumed,
        grown=job.grown,
        warn=lambda message: worker.note(f"saltus: warning: {message}"),
    )
    for event in run.events(lambda: bool(worker.stopped_by), job.seconds):
        say(event, run.trainer.spec.episodes, worker.note)
        values = {"episode": event.episode} if event.kind == "episode" else event.to_json()
        worker.send(event.kind, elapsed=run.elapsed, **values)
    lines = run.summary(worker.stopped_by)
    worker.note("\n".join(lines))
    return {
        "summary": "; ".join(line for line in lines if not line.startswith("policy:")),
        "is_finished": run.trainer.is_stable or run.trainer.episode >= run.trainer.spec.episodes,
        "is_stable": run.trainer.is_stable,
        "stopped_by": worker.stopped_by,
    }
