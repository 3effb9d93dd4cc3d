"""Prioritised replay: frequencies, importance weights, forgetting, saving."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from saltus.learn.experience import Final, Transition, pack_transitions, unpack_transitions
from saltus.learn.replay import Replay
from saltus.learn.values import LEAST_PRIORITY
from saltus.task import Goal, State


def transition(number: int) -> Transition:
    """A transition that can be told from others."""
    goal = Goal([number, number + 1], [3] if number % 2 else [])
    return Transition(
        task=number,
        state=State([number, 50]),
        successor=State([number + 1, 7, 9]),
        goal=goal,
        tree_goal=Goal([number]),
        final=Final(number % 3),
        bound=float("nan") if number % 2 else -float(number),
        cost=1.0 + number / 4,
    )


def test_draws_by_priority_and_weighs_against_it() -> None:
    replay = Replay(4, alpha=0.5)
    replay.add([transition(i) for i in range(4)])
    losses = np.array([1.0, 4.0, 9.0, 16.0])
    replay.update(np.arange(4), losses - LEAST_PRIORITY)
    rng = np.random.default_rng(0)
    counts: Counter[int] = Counter()
    for _ in range(200):
        numbers, weights = replay.sample(50, rng, beta=0.5)
        counts.update(numbers.tolist())
        share = np.sqrt(losses) / 10  # 1, 2, 3, 4 of 10
        assert weights == pytest.approx((4 * share[numbers]) ** -0.5)
    assert [counts[i] / 10_000 for i in range(4)] == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.015)


def test_alpha_0_draws_uniformly_with_equal_weights() -> None:
    replay = Replay(3, alpha=0.0)
    replay.add([transition(i) for i in range(3)])
    replay.update(np.arange(3), np.array([0.0, 100.0, 1.0]))
    numbers, weights = replay.sample(3000, np.random.default_rng(1), beta=1.0)
    assert weights == pytest.approx(1.0)
    assert Counter(numbers.tolist())[0] / 3000 == pytest.approx(1 / 3, abs=0.03)


def test_new_transitions_have_the_highest_priority_so_far() -> None:
    replay = Replay(5, alpha=1.0)
    replay.add([transition(0)])
    assert replay.priority[0] == 1.0
    replay.update(np.array([0]), np.array([7.0]))
    replay.add([transition(1)])
    assert replay.priority[1] == pytest.approx(7.0 + LEAST_PRIORITY)
    replay.update(np.array([0, 1]), np.array([0.1, 0.1]))
    replay.add([transition(2)])
    assert replay.priority[2] == pytest.approx(7.0 + LEAST_PRIORITY)


def test_the_oldest_make_room() -> None:
    replay = Replay(3, alpha=1.0)
    replay.add([transition(i) for i in range(2)])
    replay.add([transition(i) for i in range(2, 5)])
    assert sorted(t.task for t in replay.transitions) == [2, 3, 4]
    replay.add([transition(i) for i in range(10, 20)])
    assert sorted(t.task for t in replay.transitions) == [17, 18, 19]


def test_saved_and_restored_draws_the_same() -> None:
    replay = Replay(4, alpha=0.6)
    replay.add([transition(i) for i in range(6)])
    replay.update(np.array([1, 2]), np.array([3.0, 5.0]))
    other = Replay(4, alpha=0.6)
    other.set_state(*replay.get_state())
    assert np.array_equal(other.priority, replay.priority)
    one, two = (store.sample(20, np.random.default_rng(3), 0.4) for store in (replay, other))
    assert np.array_equal(one[0], two[0])
    for store in (replay, other):
        store.add([transition(9)])
    assert [t.task for t in replay.transitions] == [t.task for t in other.transitions]


def test_transitions_survive_packing() -> None:
    before = [transition(i) for i in range(5)]
    after = unpack_transitions(pack_transitions(before))
    for one, two in zip(before, after, strict=True):
        assert (one.task, one.state, one.successor, one.goal, one.tree_goal, one.final, one.cost) == (
            two.task,
            two.state,
            two.successor,
            two.goal,
            two.tree_goal,
            two.final,
            two.cost,
        )
        assert one.bound == two.bound or (np.isnan(one.bound) and np.isnan(two.bound))
    assert unpack_transitions(pack_transitions([])) == []
