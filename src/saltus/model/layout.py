"""Stage `model`: a graph batch as tensors, laid out for message passing without atomics.

Takes a `GraphBatch`, gives a `Layout`. An argument slot is one position of one atom; each slot carries one message to
the node at that position. Slots are numbered by target node, so that the messages to a node are adjacent and can be
reduced as a segment. Atoms are grouped by arity: the relations of a group differ in their weights only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saltus.graph import GraphBatch
from saltus.model.values import PIECE, TILE


@dataclass(frozen=True)
class Group:
    """Atoms of all relations of one arity."""

    arity: int
    relations: tuple[int, ...]
    """Numbers of the relations of this arity in the vocabulary, including those without atoms."""
    row_offset: tuple[int, ...]
    """[relations + 1]: first row of each relation."""
    index: Tensor
    """int32 [rows, arity]: nodes."""
    position: Tensor
    """int32 [rows, arity]: slots, numbered by target node."""
    tiles: Tensor
    """int32 [tiles, 3]: relation (within the group), first row, end row; at most `TILE` rows each."""
    pieces: Tensor
    """The same with at most `PIECE` rows each."""
    piece_offset: Tensor
    """int64 [relations + 1]: first piece of each relation."""


@dataclass(frozen=True)
class Layout:
    """A graph batch on a device."""

    node_count: int
    graph_count: int
    slot_count: int
    groups: tuple[Group, ...]
    slot_offset: Tensor
    """int32 [nodes + 1]: first slot of each node."""
    object_node: Tensor
    """int64: object nodes, graph by graph."""
    object_graph: Tensor
    """int64: their graphs."""
    object_offset: Tensor
    """int32 [graphs + 1]: first entry of each graph in `object_node`."""
    candidate_node: Tensor
    candidate_graph: Tensor
    graph_candidate: Tensor
    """int32 [graphs + 1]: first candidate of each graph; candidates are in the order of their graphs."""
    source_graph: Tensor
    depth_node: Tensor

    def to(self, device: torch.device | str) -> Layout:
        """A copy of the layout on another device."""
        return replace(_moved(self, device), groups=tuple(_moved(group, device) for group in self.groups))


Part = TypeVar("Part", Group, Layout)


def _moved(part: Part, device: torch.device | str) -> Part:
    """A copy with all tensors on another device."""
    tensors = ((name, value) for name, value in vars(part).items() if isinstance(value, Tensor))
    moved: dict[str, Any] = {name: value.to(device, non_blocking=True) for name, value in tensors}
    return replace(part, **moved)


def make_layout(batch: GraphBatch, arities: tuple[int, ...]) -> Layout:
    """Layout, on the CPU, of a batch whose relations have these arities."""
    groups = tuple(
        _make_group(batch, arity, tuple(i for i, n in enumerate(arities) if n == arity))
        for arity in sorted(set(arities))
    )
    counts = batch.object_count.astype(np.int64)
    object_offset = np.concatenate([[0], np.cumsum(counts)])
    object_graph = np.repeat(np.arange(batch.graph_count), counts)
    inside = np.arange(int(counts.sum())) - object_offset[object_graph]
    object_node = batch.graph_offset[object_graph] + inside
    return Layout(
        node_count=batch.node_count,
        graph_count=batch.graph_count,
        slot_count=len(batch.arguments),
        groups=groups,
        slot_offset=torch.from_numpy(np.ascontiguousarray(batch.slot_offset)),
        object_node=torch.from_numpy(object_node.astype(np.int64)),
        object_graph=torch.from_numpy(object_graph.astype(np.int64)),
        object_offset=torch.from_numpy(object_offset.astype(np.int32)),
        candidate_node=torch.from_numpy(batch.candidate_node.astype(np.int64)),
        candidate_graph=torch.from_numpy(batch.candidate_graph.astype(np.int64)),
        graph_candidate=torch.from_numpy(
            np.searchsorted(batch.candidate_graph, np.arange(batch.graph_count + 1)).astype(np.int32)
        ),
        source_graph=torch.from_numpy(batch.source_graph.astype(np.int64)),
        depth_node=torch.from_numpy(batch.depth_node.astype(np.int64)),
    )


def _make_group(batch: GraphBatch, arity: int, relations: tuple[int, ...]) -> Group:
    spans = [slice(int(batch.argument_offset[r]), int(batch.argument_offset[r + 1])) for r in relations]
    rows = [(span.stop - span.start) // arity for span in spans]
    offset = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    pieces = _cut(offset, PIECE)
    piece_count = np.bincount(pieces[:, 0], minlength=len(relations))
    joined = [np.concatenate([values[span] for span in spans]) for values in (batch.arguments, batch.slot_position)]
    index, places = (torch.from_numpy(values.reshape(-1, arity).astype(np.int32)) for values in joined)
    return Group(
        arity=arity,
        relations=relations,
        row_offset=tuple(offset.tolist()),
        index=index,
        position=places,
        tiles=torch.from_numpy(_cut(offset, TILE)),
        pieces=torch.from_numpy(pieces),
        piece_offset=torch.from_numpy(np.concatenate([[0], np.cumsum(piece_count)]).astype(np.int64)),
    )


def _cut(offset: NDArray[np.int64], most: int) -> NDArray[np.int32]:
    """[pieces, 3]: relation, first row and end row of pieces that hold at most `most` rows of one relation."""
    counts = -(-np.diff(offset) // most)
    relation = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(relation)) - np.repeat(np.cumsum(counts) - counts, counts)
    first = offset[relation] + number * most
    return np.stack([relation, first, np.minimum(first + most, offset[relation + 1])], axis=1).astype(np.int32)
