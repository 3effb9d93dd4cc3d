"""Stage `learn`: a batch of transitions as graphs, ready for the network.

A transition needs two lookaheads: one from its state, for the Q-value of the jump, and one from its successor, for the
value that the Q-value is compared with. A successor that is a goal or a dead end needs none. Trees take one or two
kernel calls, graphs take two, all of them off the learning thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saltus.errors import SaltusError
from saltus.graph import EncodingSpec, GraphBatch, Vocabulary, assemble
from saltus.learn.experience import Final, Transition
from saltus.lookahead import LookaheadSpec, LookaheadTree, Situation, lookahead_batch
from saltus.task import Task


@dataclass(frozen=True, eq=False)
class TrainingBatch:
    """Graphs of the states and of the successors, and where the samples are in them."""

    now: GraphBatch
    after: GraphBatch | None
    """Graphs of the successors that are neither goals nor dead ends; None if there are none."""
    chosen: NDArray[np.int64]
    """[samples]: the candidate of `now` that was jumped to."""
    after_first: NDArray[np.int64]
    """[samples]: first candidate in `after`."""
    after_count: NDArray[np.int64]
    """[samples]: number of candidates in `after`; 0 for goals and dead ends."""
    final: NDArray[np.int64]
    """[samples]: values of `Final`."""
    bound: NDArray[np.float32]
    """[samples]: as in `Transition`."""
    cost: NDArray[np.float32]
    """[samples]: as in `Transition`."""
    weight: NDArray[np.float32]
    """[samples]: importance weights."""
    depth_first: NDArray[np.int64]
    """[samples]: first depth node in `now`."""
    depth_count: NDArray[np.int64]
    """[samples]: number of depth nodes in `now`."""

    def __len__(self) -> int:
        return len(self.chosen)


@dataclass(frozen=True, eq=False)
class Trees:
    """Lookahead trees of a transition."""

    now: LookaheadTree
    node: int
    """Node of `now` that was jumped to."""
    after: LookaheadTree | None
    """Tree of the successor; None for a goal or a dead end."""


KEPT_NODES = 600
"""Both trees of a transition are kept with it if they have at most this many nodes together.

Transitions with their original goal are few and drawn often: on a domain with small trees, keeping them halves the time
that batches take.
"""


def trees_of(
    tasks: Sequence[Task], transitions: Sequence[Transition], spec: LookaheadSpec, threads: int | None
) -> list[Trees]:
    """Trees of transitions. Small ones are kept with their transition.

    A relabelled goal changes the features and so the tree. If the successor is missing from the tree for the new goal,
    the tree for the original goal is used instead, and encoded with the new goal.
    """
    missing = list({id(t): t for t in transitions if not t.trees}.values())
    found: dict[int, Trees] = {}
    if missing:
        going = [t for t in missing if t.final is Final.NO]
        situations = [Situation(tasks[t.task], t.state, t.goal) for t in missing]
        situations += [Situation(tasks[t.task], t.successor, t.goal) for t in going]
        made = lookahead_batch(situations, spec, threads=threads)
        after = {id(t): tree for t, tree in zip(going, made[len(missing) :], strict=True) if len(tree) > 1}
        now = made[: len(missing)]
        nodes = [tree.find(t.successor) for tree, t in zip(now, missing, strict=True)]
        absent = [i for i, node in enumerate(nodes) if node <= 0]
        if absent:
            situations = [Situation(tasks[t.task], t.state, t.tree_goal) for t in (missing[i] for i in absent)]
            for i, tree in zip(absent, lookahead_batch(situations, spec, threads=threads), strict=True):
                now[i], nodes[i] = tree, tree.find(missing[i].successor)
                if nodes[i] <= 0:
                    raise SaltusError("the successor of a transition is missing from its own lookahead tree")
        for t, tree, node in zip(missing, now, nodes, strict=True):
            entry = found[id(t)] = Trees(tree, node, after.get(id(t)))
            if len(tree) + (len(entry.after) if entry.after is not None else 0) <= KEPT_NODES:
                t.trees.append(entry)
    return [found[id(t)] if id(t) in found else t.trees[0] for t in transitions]


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
    """Batch of transitions with these importance weights."""
    trees = trees_of(tasks, transitions, lookahead, threads)
    queries = [(entry.now, t.goal) for entry, t in zip(trees, transitions, strict=True)]
    now = assemble(queries, vocabulary, encoding, threads=threads)
    successors = [(entry.after, None) for entry in trees if entry.after is not None]
    after = assemble(successors, vocabulary, encoding, threads=threads) if successors else None
    count = np.array([len(entry.after) - 1 if entry.after is not None else 0 for entry in trees], np.int64)
    final = np.array([int(t.final) for t in transitions], np.int64)
    final[(final == int(Final.NO)) & (count == 0)] = int(Final.DEAD_END)
    first = np.cumsum(count) - count
    # Only graphs that all candidates of a query share have depth nodes, so the graph's number is the sample's.
    depths = np.bincount(now.depth_graph, minlength=len(trees)).astype(np.int64)
    return TrainingBatch(
        now=now,
        after=after,
        chosen=now.candidate_offset[:-1] + np.array([entry.node - 1 for entry in trees], np.int64),
        after_first=first,
        after_count=count,
        final=final,
        bound=np.array([t.bound for t in transitions], np.float32),
        cost=np.array([t.cost for t in transitions], np.float32),
        weight=np.asarray(weight, np.float32),
        depth_first=np.cumsum(depths) - depths,
        depth_count=depths,
    )
