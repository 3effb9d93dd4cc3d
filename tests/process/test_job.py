"""Jobs in processes of their own: what becomes of faults, errors and late ends; which work a worker does; runners."""

from __future__ import annotations

import json
import sys
import threading
import time

import pytest
from tests.conftest import ROOT
from tests.process.doubles import INVALID, double

from saltus.errors import ConfigurationError
from saltus.policy import Limits, Outcome
from saltus.process import LocalRunner, PlanJob, PlanResult, Stop, run_job
from saltus.process.job import WORKER
from saltus.process.plan_work import solve
from saltus.process.worker import find_work


def test_faults_of_the_planner_are_outcomes() -> None:
    blocks = ROOT / "examples" / "blocksworld"
    job = PlanJob(str(blocks / "domain.pddl"), str(blocks / "p03.pddl"), policy="goal-count")
    result = run_job(job, command=INVALID)
    assert (result.outcome, result.plan, result.exit_code) == (Outcome.INVALID, None, 32)
    assert "step 1 (pickup a): precondition (clear a) does not hold" in result.detail
    result = run_job(job, command=double("raise RuntimeError('planted')"))
    assert (result.outcome, result.detail) == (
        Outcome.CRASH,
        "exit code 1 without a result: RuntimeError: planted",
    )
    result = run_job(job, command=double("sys.exit(0)"))
    assert (result.outcome, result.detail) == (Outcome.CRASH, "exit code 0 without a result")


def test_an_error_in_the_worker_says_where() -> None:
    blocks = ROOT / "examples" / "blocksworld"
    code = "from saltus.process.worker import run_worker\ndef work(worker):\n    raise {}\nrun_worker(work)"
    job = PlanJob(str(blocks / "domain.pddl"), str(blocks / "p03.pddl"))
    expected = {
        "ZeroDivisionError('planted')": (Outcome.CRASH, "ZeroDivisionError: planted (<string>:3)"),
        "MemoryError": (Outcome.MEMORY, "MemoryError: "),
        'RuntimeError("DefaultCPUAllocator: can\'t allocate memory")': (
            Outcome.MEMORY,
            "RuntimeError: DefaultCPUAllocator: can't allocate memory",
        ),
    }
    for error, outcome in expected.items():
        result = run_job(job, command=[sys.executable, "-c", code.format(error)])
        assert (result.outcome, result.detail) == outcome


def test_a_plan_that_was_told_counts_whatever_happens_afterwards() -> None:
    sent = "send('plan', steps=['pickup a'], cost=1.0, unit_cost=True);"
    job = PlanJob("d", "p", limits=Limits(seconds=1))
    for code, detail in (
        ("time.sleep(60)", "then time limit"),
        ("os.abort()", "then crash: killed by SIGABRT"),
        ("send('end', outcome='memory limit', detail='x')", "then memory limit: x"),
    ):
        result = run_job(job, command=double(sent + code))
        assert (result.outcome, result.cost, result.detail) == (Outcome.FOUND, 1.0, detail)
        assert result.plan is not None


def test_the_worker_is_the_real_one() -> None:
    assert WORKER[-1] == "saltus.process.worker"
    job = PlanJob("d", "p", prefix="dk", limits=Limits(1.0, 2.0, 3), search=True, threads=2)
    assert PlanJob.from_json(json.loads(json.dumps(job.to_json()))) == job


def test_a_worker_only_does_work_of_this_package() -> None:
    assert find_work(PlanJob.work) is solve
    for name in ("os:abort", "saltusx.process:solve", "saltus.process.plan_work", "saltus.process.plan_work:"):
        with pytest.raises(ConfigurationError, match="expected a function of this package"):
            find_work(name)


def test_at_most_so_many_jobs_run_at_a_time_and_all_are_run() -> None:
    running, most, guard = [0], [0], threading.Lock()
    both = threading.Barrier(2, timeout=20)

    def work(job: PlanJob, **_: object) -> PlanResult:
        with guard:
            running[0] += 1
            most[0] = max(most[0], running[0])
        both.wait()
        with guard:
            running[0] -= 1
        return PlanResult(Outcome.FAILED, detail=job.problem)

    jobs = [PlanJob("", str(number)) for number in range(6)]
    begun: list[int] = []
    finished = list(LocalRunner(2, work).run(jobs, begun.append))
    assert most == [2]
    assert sorted(begun) == list(range(6))
    assert {entry.number: entry.result.detail for entry in finished} == {number: str(number) for number in range(6)}


def test_a_closed_runner_starts_no_more_jobs() -> None:
    begun: list[int] = []

    def work(job: PlanJob, stop: Stop) -> PlanResult:
        while job.problem == "slow" and not stop.is_asked:
            time.sleep(0.01)
        return PlanResult(Outcome.FAILED)

    finished = LocalRunner(1, work).run([PlanJob("", name) for name in ("quick", "slow", "never")], begun.append)
    assert next(finished).number == 0
    finished.close()
    assert begun in ([0], [0, 1])


def test_an_error_in_a_thread_is_raised() -> None:
    def work(job: PlanJob, **_: object) -> PlanResult:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(LocalRunner(2, work).run([PlanJob("", "")] * 3))
