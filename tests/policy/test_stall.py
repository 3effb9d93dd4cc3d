"""Rollouts that stall: the rule on hand-made sequences, and the search that goes on from the best states."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.test_planning import SEARCH_ALONE, Named, last, roads

from saltus.policy import GoalCountPolicy, Limits, Outcome, Progress, plan_stepwise
from saltus.policy.planning import NO_LIMITS
from saltus.policy.stall import Stall
from saltus.policy.values import MARGIN, PATIENCE, PATIENCE_PER_OBJECT
from saltus.task import Plan, Task, validate

DECISIONS = st.lists(st.tuples(st.integers(0, 4), st.floats(-9, 0)), max_size=30)


def seen(stall: Stall, *decisions: tuple[int, float]) -> list[bool]:
    """Whether each decision was a new best."""
    return [stall.see(*decision) for decision in decisions]


# -- the rule ----------------------------------------------------------------------------------------------------------


def test_more_goals_are_a_new_best_and_as_many_are_not() -> None:
    stall = Stall(patience=3)
    assert seen(stall, (0, -9.0), (1, -9.0), (1, -9.0), (0, -9.0), (1, -9.0)) == [True, True, False, False, False]
    assert stall.has_stalled
    assert stall.see(2, -9.0)
    assert not stall.has_stalled


def test_values_count_only_if_they_gain_more_than_the_margin() -> None:
    stall = Stall(patience=5, margin=0.5)
    assert seen(stall, (0, -9.0), (0, -8.5), (0, -8.4), (0, -8.0), (0, -7.8)) == [True, False, True, False, True]
    assert stall.best_value == -7.8


def test_small_gains_add_up() -> None:
    """A tenth of a jump at a time: the reference is the last value that counted, so the sixth gain counts."""
    stall = Stall(patience=9, margin=0.5)
    assert seen(stall, *[(0, -9 + 0.1 * i) for i in range(8)]) == [True, *[False] * 5, True, False]


def test_patience_counts_jumps_since_the_last_new_best() -> None:
    stall = Stall(patience=2)
    assert not stall.has_stalled  # before the first decision
    states = []
    for decision in [(0, -5.0), (0, -5.0), (1, -5.0), (1, -5.0), (1, -5.0), (1, -5.0)]:
        stall.see(*decision)
        states.append(stall.has_stalled)
    assert states == [False, False, False, False, True, True]


def test_the_best_decisions_are_each_named_once() -> None:
    stall = Stall(patience=9)
    seen(stall, (0, -9.0), (2, -9.0), (1, -3.0), (1, -2.0), (1, -8.0))
    assert (stall.last_best, stall.most_goals_at, stall.best_value_at) == (3, 1, 3)
    assert stall.best_decisions == [3, 1]


def test_a_tree_without_candidates_has_no_value() -> None:
    stall = Stall(patience=1)
    assert seen(stall, (0, -math.inf), (0, -math.inf)) == [True, False]
    assert stall.has_stalled


def test_the_patience_grows_with_the_problem() -> None:
    small, large = roads("a-b", "a", "b"), roads(" ".join(f"n{i}-n{i + 1}" for i in range(99)), "n0", "n1")
    assert Stall.of(small).patience == PATIENCE + PATIENCE_PER_OBJECT * 2
    assert Stall.of(large).patience == PATIENCE + PATIENCE_PER_OBJECT * 100
    assert Stall.of(small).margin == MARGIN > 0


@given(DECISIONS, st.integers(1, 8))
def test_the_rule_is_what_its_definition_says(decisions: list[tuple[int, float]], patience: int) -> None:
    """The twin looks at all decisions again each time."""
    stall = Stall(patience, margin=1.0)
    bests: list[int] = []
    reference = -math.inf
    for number, (goals, value) in enumerate(decisions):
        stall.see(goals, value)
        gains = value > reference + 1.0
        if gains or all(goals > other for other, _ in decisions[:number]):
            bests.append(number)
        reference = value if gains else reference
        assert stall.last_best == bests[-1]
        assert stall.has_stalled == (number - bests[-1] >= patience)


# -- planning ----------------------------------------------------------------------------------------------------------


def corridor(length: int) -> tuple[Named, Task]:
    """From a, over b, along a corridor that leads nowhere, which the policy likes as much all along; c is the way."""
    places = [f"n{i}" for i in range(length)]
    ways = " ".join(f"{a}-{b}" for a, b in zip(["b", *places], places, strict=False))
    task = roads(f"a-b b-c c-g {ways}", "a", "g")
    return Named({"b": -3.0, "c": -5.0, "g": -5.0} | dict.fromkeys(places, -2.0)), task


def patient(monkeypatch: pytest.MonkeyPatch, patience: int) -> None:
    """Another patience."""
    monkeypatch.setattr(Stall, "of", classmethod(lambda cls, task: cls(patience)))


def test_a_policy_that_wanders_gets_its_plan_by_search(monkeypatch: pytest.MonkeyPatch) -> None:
    patient(monkeypatch, 50)
    policy, task = corridor(70)
    alone = last(policy, task)
    assert (alone.outcome, alone.detail, alone.jumps) == (Outcome.FAILED, "dead end", 71)
    end = last(policy, task, search=True)
    assert (end.outcome, end.greedy_outcome, end.found_by) == (Outcome.FOUND, Outcome.STALLED, "search")
    assert end.plan == Plan.of(["(go a b)", "(go b c)", "(go c g)"])
    assert end.jumps == 1 + 50 + 1  # to b, the last new best, and then in vain
    assert (end.search_decisions, end.greedy_goals, end.goal_count) == (1, 0, 1)


def test_the_search_begins_at_the_best_states_and_not_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """By value alone, the corridor's next place (-2) would come before c (-5)."""
    patient(monkeypatch, 10)
    policy, task = corridor(30)
    moments = list(plan_stepwise(policy, task))
    assert policy.asked[:3] == ["a", "b", "n0"]
    end = moments[-1]
    assert (end.greedy_outcome, end.search_decisions, policy.asked[-1]) == (Outcome.STALLED, 1, "c")
    stalled = next(moment for moment in moments if moment.greedy_outcome is Outcome.STALLED)
    assert (stalled.outcome, stalled.jumps, stalled.search_decisions) == (Outcome.STALLED, end.jumps, 0)


