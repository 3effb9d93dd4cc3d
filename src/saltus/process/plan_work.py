"""Stage `process`: the work of a `PlanJob`, in the worker. Messages:

{"event": "read", …}      the task has been read: number of objects, warnings
{"event": "policy", …}    the policy has been loaded: name, method, device, warnings
{"event": "figures", …}   all figures so far
{"event": "plan", …}      a validated plan, better than those before
{"event": "end", …}       outcome, detail, whether there is proof that no plan exists
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from saltus.errors import NoPolicyError, PolicyError
from saltus.lookahead import TreeSpec
from saltus.pddl import Domain, Source, parse_domain, parse_problem
from saltus.policy import Figures, LearnedPolicy, Outcome, Planner, Progress, plan_stepwise
from saltus.policy.catalogue import AUTO, fallback_note, fallback_policy, open_learned, open_policy
from saltus.process.limits import limit_memory
from saltus.process.plan_job import PlanJob, plan_message, yardstick_method
from saltus.process.worker import Worker
from saltus.task import Plan, Task, build_task


def solve(worker: Worker) -> Mapping[str, Any]:
    """Plans with a policy; returns how that ended, and sends everything else as it comes."""
    job = PlanJob.from_json(worker.job)
    start = time.monotonic()
    task = read_task(job)
    seconds_read = time.monotonic() - start
    worker.send("read", objects=task.object_count, warnings=list(task.problem.warnings))
    worker.send("figures", **Figures(seconds_read=seconds_read).to_json())
    policy, name, warnings = choose_policy(job, task.domain)
    if isinstance(policy, LearnedPolicy):
        device, method = policy.scorer.device, policy.method
    else:
        device, method = "cpu", yardstick_method(name, (*policy.lookahead.settings, *policy.play_spec.settings))
    if device == "cpu" and job.limits.memory_mb is not None:
        limit_memory(job.limits.memory_mb)
    worker.send("policy", policy=name, method=method, device=device, warnings=warnings)
    progress = Progress()

    def send_figures() -> None:
        measured = replace(Figures.of(progress), seconds_read=seconds_read, **policy.clock.figures())
        worker.send("figures", **measured.to_json())

    shown: Plan | None = None
    last = 0.0
    for progress in plan_stepwise(
        policy,
        task,
        job.limits,
        search=job.search,
        improve=job.improve,
        goal_policy=policy.goal_policy(),
        started=worker.started,
        threads=job.threads,
    ):
        if progress.plan is not shown or time.monotonic() - last > 0.05:  # figures alone only now and then
            send_figures()
            last = time.monotonic()
        if progress.plan is not None and progress.plan is not shown:
            shown = progress.plan
            worker.send("plan", **plan_message(shown, progress.cost, unit_cost=progress.unit_cost))
    send_figures()
    return {
        "outcome": progress.outcome or Outcome.CRASH,
        "detail": progress.detail,
        "unsolvable": progress.unsolvable,
    }


def read_task(job: PlanJob) -> Task:
    """The task of the job's files."""
    names = job.names or (job.domain, job.problem)
    domain = parse_domain(Source.from_file(job.domain, names[0], strict=job.strict))
    return build_task(domain, parse_problem(Source.from_file(job.problem, names[1], strict=job.strict), domain))


def choose_policy(job: PlanJob, domain: Domain) -> tuple[Planner, str, list[str]]:
    """The job's policy, its name or file, and warnings about policies that were passed over.

    Where no bundled policy fits, the fallback takes its place, with a warning.
    """
    warnings: list[str] = []
    if job.prefix is not None:
        try:
            return open_learned(job.prefix, domain, device=job.device, threads=job.threads)
        except PolicyError as error:
            warnings.append(f"{error}; continuing with {job.policy}")
    try:
        policy, name = open_policy(
            job.policy,
            domain,
            device=job.device,
            seed=job.seed,
            threads=job.threads,
            lookahead=TreeSpec.of(job.lookahead) if job.lookahead else None,
            play=job.play,
        )
    except NoPolicyError:
        if job.policy != AUTO:
            raise
        policy, name = fallback_policy(job.seed, job.play)
        warnings.append(fallback_note(domain))
    return policy, name, warnings
