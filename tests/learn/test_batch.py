"""Batches of transitions: the right candidate, the right values of successors, dead ends, relabelled goals."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from tests.graph.test_kernel import assert_same as assert_same_graphs
from tests.learn.small import small_tasks
from tests.policy.test_planning import roads
from tests.policy.test_rollout import chain
from tests.twins.batch import make_training_batch

from saltus.errors import SaltusError
from saltus.graph import EncodingSpec, GraphBatch, Vocabulary
from saltus.learn.batch import BatchMaker, EncodedTree, TrainingBatch, Trees
from saltus.learn.config import load_configuration
from saltus.learn.experience import Final, Transition
from saltus.learn.trainer import Trainer
from saltus.learn.values import KEPT_SLOTS
from saltus.lookahead import PlaySpec, TreeSpec, lookahead
from saltus.task import Goal, State, Task


def transition(task: Task, state: State, successor: State, goal: Goal, **changes: object) -> Transition:
    """A transition of the first task."""
    values = {"final": Final.NO, "bound": float("nan"), "cost": 1.0, "tree_goal": task.goal, **changes}
    return Transition(task=0, state=state, successor=successor, goal=goal, **values)  # type: ignore[arg-type]


def specs_of(task: Task) -> tuple[TreeSpec, PlaySpec, Vocabulary, EncodingSpec]:
    """The standard lookahead and encoding of a task's domain."""
    encoding = EncodingSpec()
    return TreeSpec(), PlaySpec(), Vocabulary.of(task.domain, encoding), encoding


def assert_same(maker: BatchMaker, drawn: list[Transition]) -> None:
    """The batch equals the twin's in every array."""
    weight = np.linspace(0.1, 1.0, len(drawn))
    fast = maker.make(drawn, weight)
    slow = make_training_batch(
        maker.tasks, drawn, weight, maker.lookahead, maker.play, maker.vocabulary, maker.encoding
    )
    for entry in fields(TrainingBatch):
        one, other = getattr(fast, entry.name), getattr(slow, entry.name)
        if isinstance(other, GraphBatch):
            assert_same_graphs(one, other)
        elif other is None:
            assert one is None
        else:
            assert one.dtype == other.dtype
            assert np.array_equal(one, other, equal_nan=other.dtype == np.float32), entry.name


