"""Stage `learn`: gradient steps, recorded once as CUDA graphs and replayed.

A training step launches several hundred small kernels; a replayed step is one launch. Batches are padded to the sizes
of a few buckets (`model/padding.py`). The first batch of a bucket is an ordinary step, after which the bucket is
recorded.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

import numpy as np
import torch
from torch import Tensor

from saltus.learn.batch import TrainingBatch
from saltus.learn.learner import SampleArrays, StepResult, sample_arrays
from saltus.model import Layout, make_layout
from saltus.model.padding import (
    Array,
    Bucket,
    Buckets,
    Cutter,
    GroupedRelations,
    LayoutArrays,
    LayoutSize,
    device_cutter,
    empty_layout,
    fill_layout,
    grouped_relations,
    host_cutter,
    measuring_cutter,
    padded_layout,
    with_room,
)

if TYPE_CHECKING:
    from saltus.learn.learner import Learner


@dataclass(frozen=True)
class StepSize:
    """Sizes of the arrays of a training batch."""

    now: LayoutSize
    after: LayoutSize
    samples: int
    after_width: int
    """Largest number of candidates of a successor."""
    depth_width: int
    """Largest number of depths of a tree."""

    @property
    def slots(self) -> int:
        """Messages per layer, of both passes."""
        return self.now.slots + self.after.slots

    def enlarged(self) -> StepSize:
        """The size with some room; all batches have the same number of samples, and as many graphs."""
        return StepSize(
            now=self.now.enlarged(keep_graphs=True),
            after=self.after.enlarged(keep_graphs=True),
            samples=self.samples,
            after_width=with_room(self.after_width),
            depth_width=with_room(self.depth_width),
        )

    def fits(self, bucket: StepSize) -> bool:
        """Whether no array is larger than the bucket's."""
        return (
            self.now.fits(bucket.now)
            and self.after.fits(bucket.after)
            and self.samples <= bucket.samples
            and self.after_width <= bucket.after_width
            and self.depth_width <= bucket.depth_width
        )


@dataclass(frozen=True, eq=False)
class StepArrays(Generic[Array]):
    """Arrays of a padded training batch, on the host or on a device."""

    now: LayoutArrays[Array]
    after: LayoutArrays[Array]
    samples: SampleArrays[Array]

    @classmethod
    def cut(cls, size: StepSize, relations: GroupedRelations, cutter: Cutter[Array]) -> StepArrays[Array]:
        """Arrays for a batch of this size."""
        count, after, depth = size.samples, size.after_width, size.depth_width
        return cls(
            now=LayoutArrays.cut(size.now, relations, cutter),
            after=LayoutArrays.cut(size.after, relations, cutter),
            samples=SampleArrays(
                chosen=cutter.take(np.int64, count),
                after_index=cutter.take(np.int64, count, after),
                after_mask=cutter.take(np.bool_, count, after),
                final=cutter.take(np.int64, count),
                bound=cutter.take(np.float32, count),
                cost=cutter.take(np.float32, count),
                weight=cutter.take(np.float32, count),
                depth_index=cutter.take(np.int64, count, depth),
                depth_mask=cutter.take(np.bool_, count, depth),
            ),
        )


@dataclass(frozen=True, eq=False)
class DeviceBatch:
    """The batch of a bucket on the GPU; the next batch overwrites it."""

    memory: Tensor
    now: Layout
    after: Layout
    samples: SampleArrays[Tensor]


StepBucket = Bucket[StepSize, DeviceBatch]


@dataclass(frozen=True, eq=False)
class Padded:
    """A batch that waits in pinned memory."""

    bucket: StepBucket
    memory: Tensor


class RecordedStep:
    """Buckets and recordings of one learner."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.buckets: Buckets[StepSize, DeviceBatch] = Buckets()
        self.pool = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream()
        self.relations = grouped_relations(learner.network.arities)

    # -- on the thread that makes batches ----------------------------------------------------------------------------

    def prepare(self, batch: TrainingBatch) -> Padded:
        """The batch padded to a bucket, in pinned memory."""
        now = make_layout(batch.now, self.learner.network.arities)
        after = empty_layout(self.relations)
        if batch.after is not None:
            after = make_layout(batch.after, self.learner.network.arities)
        size = self._size(batch, now, after)
        bucket = self.buckets.find(size) or self._add(size.enlarged())
        memory = torch.empty(bucket.nbytes, dtype=torch.uint8, pin_memory=True)
        arrays = StepArrays.cut(bucket.size, self.relations, host_cutter(memory.numpy()))
        fill_layout(arrays.now, now)
        fill_layout(arrays.after, after)
        values = sample_arrays(batch, bucket.size.after_width, bucket.size.depth_width)
        for array, value in zip(vars(arrays.samples).values(), vars(values).values(), strict=True):
            array[:] = value
        return Padded(bucket, memory)

    def _size(self, batch: TrainingBatch, now: Layout, after: Layout) -> StepSize:
        return StepSize(
            now=LayoutSize.of(now, len(batch)),
            after=LayoutSize.of(after, len(batch)),
            samples=len(batch),
            after_width=int(batch.after_count.max()),
            depth_width=int(batch.depth_count.max()),
        )

    def _add(self, size: StepSize) -> StepBucket:
        cutter = measuring_cutter()
        StepArrays.cut(size, self.relations, cutter)
        return self.buckets.add(size, cutter.used)

    # -- on the learning thread --------------------------------------------------------------------------------------

    def step(self, padded: Padded, layers: int) -> StepResult:
        """Starts one gradient step. The first one of a bucket with this number of layers is an ordinary step, after
        which one is recorded."""
        bucket = padded.bucket
        self.stream.wait_stream(torch.cuda.current_stream())  # on which learning rate and copies are written
        with torch.cuda.stream(self.stream):
            if bucket.resident is None:
                bucket.resident = self._allocate(bucket)
            batch = bucket.resident
            batch.memory.copy_(padded.memory, non_blocking=True)
            found = bucket.recordings.get(layers)
            if found is not None:
                graph, packed = found
                graph.replay()
                return self._result(packed)
            result = self._result(self._descend(batch, layers))
            bucket.recordings[layers] = self._record(batch, layers)
            return result

    def _descend(self, batch: DeviceBatch, layers: int) -> Tensor:
        return self.learner.descend(batch.now, batch.after, batch.samples, layers)

    def _allocate(self, bucket: StepBucket) -> DeviceBatch:
        memory = torch.zeros(bucket.nbytes, dtype=torch.uint8, device=self.learner.device)
        arrays = StepArrays.cut(bucket.size, self.relations, device_cutter(memory))
        now = padded_layout(bucket.size.now, self.relations, arrays.now)
        after = padded_layout(bucket.size.after, self.relations, arrays.after)
        return DeviceBatch(memory, now, after, arrays.samples)

    def _result(self, packed: Tensor) -> StepResult:
        host = torch.empty(packed.shape, dtype=packed.dtype, pin_memory=True)
        host.copy_(packed, non_blocking=True)
        event = torch.cuda.Event()
        event.record()
        return StepResult(host, event)

    def _record(self, batch: DeviceBatch, layers: int) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        """Records a step without computing it. Other threads may use the GPU meanwhile."""
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
            packed = self._descend(batch, layers)
        return graph, packed
