"""The judge of plans: by hand, and against the twin's successor on random walks."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.conftest import IPC_DOMAINS, ROOT
from tests.pddl.malformed import DOMAIN, PROBLEM
from tests.tasks import RICH_DOMAIN, RICH_PROBLEM, easy_problems, rich_task, task_of
from tests.twins.actions import applicable, successor

from saltus.pddl import Source, parse_domain
from saltus.task import Plan, Task, load, read_plan, validate
from saltus.task.validate import _Judge

DEPOT = task_of(DOMAIN, PROBLEM)
RICH = rich_task()


def verdict(task: Task, *actions: str) -> tuple[bool, int | None, str]:
    """Validity, failing step and reason of a plan."""
    result = validate(task, Plan.of(actions))
    return result.valid, result.step, result.reason


def test_valid_plan() -> None:
    result = validate(DEPOT, Plan.of(["(load box lorry north)"]))
    assert result
    assert (result.length, result.cost, result.unit_cost, result.reason, result.step) == (1, 1.0, False, "", None)


def test_the_plan_of_the_examples() -> None:
    folder = ROOT / "examples" / "blocksworld"
    task = load(folder / "domain.pddl", folder / "p100.pddl")
    plan = read_plan(folder / "p100.plan")
    assert validate(task, plan)
    shorter = Plan(plan.steps[:-1])
    assert not validate(task, shorter)
    for i in (0, 7, len(plan) // 2):
        assert not validate(task, Plan((*plan.steps[:i], *plan.steps[i + 1 :])))


def test_empty_plan() -> None:
    assert verdict(DEPOT) == (False, None, "goal is not reached: (in box lorry) missing")
    done = task_of(DOMAIN, PROBLEM.replace("(and (in box lorry))", "(at box north)"))
    assert verdict(done) == (True, None, "")


@pytest.mark.parametrize(
    ("actions", "step", "reason"),
    [
        (["(fly box)"], 1, "step 1 (fly box): unknown action 'fly'"),
        (["(load box lorry)"], 1, "step 1 (load box lorry): takes 3 arguments, found 2"),
        (["(load box lorry nowhere)"], 1, "step 1 (load box lorry nowhere): unknown object 'nowhere'"),
        (["(load lorry lorry north)"], 1, "step 1 (load lorry lorry north): 'lorry' is of type truck, not crate"),
        (["(load box lorry home)"], 1, "step 1 (load box lorry home): precondition (at box home) does not hold"),
        (
            ["(load box lorry north)", "(load box lorry north)"],
            2,
            "step 2 (load box lorry north): precondition (at box north) does not hold",
        ),
        (["()"], 1, "step 1 (): unknown action ''"),
    ],
)
def test_invalid_step(actions: list[str], step: int, reason: str) -> None:
    assert verdict(DEPOT, *actions) == (False, step, reason)


@pytest.mark.parametrize(
    ("actions", "step", "reason"),
    [
        (["(move attic attic)"], 1, "precondition (not (= attic attic)) does not hold"),
        (["(move attic cellar)"], 1, "precondition (linked attic cellar) does not hold"),
        (["(move hall attic)", "(move attic hall)"], 2, "precondition (not (dirty hall)) does not hold"),
        (["(pick b1 attic)", "(clean hall)"], 2, "precondition (free) does not hold"),
        (["(pick b1 attic)", "(drop b1)", "(pick b1 hall)"], 3, "precondition (at b1 hall) does not hold"),
        (["(pack odd x1 hall)"], 1, "'odd' is of type ball or box, not ball"),
    ],
)
def test_invalid_step_with_negation_equality_and_quantifiers(actions: list[str], step: int, reason: str) -> None:
    assert verdict(RICH, *actions) == (False, step, f"step {step} {actions[-1]}: {reason}")


def test_universal_precondition_names_the_failing_atom() -> None:
    text = RICH_DOMAIN.replace(
        "(and (free) (forall (?i - item) (not (held ?i))))", "(forall (?i - item) (not (held ?i)))"
    )
    result = verdict(task_of(text, RICH_PROBLEM), "(pick b1 attic)", "(clean hall)")
    assert result == (False, 2, "step 2 (clean hall): precondition (not (held b1)) does not hold")


def test_missed_goals_are_listed() -> None:
    _, step, reason = verdict(RICH, "(move hall attic)")
    assert step is None
    assert reason == "goal is not reached: (at b1 cellar), (not (dirty hall)) missing"
    many = task_of(
        DOMAIN,
        PROBLEM.replace(
            "(and (in box lorry))", "(forall (?p - place ?q - place) (and (closed ?p) (in box lorry) (closed ?q)))"
        ),
    )
    assert verdict(many)[2].endswith("and 7 more missing")


def test_plan_with_conditional_and_universal_effects_and_costs() -> None:
    actions = ["(pick b1 attic)", "(move attic hall)", "(move hall cellar)", "(drop b1)", "(clean cellar)"]
    result = validate(RICH, Plan.of(actions))
    # clean leaves its own room dirty: the add wins
    assert (result.valid, result.reason) == (False, "goal is not reached: (not (dirty cellar)) missing")
    result = validate(RICH, Plan.of([*actions, "(pick b2 cellar)"]))
    assert result.valid, result.reason
    assert result.cost == pytest.approx((3.25 + 0.5) + (0.0000001 + 0.5) + 2, abs=1e-12)
    assert not result.unit_cost


def test_without_metric_costs_are_units() -> None:
    task = task_of(DOMAIN, PROBLEM.replace("(:metric minimize (total-cost))", ""))
    result = validate(task, Plan.of(["(load box lorry north)"]))
    assert (result.cost, result.unit_cost) == (1.0, True)


def test_missing_cost_is_named() -> None:
    text = DOMAIN.replace("(increase (total-cost) 1)", "(increase (total-cost) (distance ?p ?p))")
    result = verdict(task_of(text, PROBLEM), "(load box lorry north)")
    assert result == (False, 1, "step 1 (load box lorry north): no cost for (distance north north)")


def assert_judge_agrees(task: Task, plan: list[str]) -> None:
    """Asserts that the judge reaches exactly the state that the twin's successor reaches, and agrees on the goal."""
    state = task.initial_state
    for text in plan:
        state = successor(task, state, task.action(text))
    judge = _Judge(task.domain, task.problem)
    atoms = set(task.problem.initial_atoms(task.domain))
    for text in plan:
        name, *arguments = text.strip("()").split()
        schema = judge.schemas[name]
        bound = dict(zip([entry.name for entry in schema.parameters], arguments, strict=True))
        assert next(judge._failing(schema.precondition, bound, atoms), None) is None
        judge._apply(schema, bound, atoms)
    fluent = {task.domain.predicates[i].name for i, is_fluent in enumerate(task.fluent) if is_fluent}
    assert {f"({' '.join(atom)})" for atom in atoms if atom[0] in fluent} == {task.atom_name(code) for code in state}
    assert validate(task, Plan.of(plan)).valid == task.goal.holds(state)


