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
from numpy.typing import NDArray
from torch import Tensor

from saltus.learn.batch import TrainingBatch
from saltus.learn.learner import SampleArrays, StepResult, sample_arrays
from saltus.model import Layout
from saltus.model.branches import urgent_stream
from saltus.model.padding import (
    Array,
    Bucket,
    Buckets,
    Cutter,
    GroupedRelations,
    LayoutArrays,
    LayoutSize,
    device_cutter,
    fill_padded,
    grouped_relations,
    host_cutter,
    measuring_cutter,
    padded_layout,
    spans_of,
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

    samples: SampleArrays[Array]
    now: LayoutArrays[Array]
    after: LayoutArrays[Array]

    @classmethod
    def cut(cls, size: StepSize, relations: GroupedRelations, cutter: Cutter[Array]) -> StepArrays[Array]:
        """Arrays for a batch of this size."""
        return cls(
            samples=cut_samples(size, cutter),
            now=LayoutArrays.cut(size.now, relations, cutter),
            after=LayoutArrays.cut(size.after, relations, cutter),
        )


def cut_samples(size: StepSize, cutter: Cutter[Array]) -> SampleArrays[Array]:
    """Arrays of the samples, which are the first ones of a batch."""
    count, after, depth = size.samples, size.after_width, size.depth_width
    return SampleArrays(
        chosen=cutter.take(np.int64, count),
        after_index=cutter.take(np.int64, count, after),
        after_mask=cutter.take(np.bool_, count, after),
        final=cutter.take(np.int64, count),
        bound=cutter.take(np.float32, count),
        cost=cutter.take(np.float32, count),
        weight=cutter.take(np.float32, count),
        depth_index=cutter.take(np.int64, count, depth),
        depth_mask=cutter.take(np.bool_, count, depth),
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


def find_bucket(
    buckets: Buckets[StepSize, DeviceBatch], batch: TrainingBatch, arities: NDArray[np.int32]
) -> StepBucket:
    """The bucket that a batch is padded to, made if there is none that it fits."""
    size = StepSize(
        now=LayoutSize.of_batch(batch.now, arities, len(batch)),
        after=LayoutSize.of_batch(batch.after, arities, len(batch)),
        samples=len(batch),
        after_width=int(batch.after_count.max()),
        depth_width=int(batch.depth_count.max()),
    )
    found = buckets.find(size)
    if found is not None:
        return found
    size = size.enlarged()
    cutter = measuring_cutter()
    arrays = StepArrays.cut(size, grouped_relations(tuple(arities.tolist())), cutter)
    return buckets.add(size, cutter.used, (spans_of(arrays.now), spans_of(arrays.after)))


def fill_step(memory: NDArray[np.uint8], bucket: StepBucket, batch: TrainingBatch, arities: NDArray[np.int32]) -> None:
    """Writes a batch, padded to a bucket, into memory on the host."""
    for spans, graphs in zip(bucket.spans, (batch.now, batch.after), strict=True):
        fill_padded(memory, spans, graphs, arities)
    arrays = cut_samples(bucket.size, host_cutter(memory))
    values = sample_arrays(batch, bucket.size.after_width, bucket.size.depth_width)
    for array, value in zip(vars(arrays).values(), vars(values).values(), strict=True):
        array[:] = value


class RecordedStep:
    """Buckets and recordings of one learner."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.buckets: Buckets[StepSize, DeviceBatch] = Buckets()
        self.pool = torch.cuda.graph_pool_handle()
        self.stream = urgent_stream()
        self.relations = grouped_relations(learner.network.arities)
        self.arities = np.array(learner.network.arities, np.int32)

    # -- on the thread that makes batches ----------------------------------------------------------------------------

    def prepare(self, batch: TrainingBatch) -> Padded:
        """The batch padded to a bucket, in pinned memory."""
        bucket = find_bucket(self.buckets, batch, self.arities)
        memory = torch.empty(bucket.nbytes, dtype=torch.uint8, pin_memory=True)
        fill_step(memory.numpy(), bucket, batch, self.arities)
        return Padded(bucket, memory)

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
