"""The engine for unified-planning: statuses, plans, policies and limits; every plan is judged by that library, too."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from tests.conftest import ROOT
from unified_planning.engines import PlanGenerationResult, ValidationResultStatus
from unified_planning.engines import PlanGenerationResultStatus as Status
from unified_planning.engines.results import LogLevel
from unified_planning.environment import get_environment
from unified_planning.exceptions import UPUsageError
from unified_planning.io import PDDLReader
from unified_planning.model import Problem
from unified_planning.shortcuts import (
    AnytimeGuarantee,
    AnytimePlanner,
    BoolType,
    InstantaneousAction,
    IntType,
    MinimizeActionCosts,
    MinimizeSequentialPlanLength,
    Not,
    OneshotPlanner,
    OptimalityGuarantee,
    PlanValidator,
    Plus,
    UserType,
)

import saltus
import saltus.up
from saltus.errors import ConfigurationError, PolicyError
from saltus.policy.outcome import Outcome
from saltus.process import PlanJob, PlanResult
from saltus.up import ENGINE, SaltusEngine
from saltus.up.engine import STATUSES

BLOCKS = ROOT / "examples" / "blocksworld"
GARDENER = ROOT / "examples" / "gardener"


@pytest.fixture(autouse=True)
def environment() -> None:
    """The engine is known, and unified-planning prints no credits."""
    saltus.up.register()
    get_environment().credits_stream = None


def blocks(name: str = "p03") -> Problem:
    return PDDLReader().parse_problem(str(BLOCKS / "domain.pddl"), str(BLOCKS / f"{name}.pddl"))


def garden(name: str = "training/p04") -> Problem:
    return PDDLReader().parse_problem(str(GARDENER / "domain.pddl"), str(GARDENER / f"{name}.pddl"))


def solve(problem: Problem, timeout: float | None = 60, **params: object) -> PlanGenerationResult:
    """The engine's result; a plan in it is valid, and its actions and objects are those of the problem."""
    with OneshotPlanner(name=ENGINE, params=params) as planner:
        result = planner.solve(problem, timeout=timeout)
    check(problem, result)
    return result


def check(problem: Problem, result: PlanGenerationResult) -> None:
    if result.plan is None:
        return
    with PlanValidator(name="sequential_plan_validator") as validator:
        assert validator.validate(problem, result.plan).status is ValidationResultStatus.VALID
    for step in result.plan.actions:
        assert step.action is problem.action(step.action.name)
        for argument in step.actual_parameters:
            assert argument.object() == problem.object(argument.object().name)


def switches(count: int = 2, goal: int | None = None) -> Problem:
    """Switches that can only be turned on, each after the one before; the goal is one of them, or none."""
    problem = Problem("switches")
    lights = [problem.add_fluent(f"light{i}", BoolType(), default_initial_value=i == 0) for i in range(count + 1)]
    for i in range(count):
        action = InstantaneousAction(f"turn{i}")
        action.add_precondition(lights[i])
        action.add_effect(lights[i + 1], True)
        problem.add_action(action)
    if goal is not None:
        problem.add_goal(lights[goal])
    return problem


# Results ------------------------------------------------------------------------------------------------------------


def test_a_plan_is_found_with_the_bundled_policy_that_fits() -> None:
    stream = io.StringIO()
    with OneshotPlanner(name=ENGINE) as planner:
        assert planner.name == "Saltus"
        result = planner.solve(blocks(), timeout=60, output_stream=stream)
    assert result.status is Status.SOLVED_SATISFICING
    assert [str(step) for step in result.plan.actions] == ["unstack(b, a)", "stack(b, c)", "pickup(a)", "stack(a, b)"]
    assert result.metrics["policy"] == "blocksworld"
    assert (result.metrics["cost"], result.metrics["found_by"]) == ("4.0", "greedy")
    assert float(result.metrics["engine_internal_time"]) > 0
    assert stream.getvalue() == "plan found: 4 actions, cost 4 (unit cost)\n"


def test_a_problem_that_no_policy_fits_is_searched() -> None:
    problem = garden()
    result = solve(problem)
    assert (result.status, result.metrics["policy"]) == (Status.SOLVED_SATISFICING, "goal-count")
    assert [message.level for message in result.log_messages] == [LogLevel.WARNING, LogLevel.INFO]
    assert "no policy for domain 'garden-4-domain'" in result.log_messages[0].message


