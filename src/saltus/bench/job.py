"""Stage `bench`: one problem to solve, as plain values that a process can be told, and what came of it.

`configuration` is a hash of everything that can change the result of a job: the policy file's bytes and the options.
Two records with the same configuration, domain, split and problem are the same run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from saltus.policy.outcome import EXIT_CODES, GREEDY_SHARE, Limits, Outcome
from saltus.policy.policies import YARDSTICKS
from saltus.task import Plan

POLICY = "policy"
LAMA = "lama"
PLANNERS = (POLICY, LAMA)
"""What a job runs: one of our policies, or LAMA's first iteration as a baseline."""

LAMA_NAME = "lama-first"


@dataclass(frozen=True)
class Job:
    """A problem, a policy and limits."""

    domain: str
    """Files."""
    problem: str
    planner: str = POLICY
    policy: str = "auto"
    """A yardstick, the name of a policy that comes with Saltus, a file, or `shipped`: whichever fits the domain."""
    prefix: str | None = None
    """Policy files `prefix`.1, `prefix`.2, …: the last one that fits is taken instead of `policy`; where none does,
    `policy` is."""
    limits: Limits = field(default_factory=Limits)
    search: bool = False
    improve: bool = False
    greedy_share: float = GREEDY_SHARE
    """Of the time limit, that the greedy rollout may take before the search has its turn."""
    device: str = "auto"
    seed: int = 0
    """Of the yardsticks."""
    threads: int | None = None
    """Of a process; None for one a core."""

    def to_json(self) -> dict[str, Any]:
        """The job as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Job:
        """The job of plain values; what else was told is left out."""
        known = {entry.name for entry in fields(cls)}
        chosen = {name: value for name, value in values.items() if name in known}
        return cls(**{**chosen, "limits": Limits(**values["limits"])})

    def configuration(self) -> str:
        """Hash of the policy and of every option that can change the result, 12 hexadecimal digits."""
        yardstick = self.policy in YARDSTICKS
        facts = {
            "planner": self.planner,
            "policy": None if self.planner == LAMA else self.policy if yardstick else file_hash(self.policy),
            "seed": self.seed if yardstick and self.planner == POLICY else None,
            "limits": asdict(self.limits),
            "search": self.search,
            "improve": self.improve,
            "greedy_share": self.greedy_share if self.search else 1.0,
            "device": self.device,
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


def file_hash(path: str) -> str:
    """Hash of a file's bytes; of its name, if it cannot be read: the job will say why."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return hashlib.sha256(path.encode()).hexdigest()


@dataclass(frozen=True)
class Result:
    """What came of a job."""

    outcome: Outcome
    detail: str = ""
    plan: Plan | None = field(default=None, repr=False)
    """The best one; validated."""
    cost: float | None = None
    unit_cost: bool = True
    seconds: float = 0.0
    peak_memory_mb: float | None = None
    policy: str | None = None
    method: str | None = None
    device: str | None = None
    objects: int | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Counts and times of the attempt as far as it got."""
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """What a process that ends so returns."""
        return EXIT_CODES[self.outcome]
