"""Random graph batches for the model's tests: empty relations, nodes without messages, graphs of one node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saltus.graph import ENCODINGS


@dataclass(frozen=True)
class RandomBatch:
    """The arrays of a graph batch that the model reads."""

    node_count: int
    graph_count: int
    graph_offset: NDArray[np.int32]
    object_count: NDArray[np.int32]
    relation_offset: NDArray[np.int64]
    arguments: NDArray[np.int32]
    argument_offset: NDArray[np.int64]
    slot_position: NDArray[np.int32]
    slot_offset: NDArray[np.int32]
    candidate_offset: NDArray[np.int64]
    candidate_node: NDArray[np.int32]
    candidate_graph: NDArray[np.int32]
    source_graph: NDArray[np.int32]
    depth_node: NDArray[np.int32]
    depth_graph: NDArray[np.int32]
    depth_value: NDArray[np.int32]


def random_batch(
    seed: int, arities: tuple[int, ...], encoding: str, *, graphs: int = 3, atoms: int = 20, nodes: int = 9
) -> RandomBatch:
    """A batch of a seed; every third relation is empty, and the last node of every graph gets no message."""
    rng = np.random.default_rng(seed)
    parts = ENCODINGS[encoding]
    sizes = rng.integers(1, nodes + 1, graphs)
    if parts.has_root_graph:
        sizes[:] = sizes[0]
    offset = np.concatenate([[0], np.cumsum(sizes)])
    objects = sizes.copy() if parts.has_root_graph else np.maximum(1, sizes - 2)
    rows: list[NDArray[np.int64]] = []
    for number, arity in enumerate(arities):
        if number % 3 == 2:
            rows.append(np.zeros((0, arity), np.int64))
            continue
        picks = []
        for graph in range(graphs):
            top = max(1, sizes[graph] - 1)
            picks.append(offset[graph] + rng.integers(0, top, (int(rng.integers(0, atoms)), arity)))
        rows.append(np.concatenate(picks))
    arguments = np.concatenate([entry.reshape(-1) for entry in rows]).astype(np.int32)
    order = np.argsort(arguments, kind="stable")
    counts = np.bincount(arguments, minlength=offset[-1])
    if parts.is_joint:
        candidate_graph = np.repeat(np.arange(graphs), sizes)
        candidate_node = np.arange(offset[-1])
        source = candidate_graph
        per_query = sizes
    else:
        first = int(parts.has_root_graph)
        candidate_graph = np.arange(first, graphs)
        candidate_node = np.full(graphs - first, -1)
        source = np.zeros(graphs - first, int) if parts.has_root_graph else candidate_graph
        per_query = np.array([graphs - first])
    depth = np.arange(graphs) if parts.tree else np.zeros(0, int)
    return RandomBatch(
        node_count=int(offset[-1]),
        graph_count=graphs,
        graph_offset=offset.astype(np.int32),
        object_count=objects.astype(np.int32),
        relation_offset=np.concatenate([[0], np.cumsum([len(entry) for entry in rows])]).astype(np.int64),
        arguments=arguments,
        argument_offset=np.concatenate([[0], np.cumsum([entry.size for entry in rows])]).astype(np.int64),
        slot_position=np.argsort(order).astype(np.int32),
        slot_offset=np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        candidate_offset=np.concatenate([[0], np.cumsum(per_query)]).astype(np.int64),
        candidate_node=candidate_node.astype(np.int32),
        candidate_graph=candidate_graph.astype(np.int32),
        source_graph=source.astype(np.int32),
        depth_node=offset[depth].astype(np.int32),
        depth_graph=depth.astype(np.int32),
        depth_value=np.ones(len(depth), np.int32),
    )
