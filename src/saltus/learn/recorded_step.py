"""Stage `learn`: gradient steps replayed as CUDA graphs.

A training step starts some hundred small kernels; recorded once and replayed, they cost one launch. Batches are padded
to the shapes of a few buckets (`model/padding.py`); the first batch of a bucket is an ordinary step, after which the
bucket is recorded.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from saltus.learn.batch import TrainingBatch
from saltus.learn.learner import BatchTensors, StepResult, spread_rows
from saltus.model import Layout, make_layout
from saltus.model.padding import (
    Block,
    Bucket,
    Buckets,
    Shape,
    enlarged,
    fill_layout,
    layout_entries,
    layout_shape,
    padded_layout,
)

if TYPE_CHECKING:
    from saltus.learn.learner import Learner


@dataclass(frozen=True, eq=False)
class DeviceBatch:
    """The batch of a bucket on the GPU; the next batch is written over it."""

    memory: Tensor
    now: Layout
    after: Layout
    tensors: BatchTensors


@dataclass(frozen=True, eq=False)
class Padded:
    """A batch that waits in pinned memory."""

    bucket: Bucket
    memory: Tensor


class RecordedStep:
    """Buckets and recordings of one learner."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.buckets = Buckets(sizes=("now.slots", "after.slots"), fixed=("graphs", "samples"))
        self.pool = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream()
        arities = learner.network.arities
        self.arities = tuple(sorted(set(arities)))
        self.relations = tuple(tuple(i for i, n in enumerate(arities) if n == arity) for arity in self.arities)

    # -- on the thread that makes batches ----------------------------------------------------------------------------

    def prepare(self, batch: TrainingBatch) -> Padded:
        """The batch padded to a bucket, in pinned memory."""
        samples = len(batch)
        now = make_layout(batch.now, self.learner.network.arities)
        after = make_layout(batch.after, self.learner.network.arities) if batch.after is not None else None
        shape = self._shape(batch, now, after, samples)
        bucket = self.buckets.find(shape) or self._add(enlarged(shape, self.buckets.fixed))
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
            shape |= {"after.graphs": samples, "after.nodes": 1}
        else:
            shape |= {f"after.{name}": value for name, value in layout_shape(after, samples).items()}
        shape |= {"samples": samples}
        shape |= {"after_width": int(batch.after_count.max()), "depth_width": int(batch.depth_count.max())}
        return shape

    def _add(self, shape: Shape) -> Bucket:
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
        return self.buckets.add(shape, Block(entries))

    # -- on the learning thread --------------------------------------------------------------------------------------

    def step(self, padded: Padded, layers: int) -> StepResult:
        """Starts one gradient step; the bucket's first one with so many rounds is not replayed but recorded after."""
        bucket = padded.bucket
        self.stream.wait_stream(torch.cuda.current_stream())  # learning rate and copies are written there
        with torch.cuda.stream(self.stream):
            if bucket.resident is None:
                bucket.resident = self._allocate(bucket)
            batch: DeviceBatch = bucket.resident
            batch.memory.copy_(padded.memory, non_blocking=True)
            found = bucket.recordings.get(layers)
            if found is not None:
                graph, values = found
                graph.replay()
                return self._result(values)
            result = self._result(self._descend(batch, layers))
            bucket.recordings[layers] = self._record(batch, layers)
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
