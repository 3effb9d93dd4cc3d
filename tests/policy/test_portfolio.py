"""Who goes next in a portfolio: the least effort, who joins when, and what the table says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.test_dead_ends import RELAXED, TrapLover, fork
from tests.policy.test_goal_by_goal import Confused, lamps
from tests.policy.test_rollout import FarthestPolicy, chain

from saltus.policy import Admissible, GoalCountPolicy, JumpSearch
from saltus.policy.greedy import GreedyRollout
from saltus.policy.portfolio import (
    COUNTS,
    DRAWN,
    GOAL_BY_GOAL,
    GOAL_SEARCH,
    GREEDY,
    MEMBERS,
    RELAXED_SEARCH,
    SEARCH,
    Member,
    Portfolio,
    Scene,
    Searcher,
)
from saltus.policy.search import SearchAround
from saltus.task import Action, Task


@dataclass
class Digger:
    """Does pieces of work of given sizes, and reaches goals or a plan on the way."""

    sizes: list[int]
    announces: bool = False
    """Whether it says what comes next."""
    reaches: dict[int, int] = field(default_factory=dict)
    """Goals by the number of the piece that reaches them."""
    plan_after: int | None = None
    work: int = 0
    goals: int = 0
    solution: list[Action] | None = None
    done: int = 0

    @property
    def next_work(self) -> int:
        return self.sizes[self.done] if self.announces and self.done < len(self.sizes) else 0

    def run(self) -> Iterator[None]:
        for number, size in enumerate(self.sizes):
            self.work += size
            self.done += 1
            self.goals = self.reaches.get(number, self.goals)
            if number == self.plan_after:
                self.solution = []
            yield None


def scene_of(task: Task, policy: Any, goal_policy: Any = None) -> Scene:
    tested = Admissible(task, task.goal, policy.play_spec)
    around = JumpSearch(policy, task, tested=tested)
    return Scene(
        task, policy, goal_policy, tested, GreedyRollout(policy, task, tested, around), around, expired=lambda: False
    )


def among(*members: tuple[str, float, Digger], lead: float = 1.0) -> Portfolio:
    """A portfolio of diggers alone."""
    entries = tuple(
        Member(name, weight, lambda scene, own=digger: own, lead=lead)  # type: ignore[misc]
        for name, weight, digger in members
    )
    portfolio = Portfolio(scene_of(chain(3, goal=2), FarthestPolicy()), entries)
    portfolio.join(ended=True)
    portfolio.leave(GREEDY)
    return portfolio


def turns(portfolio: Portfolio, most: int = 1000) -> list[str]:
    """Who went, so many times, or until nobody is left or one has found a plan."""
    found: list[str] = []
    while len(found) < most and (moved := portfolio.step()) is not None:
        found.append(moved[0])
        if portfolio.solution is not None:
            break
    return found


def test_the_least_effort_goes_next() -> None:
    """A unit of b's work counts half; of equals the first goes. Each has one more turn, in which it ends."""
    portfolio = among(("a", 1.0, Digger([4, 4])), ("b", 0.5, Digger([2, 2, 2, 2])))
    # a 4; b 1, 2, 3, 4; a 8; b ends; a ends
    assert turns(portfolio) == ["a", "b", "b", "b", "b", "a", "b", "a"]


def test_work_that_is_announced_counts_before_it_is_done() -> None:
    portfolio = among(("a", 1.0, Digger([10], announces=True)), ("b", 1.0, Digger([4, 4, 4])))
    # a would be at 10; b 4, 8, 12; only then a
    assert turns(portfolio)[:4] == ["b", "b", "b", "a"]


def test_who_leads_may_do_more() -> None:
    """From the piece on with which it comes to lead; what it did before counts as it did."""
    equal = among(("a", 1.0, Digger([1] * 40)), ("b", 1.0, Digger([1] * 40)), lead=4.0)
    assert turns(equal, 40).count("b") == 20
    ahead = among(("a", 1.0, Digger([1] * 40)), ("b", 1.0, Digger([1] * 40, reaches={0: 1})), lead=4.0)
    assert turns(ahead, 40).count("b") == 32
    late = among(("a", 1.0, Digger([1] * 40)), ("b", 1.0, Digger([1] * 40, reaches={9: 1})), lead=4.0)
    assert turns(late, 20).count("b") == 10
    assert turns(late, 20).count("b") == 16


def test_the_first_plan_ends_it() -> None:
    portfolio = among(("a", 1.0, Digger([5, 5, 5])), ("b", 1.0, Digger([3, 3, 3], plan_after=1)))
    assert turns(portfolio) == ["a", "b", "b"]
    assert portfolio.solution == []


