"""Stage `bench`: LAMA's first iteration as a baseline.

Fast Downward is run as a program; its driver comes with the package `up-fast-downward` (extra `baselines`). Translator
and search run below the worker, in its process group. Fast Downward's own memory limit is set as well, because it then
ends with an exit code that says so. The time is left to the supervisor: Fast Downward would count CPU time in whole
seconds.
"""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from saltus.errors import ConfigurationError
from saltus.policy.figures import Figures
from saltus.policy.outcome import Outcome
from saltus.process import PlanJob
from saltus.process.plan_job import plan_message
from saltus.process.plan_work import read_task
from saltus.process.worker import Worker
from saltus.task import Plan, read_plan, validate

LAMA = "lama-first"
"""Fast Downward's alias, and the name of policy and method in records."""

OUTCOMES = {
    10: (Outcome.FAILED, "the translator proved the problem unsolvable"),
    11: (Outcome.FAILED, "the search proved the problem unsolvable"),
    12: (Outcome.FAILED, "the search ended without a plan"),
    20: (Outcome.MEMORY, "translator"),
    22: (Outcome.MEMORY, "search"),
    31: (Outcome.INPUT, "translator"),
    33: (Outcome.INPUT, "search"),
    34: (Outcome.UNSUPPORTED, "search"),
}
"""Fast Downward's exit codes; all others are crashes."""


@dataclass(frozen=True)
class LamaJob(PlanJob):
    """A problem for LAMA, and limits."""

    work: ClassVar[str] = "saltus.bench.lama:solve"
    planner: ClassVar[str] = "lama"
    starts_processes: ClassVar[bool] = True

    policy: str = LAMA

    def policy_facts(self) -> dict[str, Any]:
        """Nothing: there is one LAMA."""
        return {"policy": None, "seed": None}

    def method(self) -> str:
        """The name of the baseline."""
        return LAMA

    def is_flat(self) -> bool:
        """LAMA has no lookahead: the time limit is that of other policies."""
        return False


def solve(worker: Worker) -> Mapping[str, Any]:
    """Runs LAMA's first iteration and validates its plan; returns outcome and detail."""
    job = LamaJob.from_json(worker.job)
    assert worker.scratch is not None
    worker.send("policy", policy=LAMA, method=LAMA, device="cpu", warnings=[])
    outcome, detail, plan = run_lama(job, Path(worker.scratch))
    seconds = time.monotonic() - worker.started
    if plan is None:
        return {"outcome": outcome, "detail": detail}
    if job.limits.seconds is not None and seconds >= job.limits.seconds:  # within the supervisor's grace
        return {"outcome": Outcome.TIME, "detail": ""}
    task = read_task(job)
    worker.send("read", objects=task.object_count, warnings=list(task.problem.warnings))
    verdict = validate(task, plan)
    if not verdict:
        return {"outcome": Outcome.INVALID, "detail": verdict.reason}
    worker.send("figures", **Figures(seconds_plan=seconds).to_json())
    worker.send("plan", **plan_message(plan, verdict.cost, unit_cost=verdict.unit_cost))
    return {"outcome": Outcome.FOUND, "detail": ""}


def find_driver() -> Path:
    """Fast Downward's driver; if it is missing, a `ConfigurationError` says how to install it."""
    package = importlib.util.find_spec("up_fast_downward")
    driver = Path(package.origin).parent / "downward" / "fast-downward.py" if package and package.origin else None
    if driver is None or not driver.is_file():
        raise ConfigurationError("LAMA needs the package up-fast-downward: pip install 'saltus[baselines]'")
    return driver


def lama_command(job: LamaJob, folder: Path) -> list[str]:
    """Command line of LAMA's first iteration; the plan goes to the folder."""
    command = [sys.executable, str(find_driver()), "--alias", LAMA, "--plan-file", str(folder / "plan")]
    command += ["--sas-file", str(folder / "output.sas")]
    if job.limits.memory_mb is not None:
        command += ["--overall-memory-limit", f"{math.ceil(job.limits.memory_mb)}M"]
    return [*command, str(Path(job.domain).absolute()), str(Path(job.problem).absolute())]


def run_lama(job: LamaJob, folder: Path) -> tuple[Outcome, str, Plan | None]:
    """Outcome, detail, and the plan, which has not been validated yet."""
    done = subprocess.run(
        lama_command(job, folder), cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    plan = folder / "plan"
    if plan.is_file() and done.returncode in range(4):  # 1 to 3: a plan, and then out of memory or time
        return Outcome.FOUND, "", read_plan(plan)
    text = done.stderr.decode(errors="replace").strip().splitlines()
    said = text[-1] if text else ""
    outcome, detail = OUTCOMES.get(done.returncode, (Outcome.CRASH, f"exit code {done.returncode}"))
    return outcome, f"{detail}: {said}" if said else detail, None
