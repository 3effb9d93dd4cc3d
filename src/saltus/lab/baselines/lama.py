"""Stage `lab.baselines`: LAMA: its first iteration, or all of them, one plan after the other.

Fast Downward is run as a program; its driver comes with the package `up-fast-downward` (extra `baselines`). Translator
and search run below the worker, in its process group. Fast Downward's own memory limit is set as well, because it then
ends with an exit code that says so. The time is left to the supervisor: Fast Downward would count CPU time in whole
seconds.
"""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
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
from saltus.task import Plan, Task, read_plan, validate

LAMA = "lama-first"
"""Fast Downward's alias for the first iteration, and the name of policy and method in records."""

ANYTIME = "lama"
"""The same for all iterations."""

PLAN_END = b"; cost = "
"""What the last line of a plan file begins with: the file is complete."""

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
    """A problem for LAMA, and limits; with `improve`, it goes on after the first plan."""

    work: ClassVar[str] = "saltus.lab.baselines.lama:solve"
    planner: ClassVar[str] = "lama"
    starts_processes: ClassVar[bool] = True

    policy: str = LAMA

    def policy_facts(self) -> dict[str, Any]:
        """Nothing: there is one LAMA."""
        return {"policy": None, "seed": None}

    def method(self) -> str:
        """The name of the baseline."""
        return ANYTIME if self.improve else LAMA


def solve(worker: Worker) -> Mapping[str, Any]:
    """Runs LAMA and validates its plans, the last of which is the best; returns outcome and detail."""
    job = LamaJob.from_json(worker.job)
    assert worker.scratch is not None
    worker.send("policy", policy=job.method(), method=job.method(), device="cpu", warnings=[])
    task: Task | None = None
    best = math.inf
    with closing(run_lama(job, Path(worker.scratch))) as results:
        for found in results:
            seconds = time.monotonic() - worker.started
            if not isinstance(found, Plan):
                return {"outcome": found[0], "detail": found[1]}
            if job.limits.seconds is not None and seconds >= job.limits.seconds:  # within the supervisor's grace
                break
            if task is None:
                task = read_task(job)
                worker.send("read", objects=task.object_count, warnings=list(task.problem.warnings))
                worker.send("figures", **Figures(seconds_plan=seconds).to_json())
            verdict = validate(task, found)
            if not verdict:
                return {"outcome": Outcome.INVALID, "detail": verdict.reason}
            cost = len(found.steps) if verdict.cost is None else verdict.cost
            if cost < best:
                best = cost
                worker.send("plan", **plan_message(found, verdict.cost, unit_cost=verdict.unit_cost))
    return {"outcome": Outcome.TIME if task is None else Outcome.FOUND, "detail": ""}


def find_driver() -> Path:
    """Fast Downward's driver; if it is missing, a `ConfigurationError` says how to install it."""
    package = importlib.util.find_spec("up_fast_downward")
    driver = Path(package.origin).parent / "downward" / "fast-downward.py" if package and package.origin else None
    if driver is None or not driver.is_file():
        raise ConfigurationError("LAMA needs the package up-fast-downward: pip install 'saltus[baselines]'")
    return driver


def fast_downward(alias: str, folder: Path, limits: Sequence[str], *inputs: str | Path) -> list[str]:
    """Command line of Fast Downward for a domain and a problem; plans go to the folder."""
    command = [sys.executable, str(find_driver()), "--alias", alias, "--plan-file", str(folder / "plan")]
    return [*command, "--sas-file", str(folder / "output.sas"), *limits, *map(os.path.abspath, inputs)]


def run_lama(job: LamaJob, folder: Path) -> Generator[Plan | tuple[Outcome, str], None, None]:
    """The plans as they are found, not validated yet; if there is none, outcome and detail instead."""
    memory = job.limits.memory_mb
    limits = [] if memory is None else ["--overall-memory-limit", f"{math.ceil(memory)}M"]
    with open(folder / "errors", "wb") as errors:
        process = subprocess.Popen(
            fast_downward(job.method(), folder, limits, job.domain, job.problem),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
    try:
        count = 0
        while True:
            code = process.poll()  # before the look at the files, so that none is missed
            while (plan := _plan_file(job, folder, count + 1)) is not None:
                count += 1
                yield plan
            if code is not None:
                break
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    if count and code in range(4):  # 1 to 3: a plan, and then out of memory or time
        return
    text = (folder / "errors").read_text(errors="replace").strip().splitlines()
    said = text[-1] if text else ""
    outcome, detail = OUTCOMES.get(code, (Outcome.CRASH, f"exit code {code}"))
    yield outcome, f"{detail}: {said}" if said else detail


def _plan_file(job: LamaJob, folder: Path, number: int) -> Plan | None:
    """The plan of that number; None if there is none yet. Where there is one at most, its file has no number."""
    if not job.improve and number > 1:
        return None
    path = folder / (f"plan.{number}" if job.improve else "plan")
    if not path.is_file() or not path.read_bytes().rstrip().rpartition(b"\n")[2].startswith(PLAN_END):
        return None
    return read_plan(path)