def test_the_engine_can_be_chosen_by_the_kind_of_the_problem() -> None:
    factory = get_environment().factory
    names = factory.preference_list
    factory.preference_list = [ENGINE]
    try:
        with OneshotPlanner(problem_kind=switches(goal=2).kind) as planner:
            assert isinstance(planner, SaltusEngine)
        with AnytimePlanner(problem_kind=switches().kind, anytime_guarantee="INCREASING_QUALITY") as planner:
            assert isinstance(planner, SaltusEngine)
    finally:
        factory.preference_list = names


def test_guarantees() -> None:
    assert SaltusEngine.satisfies(OptimalityGuarantee.SATISFICING)
    assert not SaltusEngine.satisfies(OptimalityGuarantee.SOLVED_OPTIMALLY)
    assert SaltusEngine.ensures(AnytimeGuarantee.INCREASING_QUALITY)
    assert not SaltusEngine.ensures(AnytimeGuarantee.OPTIMAL_PLANS)


def test_the_engine_is_registered_once() -> None:
    factory = get_environment().factory
    before = list(factory.preference_list)
    saltus.up.register()
    assert factory.preference_list == before
    assert before.count(ENGINE) == 1


@pytest.mark.parametrize("policy", ["auto", saltus.load_policy("goal-count")], ids=["process", "object"])
def test_unsolvable_is_said_only_where_it_is_proven(policy: object) -> None:
    problem = switches(2)
    problem.add_goal(Not(problem.fluent("light0")))  # it stays on
    result = solve(problem, policy=policy)
    assert (result.status, result.plan) == (Status.UNSOLVABLE_PROVEN, None)
    result = solve(blocks("p100"), policy="random", search=False, max_jumps=1)
    assert (result.status, result.plan) == (Status.UNSOLVABLE_INCOMPLETELY, None)


def test_goals_that_are_constant() -> None:
    problem = switches(2, goal=1)
    problem.add_goal(True)
    assert solve(problem).status is Status.SOLVED_SATISFICING
    problem.add_goal(False)
    result = solve(problem)
    assert (result.status, result.plan) == (Status.UNSOLVABLE_PROVEN, None)
    assert "a goal is false in every state" in result.log_messages[0].message


def test_a_goal_that_holds_has_an_empty_plan() -> None:
    for policy in ("auto", saltus.load_policy("goal-count")):
        result = solve(switches(1, goal=0), policy=policy)
        assert result.status is Status.SOLVED_SATISFICING
        assert result.plan.actions == []


def test_limits_are_kept() -> None:
    problem = blocks("p100")
    assert solve(problem, timeout=0.01).status is Status.TIMEOUT
    result = solve(problem, memory_limit=1)
    assert (result.status, result.plan) == (Status.MEMOUT, None)
    result = solve(problem, timeout=1e-6, policy=saltus.load_policy("blocksworld"))
    assert (result.status, result.plan) == (Status.TIMEOUT, None)
    with pytest.raises(ConfigurationError, match="time limit is 0, expected more than 0"):
        solve(problem, timeout=0)


def test_every_outcome_has_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(STATUSES) == set(Outcome) - {Outcome.STALLED}
    for outcome in (Outcome.CRASH, Outcome.INVALID):
        result = PlanResult(outcome, "it broke")
        monkeypatch.setattr("saltus.up.engine.run_job", lambda *_, result=result, **__: result)
        found = solve(blocks())
        assert (found.status, found.plan) == (Status.INTERNAL_ERROR, None)
        assert found.log_messages[0].level is LogLevel.ERROR
        assert "it broke" in found.log_messages[0].message


def test_numbers_are_not_supported() -> None:
    problem = switches(1, goal=1)
    count = problem.add_fluent("count", IntType(), default_initial_value=0)
    problem.action("turn0").add_increase_effect(count, 1)
    assert not SaltusEngine.supports(problem.kind)
    with OneshotPlanner(name=ENGINE) as planner:
        with pytest.warns(UserWarning, match="cannot establish whether Saltus can solve this problem"):
            result = planner.solve(problem)
        assert (result.status, result.plan) == (Status.UNSUPPORTED_PROBLEM, None)
        assert "INCREASE_EFFECTS, INT_FLUENTS" in result.log_messages[0].message
        planner.error_on_failed_checks = True
        with pytest.raises(UPUsageError):
            planner.solve(problem)


