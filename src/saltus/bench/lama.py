"""Stage `bench`: LAMA's first iteration as a baseline.

Fast Downward is run as a program: its driver comes with the package `up-fast-downward` (extra `baselines`). Translator
and search run below this process, in its process group. Fast Downward's own memory limit is set too: it ends with an
exit code that says so. The time is the supervisor's to watch: Fast Downward would count CPU time in whole seconds.
"""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
from pathlib import Path

from saltus.bench.job import Job
from saltus.errors import ConfigurationError
from saltus.policy.outcome import Outcome
from saltus.task import Plan, read_plan

ALIAS = "lama-first"

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


def find_driver() -> Path:
    """Fast Downward's driver; a `ConfigurationError` says how to get it."""
    package = importlib.util.find_spec("up_fast_downward")
    driver = Path(package.origin).parent / "downward" / "fast-downward.py" if package and package.origin else None
    if driver is None or not driver.is_file():
        raise ConfigurationError("LAMA needs the package up-fast-downward: pip install 'saltus[baselines]'")
    return driver


def lama_command(job: Job, folder: Path) -> list[str]:
    """Command line of LAMA's first iteration; the plan goes into the folder."""
    command = [sys.executable, str(find_driver()), "--alias", ALIAS, "--plan-file", str(folder / "plan")]
    command += ["--sas-file", str(folder / "output.sas")]
    if job.limits.memory_mb is not None:
        command += ["--overall-memory-limit", f"{math.ceil(job.limits.memory_mb)}M"]
    return [*command, str(Path(job.domain).absolute()), str(Path(job.problem).absolute())]


def run_lama(job: Job, folder: Path) -> tuple[Outcome, str, Plan | None]:
    """Outcome, detail and the plan, which nobody has validated yet."""
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
