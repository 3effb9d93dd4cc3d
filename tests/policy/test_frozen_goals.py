"""Jumps that reach goals but shut off others wait: in greedy play, in a search, and only where it makes sense."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
import pytest
from tests.lookahead.test_frozen import DOOR, STACK, boxes, moved
from tests.tasks import domain_of, task_of

from saltus.errors import ConfigurationError
from saltus.lab.report.explain import trace
from saltus.learn.validation import measure
from saltus.lookahead import PlaySpec, Situation, TreeSpec, keeps_goals, lookahead, lookahead_batch
from saltus.policy import Decision, JumpSearch, play, run_rollout
from saltus.policy.admissible import Admissible
from saltus.policy.planning import Planner
from saltus.task import Goal, State, Task

FREE = TreeSpec(kind="iw", free_moves=True)
OFF = PlaySpec()
ORDERED = PlaySpec(frozen_goals=True)


class Greedy(Planner):
    """Prefers more goals; among them the state that comes last, or the one that comes first."""

    def __init__(self, rules: PlaySpec, direction: int = 1, trees: TreeSpec = FREE) -> None:
        super().__init__(trees, rules)
        self.direction = direction

    def decide(self, situations: Sequence[Situation]) -> list[Decision]:
        """One decision per situation."""
        trees = lookahead_batch(situations, self.lookahead, self.play_spec)
        return [Decision(tree, self._values(tree.goals[1:])) for tree in trees]

    def _values(self, goals: np.ndarray) -> np.ndarray:
        return (1000 * goals + self.direction * np.arange(len(goals)) / max(1, len(goals))).astype(np.float32)


def test_a_value_that_is_unknown_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"frozen_goals is 'on', expected True or False"):
        PlaySpec(frozen_goals="on")  # type: ignore[arg-type]


def first_jump(task: Task, rules: PlaySpec) -> State:
    """The state that the policy jumps to first."""
    policy = Greedy(rules)
    return next(run_rollout(policy, play(policy, task))).successor


def test_a_jump_that_shuts_off_another_goal_waits() -> None:
    """Box a can be pushed into the door in one jump, and then nobody gets to b. So b goes first."""
    task = boxes(DOOR)
    assert task.atom("at a c3-4") in first_jump(task, OFF)
    assert task.atom("at b c3-7") in first_jump(task, ORDERED)


def test_it_is_taken_if_nothing_else_is_left() -> None:
    task = boxes(DOOR)
    rollout = play(Greedy(ORDERED), task)
    tree = lookahead(task, task.initial_state, FREE)
    shut = [node for node in range(1, len(tree)) if task.atom("at a c3-4") in tree.state_of(node)]
    others = [node for node in range(1, len(tree)) if node not in shut]
    rollout.admissible.visited.update(tree.up_to_walks(tree.state_of(node)) for node in others)
    step = rollout.advance(Greedy(ORDERED).decide([rollout.situation])[0])
    assert step is not None
    assert step.node in shut


def test_the_number_of_tests_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once that many candidates were put off, the next one is taken untested."""
    monkeypatch.setattr(sys.modules["saltus.policy.admissible"], "MAX_POSTPONED", 0)
    task = boxes(DOOR)
    assert task.atom("at a c3-4") in first_jump(task, ORDERED)


def tower(above: bool) -> Task:
    """a on b and b on c are wanted; with `above`, a is on b already, and has to leave it again."""
    init = "(on a b) (table b) (clear a)" if above else "(table a) (table b) (clear a) (clear b)"
    return task_of(
        domain_of(STACK),
        f"(define (problem t) (:domain stack) (:objects a b c) (:init {init} (table c) (clear c) (free))"
        " (:goal (and (on a b) (on b c))))",
    )


@pytest.mark.parametrize("direction", [1, -1])
def test_goals_can_be_undone(direction: int) -> None:
    """From a on b, which must be undone, and from the table, both orders of equally good states."""
    for above in (False, True):
        task = tower(above)
        assert keeps_goals(task, task.initial_state, task.goal) is not above
        trees = TreeSpec(kind="aiw")
        found = Greedy(ORDERED, direction, trees).solve(task, search=True)
        assert found.solved
    assert len(Greedy(ORDERED, trees=trees).solve(tower(False)).plan or ()) == 4


