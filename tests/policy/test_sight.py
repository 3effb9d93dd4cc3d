"""Rollouts that see a part of the goal at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.test_goal_by_goal import Confused, lamps
from tests.policy.test_planning import last
from tests.tasks import domain_of, task_of

from saltus.errors import ConfigurationError
from saltus.lab.report.explain import trace
from saltus.learn.validation import measure
from saltus.lookahead import PlaySpec
from saltus.policy import Boltzmann, Limits, Outcome, play
from saltus.policy.rollout import Ending, run_rollout
from saltus.policy.sight import GoalsInSight, missing_literals
from saltus.policy.values import MOST_JUMPS
from saltus.task import Goal, State, Task, validate


class Seeing(Confused):
    """The same policy with few goals in sight."""

    def __init__(self, goals: int, bears: int = 1) -> None:
        super().__init__(bears)
        self.play_spec = PlaySpec(goals_in_sight=goals)


def state_of(atoms: set[int]) -> State:
    return State(np.array(sorted(atoms), np.int64))


sets = st.sets(st.integers(0, 9))


@given(sets, sets, st.integers(1, 4), st.lists(sets, min_size=1, max_size=12))
def test_what_is_in_sight(wanted: set[int], unwanted: set[int], most: int, states: list[set[int]]) -> None:
    """All literals are the whole goal's; what holds is in sight when it is chosen, and few of the others; it changes
    when all of it holds."""
    whole = Goal(wanted, unwanted - wanted)
    sight = GoalsInSight(whole, most, state_of(states[0]))
    for number, atoms in enumerate(states):
        state = state_of(atoms)
        if whole.holds(state):
            continue
        before, held = sight.goal, sight.goal.holds(state)
        changed = sight.see(state) if number else True
        assert changed == (held or not number)
        assert set(sight.goal.positive.tolist()) <= wanted
        assert set(sight.goal.negative.tolist()) <= unwanted - wanted
        if changed:
            missing = missing_literals(whole, state)
            assert missing_literals(sight.goal, state) == missing[:most]
            assert sight.goal.size == whole.size - len(missing) + min(most, len(missing))
        else:
            assert sight.goal is before


def test_goals_are_put_off_and_come_again() -> None:
    nothing = state_of(set())
    sight = GoalsInSight(Goal([1, 2, 3]), 2, nothing)
    assert sight.goal.positive.tolist() == [1, 2]
    assert sight.put_off(nothing)
    assert sight.goal.positive.tolist() == [3]
    assert sight.put_off(nothing)  # all were put off for the first time
    assert sight.goal.positive.tolist() == [1, 2]
    assert [sight.see(nothing) for _ in range(MOST_JUMPS)] == [False] * (MOST_JUMPS - 1) + [True]
    assert sight.goal.positive.tolist() == [3]
    assert sight.see(state_of({3}))  # reached: all others are in sight again
    assert sight.goal.positive.tolist() == [1, 2, 3]
    assert sight.put_off(state_of({3}))
    assert not sight.is_exhausted
    assert not sight.put_off(state_of({3}))
    assert sight.is_exhausted


@pytest.mark.parametrize("goals", [1, 2])
@pytest.mark.parametrize("search", [False, True])
def test_a_policy_that_wanders_among_many_goals_sees_few(goals: int, search: bool) -> None:
    task, policy = lamps(6, lit=2), Seeing(goals, bears=goals)
    end = last(policy, task, search=search)
    assert (end.outcome, end.found_by, end.jumps) == (Outcome.FOUND, "greedy", 6)
    assert end.plan is not None
    assert validate(task, end.plan)
    assert max(policy.sizes) == goals
    assert (end.goals, end.greedy_goals, end.goal_count) == (6, 6, 6)


def test_validation_and_pages_see_the_same() -> None:
    task = lamps(5)
    found = measure(Seeing(1), [task, lamps(3)])
    assert (found.solved, found.jumps) == (2, 8)
    content = trace(task, Seeing(1), "seeing")
    assert (content["solved"], content["length"]) == (True, 5)
    assert [step["gained"] for step in content["steps"]] == [[i] for i in range(5)]


def test_a_policy_that_explores_sees_all_goals() -> None:
    task = lamps(5)
    explorer = Boltzmann(1.0, np.random.default_rng(0))
    assert play(Seeing(1), task, explorer=explorer).situation.goal == task.goal
    assert play(Seeing(1), task).situation.goal != task.goal


def test_a_rollout_ends_where_no_goal_in_sight_leads_on() -> None:
    """At the end of the road, every goal is tried once more."""
    task = lamps(3, places=2, broken=3)
    policy = Seeing(1)
    rollout = play(policy, task)
    steps = list(run_rollout(policy, rollout))
    assert rollout.ending is not None
    assert rollout.ending is not Ending.SOLVED
    assert len(steps) == 1


def mover(places: int, goals: int) -> Task:
    """One thing that can be at one place at a time, and is to be at several."""
    domain = domain_of("""(define (domain mover) (:predicates (at ?x) (place ?x))
      (:action go :parameters (?x ?y) :precondition (and (at ?x) (place ?y)) :effect (and (at ?y) (not (at ?x)))))""")
    names = [f"o{i}" for i in range(places)]
    wanted = " ".join(f"(at o{i})" for i in range(1, goals + 1))
    return task_of(
        domain,
        f"(define (problem m) (:domain mover) (:objects {' '.join(names)})"
        f" (:init (at o0) {' '.join(f'(place {name})' for name in names)}) (:goal (and {wanted})))",
    )


@pytest.mark.parametrize("goals", [2, 4])
def test_every_rollout_ends(goals: int) -> None:
    """Also where goals exclude each other, and there are more states than jumps for a goal."""
    task = mover(80, goals)
    end = last(Seeing(1), task, Limits(max_jumps=5000), search=False)
    assert (end.outcome, end.detail) == (Outcome.FAILED, "stuck")
    assert (end.jumps or 0) <= 2 * (goals + 2) * goals * MOST_JUMPS


def test_what_is_proven_is_proven_with_few_goals_in_sight() -> None:
    """The second goal is out of reach, and the only successor reaches the first one."""
    domain = domain_of("""(define (domain d) (:predicates (a) (b) (c) (never))
      (:action one :parameters () :effect (a))
      (:action two :parameters () :effect (c))
      (:action three :parameters () :precondition (never) :effect (b)))""")
    task = task_of(domain, "(define (problem p) (:domain d) (:init) (:goal (and (a) (b))))")
    for policy in (Confused(), Seeing(1)):
        policy.play_spec = replace(policy.play_spec, dead_ends=True)
        end = last(policy, task, search=True)
        assert (end.outcome, end.detail, end.unsolvable) == (Outcome.FAILED, "proven dead end", True)


def test_impossible_goals_are_seen_whole() -> None:
    task = lamps(2, places=2)
    impossible = Goal(task.goal.positive, impossible=True)
    assert GoalsInSight.of(Seeing(1).play_spec, impossible, task.initial_state) is None


def test_a_rollout_that_sees_few_goals_stalls_and_a_search_follows() -> None:
    """Goals that hold are lost on the way to others: one at a time, the policy goes in circles."""
    task = lamps(3, places=50, broken=1)
    end = last(Seeing(1), task, Limits(max_jumps=400), search=True)
    assert end.outcome is not Outcome.FOUND
    assert end.greedy_outcome in (Outcome.STALLED, Outcome.FAILED, Outcome.JUMPS)
    assert (end.search_decisions or 0) > 0


def test_frozen_goals_need_all_goals() -> None:
    with pytest.raises(ConfigurationError, match="exclude"):
        PlaySpec(goals_in_sight=1, frozen_goals=True)
    with pytest.raises(ConfigurationError, match="at least 1"):
        PlaySpec(goals_in_sight=0)
