"""Stage `process`: how a job of training ends, whatever it trains: a run, a contest, the model of another planner."""

from __future__ import annotations

from dataclasses import dataclass

from saltus.policy.outcome import Outcome
from saltus.process.job import Job, Watch, explain
from saltus.process.supervisor import Ended, Message

LOG = "train.log"
"""File in the folder of what is trained, with everything that the process says."""


@dataclass(frozen=True)
class TrainResult:
    """How a training job ended."""

    summary: str
    """The run in a line, or what went wrong."""
    outcome: Outcome | None = None
    """What went wrong; None if nothing did."""
    is_finished: bool = False
    """Whether the run has ended by itself: more time would not change it."""
    is_stable: bool = False
    """Whether it has ended because its validations are stable."""
    stopped_by: str = ""
    """Name of the signal that stopped it; empty for one that ended by itself or because its time was up."""

    @property
    def exit_code(self) -> int:
        """Exit code of the outcome; 0 for a run that has finished or was stopped in an orderly way."""
        return 0 if self.outcome is None else self.outcome.exit_code


class TrainResultBuilder:
    """Makes the result of training from the last message of the worker; the others are events of the run."""

    def __init__(self, watch: Watch[TrainResult] | None = None) -> None:
        self.end: TrainResult | None = None
        self.watch = watch

    def receive(self, message: Message) -> bool:
        """Takes the next message; returns whether the job is done."""
        if message["event"] != "end":
            if self.watch is not None:
                self.watch(message, TrainResult("running"))
            return False
        if "outcome" in message:
            self.end = failure(Outcome(message["outcome"]), message["detail"])
        else:
            values = {name: message[name] for name in ("summary", "is_finished", "is_stable", "stopped_by")}
            self.end = TrainResult(**values)
        return True

    def result(self, ended: Ended) -> TrainResult:
        """The result of the job."""
        return self.end or failure(*explain(ended))


class TrainingJob(Job[TrainResult]):
    """A job that trains something."""

    def result_builder(self, watch: Watch[TrainResult] | None = None) -> TrainResultBuilder:
        """The builder of the job's result; `watch` is called with every event of the training."""
        return TrainResultBuilder(watch)


def failure(outcome: Outcome, detail: str) -> TrainResult:
    """The result of a job that failed."""
    return TrainResult(f"failed, exit code {outcome.exit_code}: {detail or outcome}", outcome)