def test_what_is_not_used_is_said() -> None:
    with OneshotPlanner(name=ENGINE) as planner, pytest.warns(UserWarning, match="does not use heuristic"):
        planner.solve(switches(1, goal=1), heuristic=lambda state: 0.0)
    with AnytimePlanner(name=ENGINE) as planner, pytest.warns(UserWarning, match="does not use warm_start_plan"):
        list(planner.get_solutions(switches(1, goal=1), warm_start_plan=solve(switches(1, goal=1)).plan))


# Better and better plans --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["random", saltus.load_policy("random")], ids=["process", "object"])
def test_plans_get_better(policy: object) -> None:
    problem = garden()
    problem.add_quality_metric(MinimizeSequentialPlanLength())
    with AnytimePlanner(name=ENGINE, params={"policy": policy}) as planner:
        results = list(planner.get_solutions(problem, timeout=60))
    for result in results:
        check(problem, result)
    lengths = [len(result.plan.actions) for result in results]
    assert lengths[0] > lengths[-1] == 22
    assert lengths[:-1] == sorted(set(lengths), reverse=True)
    assert [result.status for result in results] == [Status.INTERMEDIATE] * (len(results) - 1) + [
        Status.SOLVED_SATISFICING
    ]


def test_the_process_ends_with_the_iteration() -> None:
    with AnytimePlanner(name=ENGINE, params={"policy": "goal-count"}) as planner:
        solutions = planner.get_solutions(garden("large"))
        assert next(solutions).status is Status.INTERMEDIATE
        assert children()
        solutions.close()
    assert children() == set()


def children() -> set[str]:
    """Process numbers of the children of all threads of this process."""
    return {
        number
        for path in Path("/proc/self/task").glob("*/children")
        for number in path.read_text(encoding="utf-8").split()
    }


def test_an_unsolvable_problem_has_one_result() -> None:
    problem = switches(2)
    problem.add_goal(Not(problem.fluent("light0")))
    with AnytimePlanner(name=ENGINE) as planner:
        (result,) = planner.get_solutions(problem, timeout=60)
    assert (result.status, result.plan) == (Status.UNSOLVABLE_PROVEN, None)


# Policies -----------------------------------------------------------------------------------------------------------


def test_a_policy_can_be_a_file_or_an_object() -> None:
    path = BLOCKS / "untrained.safetensors"
    for policy in (path, str(path), os.path.relpath(path), saltus.load_policy(path)):
        result = solve(blocks(), policy=policy)
        assert (result.status, result.metrics["policy"]) == (Status.SOLVED_SATISFICING, str(path))


def test_a_policy_for_another_domain_supports_no_problem_of_this_one() -> None:
    for policy in ("ferry", saltus.load_policy("ferry")):
        result = solve(blocks(), policy=policy)
        assert (result.status, result.plan) == (Status.UNSUPPORTED_PROBLEM, None)
        assert "trained on another domain" in result.log_messages[-1].message


def test_a_policy_that_does_not_exist_is_an_error_at_once() -> None:
    with pytest.raises(PolicyError, match=r"there is no policy 'blocksword'.*did you mean 'blocksworld'"):
        OneshotPlanner(name=ENGINE, params={"policy": "blocksword"})
    with pytest.raises(PolicyError, match="nothing"):
        SaltusEngine(policy=Path("nothing.safetensors"))
    with pytest.raises(ConfigurationError, match="device is 'gpu'"):
        SaltusEngine(device="gpu")
    with pytest.raises(ConfigurationError, match="memory limit is -1"):
        SaltusEngine(memory_limit=-1)