def walk(task: Task, rng: random.Random, length: int) -> list[str]:
    """A random walk of applicable actions."""
    state = task.initial_state
    plan: list[str] = []
    for _ in range(length):
        choices = list(applicable(task, state))
        if not choices:
            break
        action = rng.choice(choices)
        plan.append(task.action_name(action))
        state = successor(task, state, action)
    return plan


@pytest.mark.parametrize("seed", range(20))
def test_random_walks_with_every_feature(seed: int) -> None:
    assert_judge_agrees(RICH, walk(RICH, random.Random(seed), 40))


@pytest.mark.parametrize("seed", range(5))
def test_what_is_not_applicable_is_not_valid(seed: int) -> None:
    """Of all ground actions, well typed or not, the judge accepts exactly the applicable ones."""
    rng = random.Random(seed)
    plan = walk(RICH, rng, 6)
    state = RICH.initial_state
    for text in plan:
        state = successor(RICH, state, RICH.action(text))
    good = {RICH.action_name(action) for action in applicable(RICH, state)}
    for name, schema in RICH.schema_number.items():
        width = len(RICH.schemas[schema].parameters)
        for _ in range(40):
            text = f"({' '.join((name, *rng.choices(RICH.objects, k=width)))})"
            result = validate(RICH, Plan.of([*plan, text]))
            assert (result.step is None) == (text in good), text


@pytest.mark.parametrize("name", IPC_DOMAINS)
def test_random_walks_on_easy_problems(ipc: Path, name: str) -> None:
    domain = parse_domain(Source.from_file(ipc / name / "domain.pddl"))
    rng = random.Random(name)
    for path in easy_problems(ipc, name, 12):
        task = load(domain, path)
        plan = walk(task, rng, 25)
        assert plan
        assert_judge_agrees(task, plan)
        if len(plan) > 1:
            result = validate(task, Plan.of([*plan, "(nothing)"]))
            assert result.step == len(plan) + 1
