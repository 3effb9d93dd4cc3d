"""Stage `model`: passes of a network without gradient, recorded once as CUDA graphs and replayed.

A rollout needs many small passes, whose time is spent on launching kernels; a replayed pass is one launch. Batches are
padded to a few sizes (`padding.py`). For large batches launches do not matter, and the ordinary pass is used.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saltus.graph import GraphBatch
from saltus.model.branches import urgent_stream
from saltus.model.cuda import is_fused
from saltus.model.layout import Layout, make_layout
from saltus.model.padding import (
    Bucket,
    Buckets,
    LayoutArrays,
    LayoutSize,
    device_cutter,
    fill_padded,
    grouped_relations,
    measuring_cutter,
    padded_layout,
    spans_of,
)
from saltus.model.rgnn import RelationalNetwork


@dataclass(frozen=True, eq=False)
class _DeviceLayout:
    memory: Tensor
    layout: Layout


class RecordedPass:
    """Recorded passes of one network, whose weights may be changed in place between them."""

    def __init__(self, network: RelationalNetwork) -> None:
        self.network = network
        self.device = next(network.parameters()).device
        self.buckets: Buckets[LayoutSize, _DeviceLayout] = Buckets()
        self.pool = torch.cuda.graph_pool_handle()
        self.stream = urgent_stream()
        self.relations = grouped_relations(network.arities)
        self.arities = np.array(network.arities, np.int32)

    def q(self, batch: GraphBatch, layers: int) -> NDArray[np.float32]:
        """Q-values of the candidates of a batch."""
        if len(batch.arguments) > 200_000:  # launches take no time worth saving
            layout = make_layout(batch, self.network.arities)
            with torch.inference_mode():
                result: NDArray[np.float32] = self.network(layout.to(self.device), layers).q.cpu().numpy()
                return result
        bucket = self._bucket(batch)
        memory = torch.empty(bucket.nbytes, dtype=torch.uint8, pin_memory=True)
        fill_padded(memory.numpy(), bucket.spans[0], batch, self.arities)
        self.stream.wait_stream(torch.cuda.current_stream())  # on which the weights may have been changed
        with torch.cuda.stream(self.stream), torch.no_grad():
            values = self._run(bucket, memory, layers)
            return values[: len(batch.candidate_node)].cpu().numpy()

    def _bucket(self, batch: GraphBatch) -> Bucket[LayoutSize, _DeviceLayout]:
        size = LayoutSize.of_batch(batch, self.arities, batch.graph_count)
        found = self.buckets.find(size)
        if found is not None:
            return found
        size = size.enlarged()
        cutter = measuring_cutter()
        spans = spans_of(LayoutArrays.cut(size, self.relations, cutter))
        return self.buckets.add(size, cutter.used, (spans,))

    def _run(self, bucket: Bucket[LayoutSize, _DeviceLayout], memory: Tensor, layers: int) -> Tensor:
        if bucket.resident is None:
            place = torch.zeros(bucket.nbytes, dtype=torch.uint8, device=self.device)
            arrays = LayoutArrays.cut(bucket.size, self.relations, device_cutter(place))
            bucket.resident = _DeviceLayout(place, padded_layout(bucket.size, self.relations, arrays))
        resident = bucket.resident
        resident.memory.copy_(memory, non_blocking=True)
        found = bucket.recordings.get(layers)
        if found is not None:
            found[0].replay()
            return found[1]
        values: Tensor = self.network(resident.layout, layers).q.clone()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
            recorded = self.network(resident.layout, layers).q
        bucket.recordings[layers] = (graph, recorded)
        return values


def recorded_pass(network: RelationalNetwork, joint: bool) -> RecordedPass | None:
    """Recorded passes if the network is on a GPU that can replay them, else None; `joint`: candidates are nodes."""
    on_gpu = next(network.parameters()).device.type == "cuda"
    return RecordedPass(network) if on_gpu and joint and is_fused(network) else None
