"""Choosers, rollouts and yardsticks, with answers worked out by hand."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise

import numpy as np
import pytest
from tests.errands import errands
from tests.policies import Plays
from tests.tasks import domain_of, task_of

from saltus.domains import generate_sizes
from saltus.domains.registry import DOMAINS
from saltus.graph import EncodingSpec, Vocabulary
from saltus.lookahead import PlaySpec, TreeSpec, lookahead
from saltus.model import ModelSpec, RelationalNetwork
from saltus.model.engine import Engine
from saltus.policy import (
    YARDSTICKS,
    Boltzmann,
    Decision,
    Ending,
    GoalCountPolicy,
    Greedy,
    LearnedPolicy,
    play,
    run_rollout,
    run_rollouts,
)
from saltus.policy.policies import batches
from saltus.policy.search import JumpSearch
from saltus.task import Plan, Task, validate

CHAIN = """(define (domain chain) (:predicates (at ?x) (next ?x ?y))
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (next ?x ?y)) :effect (and (at ?y) (not (at ?x)))))"""


def chain(length: int, goal: int) -> Task:
    """A walk along n0, n1, ... in both directions, but not back from the last place."""
    names = [f"n{i}" for i in range(length)]
    links = [f"(next {a} {b})" for a, b in pairwise(names)]
    links += [f"(next {b} {a})" for a, b in pairwise(names[:-1])]
    return task_of(
        domain_of(CHAIN),
        f"(define (problem c) (:domain chain) (:objects {' '.join(names)})"
        f" (:init (at n0) {' '.join(links)}) (:goal (at n{goal})))",
    )


def blocks(count: int, seed: int) -> Task:
    """A Blocksworld problem."""
    domain = domain_of(DOMAINS["blocksworld"].path.read_text())
    return task_of(domain, generate_sizes("blocksworld", {"blocks": count}, seed))


def test_greedy_takes_the_best_and_among_equals_the_first() -> None:
    order = list(Greedy().order(np.array([-3.0, -1.0, -1.0 + 1e-7, -2.0], np.float32)))
    assert order == [1, 2, 3, 0]


def test_equal_means_relative_to_the_size_of_the_values() -> None:
    assert next(Greedy().order(np.array([-1000.0, -999.995], np.float32))) == 0
    assert next(Greedy().order(np.array([-1.0, -0.995], np.float32))) == 1


def test_boltzmann_draws_with_the_formulas_probabilities() -> None:
    rng = np.random.default_rng(5)
    q = np.array([0.0, np.log(2.0), np.log(5.0)], np.float32) * 0.7
    first = Counter(next(Boltzmann(0.7, rng).order(q)) for _ in range(8000))
    assert [first[i] / 8000 for i in range(3)] == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.02)
    second = Counter(tuple(islice(Boltzmann(0.7, rng).order(q), 2)) for _ in range(8000))
    assert second[2, 1] / 8000 == pytest.approx(5 / 8 * 2 / 3, abs=0.02)
    assert sorted(Boltzmann(0.1, rng).order(q)) == [0, 1, 2]


class FarthestPolicy(Plays):
    """Prefers the last node of a flat tree."""

    lookahead = TreeSpec(kind="flat")

    def decide(self, situations):
        from saltus.lookahead import lookahead_batch

        trees = lookahead_batch(situations, self.lookahead, self.play_spec)
        return [Decision(tree, np.arange(len(tree) - 1, dtype=np.float32)) for tree in trees]


def test_visited_states_are_never_jumped_to() -> None:
    rollout = play(FarthestPolicy(), chain(5, goal=4))
    steps = list(run_rollout(FarthestPolicy(), rollout))
    assert len(steps) == 4
    assert rollout.ending is Ending.SOLVED
    assert len({step.successor for step in steps} | {rollout.task.initial_state}) == 5


def test_a_rollout_ends_in_a_dead_end_or_stuck() -> None:
    task = chain(3, goal=2)
    unreachable = task.make_goal([task.atom("(at n0)"), task.atom("(at n2)")])
    rollout = play(FarthestPolicy(), task, goal=unreachable)
    assert len(list(run_rollout(FarthestPolicy(), rollout))) == 2
    assert rollout.ending is Ending.DEAD_END  # no way back from n2
    loop = task_of(
        domain_of(CHAIN),
        "(define (problem c) (:domain chain) (:objects a b c) (:init (at a) (next a b) (next b a)) (:goal (at c)))",
    )
    rollout = play(FarthestPolicy(), loop)
    assert len(list(run_rollout(FarthestPolicy(), rollout))) == 1
    assert rollout.ending is Ending.STUCK


def test_a_goal_that_holds_needs_no_jump() -> None:
    rollout = play(FarthestPolicy(), chain(3, goal=0))
    assert list(run_rollout(FarthestPolicy(), rollout)) == []
    assert rollout.ending is Ending.SOLVED


def test_of_several_goal_states_the_one_with_the_fewest_actions_is_taken() -> None:
    """Ringing the bell is one jump of four actions, shouting two jumps of one action each."""
    task = errands()
    policy = GoalCountPolicy(np.random.default_rng(0), TreeSpec(free_moves=True))
    (step,) = run_rollout(policy, play(policy, task))
    assert [task.action_name(action) for action in step.actions] == ["(prepare w0)", "(shout w0)"]
    assert step.tree.depth[step.tree.goal_nodes].tolist() == [1, 2]
    assert step.tree.length[step.tree.goal_nodes].tolist() == [4, 2]
    search = JumpSearch(policy, task)
    list(search.run())
    assert search.solution == step.actions
    assert lookahead(task, spec=TreeSpec(kind="flat")).nearest_goal is None


def test_goal_states_of_the_tree_are_taken_unless_disabled() -> None:
    task = chain(6, goal=3)
    policy = GoalCountPolicy(np.random.default_rng(0), TreeSpec())
    (step,) = run_rollout(policy, play(policy, task))
    assert step.solved
    assert len(step.actions) == 3

    class Worst(FarthestPolicy):
        lookahead = TreeSpec()

        def decide(self, situations):
            return [Decision(entry.tree, -entry.q) for entry in super().decide(situations)]

    assert next(run_rollout(Worst(), play(Worst(), task))).solved
    worst = Worst().playing(PlaySpec(take_goals=False))
    first = next(run_rollout(worst, play(worst, task)))
    assert first.node == 1
    assert not first.solved
    explorer = Boltzmann(1e-6, np.random.default_rng(0))
    assert next(run_rollout(Worst(), play(Worst(), task, explorer=explorer))).node == 1


@pytest.mark.parametrize("name", sorted(YARDSTICKS))
def test_yardsticks_jump_validly_and_depend_on_the_seed_alone(name: str) -> None:
    def played() -> list[str]:
        task = blocks(6, 1)
        policy = YARDSTICKS[name](np.random.default_rng(3))
        rollout = play(policy, task)
        names: list[str] = []
        for step in islice(run_rollout(policy, rollout), 30):
            names += [task.action_name(action) for action in step.actions]
        report = validate(task, Plan.of(names))
        assert report.valid == (rollout.ending is Ending.SOLVED)
        assert report.valid or "goal" in str(report)
        return names

    assert played() == played()


def test_rollouts_side_by_side_equal_single_rollouts() -> None:
    tasks = [blocks(count, seed) for seed, count in enumerate((3, 5, 8, 4))]
    encoding = EncodingSpec()
    vocabulary = Vocabulary.of(tasks[0].domain, encoding)
    network = RelationalNetwork([relation.arity for relation in vocabulary], "ad", ModelSpec(embedding=16, layers=3))
    policy = LearnedPolicy(Engine.of(network), encoding, TreeSpec(), vocabulary)
    together = [play(policy, task) for task in tasks]
    paths: list[list[int]] = [[] for _ in tasks]
    for steps in islice(run_rollouts(policy, together), 12):
        for i, step in steps:
            paths[i].append(step.node)
    for i, task in enumerate(tasks):
        alone = play(policy, task)
        assert [step.node for step in islice(run_rollout(policy, alone), 12)] == paths[i]
        assert alone.ending == together[i].ending


def test_parts_stay_below_the_bound_unless_one_entry_exceeds_it() -> None:
    assert list(batches("abcd", [3, 4, 9, 1], 7)) == [["a", "b"], ["c"], ["d"]]
    assert list(batches("", [], 7)) == []