def test_parameters_reach_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[PlanJob] = []

    def take(job: PlanJob, **_: object) -> PlanResult:
        jobs.append(job)
        return PlanResult(Outcome.TIME)

    monkeypatch.setattr("saltus.up.engine.run_job", take)
    solve(blocks(), 7.5, policy="random", search=False, memory_limit=99, max_jumps=3, device="cpu", threads=1, seed=5)
    (job,) = jobs
    assert (job.policy, job.search, job.device, job.threads, job.seed) == ("random", False, "cpu", 1, 5)
    assert (job.limits.seconds, job.limits.memory_mb, job.limits.max_jumps) == (7.5, 99, 3)
    assert not job.improve


# Costs --------------------------------------------------------------------------------------------------------------


def test_costs_are_counted() -> None:
    problem = switches(3, goal=3)
    problem.add_quality_metric(
        MinimizeActionCosts({problem.action("turn0"): 2, problem.action("turn1"): Fraction(5, 2)}, default=10)
    )
    result = solve(problem)
    assert result.metrics["cost"] == "14.5"
    assert result.log_messages[-1].message == "plan found: 3 actions, cost 14.5 (general cost)"


def test_costs_that_are_sums_are_not_supported() -> None:
    place = UserType("place")
    problem = Problem("tolls")
    toll = problem.add_fluent("toll", IntType(), default_initial_value=3, place=place)
    seen = problem.add_fluent("seen", BoolType(), default_initial_value=False, place=place)
    here = problem.add_object("here", place)
    visit = InstantaneousAction("visit", place=place)
    visit.add_effect(seen(visit.parameter("place")), True)
    problem.add_action(visit)
    problem.add_goal(seen(here))
    problem.add_quality_metric(MinimizeActionCosts({visit: Plus(toll(visit.parameter("place")), 2)}))
    result = solve(problem)
    assert (result.status, result.plan) == (Status.UNSUPPORTED_PROBLEM, None)
    problem.clear_quality_metrics()
    problem.add_quality_metric(MinimizeActionCosts({visit: toll(visit.parameter("place"))}))
    assert solve(problem).metrics["cost"] == "3.0"


# The example --------------------------------------------------------------------------------------------------------


def test_the_example_of_the_tutorial(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "unified_planning_engine.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    plan = "    unstack(b, a)\n    stack(b, c)\n    pickup(a)\n    stack(a, b)\n"
    assert done.stdout.endswith(f"SOLVED_SATISFICING\nSequentialPlan:\n{plan}")


# The library's own tests --------------------------------------------------------------------------------------------

REPORT = """
import runpy, sys
from pathlib import Path
import saltus.up, up_test_cases
saltus.up.register()
folder = Path(up_test_cases.__file__).parent
sys.path.insert(0, str(folder))
sys.argv[:1] = [str(folder / "report.py"), "saltus"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("mode", ["oneshot", "anytime"])
def test_the_engine_passes_the_librarys_test_cases(mode: str, tmp_path: Path) -> None:
    """Those that its distribution has without PDDL files, of the kinds that are supported: none is skipped in error."""
    packages = ["builtin.classical.basic_problems", "builtin.classical.metric_problems", "unified_planning.test"]
    done = subprocess.run(
        [sys.executable, "-c", REPORT, "--modes", mode, "--timeout", "60", "--packages", *packages],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown = [line for line in done.stdout.splitlines() if line.startswith("|   saltus ")]
    assert len(shown) == 26
    assert sum("SOLVED_SATISFICING" in line and "OK(Valid)" in line for line in shown) == 25
    assert sum("UNSOLVABLE_PROVEN" in line for line in shown) == 1


TESTS = """
import sys, unittest
import saltus.up
from unified_planning.environment import get_environment
saltus.up.register()
factory = get_environment().factory
others = (name for name in factory.preference_list if name != "saltus" and "fast-downward" not in name)
factory.preference_list = ["saltus", *others]
suite = unittest.defaultTestLoader.loadTestsFromNames([f"unified_planning.test.{name}" for name in sys.argv[1:]])
result = unittest.TextTestRunner().run(suite)
sys.exit(not result.wasSuccessful() or result.testsRun - len(result.skipped) < 20)
"""


def test_the_engine_passes_the_librarys_unit_tests(tmp_path: Path) -> None:
    """Those that plan, with this engine in place of any other."""
    names = "planner anytime replanner quantifier_remover disjunctive_conditions_remover negative_conditions_remover"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TESTS, *(f"test_{name}" for name in names.split())],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