@pytest.mark.parametrize("domain", ["blocksworld", "spanner", "satellite"])
def test_find_gives_the_node_of_a_state(domain: str) -> None:
    for task in small_tasks(domain, 6, of=8):
        tree = lookahead(task)
        for node in range(len(tree)):
            state = tree.state_of(node)
            assert tree.find(state) == next(i for i in range(len(tree)) if tree.state_of(i) == state)
        atoms = task.initial_state.codes
        assert tree.find(State(atoms[: len(atoms) // 3])) == -1


def test_candidates_and_successors_are_where_the_batch_says() -> None:
    configuration = load_configuration("tiny")
    tasks = small_tasks("blocksworld", 6, of=8)
    trainer = Trainer(configuration, tasks, seed=1)
    trainer._store(trainer._collect(1.0))
    drawn = trainer.hindsight.transitions[:40]
    specs = configuration
    maker = BatchMaker(tasks, specs.lookahead, specs.play, trainer.vocabulary, specs.encoding, threads=2)
    batch = maker.make(drawn, np.ones(len(drawn)))
    assert len(batch) == len(drawn)
    offset = batch.now.candidate_offset
    trees = maker.trees_of(drawn)
    after = 0
    for i, (entry, trees_found) in enumerate(zip(drawn, trees, strict=True)):
        node = int(batch.chosen[i] - offset[i]) + 1
        assert trees_found.now.tree.state_of(node) == entry.successor
        assert offset[i + 1] - offset[i] == len(trees_found.now) - 1
        if entry.final is Final.GOAL:
            assert batch.after_count[i] == 0
            assert batch.final[i] == int(Final.GOAL)
        else:
            assert batch.after_first[i] == after
            assert batch.after_count[i] == len(lookahead(tasks[entry.task], entry.successor, goal=entry.goal)) - 1
            after += int(batch.after_count[i])
        assert batch.depth_count[i] == trees_found.now.tree.depth.max()
    assert batch.after is not None
    assert after == batch.after.candidate_offset[-1]
    assert batch.depth_count.sum() == len(batch.now.depth_node)


def test_depth_nodes_are_counted() -> None:
    """Of the states b, d (from a) and c (from b), c is two jumps away; in the flat tree, there is one depth."""
    task = roads("a-b a-d b-c", "a", "g")
    deep, flat = lookahead(task), lookahead(task, spec=TreeSpec(kind="flat"))
    assert (deep.depth.tolist(), flat.depth.tolist()) == ([0, 1, 1, 2], [0, 1, 1])
    entries = [transition(task, deep.root, deep.state_of(1), task.goal) for _ in range(2)]
    for entry, tree in zip(entries, (deep, flat), strict=True):
        entry.trees.append(Trees(EncodedTree(tree, task.goal), 1, None))
    encoding = EncodingSpec()
    vocabulary = Vocabulary.of(task.domain, encoding)
    batch = BatchMaker([task], TreeSpec(), PlaySpec(), vocabulary, encoding).make(entries, np.ones(2))
    assert (batch.depth_count.tolist(), batch.depth_first.tolist()) == ([2, 1], [0, 2])
    assert batch.now.depth_value.tolist() == [1, 2, 1]


@pytest.mark.parametrize("kind", ["id", "ext"])
def test_other_encodings_have_no_depth_nodes(kind: str) -> None:
    task = roads("a-b a-d b-c", "a", "g")
    entries = [transition(task, task.initial_state, lookahead(task).state_of(1), task.goal) for _ in range(2)]
    encoding = EncodingSpec(kind)
    vocabulary = Vocabulary.of(task.domain, encoding)
    batch = BatchMaker([task], TreeSpec(), PlaySpec(), vocabulary, encoding).make(entries, np.ones(2))
    assert (batch.depth_count.tolist(), batch.depth_first.tolist()) == ([0, 0], [0, 0])


@pytest.mark.parametrize("domain", ["blocksworld", "satellite"])
@pytest.mark.parametrize("setting", ["encoding.kind=ad", "encoding.kind=ext", "play.roles=2"])
def test_what_is_kept_changes_nothing(domain: str, setting: str) -> None:
    """Batches equal the twin's, whether a transition, its neighbours, both or none of them were drawn before."""
    configuration = load_configuration("tiny", [setting])
    tasks = small_tasks(domain, 6, of=8)
    trainer = Trainer(configuration, tasks, seed=1)
    trainer._store(trainer._collect(1.0))
    known = [*trainer.original.transitions, *trainer.hindsight.transitions]
    rng = np.random.default_rng(0)
    assert trainer.steps.batches.make_ahead(known[:10])
    assert all(entry.trees for entry in known[:10])
    for _ in range(6):
        assert_same(trainer.steps.batches, [known[i] for i in rng.integers(len(known), size=12)])
    assert any(entry.trees for entry in known)


def test_the_state_of_a_transition_shares_the_tree_of_the_successor_before_it() -> None:
    task = chain(6, goal=5)
    states = [task.state([f"(at n{i})"]) for i in range(4)]
    first, second, third = (transition(task, *states[i : i + 2], task.goal) for i in range(3))
    maker = BatchMaker([task], *specs_of(task))
    (trees,) = maker.trees_of([first])
    followed, last = maker.trees_of([second, third])
    assert followed.now is trees.after
    assert last.now is followed.after
    assert_same(maker, [second, third, first, second])
    assert followed.now.graphs is not None
    other = task.make_goal([task.atom("(at n0)")])
    (changed,) = maker.trees_of([transition(task, *states[1:3], other)])
    assert changed.now is not followed.now
    del trees, followed, last, changed, first, second, third
    assert not maker._known  # what no transition needs is freed


def test_large_graphs_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    task = chain(6, goal=5)
    entry = transition(task, task.initial_state, task.state(["(at n1)"]), task.goal)
    maker = BatchMaker([task], *specs_of(task))
    slots = len(maker.make([entry], np.ones(1)).now.arguments)
    assert entry.trees[0].now.graphs.slots == slots < KEPT_SLOTS
    monkeypatch.setattr("saltus.learn.batch.KEPT_SLOTS", slots - 1)
    entry.trees.clear()
    for _ in range(2):
        assert_same(maker, [entry])
        assert entry.trees[0].now.graphs is None


def test_a_successor_without_successors_is_a_dead_end() -> None:
    task = chain(4, goal=1)
    tree = lookahead(task)
    goal = task.make_goal([task.atom("(at n0)")])
    last = task.state(["(at n3)"])
    entry = transition(task, tree.root, last, goal)
    batch = BatchMaker([task], *specs_of(task)).make([entry], np.ones(1))
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
                maker = BatchMaker([task], *specs_of(task))
                entry = transition(task, own.root, successor, goal)
                (trees,) = maker.trees_of([entry])
                assert trees.now.tree.state_of(trees.node) == successor
                assert trees.now.goal == goal
                assert_same(maker, [entry])
    assert found


def test_a_transition_that_cannot_be_is_an_error() -> None:
    task = chain(4, goal=1)
    entry = transition(task, task.initial_state, State([]), task.goal)
    with pytest.raises(SaltusError, match="successor"):
        BatchMaker([task], *specs_of(task)).make([entry], np.ones(1))
