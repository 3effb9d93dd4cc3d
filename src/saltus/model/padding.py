"""Stage `model`: batches padded to a few sizes, so that work on a GPU can be recorded once and replayed.

A recording fits one size. A batch is padded to the size of a bucket with nodes without messages, tiles without rows,
and one more graph that owns all padding. The arrays of a batch lie in one block of memory, which goes to the GPU in a
single copy. A new bucket is made when a batch fits none. Only what the fused kernels and the readout of nodes read is
padded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saltus import _kernel
from saltus.graph import GraphBatch
from saltus.model.layout import Group, Layout
from saltus.model.values import MOST_BUCKETS, PIECE, TILE

GroupedRelations = tuple[tuple[int, tuple[int, ...]], ...]
"""Arity and relations of each group of a layout, by ascending arity."""


def grouped_relations(arities: tuple[int, ...]) -> GroupedRelations:
    """Groups of relations with these arities, as in a layout."""
    return tuple(
        (arity, tuple(number for number, other in enumerate(arities) if other == arity))
        for arity in sorted(set(arities))
    )


# -- sizes -----------------------------------------------------------------------------------------------------------


def with_room(size: int) -> int:
    """A larger multiple of 16: room for batches that are a fifth larger."""
    return int(size * 1.2) // 16 * 16 + 16


class GroupSize(NamedTuple):
    """Sizes of the arrays of one group of relations."""

    rows: int
    tiles: int
    pieces: int


class LayoutSize(NamedTuple):
    """Sizes of the arrays of a layout, with one node for the padding."""

    nodes: int
    slots: int
    graphs: int
    """Without the one that owns the padding."""
    objects: int
    candidates: int
    depths: int
    groups: tuple[GroupSize, ...]

    @classmethod
    def of_batch(cls, batch: GraphBatch | None, arities: NDArray[np.int32], graphs: int) -> LayoutSize:
        """Size of the layout of a batch, None for one without graphs; `graphs` is their number in a full batch."""
        offset = batch.relation_offset if batch is not None else np.zeros(len(arities) + 1, np.int64)
        rows = np.diff(offset)
        sizes = np.stack([rows, -(-rows // TILE), -(-rows // PIECE)], axis=1)  # [relations, 3]
        belongs = np.unique(arities)[:, None] == arities  # [groups, relations]
        groups = tuple(GroupSize(*group) for group in (belongs @ sizes).tolist())
        if batch is None:
            return cls(1, 0, graphs, 0, 0, 0, groups)
        return cls(
            nodes=batch.node_count + 1,
            slots=len(batch.arguments),
            graphs=graphs,
            objects=int(batch.object_count.sum()),
            candidates=len(batch.candidate_node),
            depths=len(batch.depth_node),
            groups=groups,
        )

    @classmethod
    def of(cls, layout: Layout, graphs: int) -> LayoutSize:
        """Size of a layout; `graphs` is the number of graphs of a full batch."""
        return cls(
            nodes=layout.node_count + 1,
            slots=layout.slot_count,
            graphs=graphs,
            objects=len(layout.object_node),
            candidates=len(layout.candidate_node),
            depths=len(layout.depth_node),
            groups=tuple(GroupSize(len(g.index), len(g.tiles), len(g.pieces)) for g in layout.groups),
        )

    def enlarged(self, *, keep_graphs: bool = False) -> LayoutSize:
        """The size with some room; the number of graphs may be kept as it is."""
        groups = tuple(GroupSize(*map(with_room, group)) for group in self.groups)
        numbers = {name: with_room(size) for name, size in self._asdict().items() if name != "groups"}
        if keep_graphs:
            numbers["graphs"] = self.graphs
        return LayoutSize(groups=groups, **numbers)

    def fits(self, bucket: LayoutSize) -> bool:
        """Whether no array is larger than the bucket's."""
        pairs = ((self[:-1], bucket[:-1]), *zip(self.groups, bucket.groups, strict=True))
        return all(size <= room for own, other in pairs for size, room in zip(own, other, strict=True))


# -- arrays in one block of memory -----------------------------------------------------------------------------------


Array = TypeVar("Array")
HostArray = NDArray[Any]
View = Callable[[int, int, Any, tuple[int, ...]], Array]
"""Start and length in bytes, NumPy type and shape of an array in a block of memory, to the array."""


