"""Stage `model`: batches padded to a few shapes, so that work on a GPU can be recorded once and replayed.

A CUDA graph fits one shape. A batch is padded to the sizes of a bucket by nodes without messages, tiles without rows,
and one more graph that owns all padding. The whole batch lies in one block of bytes, which goes to the GPU as a single
copy. Buckets are made when a batch fits none. Only what the fused kernels and the readout by candidates read is padded.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saltus.model.layout import Group, Layout

MOST_BUCKETS = 8
SPARE = 1.2
"""A new bucket is so much larger than the batch that asked for it."""

WASTE = 2.0
"""A bucket with more than so many times the messages of a batch is not used for it, unless there are enough buckets."""

ALIGNMENT = 16
"""Bytes; Triton's kernels assume it of pointers."""

Shape = dict[str, int]
Entries = dict[str, tuple[Any, tuple[int, ...]]]


def layout_shape(layout: Layout, graphs: int) -> Shape:
    """Sizes of a layout's arrays by name, with one node for the padding; `graphs` being those of a full batch."""
    shape: Shape = {
        "nodes": layout.node_count + 1,
        "slots": layout.slot_count,
        "graphs": graphs,
        "objects": len(layout.object_node),
        "candidates": len(layout.candidate_node),
        "depths": len(layout.depth_node),
    }
    for i, group in enumerate(layout.groups):
        shape |= {f"rows{i}": len(group.index), f"tiles{i}": len(group.tiles), f"pieces{i}": len(group.pieces)}
    return shape


def enlarged(shape: Shape, fixed: tuple[str, ...] = ()) -> Shape:
    """Sizes with some room; those whose names end like one of `fixed` stay."""
    return {
        name: value if name.endswith(fixed) else int(value * SPARE) // 16 * 16 + 16 for name, value in shape.items()
    }


def fits(shape: Shape, bucket: Shape) -> bool:
    """Whether no size exceeds the bucket's."""
    return all(value <= bucket[name] for name, value in shape.items())


def layout_entries(shape: Shape, arities: tuple[int, ...], relations: tuple[int, ...], prefix: str) -> Entries:
    """Types and shapes of the arrays of a padded layout."""
    size = {name[len(prefix) :]: value for name, value in shape.items() if name.startswith(prefix)}
    i4, i8 = np.int32, np.int64
    entries: Entries = {
        "slot_offset": (i4, (size["nodes"] + 1,)),
        "object_node": (i8, (size["objects"],)),
        "object_graph": (i8, (size["objects"],)),
        "object_offset": (i4, (size["graphs"] + 2,)),
        "candidate_node": (i8, (size["candidates"],)),
        "candidate_graph": (i8, (size["candidates"],)),
        "graph_candidate": (i4, (size["graphs"] + 2,)),
        "depth_node": (i8, (size["depths"],)),
    }
    for i, (arity, count) in enumerate(zip(arities, relations, strict=True)):
        entries |= {
            f"index{i}": (i4, (size[f"rows{i}"], arity)),
            f"position{i}": (i4, (size[f"rows{i}"], arity)),
            f"tiles{i}": (i4, (size[f"tiles{i}"], 3)),
            f"pieces{i}": (i4, (size[f"pieces{i}"], 3)),
            f"piece_offset{i}": (i8, (count + 1,)),
        }
    return {prefix + name: entry for name, entry in entries.items()}


def fill_layout(layout: Layout | None, arrays: dict[str, NDArray[Any]], prefix: str) -> None:
    """Writes a layout, padded, into the arrays of a bucket; None is a layout of nothing but padding."""
    own = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
    nodes = layout.node_count if layout is not None else 0
    graphs = layout.graph_count if layout is not None else 0
    last_graph = len(own["object_offset"]) - 2  # owns the padding
    spare_node = len(own["slot_offset"]) - 2

    def put(name: str, values: Tensor | None, rest: int) -> None:
        count = len(values) if values is not None else 0
        if values is not None:
            own[name][:count] = values.numpy()
        own[name][count:] = rest

    put("slot_offset", layout.slot_offset if layout is not None else None, layout.slot_count if layout else 0)
    assert nodes <= spare_node
    put("object_node", layout.object_node if layout is not None else None, spare_node)
    put("object_graph", layout.object_graph if layout is not None else None, last_graph)
    put("candidate_node", layout.candidate_node if layout is not None else None, spare_node)
    put("candidate_graph", layout.candidate_graph if layout is not None else None, last_graph)
    put("depth_node", layout.depth_node if layout is not None else None, spare_node)
    for name, members in (("object_offset", "object_node"), ("graph_candidate", "candidate_node")):
        found = getattr(layout, name).numpy() if layout is not None else np.zeros(1, np.int32)
        own[name][: graphs + 1] = found
        own[name][graphs + 1 :] = found[-1]
        own[name][-1] = len(own[members])
    for i in range(sum(name.startswith("tiles") for name in own)):
        group = layout.groups[i] if layout is not None else None
        for part in ("index", "position", "tiles", "pieces"):
            put(f"{part}{i}", getattr(group, part) if group is not None else None, 0)
        offset = own[f"piece_offset{i}"]
        offset[:] = group.piece_offset.numpy() if group is not None else 0
        offset[-1] = len(own[f"pieces{i}"])  # the last relation's sum takes the empty pieces along