WORK = st.lists(st.integers(1, 9), min_size=1, max_size=12)


@given(st.lists(st.tuples(st.sampled_from([0.125, 0.5, 1.0, 3.0]), WORK, st.booleans()), min_size=1, max_size=4))
def test_turns_are_what_the_rule_says(members: list[tuple[float, list[int], bool]]) -> None:
    """The twin keeps the effort of each by itself; nobody is passed over, and all of the work is done."""
    diggers = [(str(i), weight, Digger(sizes, announces)) for i, (weight, sizes, announces) in enumerate(members)]
    effort, left = [0.0] * len(members), [list(sizes) for _, sizes, _ in members]
    playing, expected = list(range(len(members))), []
    while playing:
        comes = {i: effort[i] + members[i][0] * (left[i][0] if members[i][2] and left[i] else 0) for i in playing}
        chosen = min(playing, key=lambda i: comes[i])
        expected.append(str(chosen))
        if not left[chosen]:
            playing.remove(chosen)
        else:
            done = sum(members[chosen][1]) - sum(left[chosen]) + left[chosen].pop(0)
            effort[chosen] = members[chosen][0] * done
    assert turns(among(*diggers)) == expected


# -- the table ---------------------------------------------------------------------------------------------------------


def joined(portfolio: Portfolio) -> list[str]:
    names = [GREEDY, *(member.name for member in MEMBERS)]
    return [name for name in names if portfolio.searcher(name) is not None]


def test_who_joins_when() -> None:
    goal_policy = GoalCountPolicy(np.random.default_rng(0))
    portfolio = Portfolio(scene_of(lamps(5), Confused(), goal_policy))
    assert joined(portfolio) == [GREEDY]
    portfolio.join(ended=False)
    assert joined(portfolio) == [GREEDY, GOAL_BY_GOAL, RELAXED_SEARCH, DRAWN]
    first = portfolio.searcher(GOAL_BY_GOAL)
    portfolio.join(ended=False)
    assert portfolio.searcher(GOAL_BY_GOAL) is first
    portfolio.join(ended=True)
    portfolio.leave(GREEDY)
    assert joined(portfolio) == [SEARCH, GOAL_BY_GOAL, GOAL_SEARCH, RELAXED_SEARCH, DRAWN]


def test_who_has_nothing_to_do_stays_away() -> None:
    """With one goal there is nothing to play goal by goal; without a goal policy there is no search by goals."""
    portfolio = Portfolio(scene_of(lamps(1), Confused()))
    portfolio.join(ended=True)
    assert joined(portfolio) == [GREEDY, SEARCH, RELAXED_SEARCH, DRAWN]


def test_those_who_join_have_nothing_to_make_up_for() -> None:
    """The rollout has looked at some states alone, and at more with the first of the others; then all take turns."""
    portfolio = Portfolio(scene_of(lamps(60), Confused()))
    for _ in range(20):
        portfolio.step()
    portfolio.join(ended=False)
    names = [moved[0] for _ in range(8) if (moved := portfolio.step()) is not None]
    assert {GREEDY, GOAL_BY_GOAL, DRAWN} == set(names)
    portfolio.join(ended=True)
    names = [moved[0] for _ in range(12) if (moved := portfolio.step()) is not None]
    assert {GREEDY, SEARCH, GOAL_BY_GOAL, DRAWN} == set(names)
    assert abs(names.count(GREEDY) - names.count(SEARCH)) <= 1


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_every_member_is_a_searcher(member: Member) -> None:
    """It has what the portfolio asks for, begins with nothing done, and does something."""
    goal_policy = GoalCountPolicy(np.random.default_rng(0))
    searcher: Searcher | None = member.make(scene_of(lamps(5), Confused(), goal_policy))
    assert searcher is not None
    assert (searcher.work, searcher.solution) == (0, None)
    assert searcher.next_work >= 0
    next(searcher.run(), None)
    assert searcher.work > 0
    assert member.weight > 0


def test_tests_of_a_search_are_pieces_of_work() -> None:
    """Where nearly all candidates are dead ends, others have their turns between the tests."""
    searcher = SearchAround(JumpSearch(TrapLover(RELAXED), fork(5)))
    pieces = searcher.run()
    first = next(pieces)
    assert first is not None
    assert [next(pieces) for _ in range(3)] == [None, None, None]
    assert searcher.work == len(first.tree) + 3


def test_figures_count_searchers_of_the_table() -> None:
    assert COUNTS.keys() < {member.name for member in MEMBERS}
