"""Stage `process`: jobs in, results out. Each job runs in a process of its own, which cannot exceed its limits.

A `Job` describes a unit of work as plain values. A supervisor starts a worker process for it, passes the job on as
JSON, receives messages, and enforces the limits. A runner runs many jobs in parallel, on this machine or on Ray.
"""

from typing import TYPE_CHECKING

from saltus.later import names_later

if TYPE_CHECKING:
    from saltus.process.job import Job, ResultBuilder, Watch, run_job
    from saltus.process.plan_job import PlanJob, PlanResult
    from saltus.process.ray_runner import RayRunner
    from saltus.process.runner import Finished, LocalRunner, Runner
    from saltus.process.supervisor import Message, Stop
else:
    __getattr__ = names_later(
        __name__,
        {
            "job": "Job ResultBuilder Watch run_job",
            "plan_job": "PlanJob PlanResult",
            "ray_runner": "RayRunner",
            "runner": "Finished LocalRunner Runner",
            "supervisor": "Message Stop",
        },
    )

__all__ = [
    "Finished",
    "Job",
    "LocalRunner",
    "Message",
    "PlanJob",
    "PlanResult",
    "RayRunner",
    "ResultBuilder",
    "Runner",
    "Stop",
    "Watch",
    "run_job",
]
