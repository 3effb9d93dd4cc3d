"""What goals use up, and the dead ends that this shows: the kernel against its twins, and never a state with a plan."""

from __future__ import annotations

import random
import re
from collections import deque
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples
from tests.lookahead.test_relaxation import JOINED, reachable, walked
from tests.random_tasks import _Writer
from tests.tasks import domain_of, task_of
from tests.twins import relaxation

from saltus import _kernel
from saltus.domains.generated import generated_task
from saltus.lookahead import applicable_actions, is_dead_end, successor_state
from saltus.lookahead.supplies import find_supplies, marked
from saltus.task import Goal, State, Task
from saltus.task.kernel_task import kernel_task

pytestmark = pytest.mark.kernel

LAMPS = """(define (domain lamps) (:predicates (fuse ?f) (bulb ?b) (lit ?l) (on ?l) (at ?l) (near ?l ?m))
  (:action walk :parameters (?l ?m) :precondition (and (at ?l) (near ?l ?m)) :effect (and (not (at ?l)) (at ?m)))
  {actions})"""

FIT = (
    """(:action fit :parameters (?l ?f) :precondition (and (at ?l) (fuse ?f)) :effect (and (lit ?l) (not (fuse ?f))))"""
)


def lamps(actions: str, init: str = "(at a)", goal: str = "(lit a) (lit b)") -> Task:
    """A task with lamps a and b, fuses f and g, and a bulb."""
    domain = domain_of(LAMPS.format(actions=actions))
    return task_of(
        domain,
        f"(define (problem p) (:domain lamps) (:objects a b f g bulb) (:init {init}) (:goal (and {goal})))",
    )


def named(task: Task) -> list[tuple[set[str], set[str]]]:
    """The supplies by the names of predicates."""
    found = find_supplies(task)
    return [({task.predicates[i] for i in goals}, {task.predicates[i] for i in used}) for goals, used in found]


class TestFound:
    """What counts as used up."""

    def test_what_every_action_that_reaches_a_goal_deletes(self) -> None:
        assert named(lamps(FIT)) == [({"lit"}, {"fuse"})]

    def test_several_goals_may_use_up_the_same(self) -> None:
        more = FIT + FIT.replace("fit", "screw").replace("lit", "on")
        assert named(lamps(more, goal="(lit a) (on b)")) == [({"lit", "on"}, {"fuse"})]
        assert named(lamps(more)) == [({"lit"}, {"fuse"})]  # the others are no goals

    def test_goals_of_two_kinds_may_use_up_what_each_of_them_names(self) -> None:
        own = FIT.replace("(lit ?l)", "(lit ?f)")
        more = own + own.replace("fit", "screw").replace("lit", "on")
        for fuses in ("(fuse a)", "(fuse a) (fuse b)"):  # only their numbers are compared
            task = lamps(more, f"(at f) {fuses}", "(lit a) (on a)")
            assert named(task) == [({"lit", "on"}, {"fuse"})]
            assert is_dead_end(task, task.initial_state, task.goal) == (fuses == "(fuse a)")

    def test_an_action_may_use_up_two_things(self) -> None:
        both = FIT.replace("?f)", "?f ?b)", 1).replace("(fuse ?f))", "(fuse ?f) (bulb ?b))", 1)
        both = both.replace("(not (fuse ?f))", "(not (fuse ?f)) (not (bulb ?b))")
        assert named(lamps(both)) == [({"lit"}, {"fuse"}), ({"lit"}, {"bulb"})]

    def test_a_goal_may_be_reached_by_using_up_one_or_the_other(self) -> None:
        other = FIT.replace("fit", "screw").replace("fuse", "bulb")
        assert named(lamps(FIT + other)) == [({"lit"}, {"fuse", "bulb"})]

    @pytest.mark.parametrize(
        "actions",
        [
            FIT.replace("(not (fuse ?f))", ""),  # not deleted
            FIT.replace("(fuse ?f))", ")", 1),  # deleted whether it is true or not
            FIT + "(:action mend :parameters (?f) :precondition (at ?f) :effect (fuse ?f))",  # comes back
            FIT + "(:action light :parameters (?l) :precondition (at ?l) :effect (lit ?l))",  # reached without
            FIT.replace("(lit ?l)", "(lit ?l) (lit ?f)"),  # one for two goals
            FIT.replace("(lit ?l)", "(forall (?m) (lit ?m))"),
            FIT.replace("(not (fuse ?f))", "(when (near ?l ?l) (not (fuse ?f)))"),  # not always
            FIT.replace("(lit ?l)", "(lit ?f)"),  # every goal takes its own, which the relaxation sees
        ],
    )
    def test_what_is_not_used_up_by_reaching_goals(self, actions: str) -> None:
        task = lamps(actions)
        assert named(task) == []
        assert marked(task) is None

    def test_a_conditional_effect_may_do_both(self) -> None:
        when = FIT.replace("(and (lit ?l) (not (fuse ?f)))", "(when (near ?l ?l) (and (lit ?l) (not (fuse ?f))))")
        assert named(lamps(when)) == [({"lit"}, {"fuse"})]


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ("(at a) (near a b) (fuse f) (fuse g)", False),
        ("(at a) (near a b) (fuse f)", True),
        ("(at a) (near a b) (fuse f) (lit b)", False),
        ("(at a) (near a b) (lit b)", True),
        ("(at a) (near a b) (lit a) (lit b)", False),
    ],
)
def test_as_many_as_goals_are_missing(init: str, expected: bool) -> None:
    task = lamps(FIT, init)
    for answer in (
        is_dead_end(task, task.initial_state, task.goal),
        is_dead_end(task, task.initial_state, task.goal, **JOINED),
        is_dead_end(task, task.initial_state, task.goal, roles=2),
        relaxation.is_dead_end(task, task.initial_state, task.goal),
    ):
        assert answer == expected


