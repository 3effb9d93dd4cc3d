"""Stage `bench`: the process that solves one problem: `python -m saltus.bench.worker`.

It reads one line of JSON from standard input (a `Job`; see `supervise.py`), works, and writes messages, one JSON object
a line, to the channel it was told:

    {"event": "read", …}      the task is there: objects, warnings of the reader
    {"event": "policy", …}    name, method, device
    {"event": "figures", …}   counts and times so far
    {"event": "plan", …}      a validated plan, better than those before
    {"event": "end", …}       outcome and detail; always the last one

It never outlives its supervisor: the kernel kills it with its parent where it can (Linux), and where standard input
closes it kills its own process group, children included.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from saltus.bench.job import LAMA, LAMA_NAME, Job
from saltus.bench.lama import run_lama
from saltus.errors import ConfigurationError, InputError, PolicyError, SaltusError, UnsupportedError, WrongPolicyError
from saltus.pddl import Domain, Source, parse_domain, parse_problem
from saltus.policy import LearnedPolicy, Outcome, Planner, Progress, plan_stepwise
from saltus.policy.catalogue import open_learned, open_policy
from saltus.task import Plan, Task, build_task, validate

PAUSE = 0.05
"""Seconds between two messages with figures, at least."""

HEADROOM = 1.05
"""The kernel refuses memory beyond this multiple of the limit; the supervisor kills at the limit itself."""

PR_SET_PDEATHSIG = 1

FIGURES = (
    "jumps",
    "search_decisions",
    "goal_search_decisions",
    "tree_nodes",
    "largest_tree",
    "goals",
    "goal_count",
    "found_by",
    "greedy_outcome",
    "seconds_plan",
    "seconds_dead_ends",
)
"""Of an attempt, that are sent."""

Send = Callable[..., None]
Told = dict[str, Any]
"""The job's line as it came: what the supervisor added to the job, too."""


def work(solve: Callable[[Job, Told, Send], tuple[Outcome, str]] | None = None) -> None:
    """Does the job that standard input tells; `solve` stands in for the work itself in tests."""
    told = json.loads(_first_line(0))
    job = Job.from_json(told)
    hold_on_to_parent(told["parent"], group=job.planner == LAMA, scratch=told["scratch"])
    send = _sender(told["channel"])
    if solve is None:
        solve = solve_with_lama if job.planner == LAMA else solve_with_policy
    try:
        outcome, detail = solve(job, told, send)
    except Exception as error:
        outcome, detail = outcome_of(error)
    send("end", outcome=outcome, detail=detail)


def solve_with_policy(job: Job, told: Told, send: Send) -> tuple[Outcome, str]:
    """Outcome and detail of an attempt with a policy; everything else is sent as it comes."""
    limit_threads(job.threads)
    start = time.monotonic()
    task = read_task(job)
    send("read", objects=task.object_count, seconds=time.monotonic() - start, warnings=list(task.problem.warnings))
    policy, name, warnings = choose_policy(job, task.domain)
    device = device_of(policy)
    if device == "cpu" and job.limits.memory_mb is not None:
        limit_memory(job.limits.memory_mb)
    send("policy", policy=name, method=method_of(policy, name), device=device, warnings=warnings)
    shown: Plan | None = None
    last = 0.0
    attempt = Progress()
    for attempt in plan_stepwise(
        policy,
        task,
        job.limits,
        search=job.search,
        improve=job.improve,
        goal_policy=policy.goal_policy(),
        greedy_share=job.greedy_share,
        started=told["started"],
        threads=job.threads,
    ):
        if attempt.plan is not shown or time.monotonic() - last > PAUSE:
            send("figures", **figures_of(attempt, policy))
            last = time.monotonic()
        if attempt.plan is not None and attempt.plan is not shown:
            shown = attempt.plan
            send_plan(send, shown, attempt.cost, unit_cost=attempt.unit_cost)
    send("figures", **figures_of(attempt, policy))
    return attempt.outcome or Outcome.CRASH, attempt.detail


def solve_with_lama(job: Job, told: Told, send: Send) -> tuple[Outcome, str]:
    """Outcome and detail of LAMA's first iteration."""
    send("policy", policy=LAMA_NAME, method=LAMA_NAME, device="cpu", warnings=[])
    outcome, detail, plan = run_lama(job, Path(told["scratch"]))
    seconds = time.monotonic() - told["started"]
    if plan is None:
        return outcome, detail
    if job.limits.seconds is not None and seconds >= job.limits.seconds:  # within the supervisor's grace
        return Outcome.TIME, ""
    task = read_task(job)
    send("read", objects=task.object_count, seconds=None, warnings=list(task.problem.warnings))
    verdict = validate(task, plan)
    if not verdict:
        return Outcome.INVALID, verdict.reason
    send("figures", seconds_plan=seconds)
    send_plan(send, plan, verdict.cost, unit_cost=verdict.unit_cost)
    return Outcome.FOUND, ""


