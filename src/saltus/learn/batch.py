"""Stage `learn`: a batch of transitions as graphs, ready for the network.

A transition needs two lookaheads: one from its state, for the Q-value of the jump, and one from its successor, for the
value that the Q-value is compared with. A successor that is a goal or a dead end needs none. Transitions are drawn
several times, and the successor of one is the state of the next in its trajectory: so trees and their graphs are made
once and kept as long as a transition that needs them. A batch takes one to three kernel calls for what is missing and
two that join graphs, all of them off the learning thread. Twin: `tests/twins/batch.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from saltus.errors import SaltusError
from saltus.graph import EncodingSpec, GraphBatch, QueryGraphs, Vocabulary, encode_queries, join
from saltus.learn.experience import Final, Transition
from saltus.learn.values import KEPT_NODES, KEPT_SLOTS
from saltus.lookahead import LookaheadTree, PlaySpec, Situation, TreeSpec, lookahead_batch
from saltus.task import Goal, State, Task


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


def batch_of(
    now: GraphBatch,
    after: GraphBatch | None,
    nodes: Sequence[int],
    after_sizes: Sequence[int],
    transitions: Sequence[Transition],
    weight: NDArray[np.floating],
) -> TrainingBatch:
    """Batch of transitions whose graphs are known.

    `nodes` are those that were jumped to, `after_sizes` the sizes of the successors' trees; 0 where there is none.
    """
    count = np.maximum(np.array(after_sizes, np.int64) - 1, 0)
    final = np.array([int(t.final) for t in transitions], np.int64)
    final[(final == int(Final.NO)) & (count == 0)] = int(Final.DEAD_END)
    # Only graphs that all candidates of a query share have depth nodes, so the graph's number is the sample's.
    depths = np.bincount(now.depth_graph, minlength=len(nodes)).astype(np.int64)
    return TrainingBatch(
        now=now,
        after=after,
        chosen=now.candidate_offset[:-1] + np.array(nodes, np.int64) - 1,
        after_first=np.cumsum(count) - count,
        after_count=count,
        final=final,
        bound=np.array([t.bound for t in transitions], np.float32),
        cost=np.array([t.cost for t in transitions], np.float32),
        weight=np.asarray(weight, np.float32),
        depth_first=np.cumsum(depths) - depths,
        depth_count=depths,
    )


@dataclass(eq=False)
class EncodedTree:
    """A lookahead tree, the goal that it is encoded with, and its graphs once a batch has needed them."""

    tree: LookaheadTree
    goal: Goal
    graphs: QueryGraphs | None = None
    """None before they are needed, and if they are too large to be kept."""

    def __len__(self) -> int:
        return len(self.tree)


@dataclass(frozen=True, eq=False)
class Trees:
    """Lookahead trees of a transition."""

    now: EncodedTree
    node: int
    """Node of `now` that was jumped to."""
    after: EncodedTree | None
    """Tree of the successor; None for a goal or a dead end."""


Key = tuple[int, State, int]
"""Number of a task, state, and identity of the goal: what a tree depends on.

