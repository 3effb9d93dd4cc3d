"""Stage `up`: the engine: problems of unified-planning in, its results and plans out.

A problem is written as PDDL (`translation.py`) and planned for as `saltus plan` does it: in a process of its own, whose
limits on time and memory hold whatever it is doing. `OneshotPlanner` takes the first plan; `AnytimePlanner` gets every
plan of the improvement (`policy/improve.py`) as it is found. A policy that is given as an object, rather than by its
name or file, plays in this process, where the time limit is checked between its decisions.
"""

from __future__ import annotations

import os
import queue
import tempfile
import time
import warnings
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from unified_planning.engines import (
    AnytimeGuarantee,
    Credits,
    Engine,
    LogMessage,
    OptimalityGuarantee,
    PlanGenerationResult,
)
from unified_planning.engines import PlanGenerationResultStatus as Status
from unified_planning.engines.mixins import AnytimePlannerMixin, OneshotPlannerMixin
from unified_planning.engines.results import LogLevel
from unified_planning.model import Problem, ProblemKind

from saltus.errors import UnsupportedError, WrongPolicyError, plural
from saltus.model.device import find_device
from saltus.pddl import Source, parse_problem
from saltus.policy.catalogue import AUTO, full_name
from saltus.policy.figures import Figures
from saltus.policy.outcome import Limits, Outcome
from saltus.policy.planning import Planner, plan_stepwise
from saltus.process import Message, PlanJob, PlanResult, Stop, run_job
from saltus.task import build_task
from saltus.task.plan import cost_text
from saltus.up.fit import DOMAIN_NAME, PROBLEM_NAME, read_domain, signatures, translate_for
from saltus.up.translation import Translation, has_false_goal

FEATURES = {
    "problem_class": ("ACTION_BASED",),
    "typing": ("FLAT_TYPING", "HIERARCHICAL_TYPING"),
    "conditions_kind": (
        "NEGATIVE_CONDITIONS",
        "DISJUNCTIVE_CONDITIONS",
        "EQUALITIES",
        "EXISTENTIAL_CONDITIONS",
        "UNIVERSAL_CONDITIONS",
    ),
    "effects_kind": (
        "CONDITIONAL_EFFECTS",
        "FORALL_EFFECTS",
        "STATIC_FLUENTS_IN_BOOLEAN_ASSIGNMENTS",
        "FLUENTS_IN_BOOLEAN_ASSIGNMENTS",
    ),
    "quality_metrics": ("ACTIONS_COST", "PLAN_LENGTH"),
    "actions_cost_kind": (
        "STATIC_FLUENTS_IN_ACTIONS_COST",
        "INT_NUMBERS_IN_ACTIONS_COST",
        "REAL_NUMBERS_IN_ACTIONS_COST",
    ),
}
"""What problems may have, by the groups of unified-planning."""

STATUSES = {
    Outcome.FOUND: Status.SOLVED_SATISFICING,
    Outcome.FAILED: Status.UNSOLVABLE_INCOMPLETELY,
    Outcome.NO_JUMP: Status.UNSOLVABLE_INCOMPLETELY,
    Outcome.JUMPS: Status.UNSOLVABLE_INCOMPLETELY,
    Outcome.TIME: Status.TIMEOUT,
    Outcome.MEMORY: Status.MEMOUT,
    Outcome.CRASH: Status.INTERNAL_ERROR,
    Outcome.INVALID: Status.INTERNAL_ERROR,
    Outcome.INPUT: Status.UNSUPPORTED_PROBLEM,
    Outcome.UNSUPPORTED: Status.UNSUPPORTED_PROBLEM,
    Outcome.WRONG_POLICY: Status.UNSUPPORTED_PROBLEM,
    Outcome.CONFIGURATION: Status.INTERNAL_ERROR,
    Outcome.INTERRUPTED: Status.INTERNAL_ERROR,
}
"""Statuses of results; the only input here is PDDL that unified-planning wrote and Saltus does not accept. A proof that
there is no plan makes another one."""

Steps = Generator[PlanResult, None, PlanResult]
"""Yields the result so far for every plan if the plan is to be improved; returns the last result."""