def read_task(job: Job) -> Task:
    """The task of the job's files."""
    domain = parse_domain(Source.from_file(job.domain))
    return build_task(domain, parse_problem(Source.from_file(job.problem), domain))


def choose_policy(job: Job, domain: Domain) -> tuple[Planner, str, list[str]]:
    """The job's policy, its name or file, and what there is to say about others that were passed over."""
    warnings: list[str] = []
    if job.prefix is not None:
        try:
            return open_learned(job.prefix, domain, device=job.device, threads=job.threads)
        except PolicyError as error:
            warnings.append(f"{error}; going on with {job.policy}")
    policy, name = open_policy(job.policy, domain, device=job.device, seed=job.seed, threads=job.threads)
    return policy, name, warnings


def method_of(policy: Planner, name: str) -> str:
    """Lookahead and encoding of a learned policy, the name of a yardstick."""
    return f"{policy.lookahead.kind}-{policy.encoding.kind}" if isinstance(policy, LearnedPolicy) else name


def device_of(policy: Planner) -> str:
    """cpu or cuda."""
    return str(next(policy.network.parameters()).device.type) if isinstance(policy, LearnedPolicy) else "cpu"


def figures_of(attempt: Progress, policy: Planner) -> dict[str, Any]:
    """Counts and times of an attempt as the record has them."""
    values = {name: getattr(attempt, name) for name in FIGURES}
    times = {f"seconds_{part}": seconds for part, seconds in policy.clock.seconds.items()}
    return {**values, **times}


def send_plan(send: Send, plan: Plan, cost: float | None, *, unit_cost: bool) -> None:
    """A plan as a message."""
    send("plan", steps=[" ".join(step) for step in plan.steps], cost=cost, unit_cost=unit_cost)


def outcome_of(error: Exception) -> tuple[Outcome, str]:
    """Outcome and detail of an error."""
    if isinstance(error, UnsupportedError):
        return Outcome.UNSUPPORTED, str(error)
    if isinstance(error, (WrongPolicyError, ConfigurationError)):
        return Outcome.WRONG_POLICY, str(error)
    if isinstance(error, InputError):
        return Outcome.INPUT, str(error)
    text = f"{type(error).__name__}: {error}".split("\n")[0]
    if isinstance(error, MemoryError) or "OutOfMemoryError" in text or "can't allocate memory" in text:
        return Outcome.MEMORY, text
    if isinstance(error, SaltusError):
        return Outcome.CRASH, str(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return Outcome.CRASH, f"{text} ({os.path.basename(frame.filename)}:{frame.lineno})"


def limit_threads(threads: int | None) -> None:
    """Bounds the threads of what is not told otherwise; must come before PyTorch is imported."""
    if threads is not None:
        os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(threads)


def limit_memory(megabytes: float) -> None:
    """Has the system refuse memory well beyond the limit, so that one giant request fails where it is made."""
    most = int(megabytes * HEADROOM * 2**20)
    with suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (most if hard < 0 else min(most, hard), hard))


def hold_on_to_parent(parent: int, *, group: bool, scratch: str | None = None) -> None:
    """Makes sure that this process ends with its parent; with `group`, its children and the scratch folder too."""
    if sys.platform == "linux" and not group:
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked
        os.killpg(0, signal.SIGKILL)
    threading.Thread(target=_until_closed, args=(0, scratch), daemon=True).start()


def _until_closed(descriptor: int, scratch: str | None) -> None:
    """Kills this process group, and removes its folder, once nobody holds the other end any more."""
    while os.read(descriptor, 4096):
        pass
    if scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def _first_line(descriptor: int) -> bytes:
    """The first line, and not a byte more than was written with it."""
    text = b""
    while not text.endswith(b"\n"):
        part = os.read(descriptor, 65536)
        if not part:
            break
        text += part
    return text


def _sender(descriptor: int) -> Send:
    def send(event: str, **values: Any) -> None:
        text = json.dumps({"event": event, **values}).encode() + b"\n"
        while text:
            text = text[os.write(descriptor, text) :]

    return send


if __name__ == "__main__":
    work()
