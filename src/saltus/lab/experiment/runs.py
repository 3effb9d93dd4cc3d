"""Stage `lab.experiment`: the training runs of an experiment: which there are, and which are still missing.

    runs/DOMAIN/SYSTEM/seed-N/    the folder of a run or a contest, or of the model of another planner
        trained.json              what it was trained with, written once it has ended by itself

A run without this file, or with one that says something else, is missing: it is started, or resumed. So the
experiment's file may ask for more episodes later, and only what the runs lack is trained.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from saltus.errors import InputError
from saltus.files import SETTINGS_BYTES, parse_object, read_whole, write_whole
from saltus.lab.baselines.wl_model import model_digest
from saltus.lab.baselines.wl_training import WLTrainJob
from saltus.lab.experiment.spec import ExperimentSpec, Machines, System
from saltus.model.weights import load_weights
from saltus.policy.catalogue import RUN_POLICY
from saltus.process import Job
from saltus.task import Suite

MARK = "trained.json"
MODEL = "model.json"
"""What another planner has learned."""


@dataclass(frozen=True)
class PlannedRun:
    """A system that is trained on a domain with a seed."""

    system: System
    suite: Suite
    seed: int
    folder: Path

    def __str__(self) -> str:
        return f"{self.system.name} {self.suite.name} seed {self.seed}"

    @property
    def policy(self) -> Path:
        """Its best policy, or the model of another planner."""
        return self.folder / (RUN_POLICY if self.system.planner is None else MODEL)

    def policy_digest(self) -> str:
        """A short text that differs for policies that may play differently, for a trained run."""
        return policy_digest(self.policy) if self.system.planner is None else model_digest(self.policy)

    def job(self, machines: Machines) -> Job[Any]:
        """What trains it, or goes on with it."""
        system, problems = self.system, str(self.suite.domain.parent)
        if system.planner is not None:
            seconds = system.plan_seconds
            return WLTrainJob(problems, str(self.policy), seconds, device="cpu", threads=machines.threads)
        from saltus.learn.contest_job import ContestJob  # here, because importing PyTorch takes a second
        from saltus.learn.train_job import TrainJob

        if system.contest:
            return ContestJob(
                self.suite.name,
                problems,
                str(self.folder),
                seed=self.seed,
                settings=system.training.settings,
                seconds=system.training.seconds,
                slots=system.slots,
                device=machines.device,
                threads=machines.threads * system.slots,
            )
        return TrainJob(
            self.suite.name,
            problems,
            str(self.folder),
            seed=self.seed,
            config=system.config,
            settings=self.settings,
            seconds=system.training.seconds,
            device=machines.device,
            threads=machines.threads,
        )

    @property
    def settings(self) -> tuple[str, ...]:
        """Changes to the configuration of the system."""
        training = self.system.training
        more = () if training.episodes is None else (f"training.episodes={training.episodes}",)
        return (*training.settings, *more)

    def is_trained(self) -> bool:
        """Whether it has ended by itself with the budget that it has now."""
        try:
            found = parse_object(read_whole(self.folder / MARK, SETTINGS_BYTES))
        except (InputError, ValueError):
            return False
        return found.get("training") == self._training() and self.policy.is_file()

    def mark(self, summary: str) -> None:
        """Remembers that it has ended."""
        values = {"version": 1, "training": self._training(), "summary": summary}
        write_whole(self.folder / MARK, json.dumps(values, indent=2) + "\n")

    def _training(self) -> dict[str, Any]:
        """What it is trained with, as plain values."""
        if self.system.planner is not None:
            return {"planner": self.system.planner, "plan_seconds": self.system.plan_seconds}
        if self.system.contest:
            return {"contest": list(self.system.training.settings), "seconds": self.system.training.seconds}
        config = Path(self.system.config or "").name  # files lie in other folders on other machines
        return {"config": config, "settings": list(self.settings), "seconds": self.system.training.seconds}


def planned_runs(spec: ExperimentSpec, out: Path) -> list[PlannedRun]:
    """All runs of an experiment: every system and domain with its first seed, then those with further seeds.

    The systems take turns, so that slow and fast ones share the machine, and an experiment that is stopped has compared
    all of them on some domains rather than some of them on all domains.
    """
    trained = [system for system in spec.systems if system.is_trained]
    return [
        PlannedRun(system, suite, seed, out / "runs" / suite.name / system.name / f"seed-{seed}")
        for turn in range(max((len(system.seeds) for system in trained), default=0))
        for suite in spec.suites
        for system in trained
        if suite.name in system.domains
        for seed in system.seeds[turn : turn + 1]
    ]


def policy_digest(path: Path) -> str:
    """A short text that differs for policies that may play differently.

    Unlike the file it does not say when and how fast the policy was trained: a run that was killed and resumed has the
    same digest as one that was not.
    """
    description, weights = load_weights(path)
    parts = {name: asdict(getattr(description, name)) for name in ("encoding", "lookahead", "play", "model", "cost")}
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode())
    for name, value in sorted(weights.items()):
        digest.update(f"{name} {value.dtype} {value.shape}".encode() + value.tobytes())
    return digest.hexdigest()[:16]
