"""Twin of `learn/batch.py`. Every batch is made from nothing: trees, then graphs; nothing is kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saltus.errors import SaltusError
from saltus.graph import EncodingSpec, Vocabulary, assemble
from saltus.learn.batch import TrainingBatch, batch_of
from saltus.learn.experience import Final, Transition
from saltus.lookahead import LookaheadTree, PlaySpec, Situation, TreeSpec, lookahead_batch
from saltus.task import Task

PlainTrees = tuple[LookaheadTree, int, LookaheadTree | None]
"""Tree of a transition's state, the node that was jumped to, and the successor's tree unless it is final."""


def trees_of(
    tasks: Sequence[Task],
    transitions: Sequence[Transition],
    spec: TreeSpec,
    play: PlaySpec,
    threads: int | None = None,
) -> list[PlainTrees]:
    """Trees of transitions.

    A relabelled goal changes the features and so the tree. If the successor is missing from the tree for the new goal,
    the tree for the original goal is used instead.
    """
    going = [t for t in transitions if t.final is Final.NO]
    situations = [Situation(tasks[t.task], t.state, t.goal) for t in transitions]
    situations += [Situation(tasks[t.task], t.successor, t.goal) for t in going]
    made = lookahead_batch(situations, spec, play, threads=threads)
    now, after = made[: len(transitions)], iter(made[len(transitions) :])
    nodes = [tree.find(t.successor) for tree, t in zip(now, transitions, strict=True)]
    absent = [i for i, node in enumerate(nodes) if node <= 0]
    situations = [Situation(tasks[t.task], t.state, t.tree_goal) for t in (transitions[i] for i in absent)]
    for i, tree in zip(absent, lookahead_batch(situations, spec, play, threads=threads), strict=True):
        now[i], nodes[i] = tree, tree.find(transitions[i].successor)
        if nodes[i] <= 0:
            raise SaltusError("the successor of a transition is missing from its own lookahead tree")
    successors = [next(after) if t.final is Final.NO else None for t in transitions]
    return [
        (tree, node, other if other is not None and len(other) > 1 else None)
        for tree, node, other in zip(now, nodes, successors, strict=True)
    ]


def make_training_batch(
    tasks: Sequence[Task],
    transitions: Sequence[Transition],
    weight: NDArray[np.floating],
    lookahead: TreeSpec,
    play: PlaySpec,
    vocabulary: Vocabulary,
    encoding: EncodingSpec,
    *,
    threads: int | None = None,
) -> TrainingBatch:
    """Batch of transitions with these importance weights."""
    trees = trees_of(tasks, transitions, lookahead, play, threads)
    return encode_trees(trees, transitions, weight, vocabulary, encoding, threads=threads)


def encode_trees(
    trees: Sequence[PlainTrees],
    transitions: Sequence[Transition],
    weight: NDArray[np.floating],
    vocabulary: Vocabulary,
    encoding: EncodingSpec,
    *,
    threads: int | None = None,
) -> TrainingBatch:
    """Batch of transitions with these trees; those of their states are encoded with the goals of the transitions."""
    queries = [(tree, t.goal) for (tree, _, _), t in zip(trees, transitions, strict=True)]
    successors = [(tree, None) for _, _, tree in trees if tree is not None]
    return batch_of(
        assemble(queries, vocabulary, encoding, threads=threads),
        assemble(successors, vocabulary, encoding, threads=threads) if successors else None,
        [node for _, node, _ in trees],
        [len(tree) if tree is not None else 0 for _, _, tree in trees],
        transitions,
        weight,
    )