def test_negative_preconditions_count_as_well() -> None:
    """Small tasks are grounded with them."""
    once = FIT.replace("(at ?l)", "(at ?l) (not (on ?l))")
    for fuses in ("(fuse f)", "(fuse f) (fuse g)"):
        task = lamps(once, f"(at a) (near a b) {fuses}")
        assert is_dead_end(task, task.initial_state, task.goal) == (fuses == "(fuse f)")
        assert relaxation.is_dead_end_with_negation(task, task.initial_state, task.goal) == (fuses == "(fuse f)")


def test_a_spanner_left_behind_is_missed_where_none_is_to_spare() -> None:
    """Exactly the states from which enough spanners are still in reach are no dead ends."""
    task = generated_task("spanner", "training", overrides={"spanners": 3, "nuts": 3, "locations": 3})
    usable = task.predicate_number["usable"]
    at = {task.decode(code)[1:] for code in task.initial_state if task.decode(code)[0] == task.predicate_number["at"]}
    assert len(at) >= 7
    known = {task.initial_state}
    queue = deque(known)
    solvable: set[State] = set()
    before: dict[State, set[State]] = {}
    while queue:
        state = queue.popleft()
        if task.goal.holds(state):
            solvable.add(state)
        for action in applicable_actions(task, state):
            after = successor_state(task, state, action)
            before.setdefault(after, set()).add(state)
            if after not in known:
                known.add(after)
                queue.append(after)
    queue.extend(solvable)
    while queue:
        for state in before.get(queue.popleft(), ()):
            if state not in solvable:
                solvable.add(state)
                queue.append(state)
    answers = {state: is_dead_end(task, state, task.goal) for state in known}
    assert {state for state, dead in answers.items() if not dead} == solvable
    assert 0 < len(solvable) < len(known)
    assert any(task.decode(code)[0] == usable for code in task.initial_state)


def fuelled(seed: int) -> Task:
    """A random task whose actions need fuel of one of their objects, which they use up, and whose goals are atoms of
    one predicate that can be reached one by one; of up to twenty, the first whose goals use up fuel."""
    rng = random.Random(seed)
    for _ in range(20):
        domain, problem = _Writer(rng, conditional=rng.random() < 0.3).texts(5)
        domain = re.sub(
            r"\(:action (\w+) :parameters \(([^)]*)\) :precondition \(and(.*)\n  :effect \(and(.*)",
            lambda match: _burning(match, rng),
            domain.replace("(:predicates ", "(:predicates (fuel ?v0) "),
        )
        names = re.findall(r"\b[ow]\d\b", problem.split("(:init")[0])
        init = " ".join(f"(fuel {name})" for name in names if rng.random() < 0.6)
        task = task_of(domain_of(domain), problem.replace("(:init ", f"(:init {init} "))
        fresh = {code for state in reachable(task, 30) for code in state} - set(task.initial_state)
        for predicate in sorted({task.decode(code)[0] for code in fresh}):
            goal = [code for code in sorted(fresh) if task.decode(code)[0] == predicate]
            task = replace(task, goal=Goal(rng.sample(goal, min(4, len(goal)))))
            if marked(task) is not None:
                return task
    return task


def _burning(match: re.Match[str], rng: random.Random) -> str:
    """The text of an action that uses up the fuel of one of its parameters."""
    name, parameters, precondition, effect = match.groups()
    variables = re.findall(r"\?x\d", parameters)
    if not variables or rng.random() < 0.1:
        return match.group()
    burnt = rng.choice(variables)
    return (
        f"(:action {name} :parameters ({parameters}) :precondition (and (fuel {burnt}) {precondition}\n"
        f"  :effect (and (not (fuel {burnt})) {effect}"
    )


@pytest.mark.parametrize("settings_of", [{}, JOINED], ids=["ground", "joined"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(150))
def test_twin(settings_of: dict[str, int], seed: int) -> None:
    """The same answer along a random walk, for goals of the task's kind."""
    task, rng = fuelled(seed), random.Random(seed)
    for state in walked(task, rng, 3):
        for goal in (task.goal, *(Goal([code]) for code in task.goal.positive.tolist())):
            twin = relaxation.is_dead_end if settings_of else relaxation.is_dead_end_with_negation
            assert is_dead_end(task, state, goal, **settings_of) == twin(task, state, goal)


@given(st.integers(0, 2**32))
@settings(max_examples=examples(150))
def test_sound(seed: int) -> None:
    """What can be reached is never called a dead end, whatever of it is the goal."""
    task = fuelled(seed)
    for state in list(reachable(task, 60)):
        goal = Goal(state.codes)
        wanted = replace(task, goal=goal)  # all of its atoms are goals, so that their predicates count
        assert not is_dead_end(wanted, task.initial_state, goal)
        assert not is_dead_end(wanted, task.initial_state, goal, **JOINED)


def test_random_tasks_have_such_dead_ends() -> None:
    """The two tests above see some that the relaxation alone does not."""
    seen = {False: 0, True: 0}
    for seed in range(60):
        task = fuelled(seed)
        copy = marked(task)
        if copy is not None and copy.quotas(task.initial_state, task.goal):
            alone = _kernel.RelaxedProof(kernel_task(task), 0).reaches(
                task.initial_state.codes, task.goal.positive, 10**6, ()
            )
            seen[alone is True and is_dead_end(task, task.initial_state, task.goal, **JOINED)] += 1
    assert min(seen.values()) >= 5
