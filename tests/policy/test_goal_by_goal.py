"""A policy that loses its way among many goals plays them one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.test_planning import last
from tests.tasks import domain_of, task_of

from saltus.lookahead import LookaheadSpec, Situation, lookahead
from saltus.policy import Limits, Outcome
from saltus.policy.goal_by_goal import Beginning, GoalByGoal
from saltus.policy.planning import ALONE, GOAL_BY_GOAL
from saltus.policy.rollout import Decision
from saltus.policy.sight import MOST_JUMPS, missing_literals, with_more
from saltus.task import Action, Goal, State, Task, validate

LAMPS = """(define (domain lamps) (:predicates (lit ?x) (whole ?x) (at ?x) (road ?x ?y))
  (:action light :parameters (?x) :precondition (whole ?x) :effect (lit ?x))
  (:action douse :parameters (?x) :precondition (lit ?x) :effect (not (lit ?x)))
  (:action smash :parameters (?x) :precondition (whole ?x) :effect (and (not (whole ?x)) (not (lit ?x))))
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (road ?x ?y)) :effect (and (at ?y) (not (at ?x)))))"""


def lamps(count: int, places: int = 300, broken: int = 0, lit: int = 0) -> Task:
    """Lamps, all but the lit ones to be lit and these to be doused, and a one-way road that leads nowhere."""
    names = [f"l{i}" for i in range(count)]
    road = [f"p{i}" for i in range(places)]
    whole = " ".join(f"(whole {name})" for name in names[: count - broken])
    burning = " ".join(f"(lit {name})" for name in names[:lit])
    links = " ".join(f"(road {a} {b})" for a, b in pairwise(road))
    goal = " ".join(f"(not (lit {name}))" if i < lit else f"(lit {name})" for i, name in enumerate(names))
    return task_of(
        domain_of(LAMPS),
        f"(define (problem l) (:domain lamps) (:objects {' '.join(names + road)})"
        f" (:init (at p0) {whole} {burning} {links}) (:goal (and {goal})))",
    )


class Confused:
    """With more missing goals than it can bear it goes along the road, otherwise to a state with the most goals."""

    lookahead = LookaheadSpec(kind="flat")

    def __init__(self, bears: int = 1) -> None:
        self.bears = bears
        self.sizes: list[int] = []

    def decide(self, situations: Sequence[Situation]) -> list[Decision]:
        found = []
        for situation in situations:
            tree = lookahead(situation.task, situation.state, self.lookahead, situation.goal)
            missing = len(missing_literals(situation.goal, situation.state))
            self.sizes.append(missing)
            order = np.arange(len(tree) - 1, dtype=np.float32)  # the way along the road comes last
            found.append(Decision(tree, tree.goals[1:].astype(np.float32) if missing <= self.bears else order))
        return found


def test_a_policy_that_wanders_among_many_goals_gets_its_plan_goal_by_goal() -> None:
    task, policy = lamps(5), Confused()
    end = last(policy, task, search=True)
    assert (end.outcome, end.greedy_outcome, end.found_by) == (Outcome.FOUND, Outcome.STALLED, GOAL_BY_GOAL)
    assert end.plan is not None
    assert validate(task, end.plan)
    assert len(end.plan) == end.goal_by_goal_decisions == 5
    # It begins after so many jumps in vain, and both look at about as many states from there on.
    assert end.jumps is not None
    assert ALONE < end.jumps <= ALONE + 7
    assert end.search_decisions == 0


def test_a_rollout_alone_is_the_policys() -> None:
    end = last(Confused(), lamps(5), Limits(max_jumps=200))
    assert (end.outcome, end.goal_by_goal_decisions) == (Outcome.JUMPS, 0)


def test_with_one_goal_there_is_nothing_else_to_play() -> None:
    end = last(Confused(bears=0), lamps(1), Limits(max_jumps=150), search=True, take_goals=False)
    assert (end.found_by, end.goal_by_goal_decisions) == ("search", 0)


def test_goals_that_must_not_hold_are_goals_too() -> None:
    task, policy = lamps(6, lit=3), Confused()
    player = GoalByGoal(policy, task, [Beginning(task.initial_state)])
    assert len(list(player.run())) == 6
    assert player.solution is not None
    assert sorted(task.action_name(action) for action in player.solution) == [
        *(f"(douse l{i})" for i in range(3)),
        *(f"(light l{i})" for i in range(3, 6)),
    ]
    assert set(policy.sizes) == {1}


def test_a_goal_out_of_reach_is_left_for_later_and_effort_is_bounded() -> None:
    task = lamps(4, broken=1)
    player = GoalByGoal(Confused(), task, [Beginning(task.initial_state)] * 2)
    decisions = list(player.run())
    assert player.solution is None
    assert len(decisions) <= 2 * 4 * MOST_JUMPS
    assert player.states == sum(len(decision.tree) for decision in decisions)


def test_the_next_beginning_is_tried_where_the_first_leads_nowhere() -> None:
    task = lamps(3)
    smashed = next(code for code in task.initial_state.codes.tolist() if task.atom_name(code) == "(whole l1)")
    doomed = State(np.setdiff1d(task.initial_state.codes, [smashed]))
    first = Beginning(doomed, (Action(2, (1,)),))
    player = GoalByGoal(Confused(), task, [first, Beginning(task.initial_state)])
    roots = [decision.tree.root for decision in player.run()]
    assert (roots[0], roots[-3]) == (doomed, task.initial_state)
    assert player.solution is not None
    assert [task.action_name(action) for action in player.solution] == ["(light l0)", "(light l1)", "(light l2)"]


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_a_sub_goal_holds_what_holds_and_one_more(wanted: set[int], unwanted: set[int], true: set[int]) -> None:
    goal, state = Goal(wanted, unwanted - wanted), State(np.array(sorted(true), np.int64))
    for literal in missing_literals(goal, state):
        sub = with_more(goal, state, [literal])
        assert missing_literals(sub, state) == [literal]
        assert sub.size == goal.size - len(missing_literals(goal, state)) + 1
        assert set(sub.positive.tolist()) <= wanted
        assert set(sub.negative.tolist()) <= unwanted