def padded_layout(
    shape: Shape,
    tensors: dict[str, Tensor],
    arities: tuple[int, ...],
    relations: tuple[tuple[int, ...], ...],
    prefix: str,
) -> Layout:
    """The layout that the tensors of a bucket make up; only what the fused kernels and the readout read is there."""
    own = {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
    nothing = own["slot_offset"][:0]
    groups = tuple(
        Group(
            arity=arity,
            relations=numbers,
            row_offset=(),
            index=own[f"index{i}"],
            position=own[f"position{i}"],
            tiles=own[f"tiles{i}"],
            pieces=own[f"pieces{i}"],
            piece_offset=own[f"piece_offset{i}"],
        )
        for i, (arity, numbers) in enumerate(zip(arities, relations, strict=True))
    )
    return Layout(
        node_count=shape[prefix + "nodes"],
        graph_count=shape[prefix + "graphs"] + 1,
        slot_count=shape[prefix + "slots"],
        groups=groups,
        slot_offset=own["slot_offset"],
        slot_node=nothing,
        slot_source=nothing,
        message_node=nothing,
        degree=nothing,
        object_node=own["object_node"],
        object_graph=own["object_graph"],
        object_offset=own["object_offset"],
        candidate_offset=nothing,
        candidate_node=own["candidate_node"],
        candidate_graph=own["candidate_graph"],
        graph_candidate=own["graph_candidate"],
        source_graph=own["candidate_graph"],
        depth_node=own["depth_node"],
        depth_graph=nothing,
        depth_value=nothing,
    )


class Block:
    """Arrays side by side in one block of bytes, on the host and on a device."""

    def __init__(self, entries: Entries) -> None:
        self.places: dict[str, tuple[int, int, Any, tuple[int, ...]]] = {}
        self.size = 0
        for name, (kind, shape) in entries.items():
            length = int(np.prod(shape)) * np.dtype(kind).itemsize
            self.places[name] = (self.size, length, kind, shape)
            self.size += -(-length // ALIGNMENT) * ALIGNMENT

    def arrays(self, block: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
        """Views into a block of host memory."""
        return {
            name: block[start : start + length].view(kind).reshape(shape)
            for name, (start, length, kind, shape) in self.places.items()
        }

    def tensors(self, block: Tensor) -> dict[str, Tensor]:
        """Views into a block of device memory."""
        kinds = {np.int32: torch.int32, np.int64: torch.int64, np.float32: torch.float32, np.bool_: torch.bool}
        return {
            name: block[start : start + length].view(kinds[kind]).view(shape)
            for name, (start, length, kind, shape) in self.places.items()
        }


@dataclass(eq=False)
class Bucket:
    """A padded shape, what it keeps on the GPU once it is used, and its recordings by number of rounds."""

    shape: Shape
    block: Block
    resident: Any = None
    recordings: dict[int, tuple[torch.cuda.CUDAGraph, Tensor]] = field(default_factory=dict)


class Buckets:
    """At most `MOST_BUCKETS` shapes; the one not used for longest makes room for a new one."""

    def __init__(self, sizes: tuple[str, ...], fixed: tuple[str, ...] = ()) -> None:
        self.sizes = sizes
        """Names of the sizes whose sum says how large a shape is."""
        self.fixed = fixed
        self._known: OrderedDict[int, Bucket] = OrderedDict()
        self._made = 0

    def __len__(self) -> int:
        return len(self._known)

    def find(self, shape: Shape) -> Bucket | None:
        """The smallest bucket that fits and is not much too large; None if there is none."""
        fitting = [
            (self._size(entry.shape), number) for number, entry in self._known.items() if fits(shape, entry.shape)
        ]
        if fitting:
            size, number = min(fitting)
            if size <= WASTE * SPARE * self._size(shape) or len(self._known) == MOST_BUCKETS:
                self._known.move_to_end(number)
                return self._known[number]
        return None

    def add(self, shape: Shape, block: Block) -> Bucket:
        """A new bucket."""
        if len(self._known) == MOST_BUCKETS:
            self._known.popitem(last=False)
        self._made += 1
        self._known[self._made] = Bucket(shape, block)
        return self._known[self._made]

    def _size(self, shape: Shape) -> int:
        return sum(shape[name] for name in self.sizes)
