"""Stage `bench`: policies and suites in, records out: one process a problem under hard limits, resumable."""

from saltus.bench.job import PLANNERS, Job, Result
from saltus.bench.run import run_job

__all__ = ["PLANNERS", "Job", "Result", "run_job"]
