"""Stage `lab.baselines`: training of WL-GOOSE as a job: a folder of problems in, a model file out.

Optimal plans, which take nearly all of the time, are kept in `plans/` next to the model: a job that was killed does not
search for them again. Everything that the process says goes to `train.log` there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from saltus.lab.baselines.wl_training import train_wl_goose
from saltus.policy.outcome import Outcome
from saltus.process.job import Job, ResultBuilder, Watch, explain
from saltus.process.supervisor import Ended, Message
from saltus.process.worker import Worker

LOG = "train.log"
PLANS = "plans"
PLAN_SECONDS = 10.0
"""Default of the time limit for the optimal plan of one problem."""


@dataclass(frozen=True)
class WLTrainResult:
    """How the training of a model ended."""

    summary: str
    """The training in a line, or what went wrong."""
    outcome: Outcome | None = None
    """What went wrong; None if nothing did."""
    stopped_by: str = ""
    """Empty: a job that should stop is killed."""

    @property
    def exit_code(self) -> int:
        """Exit code of the outcome; 0 for a model that is trained."""
        return 0 if self.outcome is None else self.outcome.exit_code


@dataclass(frozen=True)
class WLTrainJob(Job[WLTrainResult]):
    """The model for one folder of problems."""

    work: ClassVar[str] = "saltus.lab.baselines.wl_job:train"
    starts_processes: ClassVar[bool] = True

    folder: str
    """Folder of the problems."""
    out: str
    """Model file."""
    plan_seconds: float = PLAN_SECONDS
    """Time limit for the optimal plan of one problem."""

    def result_builder(self, watch: Watch[WLTrainResult] | None = None) -> ResultBuilder[WLTrainResult]:
        """The builder of the job's result; there are no messages to watch but the last."""
        del watch
        return WLTrainResultBuilder()

    def with_full_paths(self) -> Self:
        """The job with paths that mean the same in every folder."""
        return replace(self, folder=os.path.abspath(self.folder), out=os.path.abspath(self.out))


class WLTrainResultBuilder:
    """Makes the result from the last message of the worker."""

    def __init__(self) -> None:
        self.end: WLTrainResult | None = None

    def receive(self, message: Message) -> bool:
        """Takes the next message, which is the last."""
        if "outcome" in message:
            self.end = failure(Outcome(message["outcome"]), message["detail"])
        else:
            self.end = WLTrainResult(message["summary"])
        return True

    def result(self, ended: Ended) -> WLTrainResult:
        """The result of the job."""
        return self.end or failure(*explain(ended))


def failure(outcome: Outcome, detail: str) -> WLTrainResult:
    """The result of a job that failed."""
    return WLTrainResult(f"failed, exit code {outcome.exit_code}: {detail or outcome}", outcome)


def train(worker: Worker) -> Mapping[str, Any]:
    """Trains the model and writes its file; returns a summary."""
    job = WLTrainJob.from_json(worker.job)
    out = Path(job.out)
    worker.log_to(out.parent / LOG)
    model = train_wl_goose(job.folder, seconds=job.plan_seconds, plans=out.parent / PLANS, watch=worker.note)
    model.save(out)
    worker.note(model.summary)
    return {"summary": model.summary}
