"""Stage `model`: message passing in the kernel, forward and backward, for training on a CPU.

Takes a network, a layout and the weights in the order of `message_passing_weights`, gives embeddings and gradients.
Trees of small problems have many relations with few atoms each: PyTorch spends most of a step on starting operations, a
dozen per relation and layer. Here a layer is one call, whose memory is kept from step to step. `plain.py` is the twin:
the two differ in the order of sums.

Cost: a step takes about a sixth of the twin's time with an embedding of 16 (`benchmarks/cpu_step.py`). Memory: three
rows of the embedding's size per slot and layer.
"""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from saltus import _kernel
from saltus.model.layout import Layout
from saltus.model.values import MOST_BYTES, SHARPNESS

if TYPE_CHECKING:
    from saltus.model.rgnn import RelationalNetwork

INSTRUCTIONS = ""
"""Instruction set of the kernel's loops; empty for the fastest that the machine has."""

_FREE: list[_kernel.TrainingPass] = []
"""At most two passes that nobody uses at the moment, with their memory: new memory would have to be paged in. Those of
a step follow each other and need one; a test of the loss may need two."""

atexit.register(_FREE.clear)  # the kernel's objects must not outlive it


def is_trained_by_kernel(network: RelationalNetwork, layout: Layout, weights: tuple[Tensor, ...]) -> bool:
    """Whether the kernel passes messages: if the network asks for it, and is one that the kernel knows."""
    return (
        network.trained_by_kernel
        and network.spec.hidden_layers == 1
        and network.spec.embedding % 16 == 0  # the kernel's vectors
        and layout.slot_offset.device.type == "cpu"
        and all(weight.dtype == torch.float32 and weight.is_contiguous() for weight in weights)
    )


class KernelPass:
    """One pass of a network over one batch. Without `keep` it has no gradients."""

    def __init__(self, network: RelationalNetwork, layout: Layout, weights: tuple[Tensor, ...], keep: bool) -> None:
        self.weights = weights
        self.keep = keep
        self.before_layer = network.before_layer
        self.shape = layout.node_count, network.spec.embedding
        self.layers = 0
        try:
            self._pass = _FREE.pop()
        except IndexError:
            self._pass = _kernel.TrainingPass(INSTRUCTIONS)
        self._pass.begin(
            *self.shape,
            SHARPNESS,
            [(group.index.numpy(), np.array(group.row_offset, np.int64)) for group in layout.groups],
            [weight.detach().numpy() for weight in weights],
            keep,
            torch.get_num_threads(),
        )

    def run(self, layers: int) -> Tensor:
        """Embeddings [nodes, embedding] after so many layers."""
        for _ in range(layers):
            self._before_layer()
            self._pass.forward()
        self.layers = layers
        result = self.weights[0].new_empty(self.shape)
        self._pass.read(result.numpy())
        if not self.keep:
            self._give_back()
        return result

    def gradients(self, gradient: Tensor) -> list[Tensor]:
        """Gradients of the weights, from that of the embeddings; to be asked for once."""
        self._pass.begin_backward(gradient.numpy())
        for _ in range(self.layers):
            self._before_layer()
            self._pass.backward()
        found = [torch.zeros_like(weight, requires_grad=False) for weight in self.weights]
        self._pass.add_gradients([entry.numpy() for entry in found])
        self._give_back()
        return found

    def _before_layer(self) -> None:
        if self.before_layer is not None:
            self.before_layer()

    def _give_back(self) -> None:
        if len(_FREE) < 2 and self._pass.bytes <= MOST_BYTES:
            _FREE.append(self._pass)
        del self._pass
