"""Stage `learn`: gradient steps replayed as CUDA graphs.

A training step starts some hundred small kernels; recorded once and replayed, they cost one launch. A recording fits
one shape, so batches are padded to the sizes of a bucket: nodes without messages, tiles without rows, and one more graph
that owns all padding. The whole batch lies in one block of bytes, which goes to the GPU as a single copy. Buckets are
made when a batch fits none; the first batch of a bucket is an ordinary step, after which the bucket is recorded.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saltus.learn.batch import TrainingBatch
from saltus.learn.learner import BatchTensors, StepResult, spread_rows
from saltus.model import Layout, make_layout
from saltus.model.layout import Group

if TYPE_CHECKING:
    from saltus.learn.learner import Learner

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
    """Sizes of a layout's arrays by name, `graphs` being those of a full batch."""
    shape: Shape = {
        "nodes": layout.node_count,
        "slots": layout.slot_count,
        "graphs": graphs,
        "objects": len(layout.object_node),
        "candidates": len(layout.candidate_node),
        "depths": len(layout.depth_node),
    }
    for i, group in enumerate(layout.groups):
        shape |= {f"rows{i}": len(group.index), f"tiles{i}": len(group.tiles), f"pieces{i}": len(group.pieces)}
    return shape


def enlarged(shape: Shape) -> Shape:
    """Sizes with some room; those that a full batch fixes stay."""
    fixed = ("graphs", "samples")
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


@dataclass(frozen=True, eq=False)
class DeviceBatch:
    """The batch of a bucket on the GPU; the next batch is written over it."""

    memory: Tensor
    now: Layout
    after: Layout
    tensors: BatchTensors


@dataclass(eq=False)
class Bucket:
    """A padded shape, its memory on the GPU once it is used, and its recordings by number of rounds."""

    shape: Shape
    block: Block
    batch: DeviceBatch | None = None
    recordings: dict[int, tuple[torch.cuda.CUDAGraph, Tensor]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Padded:
    """A batch that waits in pinned memory."""

    bucket: Bucket
    memory: Tensor


class StepGraphs:
    """Buckets and recordings of one learner."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.buckets: OrderedDict[int, Bucket] = OrderedDict()
        self.pool = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream()
        arities = learner.network.arities
        self.arities = tuple(sorted(set(arities)))
        self.relations = tuple(tuple(i for i, n in enumerate(arities) if n == arity) for arity in self.arities)
        self.recorded = 0

    # -- on the thread that makes batches ----------------------------------------------------------------------------

    def prepare(self, batch: TrainingBatch) -> Padded:
        """The batch padded to a bucket, in pinned memory."""
        samples = len(batch)
        now = make_layout(batch.now, self.learner.network.arities)
        after = make_layout(batch.after, self.learner.network.arities) if batch.after is not None else None
        shape = self._shape(batch, now, after, samples)
        bucket = self._find(shape)
        memory = torch.empty(bucket.block.size, dtype=torch.uint8, pin_memory=True)
        arrays = bucket.block.arrays(memory.numpy())
        fill_layout(now, arrays, "now.")
        fill_layout(after, arrays, "after.")
        for name, first, count in (
            ("after", batch.after_first, batch.after_count),
            ("depth", batch.depth_first, batch.depth_count),
        ):
            index, mask = spread_rows(first, count, arrays[f"{name}_index"].shape[1])
            arrays[f"{name}_index"][:], arrays[f"{name}_mask"][:] = index, mask
        for name in ("chosen", "final", "bound", "weight"):
            arrays[name][:] = getattr(batch, name)
        return Padded(bucket, memory)

    def _shape(self, batch: TrainingBatch, now: Layout, after: Layout | None, samples: int) -> Shape:
        shape = {f"now.{name}": value for name, value in layout_shape(now, samples).items()}
        if after is None:
            shape |= {name.replace("now.", "after."): 0 for name in shape}
            shape["after.graphs"] = samples
        else:
            shape |= {f"after.{name}": value for name, value in layout_shape(after, samples).items()}
        shape |= {"samples": samples}
        shape |= {"after_width": int(batch.after_count.max()), "depth_width": int(batch.depth_count.max())}
        for prefix in ("now.", "after."):
            shape[prefix + "nodes"] += 1  # one for the padding
        return shape

    def _find(self, shape: Shape) -> Bucket:
        """The smallest bucket that fits; a new one if there is none, or only much larger ones."""
        wanted = shape["now.slots"] + shape["after.slots"]
        fitting = [
            (bucket.shape["now.slots"] + bucket.shape["after.slots"], number)
            for number, bucket in self.buckets.items()
            if fits(shape, bucket.shape)
        ]
        if fitting:
            size, number = min(fitting)
            if size <= WASTE * SPARE * wanted or len(self.buckets) == MOST_BUCKETS:
                self.buckets.move_to_end(number)
                return self.buckets[number]
        if len(self.buckets) == MOST_BUCKETS:
            self.buckets.popitem(last=False)
        bucket = self._make(enlarged(shape))
        self.recorded += 1
        self.buckets[self.recorded] = bucket
        return bucket

    def _make(self, shape: Shape) -> Bucket:
        samples, counts = shape["samples"], tuple(len(numbers) for numbers in self.relations)
        after, depth = (samples, shape["after_width"]), (samples, shape["depth_width"])
        entries = {
            **layout_entries(shape, self.arities, counts, "now."),
            **layout_entries(shape, self.arities, counts, "after."),
            "chosen": (np.int64, (samples,)),
            "after_index": (np.int64, after),
            "after_mask": (np.bool_, after),
            "final": (np.int64, (samples,)),
            "bound": (np.float32, (samples,)),
            "weight": (np.float32, (samples,)),
            "depth_index": (np.int64, depth),
            "depth_mask": (np.bool_, depth),
        }
        return Bucket(shape, Block(entries))

    # -- on the learning thread --------------------------------------------------------------------------------------

    def step(self, padded: Padded, layers: int) -> StepResult:
        """Starts one gradient step; the bucket's first one with so many rounds is not replayed but recorded after."""
        bucket = padded.bucket
        with torch.cuda.stream(self.stream):
            if bucket.batch is None:
                bucket.batch = self._allocate(bucket)
            bucket.batch.memory.copy_(padded.memory, non_blocking=True)
            found = bucket.recordings.get(layers)
            if found is not None:
                graph, values = found
                graph.replay()
                return self._result(values)
            result = self._result(self._descend(bucket.batch, layers))
            bucket.recordings[layers] = self._record(bucket.batch, layers)
            return result

    def _descend(self, batch: DeviceBatch, layers: int) -> Tensor:
        return self.learner.descend(batch.now, batch.after, batch.tensors, layers)

    def _allocate(self, bucket: Bucket) -> DeviceBatch:
        memory = torch.zeros(bucket.block.size, dtype=torch.uint8, device=self.learner.device)
        tensors = bucket.block.tensors(memory)
        now, after = (
            padded_layout(bucket.shape, tensors, self.arities, self.relations, prefix) for prefix in ("now.", "after.")
        )
        parts = BatchTensors(**{entry.name: tensors[entry.name] for entry in fields(BatchTensors)})
        return DeviceBatch(memory, now, after, parts)

    def _result(self, values: Tensor) -> StepResult:
        host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        host.copy_(values, non_blocking=True)
        event = torch.cuda.Event()
        event.record()
        return StepResult(host, event)

    def _record(self, batch: DeviceBatch, layers: int) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        """Records a step; nothing is computed. Other threads may go on using the GPU meanwhile."""
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
            values = self._descend(batch, layers)
        return graph, values
