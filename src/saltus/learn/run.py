"""Stage `learn`: a training run: a trainer, its folder, and the loop that trains, logs and saves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import torch

from saltus.files import WriteError, write_whole
from saltus.learn.config import plain_values
from saltus.learn.folder import RunDescription, RunFolder
from saltus.learn.problems import Problems
from saltus.learn.trainer import Event, Trainer
from saltus.learn.validation import Validation


class Run:
    """A trainer and its folder; `events` trains, logs, and saves what must be saved."""

    def __init__(self, trainer: Trainer, folder: RunFolder, problems: Problems, description: RunDescription) -> None:
        self.trainer = trainer
        self.folder = folder
        self.problems = problems
        self.description = description
        self.elapsed = 0.0

    def events(self, stop: Callable[[], bool] = lambda: False, seconds: float | None = None) -> Iterator[Event]:
        """Events until training ends, `stop` says so, or the run has taken so many seconds in all."""
        started = time.monotonic() - self.elapsed
        trainer, spec, saved = self.trainer, self.trainer.spec, self.trainer.episode

        def is_over() -> bool:
            return stop() or (seconds is not None and time.monotonic() - started >= seconds)

        self._restore_best()
        self.folder.open_tensorboard(trainer.episode)
        try:
            for event in trainer.train(is_over):
                self.elapsed = time.monotonic() - started
                self.folder.append(event, self.elapsed)
                if isinstance(event, Validation):
                    self._keep(event)
                ends = trainer.episode == spec.episodes or is_over()
                due = trainer.episode % spec.checkpoint_every == 0 and self._is_complete(event)
                if due and not ends and self.folder.save_state(trainer, self.elapsed):
                    saved = trainer.episode
                yield event
            if trainer.episode != saved or not self.folder.state.exists():
                self.folder.save_state(trainer, self.elapsed)
            self._restore_best()
            if not trainer.validations or not self.folder.policy.exists():
                self._keep(None)
        finally:
            self.folder.close()

    def summary(self, stopped_by: str = "") -> list[str]:
        """Closing lines: how the run ended, its best validation, and where the policy is; for people to read.

        `stopped_by` names what ended the run from outside, such as a signal.
        """
        trainer = self.trainer
        if not self.folder.policy.exists():
            raise WriteError(f"{self.folder.policy}: cannot be written; the run's last state is in {self.folder.path}")
        why = f"stopped by {stopped_by}" if stopped_by else "stable" if trainer.is_stable else "done"
        lines = [f"{self.problems.name}: {why} after {trainer.episode} episodes and {self.elapsed:,.0f} s"]
        if trainer.best is not None:
            lines.append(f"best: episode {trainer.best.episode}, {trainer.best}")
        return [*lines, f"policy: {self.folder.policy}"]

    def _is_complete(self, event: Event) -> bool:
        """Whether nothing else happens in this episode, so that a resumed run goes on with the next."""
        spec, episode = self.trainer.spec, self.trainer.episode
        return isinstance(event, Validation) or episode % spec.validate_every != 0

    def _keep(self, validation: Validation | None) -> None:
        """Saves the policy as of now, and as the best if it is."""
        record = self.record(validation)
        episode = self.trainer.episode
        self.folder.save_policy(self.folder.checkpoint(episode), self.trainer, record)
        if validation is None or self.trainer.best is validation:
            self.folder.save_policy(self.folder.policy, self.trainer, record)

    def _restore_best(self) -> None:
        """Makes the best checkpoint the policy where another one is: a disk was full, or a kill lost some episodes."""
        best, folder = self.trainer.best, self.folder
        if best is None or folder.episode_of(folder.policy) == best.episode:
            return
        try:
            write_whole(folder.policy, folder.checkpoint(best.episode).read_bytes())
        except (WriteError, OSError) as error:
            folder.warn(f"best policy, of episode {best.episode}, not restored: {error}")

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