Transitions of one goal share the object, and a tree that is kept keeps its goal, so that no other has its identity.
"""


class BatchMaker:
    """Makes batches of transitions of the same tasks. One thread may use it at a time."""

    def __init__(
        self,
        tasks: Sequence[Task],
        lookahead: TreeSpec,
        play: PlaySpec,
        vocabulary: Vocabulary,
        encoding: EncodingSpec,
        *,
        threads: int | None = None,
    ) -> None:
        self.tasks = tasks
        self.lookahead = lookahead
        self.play = play
        """What limits the trees."""
        self.vocabulary = vocabulary
        self.encoding = encoding
        self.threads = threads
        self._known: WeakValueDictionary[Key, EncodedTree] = WeakValueDictionary()
        """Trees that transitions keep, each encoded with its own goal."""

    def make(self, transitions: Sequence[Transition], weight: NDArray[np.floating]) -> TrainingBatch:
        """Batch of transitions with these importance weights."""
        return self.encode(self.trees_of(transitions), transitions, weight)

    def make_ahead(self, transitions: Sequence[Transition]) -> bool:
        """Makes what batches of these transitions will need, as far as it is kept; whether most of it is kept.

        Many trees at a time keep all threads busy, which the few new ones of a batch do not.
        """
        trees = self.trees_of(transitions)
        kept = [entry for entry, t in zip(trees, transitions, strict=True) if t.trees]
        self._graphs_of([tree for entry in kept for tree in (entry.now, entry.after) if tree is not None])
        return 2 * len(kept) >= len(trees)

    def encode(
        self, trees: Sequence[Trees], transitions: Sequence[Transition], weight: NDArray[np.floating]
    ) -> TrainingBatch:
        """Batch of transitions with these trees."""
        successors = [entry.after for entry in trees if entry.after is not None]
        graphs = self._graphs_of([*(entry.now for entry in trees), *successors])
        return batch_of(
            join(graphs[: len(trees)], self.vocabulary),
            join(graphs[len(trees) :], self.vocabulary) if successors else None,
            [entry.node for entry in trees],
            [len(entry.after) if entry.after is not None else 0 for entry in trees],
            transitions,
            weight,
        )

    def trees_of(self, transitions: Sequence[Transition]) -> list[Trees]:
        """Trees of transitions. Small ones are kept with their transition.

        A relabelled goal changes the features and so the tree. If the successor is missing from the tree for the new
        goal, the tree for the original goal is used instead, and encoded with the new goal.
        """
        missing = list({id(t): t for t in transitions if not t.trees}.values())
        if not missing:
            return [t.trees[0] for t in transitions]
        going = [t for t in missing if t.final is Final.NO]
        own = self._look_ahead(
            [*((t.task, t.state, t.goal) for t in missing), *((t.task, t.successor, t.goal) for t in going)]
        )
        after = {id(t): tree for t, tree in zip(going, own[len(missing) :], strict=True) if len(tree) > 1}
        now = own[: len(missing)]
        nodes = [entry.tree.find(t.successor) for entry, t in zip(now, missing, strict=True)]
        absent = [i for i, node in enumerate(nodes) if node <= 0]
        if absent:
            original = self._look_ahead((t.task, t.state, t.tree_goal) for t in (missing[i] for i in absent))
            for i, entry in zip(absent, original, strict=True):
                now[i], nodes[i] = EncodedTree(entry.tree, missing[i].goal), entry.tree.find(missing[i].successor)
                if nodes[i] <= 0:
                    raise SaltusError("the successor of a transition is missing from its own lookahead tree")
        found: dict[int, Trees] = {}
        for t, entry, node in zip(missing, now, nodes, strict=True):
            trees = found[id(t)] = Trees(entry, node, after.get(id(t)))
            if len(entry) + (len(trees.after) if trees.after is not None else 0) <= KEPT_NODES:
                t.trees.append(trees)
        return [found[id(t)] if id(t) in found else t.trees[0] for t in transitions]

    def _look_ahead(self, wanted: Iterable[tuple[int, State, Goal]]) -> list[EncodedTree]:
        """Trees of tasks, states and goals, each made once."""
        keys: list[Key] = []
        found: dict[Key, EncodedTree | None] = {}
        missing: dict[Key, Situation] = {}
        for number, state, goal in wanted:
            key = number, state, id(goal)
            keys.append(key)
            if key not in found:
                found[key] = self._known.get(key)
                if found[key] is None:
                    missing[key] = Situation(self.tasks[number], state, goal)
        made = (
            lookahead_batch(list(missing.values()), self.lookahead, self.play, threads=self.threads) if missing else []
        )
        for (key, situation), tree in zip(missing.items(), made, strict=True):
            found[key] = self._known[key] = EncodedTree(tree, situation.goal)
        return [entry for key in keys if (entry := found[key]) is not None]

    def _graphs_of(self, trees: Sequence[EncodedTree]) -> list[QueryGraphs]:
        """Graphs of trees; small ones are kept with their tree."""
        missing = list({id(entry): entry for entry in trees if entry.graphs is None}.values())
        made: dict[int, QueryGraphs] = {}
        if missing:
            queries = [(entry.tree, entry.goal) for entry in missing]
            encoded = encode_queries(queries, self.vocabulary, self.encoding, threads=self.threads)
            for entry, graphs in zip(missing, encoded, strict=True):
                made[id(entry)] = graphs
                if graphs.slots <= KEPT_SLOTS:
                    entry.graphs = graphs
        return [entry.graphs if entry.graphs is not None else made[id(entry)] for entry in trees]
