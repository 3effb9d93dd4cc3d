"""Dead ends that have successors: policies that see them avoid them, exploration ends there, searches skip them."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
import pytest
from tests.tasks import domain_of, task_of

from saltus.learn.experience import Final, collect, search, transitions_of
from saltus.learn.validation import measure
from saltus.lookahead import LookaheadSpec, Situation, is_dead_end, lookahead_batch
from saltus.policy import DeadEndRule, Decision, Ending, Greedy, JumpSearch, Outcome, Rollout, run_rollout
from saltus.policy.planning import Planner
from saltus.report.explain import ending_text, trace
from saltus.task import Goal, State, Task

FORK = """(define (domain fork) (:predicates (at ?x) (next ?x ?y))
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (next ?x ?y)) :effect (and (at ?y) (not (at ?x)))))"""


def fork(traps: int = 2) -> Task:
    """From n0 to the goal n2 over n1; or one way into places t0, t1, ... that lead around among themselves."""
    names = [f"t{i}" for i in range(traps)]
    links = ["(next n0 n1)", "(next n1 n2)", "(next n1 n0)", *(f"(next n0 {name})" for name in names)]
    links += [f"(next {a} {b})" for a in names for b in names if a != b]
    return task_of(
        domain_of(FORK),
        f"(define (problem f) (:domain fork) (:objects {' '.join(names)} n0 n1 n2)"
        f" (:init (at n0) {' '.join(links)}) (:goal (at n2)))",
    )


def closed_fork() -> Task:
    """The goal needs two places at once, which the relaxation believes in, and every way ends among traps."""
    links = "(next n0 n1) (next n0 n2) (next n1 t0) (next n2 t0) (next t0 t1) (next t1 t0)"
    return task_of(
        domain_of(FORK),
        f"(define (problem c) (:domain fork) (:objects n0 n1 n2 t0 t1) (:init (at n0) {links})"
        " (:goal (and (at n1) (at n2))))",
    )


class TrapLover(Planner):
    """Likes places the more, the earlier they are named: traps first."""

    def decide(self, situations: Sequence[Situation]) -> list[Decision]:
        """A decision for every situation."""
        trees = lookahead_batch(situations, self.lookahead)
        return [Decision(tree, -np.arange(len(tree) - 1, dtype=np.float32)) for tree in trees]


RELAXED = LookaheadSpec(kind="flat", dead_ends="relaxed")
PLAIN = LookaheadSpec(kind="flat")


@pytest.mark.parametrize(
    ("dead_end_rule", "ending", "jumps"),
    [
        (DeadEndRule.IGNORE, Ending.STUCK, 2),
        (DeadEndRule.AVOID, Ending.SOLVED, 2),
        (DeadEndRule.END, Ending.DEAD_END, 1),
    ],
)
def test_what_an_episode_does(dead_end_rule: DeadEndRule, ending: Ending, jumps: int) -> None:
    """In the trap it goes around until every place is visited; or never enters; or ends at once."""
    rollout = Rollout(fork(), dead_end_rule=dead_end_rule)
    assert len(list(run_rollout(TrapLover(PLAIN), rollout))) == jumps
    assert rollout.ending is ending


def test_few_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """One decision passes over so many hopeless states and no more."""
    monkeypatch.setattr(sys.modules["saltus.policy.rollout"], "MAX_DEAD_ENDS", 3)
    rollout = Rollout(fork(4), Greedy(), dead_end_rule=DeadEndRule.AVOID)
    steps = run_rollout(TrapLover(PLAIN), rollout)
    step = next(steps)
    assert fork(4).objects[fork(4).decode(next(iter(step.successor)))[1]] == "t3"


def test_planning_follows_the_policys_lookahead() -> None:
    assert TrapLover(PLAIN).plan(fork()) is None
    plan = TrapLover(RELAXED).plan(fork())
    assert plan is not None
    assert len(plan) == 2


def test_what_asking_takes_is_told_and_every_state_is_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[State] = []

    def slow(task: Task, state: State, goal: Goal) -> bool:
        asked.append(state)
        time.sleep(0.01)
        return is_dead_end(task, state, goal)

    monkeypatch.setattr(sys.modules["saltus.policy.rollout"], "is_dead_end", slow)
    end = TrapLover(RELAXED).solve(fork(), search=True)
    assert end.outcome is Outcome.FOUND
    assert end.seconds >= end.seconds_dead_ends >= 0.01 * len(asked) > 0
    assert len({*asked}) == len(asked)
    assert TrapLover(PLAIN).solve(fork()).seconds_dead_ends == 0
    asked.clear()
    lost = TrapLover(RELAXED).solve(closed_fork(), search=True)
    assert (lost.outcome, lost.solved) == (Outcome.FAILED, False)
    assert lost.seconds_dead_ends >= 0.01 * len(asked) > 0


def test_exploration_learns_from_the_end() -> None:
    """The transition into the trap is one into a dead end; nothing after it is stored."""
    rng = np.random.default_rng(0)
    settings = {"horizon": 20, "temperature": 1e-3, "take_goals": False, "rng": rng}
    found = collect(TrapLover(RELAXED), [fork()], [0], **settings)[0]
    assert found.ending is Ending.DEAD_END
    last = len(found.states) - 1
    finals = [entry.final for entry in transitions_of(found, found.goal, 0, last, reached=False, discount=1.0)]
    assert finals == [Final.DEAD_END]
    assert collect(TrapLover(PLAIN), [fork()], [0], **settings)[0].ending is Ending.STUCK


def test_search_does_not_decide_in_traps() -> None:
    """With the test, two states are decided about; without it, the traps first."""
    runs = {spec.dead_ends: JumpSearch(TrapLover(spec), fork(5)) for spec in (RELAXED, PLAIN)}
    counts = {name: len(list(run.run())) for name, run in runs.items()}
    assert counts["relaxed"] == 2
    assert counts["successors"] > 2
    assert all(run.solution is not None for run in runs.values())
    assert search(TrapLover(RELAXED), fork(5), 0, 2) is not None


def trap() -> Task:
    """A task that is lost from the start, though there is always something to do."""
    links = "(next t0 t1) (next t1 t2) (next t2 t0) (next t1 t0)"
    return task_of(
        domain_of(FORK),
        f"(define (problem t) (:domain fork) (:objects t0 t1 t2 n2) (:init (at t0) {links}) (:goal (at n2)))",
    )


def test_a_lost_task_ends_at_once() -> None:
    """One candidate, then the state itself: nothing else is asked, and it is not called a lack of jumps."""
    rollout = Rollout(trap(), dead_end_rule=DeadEndRule.AVOID)
    assert list(run_rollout(TrapLover(PLAIN), rollout)) == []
    assert (rollout.ending, len(rollout.dead_ends)) == (Ending.PROVEN_DEAD_END, 2)
    found = TrapLover(RELAXED).solve(trap(), search=True)
    assert (found.outcome, found.greedy_outcome) == (Outcome.FAILED, Outcome.FAILED)
    assert TrapLover(RELAXED).solve(trap()).detail == "proven dead end"


def test_a_search_among_lost_states_keeps_to_the_time() -> None:
    """Where every candidate is lost, the search asks for the time and the attempt says that it is over."""
    search_ = JumpSearch(TrapLover(RELAXED), fork(5), expired=lambda: True)
    assert len(list(search_.run())) == 1
    assert search_.solution is None


def test_only_traps_around() -> None:
    """A live state whose only ways on are visited or lost: stuck."""
    rollout = Rollout(fork(), dead_end_rule=DeadEndRule.AVOID)
    rollout.visited |= {
        step.successor for step in run_rollout(TrapLover(PLAIN), Rollout(fork(), dead_end_rule=DeadEndRule.AVOID))
    }
    assert list(run_rollout(TrapLover(PLAIN), rollout)) == []
    assert rollout.ending is Ending.STUCK


def test_validation_and_pages_follow_the_policys_lookahead() -> None:
    assert measure(TrapLover(RELAXED), [fork()], 20).solved == 1
    assert measure(TrapLover(PLAIN), [fork()], 20).solved == 0
    assert trace(fork(), TrapLover(RELAXED), "x")["solved"]
    assert "out of reach" in ending_text(trace(trap(), TrapLover(RELAXED), "x"))