class Cutter(Generic[Array]):
    """Cuts arrays from a block of bytes, one after another, at multiples of 16 bytes, as Triton's kernels assume."""

    def __init__(self, view: View[Array]) -> None:
        self._view = view
        self.used = 0
        """Bytes cut so far."""

    def take(self, kind: Any, *shape: int) -> Array:
        """The next array, of a NumPy type and a shape."""
        start, length = self.used, prod(shape) * np.dtype(kind).itemsize
        self.used += -(-length // 16) * 16
        return self._view(start, length, kind, shape)


Span = tuple[int, int]
"""First byte and number of entries of an array in a block of memory."""


def measuring_cutter() -> Cutter[Span]:
    """A cutter without memory, to find out how much is needed and where arrays will be."""
    return Cutter(lambda start, length, kind, shape: (start, prod(shape)))


def host_cutter(memory: NDArray[np.uint8]) -> Cutter[HostArray]:
    """A cutter of host memory; NumPy's views cost a tenth of PyTorch's."""
    return Cutter(lambda start, length, kind, shape: memory[start : start + length].view(kind).reshape(shape))


def device_cutter(memory: Tensor) -> Cutter[Tensor]:
    """A cutter of device memory."""
    kinds = {np.int32: torch.int32, np.int64: torch.int64, np.float32: torch.float32, np.bool_: torch.bool}
    return Cutter(lambda start, length, kind, shape: memory[start : start + length].view(kinds[kind]).view(shape))


@dataclass(frozen=True, eq=False)
class GroupArrays(Generic[Array]):
    """Arrays of one group of relations, as described in `Group`."""

    index: Array
    position: Array
    tiles: Array
    pieces: Array
    piece_offset: Array

    @classmethod
    def cut(cls, size: GroupSize, arity: int, relations: int, cutter: Cutter[Array]) -> GroupArrays[Array]:
        """Arrays for a group of this size."""
        return cls(
            index=cutter.take(np.int32, size.rows, arity),
            position=cutter.take(np.int32, size.rows, arity),
            tiles=cutter.take(np.int32, size.tiles, 3),
            pieces=cutter.take(np.int32, size.pieces, 3),
            piece_offset=cutter.take(np.int64, relations + 1),
        )


@dataclass(frozen=True, eq=False)
class LayoutArrays(Generic[Array]):
    """Arrays of a padded layout, as described in `Layout`, on the host or on a device."""

    slot_offset: Array
    object_node: Array
    object_graph: Array
    object_offset: Array
    candidate_node: Array
    candidate_graph: Array
    graph_candidate: Array
    depth_node: Array
    groups: tuple[GroupArrays[Array], ...]

    @classmethod
    def cut(cls, size: LayoutSize, relations: GroupedRelations, cutter: Cutter[Array]) -> LayoutArrays[Array]:
        """Arrays for a layout of this size."""
        return cls(
            slot_offset=cutter.take(np.int32, size.nodes + 1),
            object_node=cutter.take(np.int64, size.objects),
            object_graph=cutter.take(np.int64, size.objects),
            object_offset=cutter.take(np.int32, size.graphs + 2),
            candidate_node=cutter.take(np.int64, size.candidates),
            candidate_graph=cutter.take(np.int64, size.candidates),
            graph_candidate=cutter.take(np.int32, size.graphs + 2),
            depth_node=cutter.take(np.int64, size.depths),
            groups=tuple(
                GroupArrays.cut(group, arity, len(numbers), cutter)
                for group, (arity, numbers) in zip(size.groups, relations, strict=True)
            ),
        )


def spans_of(arrays: LayoutArrays[Span]) -> NDArray[np.int64]:
    """[arrays, 2]: where all arrays of a layout are, as the kernel reads it."""
    *own, groups = vars(arrays).values()
    return np.array([*own, *(span for group in groups for span in vars(group).values())], np.int64)


_NO_GRAPHS = (np.zeros(1, np.int32), np.zeros(0, np.int32))
"""Offsets and entries of arrays of a batch without graphs."""


def fill_padded(
    block: NDArray[np.uint8], spans: NDArray[np.int64], batch: GraphBatch | None, arities: NDArray[np.int32]
) -> None:
    """Writes the layout of a batch, padded, into a block of memory; None is a batch without graphs.

    The kernel does it in one call, without the interpreter lock. Twin: `fill_layout` of what `make_layout` makes.
    """
    if batch is None:
        start, empty = _NO_GRAPHS
        arrays = start, empty, np.zeros(len(arities) + 1, np.int64), empty, empty, start, empty, empty, empty
    else:
        arrays = (
            batch.graph_offset,
            batch.object_count,
            batch.argument_offset,
            batch.arguments,
            batch.slot_position,
            batch.slot_offset,
            batch.candidate_node,
            batch.candidate_graph,
            batch.depth_node,
        )
    _kernel.fill_layout(*arrays, arities, TILE, PIECE, block, spans)


def fill_layout(arrays: LayoutArrays[HostArray], layout: Layout) -> None:
    """Writes a layout, padded, into arrays on the host."""
    last_graph = len(arrays.object_offset) - 2  # owns the padding
    spare_node = len(arrays.slot_offset) - 2
    assert layout.node_count <= spare_node
    _put(arrays.slot_offset, layout.slot_offset, layout.slot_count)
    _put(arrays.object_node, layout.object_node, spare_node)
    _put(arrays.object_graph, layout.object_graph, last_graph)
    _put(arrays.candidate_node, layout.candidate_node, spare_node)
    _put(arrays.candidate_graph, layout.candidate_graph, last_graph)
    _put(arrays.depth_node, layout.depth_node, spare_node)
    for offset, known, members in (
        (arrays.object_offset, layout.object_offset, arrays.object_node),
        (arrays.graph_candidate, layout.graph_candidate, arrays.candidate_node),
    ):
        _put(offset, known, int(known[-1]))  # graphs of padding are empty,
        offset[-1] = len(members)  # except the last one
    for own, group in zip(arrays.groups, layout.groups, strict=True):
        _put(own.index, group.index, 0)
        _put(own.position, group.position, 0)
        _put(own.tiles, group.tiles, 0)
        _put(own.pieces, group.pieces, 0)
        own.piece_offset[:] = group.piece_offset.numpy()
        own.piece_offset[-1] = len(own.pieces)  # the sum of the last relation includes the empty pieces


def _put(array: HostArray, values: Tensor, rest: int) -> None:
    """Writes values to the front of an array, and `rest` after them."""
    array[: len(values)] = values.numpy()
    array[len(values) :] = rest


def empty_layout(relations: GroupedRelations) -> Layout:
    """A layout without nodes and graphs; padded, it is nothing but padding."""
    i4, i8 = torch.zeros(0, dtype=torch.int32), torch.zeros(0, dtype=torch.int64)
    start = torch.zeros(1, dtype=torch.int32)
    groups = tuple(
        Group(
            arity=arity,
            relations=numbers,
            row_offset=(0,) * (len(numbers) + 1),
            index=i4.view(0, arity),
            position=i4.view(0, arity),
            tiles=i4.view(0, 3),
            pieces=i4.view(0, 3),
            piece_offset=torch.zeros(len(numbers) + 1, dtype=torch.int64),
        )
        for arity, numbers in relations
    )
    return Layout(
        node_count=0,
        graph_count=0,
        slot_count=0,
        groups=groups,
        slot_offset=start,
        object_node=i8,
        object_graph=i8,
        object_offset=start,
        candidate_node=i8,
        candidate_graph=i8,
        graph_candidate=start,
        source_graph=i8,
        depth_node=i8,
    )


def padded_layout(size: LayoutSize, relations: GroupedRelations, arrays: LayoutArrays[Tensor]) -> Layout:
    """The layout that arrays on a device make up."""
    own = vars(arrays) | {
        "groups": tuple(
            Group(arity=arity, relations=numbers, row_offset=(), **vars(group))
            for group, (arity, numbers) in zip(arrays.groups, relations, strict=True)
        )
    }
    return Layout(
        node_count=size.nodes,
        graph_count=size.graphs + 1,
        slot_count=size.slots,
        source_graph=arrays.candidate_graph,
        **own,
    )


# -- buckets ---------------------------------------------------------------------------------------------------------


class Size(Protocol):
    """Sizes of all arrays of a batch."""

    @property
    def slots(self) -> int:
        """Number of messages per layer, by which sizes are compared."""

    def fits(self, bucket: Self) -> bool:
        """Whether no array is larger than the bucket's."""


SizeT = TypeVar("SizeT", bound=Size)
Resident = TypeVar("Resident")


@dataclass(eq=False)
class Bucket(Generic[SizeT, Resident]):
    """A size that batches are padded to."""

    size: SizeT
    nbytes: int
    """Memory that a batch takes."""
    spans: tuple[NDArray[np.int64], ...] = ()
    """Where the arrays of its layouts are in it (`spans_of`)."""
    resident: Resident | None = None
    """What the bucket keeps on the GPU once it has been used."""
    recordings: dict[int, tuple[torch.cuda.CUDAGraph, Tensor]] = field(default_factory=dict)
    """Recording and its output, by number of layers."""


class Buckets(Generic[SizeT, Resident]):
    """At most `MOST_BUCKETS` sizes; a new one replaces the least recently used."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, Bucket[SizeT, Resident]] = OrderedDict()
        self._made = 0

    def __len__(self) -> int:
        return len(self._known)

    def find(self, size: SizeT) -> Bucket[SizeT, Resident] | None:
        """The smallest bucket that a batch fits into, unless it is much too large; None if there is none."""
        fitting = [(entry.size.slots, number) for number, entry in self._known.items() if size.fits(entry.size)]
        if fitting:
            slots, number = min(fitting)
            # unless no more can be made, with at most twice the messages of a bucket that is made for the batch
            if slots <= 2.4 * size.slots or len(self._known) == MOST_BUCKETS:
                self._known.move_to_end(number)
                return self._known[number]
        return None

    def add(self, size: SizeT, nbytes: int, spans: tuple[NDArray[np.int64], ...] = ()) -> Bucket[SizeT, Resident]:
        """A new bucket of this size, whose batches take so many bytes and have the arrays of their layouts there."""
        if len(self._known) == MOST_BUCKETS:
            self._known.popitem(last=False)
        self._made += 1
        self._known[self._made] = Bucket(size, nbytes, spans)
        return self._known[self._made]