def test_nothing_waits_where_the_root_fails_the_test() -> None:
    task = tower(above=True)
    tested = Admissible(task, task.goal, ORDERED)
    tree = lookahead(task, task.initial_state, TreeSpec(kind="iw"))
    assert tree.root not in tested.keeping
    assert not any(tested.postpones(tree, node, tree.state_of(node)) for node in range(1, len(tree)))


def test_undoing_a_goal_waits_for_a_jump_that_does_not() -> None:
    """Two of three goals by undoing the first one, against two of three that keep it."""
    domain = """(define (domain lamps) (:predicates (on ?x) (red ?x) (blue ?x))
      (:action light :parameters (?x ?y) :precondition (and (red ?x) (blue ?y)) :effect (on ?x))
      (:action swap :parameters (?x ?y ?z) :precondition (and (on ?x) (red ?y) (blue ?z))
        :effect (and (not (on ?x)) (on ?y) (on ?z))))"""
    task = task_of(
        domain,
        "(define (problem l) (:domain lamps) (:objects a b c) (:init (on a) (red b) (red c) (blue c))"
        " (:goal (and (on a) (on b) (on c))))",
    )
    tested = Admissible(task, task.goal, ORDERED)
    tree = lookahead(task, task.initial_state, TreeSpec(kind="flat"))
    states = {node: {task.atom_name(code) for code in tree.state_of(node)} for node in range(1, len(tree))}
    undoing = next(node for node, atoms in states.items() if "(on a)" not in atoms and "(on c)" in atoms)
    keeping = next(node for node, atoms in states.items() if {"(on a)", "(on b)"} <= atoms)
    assert tree.goals[undoing] == tree.goals[keeping] == 2 > tree.goals[0]
    assert tested.postpones(tree, undoing, tree.state_of(undoing))
    assert not tested.postpones(tree, keeping, tree.state_of(keeping))


# -- search ----------------------------------------------------------------------------------------------------------


def test_a_search_takes_such_jumps_later() -> None:
    """Both searches solve the problem; only the one without the test decides about the state that is shut off."""
    task = boxes(DOOR)
    shut = moved(task, "a c3-4", "robot c3-3")
    searches = {spec.frozen_goals: JumpSearch(Greedy(spec), task) for spec in (OFF, ORDERED)}
    for search in searches.values():
        assert all(True for _ in search.run())
        assert search.solution is not None
    assert shut in {node.state for node in searches[False].nodes}
    assert shut not in {node.state for node in searches[True].nodes}


def test_a_search_stays_complete() -> None:
    """Where every plan goes through a state that fails the test, the search finds one all the same."""
    task = boxes(DOOR)
    tested = Admissible(task, task.goal, ORDERED)
    tested.keeping.test = lambda state: state == task.initial_state
    search = JumpSearch(Greedy(ORDERED), task, tested=tested)
    assert search.admissible.keeping is tested.keeping
    assert len(list(search.run())) > 0
    assert search.solution is not None


def test_a_search_pauses_after_every_state_that_it_puts_aside() -> None:
    search = JumpSearch(Greedy(ORDERED), boxes(DOOR))
    pieces = search.pieces()
    assert next(pieces) is not None
    assert next(pieces) is None
    assert (len(search.nodes), search.solution) == (1, None)


# -- figures, validation, pages --------------------------------------------------------------------------------------


def test_every_state_is_tested_once_and_the_time_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[State] = []

    def slow(task: Task, state: State, goal: Goal) -> bool:
        asked.append(state)
        time.sleep(0.01)
        return keeps_goals(task, state, goal)

    monkeypatch.setattr(sys.modules["saltus.policy.admissible"], "keeps_goals", slow)
    end = Greedy(ORDERED).solve(boxes(DOOR), search=True)
    assert end.solved
    assert end.seconds >= (end.seconds_frozen_goals or 0) >= 0.01 * len(asked) > 0
    assert len({*asked}) == len(asked)
    assert Greedy(OFF).solve(boxes(DOOR)).seconds_frozen_goals == 0


def test_validation_and_pages_follow_the_policys_rules() -> None:
    task = boxes(DOOR)
    assert measure(Greedy(ORDERED), [task]).solved == 1
    assert measure(Greedy(OFF), [task]).solved == 0
    assert trace(task, Greedy(ORDERED), "x")["solved"]
    assert not trace(task, Greedy(OFF), "x")["solved"]
