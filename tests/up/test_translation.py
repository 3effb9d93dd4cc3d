"""Problems of unified-planning as PDDL, and plans back: names, constants, initial values, policies that fit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import IPC_DOMAINS, ROOT
from unified_planning.io import PDDLReader
from unified_planning.model import Problem
from unified_planning.shortcuts import (
    BoolType,
    Equals,
    InstantaneousAction,
    IntType,
    MinimizeActionCosts,
    Not,
    Object,
    OneshotPlanner,
    PlanValidator,
    UserType,
    Variable,
)

import saltus.up
from saltus.domains import DOMAINS, generate_problem
from saltus.errors import NoPolicyError
from saltus.pddl import Source, parse_problem
from saltus.policy.catalogue import AUTO, find_policy, policy_name
from saltus.task import Plan, build_task
from saltus.up.fit import read_domain, translate_for
from saltus.up.translation import Translation


def atoms(translation: Translation) -> set[str]:
    """Initial atoms."""
    domain = read_domain(translation)
    problem = parse_problem(Source.from_bytes(translation.problem.encode()), domain)
    return {" ".join(atom) for atom in problem.initial_atoms(domain)}


@pytest.mark.parametrize("name", IPC_DOMAINS)
def test_the_bundled_policy_of_a_domain_is_found(name: str, tmp_path: Path) -> None:
    """Although variables and constants are not written as they were read."""
    path = tmp_path / "problem.pddl"
    path.write_text(generate_problem(name, "training", 0, 5, 0), encoding="utf-8")
    problem = PDDLReader().parse_problem(str(DOMAINS[name].path), str(path))
    domain = read_domain(translate_for(problem, AUTO))
    assert policy_name(find_policy(domain)) == name
    assert policy_name(find_policy(read_domain(translate_for(problem, name)))) == name


def test_names_that_pddl_does_not_know() -> None:
    """Upper case, keywords, digits first, spaces, and two names that differ in case only; plans have the originals."""
    kind = UserType("Object")
    problem = Problem("My problem")
    when = problem.add_fluent("when", BoolType(), default_initial_value=False, forall=kind)
    other = problem.add_fluent("When", BoolType(), default_initial_value=False, kind=kind)
    objects = [problem.add_object(name, kind) for name in ("1st", "A b", "a b", "not", "At")]
    do = InstantaneousAction("2 do", kind=kind)
    do.add_effect(when(do.parameter("kind")), True)
    again = InstantaneousAction("Increase", kind=kind)
    again.add_precondition(when(again.parameter("kind")))
    again.add_effect(other(again.parameter("kind")), True)
    problem.add_actions([do, again])
    for entry in objects:
        problem.add_goal(other(entry))
    saltus.up.register()
    problem.environment.credits_stream = None
    with OneshotPlanner(name="saltus") as planner:
        plan = planner.solve(problem, timeout=60).plan
    with PlanValidator(name="sequential_plan_validator") as validator:
        assert validator.validate(problem, plan)
    assert sorted(map(str, plan.actions)) == sorted(
        f"{a}({o})" for a in ("2 do", "Increase") for o in map(str, objects)
    )


def test_effects_that_pddl_says_otherwise() -> None:
    """Assignments of fluents, and effects for all objects under a condition."""
    lamp = UserType("lamp")
    problem = Problem("lamps")
    is_on = problem.add_fluent("on", BoolType(), default_initial_value=False, lamp=lamp)
    power = problem.add_fluent("power", BoolType(), default_initial_value=False)
    first, second = Object("first", lamp), Object("second", lamp)
    problem.add_objects([first, second])
    toggle = InstantaneousAction("toggle")
    toggle.add_effect(power, Not(power))
    each = Variable("each", lamp)
    light = InstantaneousAction("light")
    light.add_effect(is_on(each), power, Not(Equals(each, first)), forall=[each])
    problem.add_actions([toggle, light])
    problem.add_goal(is_on(second))
    problem.add_goal(Not(is_on(first)))
    problem.add_goal(Not(power))
    saltus.up.register()
    problem.environment.credits_stream = None
    with OneshotPlanner(name="saltus") as planner:
        plan = planner.solve(problem, timeout=60).plan
    assert [step.action.name for step in plan.actions] == ["toggle", "light", "toggle"]


def tolls() -> Problem:
    """A problem with initial values of all kinds, and a constant that only a cost mentions."""
    place = UserType("place")
    problem = Problem("tolls")
    toll = problem.add_fluent("toll", IntType(), default_initial_value=3, place=place)
    open_ = problem.add_fluent("open", BoolType(), default_initial_value=True, place=place)
    seen = problem.add_fluent("seen", BoolType(), default_initial_value=False, place=place)
    problem.add_objects([Object(name, place) for name in "pqrst"])
    r, s = problem.object("r"), problem.object("s")
    problem.set_initial_value(open_(r), False)
    problem.set_initial_value(seen(s), True)
    problem.set_initial_value(toll(s), 7)
    visit = InstantaneousAction("visit", place=place)
    visit.add_precondition(Not(Equals(visit.parameter("place"), problem.object("t"))))
    visit.add_precondition(Not(Equals(visit.parameter("place"), problem.object("q"))))
    visit.add_effect(seen(visit.parameter("place")), True)
    problem.add_action(visit)
    problem.add_goal(seen(problem.object("p")))
    problem.add_quality_metric(MinimizeActionCosts({visit: toll(s)}))
    return problem


def test_initial_values_and_constants() -> None:
    translation = Translation(tolls())
    assert atoms(translation) == {"open p", "open q", "open s", "open t", "seen s"}
    domain = read_domain(translation)
    assert [entry.name for entry in domain.constants] == ["q", "s", "t"]
    task = build_task(domain, parse_problem(Source.from_bytes(translation.problem.encode()), domain))
    assert task.objects == ("q", "s", "t", "p", "r")
    assert task.action_cost(task.action("(visit p)")) == 7
    plan = translation.plan_of(Plan.of(["(visit p)"]))
    assert plan.actions[0].action is translation.source.action("visit")
    named = read_domain(Translation(tolls(), ["t", "nothing", "p"]))
    assert [entry.name for entry in named.constants] == ["t", "p", "q", "s"]


def test_the_text_does_not_depend_on_hashes() -> None:
    code = (
        "from tests.up.test_translation import Translation, tolls; t = Translation(tolls()); print(t.domain, t.problem)"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={"PYTHONHASHSEED": str(seed), "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(4)
    }
    assert len(texts) == 1
    assert "(:constants" in texts.pop()


def test_large_problems_are_written_without_their_false_atoms() -> None:
    """A ternary fluent over 2,000 objects has eight thousand million values."""
    node = UserType("node")
    problem = Problem("net")
    link = problem.add_fluent("link", BoolType(), default_initial_value=False, a=node, b=node, c=node)
    nodes = [problem.add_object(f"n{i}", node) for i in range(2000)]
    problem.set_initial_value(link(*nodes[:3]), True)
    join = InstantaneousAction("join", a=node, b=node, c=node)
    join.add_effect(link(*map(join.parameter, "abc")), True)
    problem.add_action(join)
    problem.add_goal(link(*nodes[3:6]))
    assert atoms(Translation(problem)) == {"link n0 n1 n2"}


def test_a_policy_does_not_fit_without_its_constants(tmp_path: Path) -> None:
    """Constants have other names, so the problem is written as it is."""
    texts = {"domain": DOMAINS["sokoban"].path.read_text(), "problem": generate_problem("sokoban", "training", 0, 5, 0)}
    for name, text in texts.items():
        (tmp_path / f"{name}.pddl").write_text(re.sub(r"\bup\b", "upwards", text), encoding="utf-8")
    problem = PDDLReader().parse_problem(str(tmp_path / "domain.pddl"), str(tmp_path / "problem.pddl"))
    domain = read_domain(translate_for(problem, AUTO))
    assert domain.constants == ()
    with pytest.raises(NoPolicyError, match="constant 'down - direction' is missing"):
        find_policy(domain)
