"""Stage `model`: message passing by the fastest pass that can run a network on a batch.

Takes a network, a layout and a number of layers, gives embeddings, with gradients of all weights. On a GPU fused
kernels pass the messages (`cuda.py`), in training on a CPU the kernel does (`kernel_pass.py`): each all layers at once,
forward and backward, since they share their weights and so gradients are summed in place. Whatever these cannot run is
left to their twin, the loop over relations in `plain.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from saltus.model.kernel_pass import KernelPass, is_trained_by_kernel
from saltus.model.layout import Layout
from saltus.model.plain import plain_pass_messages

if TYPE_CHECKING:
    from saltus.model.rgnn import RelationalNetwork


class FastPass(Protocol):
    """One pass of a network over one batch."""

    def run(self, layers: int) -> Tensor:
        """Embeddings [nodes, embedding] after so many layers."""

    def gradients(self, gradient: Tensor) -> list[Tensor]:
        """Gradients of the weights, from that of the embeddings; to be asked for once."""


MakePass = Callable[["RelationalNetwork", Layout, tuple[Tensor, ...], bool], FastPass]
"""Network, batch, weights in the order of `message_passing_weights`, and whether gradients will be asked for."""


class _PassMessages(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, make: MakePass, network: RelationalNetwork, layout: Layout, layers: int, *weights: Tensor
    ) -> Tensor:
        ctx.passing = make(network, layout, weights, True)
        return ctx.passing.run(layers)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return (None, None, None, None, *ctx.passing.gradients(gradients[0].contiguous()))


def fast_pass(network: RelationalNetwork, layout: Layout, weights: tuple[Tensor, ...]) -> MakePass | None:
    """The fast pass for a network on the device of a batch; None if there is none."""
    if layout.slot_offset.device.type == "cuda":
        from saltus.model.cuda import CudaPass, is_fused

        return CudaPass if is_fused(network) and weights[0].dtype == torch.float32 else None
    return KernelPass if is_trained_by_kernel(network, layout, weights) else None


def message_passing_weights(network: RelationalNetwork) -> tuple[Tensor, ...]:
    """Weights of message passing in the order that fast passes expect: of every network the weight and the bias of one
    linear map after the other, the message networks by arity; then scale and shift of the norm."""
    parts = (*network.message_weights(), network.update, network.norm)
    return tuple(weight for part in parts for weight in part.parameters())


def pass_messages(network: RelationalNetwork, layout: Layout, layers: int) -> Tensor:
    """Embeddings [nodes, embedding] after `layers` layers. Nothing is saved if no gradient is needed."""
    weights = message_passing_weights(network)
    make = fast_pass(network, layout, weights)
    if make is None:
        return plain_pass_messages(network, layout, layers)
    if torch.is_grad_enabled() and any(weight.requires_grad for weight in weights):
        result: Tensor = _PassMessages.apply(make, network, layout, layers, *weights)  # type: ignore[no-untyped-call]
        return result
    return make(network, layout, tuple(weight.detach() for weight in weights), False).run(layers)
