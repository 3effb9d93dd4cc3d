"""Stage `learn`: a training run: a trainer, where it writes to, and the loop that trains, logs and saves."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from saltus.errors import ConfigurationError, plural
from saltus.files import WriteError
from saltus.learn.config import plain_values
from saltus.learn.events import Event
from saltus.learn.folder import RunDescription, RunFolder
from saltus.learn.problems import Problems
from saltus.learn.tensorboard import Curves
from saltus.learn.trainer import Trainer
from saltus.learn.validation import Validation
from saltus.learn.values import CHECKPOINT_EVERY, VALIDATION_SHARE
from saltus.policy import LearnedPolicy

TIME_LIMIT = "the time limit"


class Run:
    """A training run: `events` trains, and saves what must be saved."""

    def __init__(self, trainer: Trainer, output: RunFolder, problems: Problems, description: RunDescription) -> None:
        self.trainer = trainer
        self.output = output
        self.problems = problems
        self.description = description
        self.elapsed = 0.0
        """Seconds of training so far, those before the run was resumed included."""
        self.stopped_by = ""
        """`TIME_LIMIT` if that ended the training; else empty."""

    def __repr__(self) -> str:
        return f"<Run {str(self.folder)!r}, {self.trainer.episode} of {self.trainer.spec.episodes} episodes>"

    @property
    def folder(self) -> Path:
        """Folder that the run writes to."""
        return self.output.path

    @property
    def validation(self) -> Validation | None:
        """How the best policy did on the validation problems; None before the first validation."""
        return self.trainer.best

    def best_policy(self) -> LearnedPolicy:
        """The best policy so far, loaded from the run's folder and ready to plan."""
        policy = LearnedPolicy.load(self.output.policy, self.problems.domain, self.trainer.learner.device.type)
        policy.threads = self.trainer.threads
        return policy

    def events(self, stop: Callable[[], bool] = lambda: False, seconds: float | None = None) -> Iterator[Event]:
        """Trains, and yields an event per episode and per validation.

        Training ends after the last episode, when validations are stable, when the run has taken so many seconds in
        all, before it was resumed included, or when `stop` returns True. A run that the time limit ends is validated
        first, for which some of the time is kept free. `stop` is asked all the time and should take no time; it gives
        up the present episode or validation. The run is saved as of the episode before; so it is if the iteration is
        given up.
        """
        if seconds is not None and not (isinstance(seconds, int | float) and 0 < seconds < math.inf):
            raise ConfigurationError(f"time_limit is {seconds!r}, expected a number of seconds, more than 0")
        started = time.monotonic() - self.elapsed
        trainer, spec = self.trainer, self.trainer.spec
        saved = self._progress()
        self.stopped_by = ""
        is_told = False

        def is_stopped() -> bool:
            nonlocal is_told
            is_told = is_told or stop()
            return is_told

        def is_over() -> bool:
            if is_stopped() or seconds is None:
                return is_told
            reserved = 0.0 if trainer.is_validated else min(trainer.validation_seconds, VALIDATION_SHARE * seconds)
            return time.monotonic() - started >= seconds - reserved

        def train() -> Iterator[Event]:
            # What a run begins with may be better than what it learns.
            is_given = self.description.start is not None and trainer.episode == 0 and not trainer.validations
            if is_given and trainer.can_select and (validation := trainer.try_validation(is_stopped)) is not None:
                yield validation
            yield from trainer.train(is_over, is_stopped)
            if trainer.episode < spec.episodes and not trainer.is_stable and not is_told:
                self.stopped_by = TIME_LIMIT
                if not trainer.is_validated and (validation := trainer.try_validation(is_stopped)) is not None:
                    yield validation

        def finish() -> None:
            self.output.restore_best(trainer)
            if not trainer.validations or not self.output.policy.exists():
                self._keep(None)
            if self._progress() != saved or trainer.episode == 0:
                self.output.save_state(trainer, self.elapsed)

        self.output.restore_best(trainer)
        curves = Curves(self.output.path, trainer.episode, self.output.warn)
        try:
            for event in train():
                self.elapsed = time.monotonic() - started
                self.output.append(event, self.elapsed)
                curves.add(event)
                if isinstance(event, Validation):
                    self._keep(event)
                ends = trainer.episode == spec.episodes or is_over()
                due = (trainer.episode - 1) % CHECKPOINT_EVERY == 0 and self._is_complete(event)
                if due and not ends and self.output.save_state(trainer, self.elapsed):
                    saved = self._progress()
                yield event
            finish()
        except GeneratorExit:  # whoever takes the events wants no more of them
            finish()
            raise
        finally:
            curves.close()
            self.output.close()

    def summary(self, stopped_by: str = "") -> list[str]:
        """Closing lines for people to read: how the run ended, how good the best policy is, and where it is.

        `stopped_by` names what ended the run from outside, such as a signal. A run whose last save failed is a
        `WriteError`.
        """
        trainer, policy, best = self.trainer, self.output.policy, self.trainer.best
        if not policy.exists():
            raise WriteError(f"{policy}: cannot be written; the last state of the run is in {self.folder}")
        if self.output.unsaved:
            reasons = "; ".join(self.output.unsaved.values())
            raise WriteError(f"{reasons}; {self.folder} holds the run as of its last save")
        reason = stopped_by or self.stopped_by
        why = f"stopped by {reason}" if reason else "done"
        episodes = plural(trainer.episode, "episode")
        lines = [f"{self.problems.name}: {why} after {episodes} and {self.elapsed:,.0f} s"]
        if not reason and trainer.is_stable:
            last = plural(trainer.spec.stop_after, "validation")
            lines[0] += f": the last {last} solved every problem, and plans got no shorter"
        if best is not None:
            lines.append(f"best: episode {best.episode}" if trainer.can_select else f"last: episode {best.episode}")
            lines += [f"validation: {best.held_out}"] if best.held_out.problems else []
            lines += [f"larger: {best.larger}"] if best.larger is not None and best.larger.problems else []
        return [*lines, f"policy: {policy}" + ("" if best is not None else ", not validated yet")]

    def _progress(self) -> tuple[int, int]:
        """What a saved state has of the run: episodes and validations."""
        return self.trainer.episode, len(self.trainer.validations)

    def _is_complete(self, event: Event) -> bool:
        """Whether no regular validation follows the event, so that a resumed run goes on with the next episode."""
        return isinstance(event, Validation) or not self.trainer.is_validation_due

    def _keep(self, validation: Validation | None) -> None:
        """Saves the current policy, as the best one if it is, or if there is no validation."""
        is_best = validation is None or self.trainer.best is validation
        self.output.keep(self.trainer, self.record(validation), is_best=is_best)

    def record(self, validation: Validation | None) -> dict[str, Any]:
        """What the policy file says about its training."""
        trainer = self.trainer
        return {
            "domain": self.problems.domain.name,
            "suite": self.problems.name,
            "training_problems": len(trainer.tasks),
            "generated_problems": len(trainer.tasks) - len(self.problems.training),
            "largest_training_problem": max(len(task.objects) for task in trainer.tasks),
            "seed": self.description.seed,
            "start": asdict(start) if (start := self.description.start) is not None else None,
            "episode": trainer.episode,
            "seconds": round(self.elapsed, 1),
            "configuration": plain_values(trainer.configuration),
            "validation": validation.to_json() if validation is not None else None,
            "curve": [
                [entry.episode, entry.held_out.solved, entry.larger.solved if entry.larger is not None else None]
                for entry in trainer.validations
            ],
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "saltus": version("saltus"),
            "torch": str(torch.__version__),
        }
