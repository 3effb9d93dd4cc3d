"""Stage `model`: passes of a network without gradient, replayed as CUDA graphs.

A rollout asks for many small passes, each bound by the launches of its kernels; replayed, a pass is one launch. Batches
are padded to a few shapes (`padding.py`); larger ones are worth their launches and are left to the ordinary pass.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saltus.model.cuda import is_fused
from saltus.model.layout import BatchArrays, Layout, make_layout
from saltus.model.padding import (
    Block,
    Bucket,
    Buckets,
    enlarged,
    fill_layout,
    layout_entries,
    layout_shape,
    padded_layout,
)
from saltus.model.rgnn import RelationalNetwork

MOST_SLOTS = 200_000
"""Messages a round of the largest batch that is padded."""


@dataclass(frozen=True, eq=False)
class _DeviceLayout:
    memory: Tensor
    layout: Layout


class RecordedPass:
    """Recorded passes of one network, whose weights may change in place between them."""

    def __init__(self, network: RelationalNetwork) -> None:
        self.network = network
        self.device = next(network.parameters()).device
        self.buckets = Buckets(sizes=("slots",))
        self.pool = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream()
        self.arities = tuple(sorted(set(network.arities)))
        self.relations = tuple(tuple(i for i, n in enumerate(network.arities) if n == arity) for arity in self.arities)

    def q(self, batch: BatchArrays, layers: int) -> NDArray[np.float32]:
        """Q-values of a batch's candidates."""
        layout = make_layout(batch, self.network.arities)
        if layout.slot_count > MOST_SLOTS:
            with torch.inference_mode():
                result: NDArray[np.float32] = self.network(layout.to(self.device), layers).q.cpu().numpy()
                return result
        bucket = self._bucket(layout)
        memory = torch.empty(bucket.block.size, dtype=torch.uint8, pin_memory=True)
        fill_layout(layout, bucket.block.arrays(memory.numpy()), "")
        self.stream.wait_stream(torch.cuda.current_stream())  # whoever changed the weights did so there
        with torch.cuda.stream(self.stream), torch.no_grad():
            values = self._run(bucket, memory, layers)
            return values[: len(layout.candidate_node)].cpu().numpy()

    def _bucket(self, layout: Layout) -> Bucket:
        shape = layout_shape(layout, layout.graph_count)
        found = self.buckets.find(shape)
        if found is not None:
            return found
        shape = enlarged(shape)
        counts = tuple(len(numbers) for numbers in self.relations)
        return self.buckets.add(shape, Block(layout_entries(shape, self.arities, counts, "")))

    def _run(self, bucket: Bucket, memory: Tensor, layers: int) -> Tensor:
        if bucket.resident is None:
            place = torch.zeros(bucket.block.size, dtype=torch.uint8, device=self.device)
            tensors = bucket.block.tensors(place)
            padded = padded_layout(bucket.shape, tensors, self.arities, self.relations, "")
            bucket.resident = _DeviceLayout(place, padded)
        resident: _DeviceLayout = bucket.resident
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
    """Recorded passes, if the network is on a GPU that can replay them; `joint`: all candidates share their graph."""
    on_gpu = next(network.parameters()).device.type == "cuda"
    return RecordedPass(network) if on_gpu and joint and is_fused(network) else None
