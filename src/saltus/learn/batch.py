"""Stage `learn`: a batch of transitions as graphs, ready for the network.

Two lookaheads a transition: from its state, for the Q-value of the jump, and from its successor, for the value it is
compared with; none from a successor that is a goal or a dead end. All trees and graphs are made by two kernel calls
each, off the learning thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saltus.errors import SaltusError
from saltus.graph import EncodingSpec, GraphBatch, Vocabulary, assemble
from saltus.learn.experience import Final, Transition
from saltus.lookahead import LookaheadSpec, LookaheadTree, lookahead_batch
from saltus.task import Goal, Task


@dataclass(frozen=True, eq=False)
class TrainingBatch:
    """Graphs of the states and of the successors, and where in them the samples are."""

    now: GraphBatch
    after: GraphBatch | None
    """Graphs of the successors that are neither goal nor dead end; None if all are."""
    chosen: NDArray[np.int64]
    """[samples]: candidate of `now` that is the jump."""
    after_first: NDArray[np.int64]
    """[samples]: first candidate in `after`."""
    after_count: NDArray[np.int64]
    """[samples]: number of candidates in `after`; 0 for goals and dead ends."""
    final: NDArray[np.int64]
    """[samples]: values of `Final`."""
    bound: NDArray[np.float32]
    weight: NDArray[np.float32]
    """[samples]: importance weights."""
    depth_first: NDArray[np.int64]
    """[samples]: first depth node in `now`."""
    depth_count: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.chosen)


def trees_of(
    tasks: Sequence[Task], transitions: Sequence[Transition], spec: LookaheadSpec, threads: int | None
) -> list[tuple[LookaheadTree, Goal, int]]:
    """For every transition a tree that holds its jump, the goal to see it with, and the node.

    A relabelled goal changes the features, and with them the tree. Where the successor is missing from the new goal's
    tree, the tree of the goal that was played for is seen with the new goal.
    """
    trees = lookahead_batch([(tasks[t.task], t.state, t.goal) for t in transitions], spec, threads=threads)
    nodes = [tree.find(t.successor) for tree, t in zip(trees, transitions, strict=True)]
    lost = [i for i, node in enumerate(nodes) if node <= 0]
    if lost:
        queries = [(tasks[t.task], t.state, t.tree_goal) for t in (transitions[i] for i in lost)]
        for i, tree in zip(lost, lookahead_batch(queries, spec, threads=threads), strict=True):
            trees[i], nodes[i] = tree, tree.find(transitions[i].successor)
            if nodes[i] <= 0:
                raise SaltusError("a transition's successor is not in its own lookahead tree")
    return [(tree, t.goal, node) for tree, t, node in zip(trees, transitions, nodes, strict=True)]


def make_training_batch(
    tasks: Sequence[Task],
    transitions: Sequence[Transition],
    weight: NDArray[np.floating],
    lookahead: LookaheadSpec,
    vocabulary: Vocabulary,
    encoding: EncodingSpec,
    *,
    threads: int | None = None,
) -> TrainingBatch:
    """Batch of some transitions with their importance weights."""
    held = trees_of(tasks, transitions, lookahead, threads)
    now = assemble([(tree, goal) for tree, goal, _ in held], vocabulary, encoding, threads=threads)
    final = np.array([int(t.final) for t in transitions], np.int64)
    going = np.flatnonzero(final == int(Final.NO))
    queries = [(tasks[t.task], t.successor, t.goal) for t in (transitions[i] for i in going.tolist())]
    trees = lookahead_batch(queries, lookahead, threads=threads) if queries else []
    count = np.zeros(len(transitions), np.int64)
    count[going] = [len(tree) - 1 for tree in trees]
    final[going[count[going] == 0]] = int(Final.DEAD_END)
    trees = [tree for tree in trees if len(tree) > 1]
    after = assemble([(tree, None) for tree in trees], vocabulary, encoding, threads=threads) if trees else None
    first = np.cumsum(count) - count
    depths = np.array([int(tree.depth[-1]) for tree, _, _ in held], np.int64)
    if not len(now.depth_node):
        depths[:] = 0
    return TrainingBatch(
        now=now,
        after=after,
        chosen=now.candidate_offset[:-1] + np.array([node - 1 for _, _, node in held], np.int64),
        after_first=first,
        after_count=count,
        final=final,
        bound=np.array([t.bound for t in transitions], np.float32),
        weight=np.asarray(weight, np.float32),
        depth_first=np.cumsum(depths) - depths,
        depth_count=depths,
    )
