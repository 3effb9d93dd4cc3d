"""Stage `model`: the fast layers of message passing, forward and backward.

One autograd function covers all layers. They share their weights, so gradients are summed in place, and each layer
saves only what its backward pass needs: the embeddings, the hidden layer before its activation, and the share of each
message in the aggregate of its node. Messages are computed relation by relation on contiguous rows and reduced by
segments; nothing is scattered. `cuda.py` replaces a layer by fused kernels, and `kernel_pass.py` all of them where a
network is trained on the CPU; `plain.py` is the twin of all.

Cost on the CPU: little more than the matrix products. Memory: three rows of the embedding's size per slot and layer
when training, one row per slot otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from saltus.model.kernel_pass import KernelPass, is_trained_by_kernel
from saltus.model.layout import Group, Layout
from saltus.model.segments import gather_active, mish, mish_backward, reduce_segments, smooth_maximum

if TYPE_CHECKING:
    from saltus.model.rgnn import RelationalNetwork

CHUNK_ROWS = 1 << 15
"""Atoms whose messages are computed at a time when nothing is saved; it limits the memory used by large problems."""

CACHED_ROWS = 1 << 12
"""The same for `shared_messages`, small enough for the cache of a core."""

SHARED = 2
"""With at least this many atoms per node, the first linear map is computed once per node and position and summed for
each atom."""


@dataclass
class Saved:
    """What the backward pass of one layer needs."""

    x: Tensor
    joined: Tensor
    hidden: list[Tensor]
    """Per group [rows, arity * embedding]: the hidden layer before the activation."""
    share: list[Tensor]
    """Per group [rows, arity * embedding]: derivative of the aggregate with respect to the message."""


class MessagePassing:
    """Layers of one network on one batch."""

    def __init__(self, network: RelationalNetwork, layout: Layout, weights: tuple[Tensor, ...]) -> None:
        self.layout = layout
        self.spec = network.spec
        self.size = network.spec.embedding
        self.message_weights = [weights[4 * i : 4 * i + 4] for i in range(len(layout.groups))]
        self.update1, self.bias1, self.update2, self.bias2 = weights[4 * len(layout.groups) :][:4]
        self.norm = weights[4 * len(layout.groups) + 4 :] if network.spec.norm else ()
        self._buffers: dict[str, Tensor] = {}

    def buffer(self, name: str, rows: int, width: int) -> Tensor:
        """Uninitialised memory [rows, width], reused for each use of a name: new memory would have to be paged in."""
        wanted = rows * width
        known = self._buffers.get(name)
        if known is None or len(known) < wanted:
            known = self._buffers[name] = self.update1.new_empty(wanted)
        return known[:wanted].view(rows, width)

    # -- forward -----------------------------------------------------------------------------------------------------

    def forward(self, x: Tensor, keep: bool) -> tuple[Tensor, Saved | None]:
        """Embeddings after one more layer, and what its backward pass needs."""
        joined, hidden, share = self.joined_messages(x, keep)
        update = mish(torch.addmm(self.bias1, torch.cat([x, joined], dim=1), self.update1.t()))
        change = torch.addmm(self.bias2, update, self.update2.t())
        if self.norm:
            change = functional.layer_norm(change, (self.size,), self.norm[0], self.norm[1])
        return x + change, Saved(x, joined, hidden, share) if keep else None

    def joined_messages(self, x: Tensor, keep: bool) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Aggregate of the messages to each node, and what the backward pass needs of them."""
        layout = self.layout
        messages = x.new_empty(layout.slot_count, self.size)
        hidden: list[Tensor] = []
        first = 0
        for group, weights in zip(layout.groups, self.message_weights, strict=True):
            slots = group.index.numel()
            output = messages[first : first + slots].view(-1, group.arity * self.size)
            hidden.append(self.group_messages(x, group, weights, output, keep))
            first += slots
        joined, share = self.aggregate(messages, keep)
        return joined, hidden, self.by_group(share) if keep else []

    def group_messages(
        self, x: Tensor, group: Group, weights: tuple[Tensor, ...], output: Tensor, keep: bool
    ) -> Tensor:
        """Writes the messages of a group to `output`; returns the hidden layer before activation, empty unless kept."""
        weight1, bias1, weight2, bias2 = weights
        hidden = output.new_empty(output.shape if keep else (0,))
        for number in range(len(group.relations)):
            start, end = group.row_offset[number], group.row_offset[number + 1]
            if not keep and x.device.type == "cpu" and end - start >= SHARED * len(x):
                self.shared_messages(
                    x, group.index[start:end], [weight[number] for weight in weights], output[start:end]
                )
                continue
            step = max(1, end - start) if keep else CHUNK_ROWS
            for low in range(start, end, step):
                rows = slice(low, min(low + step, end))
                arguments = output[rows]  # becomes the residual
                torch.index_select(x, 0, group.index[rows].reshape(-1), out=arguments.view(-1, self.size))
                active = self.buffer("active", len(arguments), arguments.shape[1])
                inner = hidden[rows] if keep else active
                torch.addmm(bias1[number], arguments, weight1[number], out=inner)
                arguments.addmm_(mish(inner, active), weight2[number]).add_(bias2[number])
        return hidden

    def shared_messages(self, x: Tensor, index: Tensor, weights: Sequence[Tensor], output: Tensor) -> None:
        """Writes the messages of a relation with many more atoms than nodes, by W [a, b, …] = W1 a + W2 b + …"""
        weight1, bias1, weight2, bias2 = weights
        arity, width = index.shape[1], output.shape[1]
        parts = weight1.view(arity, self.size, width).transpose(0, 1).reshape(self.size, arity * width)
        table = torch.mm(x, parts, out=self.buffer("table", len(x), arity * width))
        biases = torch.stack([bias1, bias2])
        for low in range(0, len(index), CACHED_ROWS):
            rows = slice(low, min(low + CACHED_ROWS, len(index)))
            active = self.buffer("active", rows.stop - rows.start, width)
            gather_active(x, table, index[rows], biases, output[rows], active)
            output[rows].addmm_(active, weight2)

    def aggregate(self, messages: Tensor, keep: bool) -> tuple[Tensor, Tensor]:
        """Aggregate [nodes, embedding] of messages in group order, and its derivative with respect to each message."""
        layout, kind = self.layout, self.spec.aggregation
        target = layout.message_node

        def reduce(values: Tensor, how: str) -> Tensor:
            return reduce_segments(values, layout.slot_offset, layout.slot_source, layout.slot_node, how)

        if kind in ("sum", "mean"):
            total = reduce(messages, "sum")
            if kind == "sum":
                return total, torch.ones_like(messages) if keep else messages
            factor = layout.degree.clamp(min=1).to(messages.dtype).reciprocal()[:, None]
            share = factor.index_select(0, target).expand_as(messages).contiguous() if keep else messages
            return total * factor, share
        if kind == "smooth-max":
            return smooth_maximum(
                messages, layout.slot_offset, layout.slot_source, target, self.spec.sharpness, keep=keep
            )
        highest = reduce(messages, "max").masked_fill_((layout.degree == 0)[:, None], 0.0)
        if not keep:
            return highest, messages
        reached = (messages == highest.index_select(0, target)).to(messages.dtype)
        ties = reduce(reached, "sum").clamp_(min=1)
        return highest, reached.div_(ties.index_select(0, target))

    def by_group(self, values: Tensor) -> list[Tensor]:
        """Rows in group order, cut into one [rows, arity * embedding] tensor per group."""
        sizes = [group.index.numel() for group in self.layout.groups]
        pieces = torch.split(values, sizes)
        return [
            piece.reshape(-1, group.arity * self.size) for piece, group in zip(pieces, self.layout.groups, strict=True)
        ]

    # -- backward ----------------------------------------------------------------------------------------------------

    def start_gradients(self) -> None:
        """Sets the gradients of all weights, which are summed over the layers, to zero."""
        self.message_gradients = [[torch.zeros_like(w) for w in weights] for weights in self.message_weights]
        update = (self.update1, self.bias1, self.update2, self.bias2, *self.norm)
        self.update_gradients = [torch.zeros_like(weight) for weight in update]

    def backward(self, saved: Saved, gradient: Tensor) -> Tensor:
        """Gradient with respect to the embeddings before the layer; gradients of the weights are added up."""
        d_x, d_joined = self.update_backward(saved, gradient)
        return d_x.add_(self.messages_backward(saved, d_joined))

    def update_backward(self, saved: Saved, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """Gradients with respect to the embeddings (through the update alone) and to the aggregates."""
        both = torch.cat([saved.x, saved.joined], dim=1)
        inner = torch.addmm(self.bias1, both, self.update1.t())
        outer = mish(inner)
        change = gradient
        grads = self.update_gradients
        if self.norm:
            result = torch.addmm(self.bias2, outer, self.update2.t())
            _, mean, deviation = torch.native_layer_norm(result, (self.size,), self.norm[0], self.norm[1], 1e-5)
            change, d_scale, d_shift = torch.ops.aten.native_layer_norm_backward(
                gradient, result, (self.size,), mean, deviation, *self.norm, [True, True, True]
            )
            grads[4].add_(d_scale)
            grads[5].add_(d_shift)
        grads[2].addmm_(change.t(), outer)
        grads[3].add_(change.sum(0))
        d_inner = mish_backward(change @ self.update2, inner)
        grads[0].addmm_(d_inner.t(), both)
        grads[1].add_(d_inner.sum(0))
        d_both = d_inner @ self.update1
        return gradient + d_both[:, : self.size], d_both[:, self.size :].contiguous()

    def messages_backward(self, saved: Saved, d_joined: Tensor) -> Tensor:
        """Gradient with respect to the embeddings, through the messages."""
        layout = self.layout
        d_slots = self.buffer("slots", layout.slot_count, self.size)
        first = 0
        for number, group in enumerate(layout.groups):
            slots = group.index.numel()
            output = d_slots[first : first + slots].view(-1, group.arity * self.size)
            first += slots
            self.group_backward(number, saved, d_joined, output)
        return reduce_segments(d_slots, layout.slot_offset, layout.slot_source, layout.slot_node, "sum")

    def group_backward(self, number: int, saved: Saved, d_joined: Tensor, output: Tensor) -> None:
        """Writes the gradient with respect to the arguments of a group's atoms to `output`."""
        group = self.layout.groups[number]
        weight1, _, weight2, _ = self.message_weights[number]
        grad1, grad_bias1, grad2, grad_bias2 = self.message_gradients[number]
        width = group.arity * self.size
        for relation in range(len(group.relations)):
            rows = slice(group.row_offset[relation], group.row_offset[relation + 1])
            if rows.start == rows.stop:
                continue
            places = group.index[rows].reshape(-1)
            arguments, change, active, d_inner = (
                self.buffer(name, rows.stop - rows.start, width) for name in ("arguments", "change", "active", "inner")
            )
            torch.index_select(saved.x, 0, places, out=arguments.view(-1, self.size))
            torch.index_select(d_joined, 0, places, out=change.view(-1, self.size))
            change.mul_(saved.share[number][rows])
            inner = saved.hidden[number][rows]
            grad2[relation].addmm_(mish(inner, active).t(), change)
            grad_bias2[relation].add_(change.sum(0))
            torch.mm(change, weight2[relation].t(), out=d_inner)
            d_inner = mish_backward(d_inner, inner)
            grad1[relation].addmm_(arguments.t(), d_inner)
            grad_bias1[relation].add_(d_inner.sum(0))
            torch.addmm(change, d_inner, weight1[relation].t(), out=output[rows])

    def gradients(self) -> list[Tensor]:
        """Gradients of all weights, in their order."""
        return [gradient for group in self.message_gradients for gradient in group] + self.update_gradients


class _PassMessages(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, network: RelationalNetwork, layout: Layout, layers: int, *weights: Tensor) -> Tensor:
        if is_trained_by_kernel(network, layout, weights):
            ctx.kernel = kernel = KernelPass(network, layout, weights, keep=True)
            return kernel.run(layers)
        ctx.kernel = None
        engine = make_message_passing(network, layout, weights)
        x = weights[0].new_zeros(layout.node_count, network.spec.embedding)
        ctx.layers = []
        for _ in range(layers):
            if network.before_layer is not None:
                network.before_layer()
            x, saved = engine.forward(x, keep=True)
            ctx.layers.append(saved)
        ctx.engine = engine
        ctx.before_layer = network.before_layer
        return x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.kernel is not None:
            return (None, None, None, *ctx.kernel.gradients(gradients[0].contiguous()))
        engine: MessagePassing = ctx.engine
        engine.start_gradients()
        gradient = gradients[0].contiguous()
        while ctx.layers:
            if ctx.before_layer is not None:
                ctx.before_layer()
            gradient = engine.backward(ctx.layers.pop(), gradient)
        return (None, None, None, *engine.gradients())


def make_message_passing(network: RelationalNetwork, layout: Layout, weights: tuple[Tensor, ...]) -> MessagePassing:
    """The engine for the device of the batch: fused kernels on a GPU, if they can be compiled."""
    if layout.slot_offset.device.type == "cuda":
        from saltus.model.cuda import CudaMessagePassing, is_available

        if is_available():
            return CudaMessagePassing(network, layout, weights)
    return MessagePassing(network, layout, weights)


def message_passing_weights(network: RelationalNetwork) -> tuple[Tensor, ...]:
    """Weights of message passing, in the order that the engine expects: of networks with one hidden layer."""
    weights: list[Tensor] = []
    for part in network.message_weights():
        weights += [part.weight1, part.bias1, part.weight2, part.bias2]
    update = network.update
    weights += [update.first.weight, update.first.bias, update.second.weight, update.second.bias]
    if network.norm is not None:
        weights += [network.norm.weight, network.norm.bias]
    return tuple(weights)


def pass_messages(network: RelationalNetwork, layout: Layout, layers: int) -> Tensor:
    """Embeddings [nodes, embedding] after `layers` layers. Nothing is saved if no gradient is needed."""
    weights = message_passing_weights(network)
    if torch.is_grad_enabled() and any(weight.requires_grad for weight in weights):
        result: Tensor = _PassMessages.apply(network, layout, layers, *weights)  # type: ignore[no-untyped-call]
        return result
    weights = tuple(weight.detach() for weight in weights)
    if is_trained_by_kernel(network, layout, weights):
        return KernelPass(network, layout, weights, keep=False).run(layers)
    engine = make_message_passing(network, layout, weights)
    x = weights[0].new_zeros(layout.node_count, network.spec.embedding)
    for _ in range(layers):
        if network.before_layer is not None:
            network.before_layer()
        x, _ = engine.forward(x, keep=False)
    return x
