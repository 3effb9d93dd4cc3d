"""Dead ends with successors: policies that detect them avoid them, exploration ends there, searches skip them."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.tasks import domain_of, task_of

from saltus.lab.report.explain import ending_text, trace
from saltus.learn.experience import Final, collect, search, transitions_of
from saltus.learn.validation import measure
from saltus.lookahead import PlaySpec, Situation, TreeSpec, is_dead_end, lookahead_batch
from saltus.policy import Boltzmann, Decision, Ending, JumpSearch, Outcome, play, run_rollout
from saltus.policy.planning import Planner
from saltus.task import Goal, State, Task

FORK = """(define (domain fork) (:predicates (at ?x) (next ?x ?y))
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (next ?x ?y)) :effect (and (at ?y) (not (at ?x)))))"""


def fork(traps: int = 2) -> Task:
    """One path from n0 over n1 to the goal n2; another into traps t0, t1, ..., which lead only to each other."""
    names = [f"t{i}" for i in range(traps)]
    links = ["(next n0 n1)", "(next n1 n2)", "(next n1 n0)", *(f"(next n0 {name})" for name in names)]
    links += [f"(next {a} {b})" for a in names for b in names if a != b]
    return task_of(
        domain_of(FORK),
        f"(define (problem f) (:domain fork) (:objects {' '.join(names)} n0 n1 n2)"
        f" (:init (at n0) {' '.join(links)}) (:goal (at n2)))",
    )


def closed_fork() -> Task:
    """The goal is two places at once, which only the relaxation can reach; every path ends among traps."""
    links = "(next n0 n1) (next n0 n2) (next n1 t0) (next n2 t0) (next t0 t1) (next t1 t0)"
    return task_of(
        domain_of(FORK),
        f"(define (problem c) (:domain fork) (:objects n0 n1 n2 t0 t1) (:init (at n0) {links})"
        " (:goal (and (at n1) (at n2))))",
    )


class TrapLover(Planner):
    """Prefers traps to other places."""

    def __init__(self, rules: PlaySpec) -> None:
        super().__init__(TreeSpec(kind="flat"), rules)

    def decide(self, situations: Sequence[Situation]) -> list[Decision]:
        """One decision per situation."""
        trees = lookahead_batch(situations, self.lookahead, self.play_spec)
        return [Decision(tree, -np.arange(len(tree) - 1, dtype=np.float32)) for tree in trees]


RELAXED = PlaySpec(dead_ends=True)
PLAIN = PlaySpec()


@pytest.mark.parametrize(
    ("rules", "explores", "ending", "jumps"),
    [
        (PLAIN, False, Ending.STUCK, 2),
        (PLAIN, True, Ending.STUCK, 2),
        (RELAXED, False, Ending.SOLVED, 2),
        (RELAXED, True, Ending.DEAD_END, 1),
    ],
)
def test_what_a_rollout_does(rules: PlaySpec, explores: bool, ending: Ending, jumps: int) -> None:
    """It moves around in the trap until every place is visited, never enters it, or ends at once."""
    policy = TrapLover(rules)
    rollout = play(policy, fork(), explorer=Boltzmann(1e-3, np.random.default_rng(0)) if explores else None)
    assert len(list(run_rollout(policy, rollout))) == jumps
    assert rollout.ending is ending


def test_one_decision_tests_a_bounded_number_of_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """One decision skips `MAX_DEAD_ENDS` dead ends and no more."""
    monkeypatch.setattr(sys.modules["saltus.policy.admissible"], "MAX_DEAD_ENDS", 3)
    policy = TrapLover(RELAXED)
    step = next(run_rollout(policy, play(policy, fork(4))))
    assert fork(4).objects[fork(4).decode(next(iter(step.successor)))[1]] == "t3"


def test_planning_follows_the_policys_rules() -> None:
    assert TrapLover(PLAIN).plan(fork(), search=False) is None
    plan = TrapLover(RELAXED).plan(fork(), search=False)
    assert plan is not None
    assert len(plan) == 2


def test_every_state_is_tested_once_and_the_time_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[State] = []

    def slow(task: Task, state: State, goal: Goal, *, roles: int | None) -> bool:
        asked.append(state)
        time.sleep(0.01)
        return is_dead_end(task, state, goal, roles=roles)

    monkeypatch.setattr(sys.modules["saltus.policy.admissible"], "is_dead_end", slow)
    end = TrapLover(RELAXED).solve(fork(), search=True)
    assert end.outcome is Outcome.FOUND
    assert end.seconds >= end.seconds_dead_ends >= 0.01 * len(asked) > 0
    assert len({*asked}) == len(asked)
    assert TrapLover(PLAIN).solve(fork()).seconds_dead_ends == 0
    asked.clear()
    failed = TrapLover(RELAXED).solve(closed_fork(), search=False)
    assert (failed.outcome, failed.solved) == (Outcome.FAILED, False)
    assert failed.seconds_dead_ends >= 0.01 * len(asked) > 0


def test_the_test_sees_as_many_representatives_as_the_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | None] = []

    def note(task: Task, state: State, goal: Goal, *, roles: int | None) -> bool:
        asked.append(roles)
        return is_dead_end(task, state, goal, roles=roles)

    monkeypatch.setattr(sys.modules["saltus.policy.admissible"], "is_dead_end", note)
    for roles in (None, 3):
        asked.clear()
        assert TrapLover(replace(RELAXED, roles=roles)).solve(fork(), search=True).outcome is Outcome.FOUND
        assert {*asked} == {roles}


def test_exploration_stores_the_dead_end() -> None:
    """The last stored transition leads into the trap and is marked as a dead end."""
    rng = np.random.default_rng(0)
    settings = {"horizon": 20, "temperature": 1e-3, "rng": rng}
    found = collect(TrapLover(RELAXED), [fork()], [0], **settings)[0]
    assert found.ending is Ending.DEAD_END
    last = len(found.states) - 1
    finals = [entry.final for entry in transitions_of(found, found.goal, 0, last, reached=False, discount=1.0)]
    assert finals == [Final.DEAD_END]
    assert collect(TrapLover(PLAIN), [fork()], [0], **settings)[0].ending is Ending.STUCK


def test_search_does_not_decide_in_traps() -> None:
    """With the test, the search decides about two states; without it, about the traps first."""
    runs = {spec.dead_ends: JumpSearch(TrapLover(spec), fork(5)) for spec in (RELAXED, PLAIN)}
    counts = {name: len(list(run.run())) for name, run in runs.items()}
    assert counts[True] == 2
    assert counts[False] > 2
    assert all(run.solution is not None for run in runs.values())
    assert search(TrapLover(RELAXED), fork(5), 0, 2) is not None


def trap() -> Task:
    """A task whose initial state is a dead end, although every state has applicable actions."""
    links = "(next t0 t1) (next t1 t2) (next t2 t0) (next t1 t0)"
    return task_of(
        domain_of(FORK),
        f"(define (problem t) (:domain fork) (:objects t0 t1 t2 n2) (:init (at t0) {links}) (:goal (at n2)))",
    )


def test_an_unsolvable_task_ends_at_once() -> None:
    """One candidate is tested, then the state itself and nothing else; the outcome is not the jump limit."""
    policy = TrapLover(RELAXED)
    rollout = play(policy, trap())
    assert list(run_rollout(policy, rollout)) == []
    assert (rollout.ending, len(rollout.admissible.dead_ends)) == (Ending.PROVEN_DEAD_END, 2)
    found = TrapLover(RELAXED).solve(trap(), search=True)
    assert (found.outcome, found.greedy_outcome) == (Outcome.FAILED, Outcome.FAILED)
    assert (found.detail, found.unsolvable, found.search_decisions) == ("proven dead end", True, 0)
    assert TrapLover(RELAXED).solve(trap(), search=False).unsolvable


def test_a_search_pauses_after_every_dead_end() -> None:
    search_ = JumpSearch(TrapLover(RELAXED), fork(5))
    pieces = search_.pieces()
    assert next(pieces) is not None
    assert next(pieces) is None
    assert (len(search_.nodes), len(search_.admissible.dead_ends), search_.solution) == (1, 1, None)


def test_only_traps_around() -> None:
    """A rollout is stuck in a state whose successors are all visited or dead ends."""
    policy = TrapLover(RELAXED)
    rollout = play(policy, fork())
    rollout.admissible.visited.update(step.successor for step in run_rollout(policy, play(policy, fork())))
    assert list(run_rollout(policy, rollout)) == []
    assert rollout.ending is Ending.STUCK


def test_validation_and_pages_follow_the_policys_rules() -> None:
    assert measure(TrapLover(RELAXED), [fork()]).solved == 1
    assert measure(TrapLover(PLAIN), [fork()]).solved == 0
    assert trace(fork(), TrapLover(RELAXED), "x")["solved"]
    assert "cannot be reached" in ending_text(trace(trap(), TrapLover(RELAXED), "x"))