class SaltusEngine(Engine, OneshotPlannerMixin, AnytimePlannerMixin):  # type: ignore[misc]
    """The engine `saltus`."""

    def __init__(
        self,
        policy: str | os.PathLike[str] | Planner = AUTO,
        *,
        search: bool = True,
        memory_limit: float | None = None,
        max_jumps: int | None = None,
        device: str = "auto",
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        """An engine with a policy: a name, a file, a folder or an object, as for `saltus.load_policy`.

        `auto` stands for the bundled policy that fits the problem's domain, or for the yardstick goal-count if none
        does. A search follows a greedy rollout that fails, unless `search` is False. `memory_limit` is in MiB;
        `device`, `threads` and it are for policies that are not given as objects. `seed` is that of the yardsticks.
        """
        Engine.__init__(self)
        OneshotPlannerMixin.__init__(self)
        AnytimePlannerMixin.__init__(self)
        self.policy = policy if isinstance(policy, Planner) else full_name(os.fspath(policy))
        self.search = search
        self.limits = Limits(memory_mb=memory_limit, max_jumps=max_jumps)
        self.device = device
        self.threads = threads
        self.seed = seed
        find_device(device)
        next(signatures(self.policy), None)  # a policy that cannot be read is an error now, not with the first problem

    @property
    def name(self) -> str:
        """The engine's name."""
        return "Saltus"

    @staticmethod
    def supported_kind() -> ProblemKind:
        """Everything that problems may have."""
        kind = ProblemKind(version=2)
        for group, features in FEATURES.items():
            for feature in features:
                getattr(kind, f"set_{group}")(feature)
        return kind

    @staticmethod
    def supports(problem_kind: ProblemKind) -> bool:
        """Whether problems of that kind are supported."""
        return bool(problem_kind <= SaltusEngine.supported_kind())

    @staticmethod
    def satisfies(optimality_guarantee: OptimalityGuarantee) -> bool:
        """Whether plans are as good as that: none is known to be optimal."""
        return bool(optimality_guarantee == OptimalityGuarantee.SATISFICING)

    @staticmethod
    def ensures(anytime_guarantee: AnytimeGuarantee) -> bool:
        """Whether plans come as that: each is better than the one before."""
        return bool(anytime_guarantee == AnytimeGuarantee.INCREASING_QUALITY)

    @staticmethod
    def get_credits(**kwargs: Any) -> Credits:
        """What unified-planning prints about the engine."""
        short = "General policies for classical planning, learned on small problems."
        return Credits(
            name="Saltus",
            author="The Saltus developers",
            contact="https://github.com/saltus-planner/saltus/issues",
            website="https://github.com/saltus-planner/saltus",
            license="MIT",
            short_description=short,
            long_description=f"{short} Width-based lookahead, relational graph neural networks, Q-learning.",
        )

    # -- operation modes ---------------------------------------------------------------------------------------------

    def _solve_with_params(
        self,
        problem: Problem,
        heuristic: Any = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
        warm_start_plan: Any = None,
        **kwargs: Any,
    ) -> PlanGenerationResult:
        """The result of planning until the first plan."""
        _warn_ignored(heuristic=heuristic, warm_start_plan=warm_start_plan, **kwargs)
        return list(self._results(problem, timeout, output_stream, improve=False))[-1]

    def _get_solutions_with_params(
        self,
        problem: Problem,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
        warm_start_plan: Any = None,
        **kwargs: Any,
    ) -> Iterator[PlanGenerationResult]:
        """A result for every plan, each better than the one before, and a last one with the best plan."""
        _warn_ignored(warm_start_plan=warm_start_plan, **kwargs)
        yield from self._results(problem, timeout, output_stream, improve=True)

    def _solve(
        self, problem: Problem, heuristic: Any = None, timeout: float | None = None, output_stream: Any = None
    ) -> PlanGenerationResult:
        """The older name of `_solve_with_params`."""
        return self._solve_with_params(problem, heuristic, timeout, output_stream)

    def _get_solutions(
        self, problem: Problem, timeout: float | None = None, output_stream: Any = None
    ) -> Iterator[PlanGenerationResult]:
        """The older name of `_get_solutions_with_params`."""
        yield from self._get_solutions_with_params(problem, timeout, output_stream)

    # -- planning ----------------------------------------------------------------------------------------------------

    def _results(
        self, problem: Problem, timeout: float | None, stream: IO[str] | None, *, improve: bool
    ) -> Iterator[PlanGenerationResult]:
        """Results as they come; all but the last are of plans that may still be improved."""
        started = time.monotonic()
        limits = Limits(timeout, self.limits.memory_mb, self.limits.max_jumps)
        reply = _Reply(self.name, stream)
        if type(problem) is not Problem or not (self.skip_checks or self.supports(problem.kind)):
            extra = problem.kind.features - self.supported_kind().features
            reason = f"not supported: {', '.join(sorted(extra)) or type(problem).__name__}"
            yield reply.last(PlanResult(Outcome.UNSUPPORTED, reason))
            return
        if has_false_goal(problem):
            yield reply.last(PlanResult(Outcome.FAILED, "a goal is false in every state", unsolvable=True))
            return
        try:
            reply.translation = translate_for(problem, self.policy)
        except UnsupportedError as error:
            yield reply.last(PlanResult(Outcome.UNSUPPORTED, str(error)))
            return
        plan = self._play if isinstance(self.policy, Planner) else self._supervise
        steps = plan(reply.translation, limits, started, improve=improve)
        with closing(steps):  # a process ends as soon as the caller stops listening
            while True:
                try:
                    result = next(steps)
                except StopIteration as end:
                    yield reply.last(end.value)
                    return
                yield reply.intermediate(result)

    def _supervise(self, translation: Translation, limits: Limits, started: float, *, improve: bool) -> Steps:
        """Planning in a process, with the policy of the engine's name."""
        assert isinstance(self.policy, str)
        with _files(translation) as (domain, problem):
            job = PlanJob(
                domain,
                problem,
                names=(DOMAIN_NAME, PROBLEM_NAME),
                policy=self.policy,
                limits=limits,
                search=self.search,
                improve=improve,
                device=self.device,
                threads=self.threads,
                seed=self.seed,
            )
            if not improve:
                return run_job(job, started=started)
            return (yield from _watched(job, started))

    def _play(self, translation: Translation, limits: Limits, started: float, *, improve: bool) -> Steps:
        """Planning in this process, with the engine's own policy."""
        policy = self.policy
        assert isinstance(policy, Planner)
        label = getattr(policy, "name", "") or type(policy).__name__
        try:
            domain = read_domain(translation)
            task = build_task(
                domain, parse_problem(Source.from_bytes(translation.problem.encode(), PROBLEM_NAME), domain)
            )
            policy.check_domain(domain)
        except (UnsupportedError, WrongPolicyError) as error:
            return PlanResult(Outcome.of_error(error), str(error), policy=label)
        shown = None
        result = PlanResult(Outcome.CRASH, "no progress", policy=label)
        for progress in plan_stepwise(
            policy,
            task,
            limits,
            search=self.search,
            improve=improve,
            goal_policy=policy.goal_policy(),
            started=started,
            threads=self.threads,
        ):
            result = PlanResult(
                progress.outcome or Outcome.CRASH,
                progress.detail,
                progress.unsolvable,
                progress.plan,
                progress.cost,
                progress.unit_cost,
                progress.seconds,
                policy=label,
                objects=task.object_count,
                figures=Figures.of(progress),
                warnings=task.problem.warnings,
            )
            if improve and progress.plan is not shown:
                shown = progress.plan
                yield result
        return result


def _watched(job: PlanJob, started: float) -> Steps:
    """A job that is run by another thread; its process ends if the caller stops listening."""
    found: queue.SimpleQueue[PlanResult | None] = queue.SimpleQueue()
    stop = Stop()

    def watch(message: Message, result: PlanResult) -> None:
        if message["event"] == "plan":
            found.put(replace(result, seconds=time.monotonic() - started))

    with ThreadPoolExecutor(1) as pool:
        last = pool.submit(run_job, job, watch, stop=stop, started=started)
        last.add_done_callback(lambda _: found.put(None))
        try:
            while (result := found.get()) is not None:
                yield result
            return last.result()
        finally:
            stop.force()


@contextmanager
def _files(translation: Translation) -> Iterator[tuple[str, str]]:
    """The files of a translation, as long as they are needed."""
    with tempfile.TemporaryDirectory(prefix="saltus-") as folder:
        domain, problem = Path(folder, "domain.pddl"), Path(folder, "problem.pddl")
        domain.write_text(translation.domain, encoding="utf-8")
        problem.write_text(translation.problem, encoding="utf-8")
        yield str(domain), str(problem)


class _Reply:
    """Results of the library as results of unified-planning; lines about them go to a stream, if there is one."""

    def __init__(self, engine: str, stream: IO[str] | None) -> None:
        self.engine = engine
        self.stream = stream
        self.translation: Translation | None = None

    def intermediate(self, result: PlanResult) -> PlanGenerationResult:
        """The result of a plan after which others may follow."""
        return self._result(Status.INTERMEDIATE, result, [LogMessage(LogLevel.INFO, _text(result))])

    def last(self, result: PlanResult) -> PlanGenerationResult:
        """The result of the call."""
        status = Status.UNSOLVABLE_PROVEN if result.unsolvable else STATUSES[result.outcome]
        messages = [LogMessage(LogLevel.WARNING, warning) for warning in result.warnings]
        is_error = result.outcome.is_rejection or result.outcome.is_fault
        return self._result(
            status, result, [*messages, LogMessage(LogLevel.ERROR if is_error else LogLevel.INFO, _text(result))]
        )

    def _result(self, status: Status, result: PlanResult, messages: list[LogMessage]) -> PlanGenerationResult:
        if self.stream is not None:
            self.stream.writelines(f"{message.message}\n" for message in messages)
        plan = None
        if result.plan is not None:
            assert self.translation is not None
            plan = self.translation.plan_of(result.plan)
        metrics = {"engine_internal_time": str(result.seconds)}
        metrics |= {
            name: str(value)
            for name, value in (("policy", result.policy), ("cost", result.cost), *result.figures.to_json().items())
            if value is not None
        }
        return PlanGenerationResult(status, plan, self.engine, metrics, messages)


def _text(result: PlanResult) -> str:
    """A result in a line."""
    if result.plan is not None and result.cost is not None:
        cost = cost_text(result.cost, unit_cost=result.unit_cost)
        return f"plan found: {plural(len(result.plan), 'action')}, cost {cost}"
    return f"no plan: {result.outcome}{f' ({result.detail})' if result.detail else ''}"


def _warn_ignored(**values: Any) -> None:
    """Warns of arguments that the engine does not use."""
    for name, value in values.items():
        if value is not None:
            warnings.warn(f"Saltus does not use {name}", UserWarning, stacklevel=4)
