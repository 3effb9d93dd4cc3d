"""Batches of transitions: the right candidate, the right values of successors, dead ends, relabelled goals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.learn.small import small_tasks
from tests.policy.test_planning import roads
from tests.policy.test_rollout import chain

from saltus.errors import SaltusError
from saltus.graph import EncodingSpec, Vocabulary
from saltus.learn.batch import Trees, make_training_batch, trees_of
from saltus.learn.config import load_configuration
from saltus.learn.experience import Final, Transition
from saltus.learn.trainer import Trainer
from saltus.lookahead import LookaheadSpec, lookahead
from saltus.task import Goal, State, Task


def transition(task: Task, state: State, successor: State, goal: Goal, **changes: object) -> Transition:
    """A transition of the first task."""
    values = {"final": Final.NO, "bound": float("nan"), "cost": 1.0, "tree_goal": task.goal, **changes}
    return Transition(task=0, state=state, successor=successor, goal=goal, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize("domain", ["blocksworld", "spanner", "satellite"])
def test_find_gives_the_node_of_a_state(domain: str) -> None:
    for task in small_tasks(domain, 6, of=8):
        tree = lookahead(task)
        for node in range(len(tree)):
            found = tree.find(tree.state_of(node))
            assert tree.state_of(found) == tree.state_of(node)
            assert found <= node
        atoms = task.initial_state.codes
        assert tree.find(State(atoms[: len(atoms) // 3])) == -1


def test_candidates_and_successors_are_where_the_batch_says() -> None:
    configuration = load_configuration("tiny")
    tasks = small_tasks("blocksworld", 6, of=8)
    trainer = Trainer(configuration, tasks, seed=1)
    trainer._store(trainer._collect(1.0))
    drawn = trainer.hindsight.transitions[:40]
    specs = configuration
    batch = make_training_batch(
        tasks, drawn, np.ones(len(drawn)), specs.lookahead, trainer.vocabulary, specs.encoding, threads=2
    )
    assert len(batch) == len(drawn)
    offset = batch.now.candidate_offset
    trees = trees_of(tasks, drawn, specs.lookahead, 1)
    after = 0
    for i, (entry, trees_found) in enumerate(zip(drawn, trees, strict=True)):
        node = int(batch.chosen[i] - offset[i]) + 1
        assert trees_found.now.state_of(node) == entry.successor
        assert offset[i + 1] - offset[i] == len(trees_found.now) - 1
        if entry.final is Final.GOAL:
            assert batch.after_count[i] == 0
            assert batch.final[i] == int(Final.GOAL)
        else:
            assert batch.after_first[i] == after
            assert batch.after_count[i] == len(lookahead(tasks[entry.task], entry.successor, goal=entry.goal)) - 1
            after += int(batch.after_count[i])
        assert batch.depth_count[i] == trees_found.now.depth.max()
    assert batch.after is not None
    assert after == batch.after.candidate_offset[-1]
    assert batch.depth_count.sum() == len(batch.now.depth_node)


@pytest.mark.parametrize(("unit", "count", "values"), [("jumps", [2, 1], [1, 2, 1]), ("actions", [2, 2], [1, 5, 2, 3])])
def test_depth_nodes_are_counted_in_their_unit(unit: str, count: list[int], values: list[int]) -> None:
    """Of the states b, d (from a) and c (from b), d is as many actions away as c; in the flat tree, b and d differ."""
    task = roads("a-b a-d b-c", "a", "g")
    deep, flat = lookahead(task), lookahead(task, spec=LookaheadSpec(kind="flat"))
    assert (deep.depth.tolist(), flat.depth.tolist()) == ([0, 1, 1, 2], [0, 1, 1])
    entries = [transition(task, deep.root, deep.state_of(1), task.goal) for _ in range(2)]
    for entry, tree, length in zip(entries, (deep, flat), ([0, 1, 5, 5], [0, 2, 3]), strict=True):
        entry.trees.append(Trees(replace(tree, length=np.array(length, np.int32)), 1, None))
    encoding = EncodingSpec(depth_unit=unit)
    vocabulary = Vocabulary.of(task.domain, encoding)
    batch = make_training_batch([task], entries, np.ones(2), LookaheadSpec(), vocabulary, encoding)
    assert (batch.depth_count.tolist(), batch.depth_first.tolist()) == (count, [0, count[0]])
    assert batch.now.depth_value.tolist() == values


@pytest.mark.parametrize("kind", ["id", "ext"])
def test_other_encodings_have_no_depth_nodes(kind: str) -> None:
    task = roads("a-b a-d b-c", "a", "g")
    entries = [transition(task, task.initial_state, lookahead(task).state_of(1), task.goal) for _ in range(2)]
    encoding = EncodingSpec(kind)
    vocabulary = Vocabulary.of(task.domain, encoding)
    batch = make_training_batch([task], entries, np.ones(2), LookaheadSpec(), vocabulary, encoding)
    assert (batch.depth_count.tolist(), batch.depth_first.tolist()) == ([0, 0], [0, 0])


def test_kept_trees_change_nothing() -> None:
    configuration = load_configuration("tiny")
    tasks = small_tasks("blocksworld", 6, of=8)
    trainer = Trainer(configuration, tasks, seed=1)
    trainer._store(trainer._collect(1.0))
    drawn = trainer.hindsight.transitions[:20]

    def batch():  # type: ignore[no-untyped-def]
        return make_training_batch(
            tasks, drawn, np.ones(20), configuration.lookahead, trainer.vocabulary, configuration.encoding
        )

    first, second = batch(), batch()
    assert all(entry.trees for entry in drawn)
    for name in ("chosen", "after_first", "after_count", "final", "depth_first", "depth_count"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    assert np.array_equal(first.now.arguments, second.now.arguments)


def test_a_successor_without_successors_is_a_dead_end() -> None:
    task = chain(4, goal=1)
    tree = lookahead(task)
    goal = task.make_goal([task.atom("(at n0)")])
    last = task.state(["(at n3)"])
    specs = LookaheadSpec(), Vocabulary.of(task.domain, EncodingSpec()), EncodingSpec()
    entry = transition(task, tree.root, last, goal)
    batch = make_training_batch([task], [entry], np.ones(1), *specs)
    assert batch.final.tolist() == [int(Final.DEAD_END)]
    assert batch.after is None


def test_a_jump_that_the_new_goals_tree_lacks_is_found_in_the_old_ones() -> None:
    found = 0
    for task in small_tasks("blocksworld", 12, of=12):
        own = lookahead(task)
        for node in range(1, len(own)):
            successor = own.state_of(node)
            goal = Goal(successor.codes[:1])
            if lookahead(task, goal=goal).find(successor) == -1:
                found += 1
                (trees,) = trees_of([task], [transition(task, own.root, successor, goal)], LookaheadSpec(), 1)
                assert trees.now.state_of(trees.node) == successor
    assert found


def test_a_transition_that_cannot_be_is_an_error() -> None:
    task = chain(4, goal=1)
    entry = transition(task, task.initial_state, State([]), task.goal)
    with pytest.raises(SaltusError, match="successor"):
        trees_of([task], [entry], LookaheadSpec(), 1)