def test_a_search_after_a_stall_reaches_every_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a goal in reach; the state at which the rollout was left is decided about, too."""
    patient(monkeypatch, 2)
    policy = Named(dict.fromkeys("abcdefg", -1.0))
    end = last(policy, roads("a-b b-c c-d d-e e-f c-a", "a", "g"), search=True, members=SEARCH_ALONE)
    assert (end.outcome, end.greedy_outcome) == (Outcome.FAILED, Outcome.STALLED)
    assert end.detail == "the search has exhausted all reachable states"
    assert sorted(policy.asked) == list("abcdef")


def test_limits_after_a_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    patient(monkeypatch, 2)
    names = [f"n{i}" for i in range(60)]
    task = roads(" ".join(f"{a}-{b}" for a, b in pairwise(names)), "n0", "g")
    policy = Named(dict.fromkeys(names, -1.0))
    end = last(policy, task, Limits(max_jumps=9), search=True)
    assert (end.greedy_outcome, end.outcome, end.search_decisions) == (Outcome.STALLED, Outcome.JUMPS, 9)
    assert end.detail == "the search was cut off by the jump limit"
    short = last(policy, task, Limits(max_jumps=2), search=True)
    assert short.greedy_outcome is Outcome.JUMPS


def test_time_that_runs_out_as_the_rollout_stalls_is_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    patient(monkeypatch, 2)
    moments = plan_stepwise(corridor(30)[0], corridor(30)[1], Limits(seconds=1e6))
    for moment in moments:
        if moment.greedy_outcome is Outcome.STALLED:
            monkeypatch.setattr("saltus.policy.planning._Planning.seconds", lambda planning: 1e9)
    assert (moment.outcome, moment.greedy_outcome) == (Outcome.TIME, Outcome.STALLED)


def test_greedy_alone_never_stalls(monkeypatch: pytest.MonkeyPatch) -> None:
    patient(monkeypatch, 1)
    names = [f"n{i}" for i in range(40)]
    task = roads(" ".join(f"{a}-{b}" for a, b in pairwise(names)), "n0", "n39")
    policy = Named(dict.fromkeys(names, -1.0))
    assert last(policy, task).found_by == "greedy"
    end = last(policy, task, search=True)
    assert (end.found_by, end.greedy_outcome) == ("search", Outcome.STALLED)


def timeless(end: Progress) -> Progress:
    """All but the times."""
    return replace(end, seconds=0.0, seconds_plan=None, seconds_dead_ends=None)


NODES = "abcdefgh"
GRAPHS = st.sets(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)), min_size=6, max_size=24)
VALUES = st.lists(st.floats(-5, 0, width=32), min_size=len(NODES), max_size=len(NODES))


@given(GRAPHS, VALUES, st.integers(1, 8), st.sampled_from([1, 3, 1000]))
def test_the_default_loses_nothing_that_greedy_play_solves(
    pairs: set[tuple[str, str]], values: list[float], jumps: int, patience: int
) -> None:
    """With the same limit on jumps, unless the rollout stalls; then the search goes on."""
    task = roads(" ".join(f"{a}-{b}" for a, b in sorted(pairs) if a != b) or "a-b", "a", "h")
    values_of = dict(zip(NODES, values, strict=True))
    limits = Limits(max_jumps=jumps)
    with pytest.MonkeyPatch.context() as patch:
        patient(patch, patience)
        greedy = last(Named(values_of), task, limits)
        default, again = (
            last(Named(values_of), task, limits, search=True, goal_policy=GoalCountPolicy(np.random.default_rng(0)))
            for _ in range(2)
        )
        unlimited = last(Named(values_of), task, NO_LIMITS, search=True)
    assert timeless(again) == timeless(default)
    if default.greedy_outcome is not Outcome.STALLED:
        assert (default.greedy_outcome, default.jumps) == (greedy.outcome, greedy.jumps)
        assert default.solved or not greedy.solved
        assert not greedy.solved or default.plan == greedy.plan
    assert unlimited.solved or not greedy.solved
    assert default.plan is None or validate(task, default.plan)
