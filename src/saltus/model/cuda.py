"""Stage `model`: the layers of message passing on a GPU, with fused Triton kernels (`triton_kernels.py`).

Hidden layers before activation are kept for the backward pass. The arities do not wait for each other, and the next
layer does not wait for the gradients of the weights: each of these has a branch of its own (`branches.py`), since the
batch of one run does not fill a large GPU.

A product in float32 is made of three TF32 products (`tf32x3`) and as exact as float32, unless the specification asks
for less. Networks with relations of more than four arguments are left to the plain twin.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import importlib.util
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saltus.model.branches import Branch
from saltus.model.layout import Layout
from saltus.model.values import NODES, SHARPNESS, TILE

if TYPE_CHECKING:
    from saltus.model.rgnn import RelationalNetwork

PRECISIONS = {"float32": "tf32x3", "tf32": "tf32", "bf16": "bf16"}
"""How the kernels multiply, by the precision of the specification."""


def is_available() -> bool:
    """Whether Triton is installed."""
    return importlib.util.find_spec("triton") is not None


def is_fused(network: RelationalNetwork) -> bool:
    """Whether the fused kernels can run the network on a GPU, in float32."""
    spec = network.spec
    sizes = spec.embedding in (16, 32, 64) and max(network.arities, default=1) <= 4
    return sizes and spec.hidden_layers == 1 and is_available()


if is_available():
    from saltus.model.triton_kernels import (
        aggregate_kernel,
        backward_kernel,
        messages_kernel,
        segment_sum_kernel,
        update_backward_kernel,
        update_kernel,
        weights_kernel,
    )


@dataclass
class Saved:
    """What the backward pass of one layer needs."""

    x: Tensor
    joined: Tensor
    hidden: list[Tensor]
    """Per group [rows, arity * embedding]: the hidden layer before the activation."""
    messages: Tensor
    """[slots, embedding]: from them the derivatives of the aggregate are computed."""


class CudaPass:
    """One pass of a network over one batch. Messages are in slot order, so that those to a node are adjacent."""

    def __init__(self, network: RelationalNetwork, layout: Layout, weights: tuple[Tensor, ...], keep: bool) -> None:
        self.layout = layout
        self.keep = keep
        self.size = network.spec.embedding
        self.message_weights = [weights[4 * i : 4 * i + 4] for i in range(len(layout.groups))]
        self.update1, self.bias1, self.update2, self.bias2, self.scale, self.shift = weights[4 * len(layout.groups) :]
        self.precision = PRECISIONS[network.spec.precision]
        self.node_tiles = -(-layout.node_count // NODES)
        self.device = weights[0].device
        self.before_layer = network.before_layer
        self.saved: list[Saved] = []
        self.branches = {
            number: Branch(self.device, number, urgent=True)
            for number, group in reversed(list(enumerate(layout.groups)))
            if len(group.tiles)
        }
        """Where the groups that have atoms are processed. Those of the highest arity take longest and begin first."""

    def run(self, layers: int) -> Tensor:
        """Embeddings [nodes, embedding] after so many layers."""
        x = self.update1.new_zeros(self.layout.node_count, self.size)
        for _ in range(layers):
            self._before_layer()
            x = self._forward(x)
        return x

    def gradients(self, gradient: Tensor) -> list[Tensor]:
        """Gradients of the weights, from that of the embeddings; to be asked for once."""
        self._start_gradients()
        while self.saved:
            self._before_layer()
            gradient = self._backward(self.saved.pop(), gradient)
        return self._weight_gradients()

    def _before_layer(self) -> None:
        if self.before_layer is not None:
            self.before_layer()

    def _forward(self, x: Tensor) -> Tensor:
        """Embeddings after one more layer; what its backward pass needs is saved."""
        layout, keep = self.layout, self.keep
        messages = x.new_empty(max(1, layout.slot_count), self.size)
        hidden = [x.new_empty(group.index.numel() * self.size if keep else 0) for group in layout.groups]
        for number, branch in self.branches.items():
            group, (w1, b1, w2, b2) = layout.groups[number], self.message_weights[number]
            branch.start()
            with branch.work():
                messages_kernel[(len(group.tiles),)](
                    x, group.index, group.position, group.tiles, w1, b1, w2, b2, messages,
                    hidden[number], KEEP=keep, A=group.arity, D=self.size, BM=TILE, P=self.precision, num_warps=4,
                )  # fmt: skip
        for branch in self.branches.values():
            branch.join()
        joined, result = torch.empty_like(x), torch.empty_like(x)
        aggregate_kernel[(layout.node_count,)](
            messages, layout.slot_offset, joined, SHARPNESS, D=self.size, BS=TILE, num_warps=2
        )
        update_kernel[(self.node_tiles,)](
            x, joined, self.update1, self.bias1, self.update2, self.bias2, self.scale, self.shift, result,
            layout.node_count, D=self.size, BN=NODES, P=self.precision, num_warps=4,
        )  # fmt: skip
        if keep:
            self.saved.append(Saved(x, joined, hidden, messages))
        return result

    def _start_gradients(self) -> None:
        """Sets the sums of the gradients of the weights, one row per piece of work, to zero."""
        layout, new = self.layout, self.update1
        self.sums: list[tuple[Tensor, Tensor]] = []
        for group in layout.groups:
            width = group.arity * self.size
            self.sums.append(
                (new.new_zeros(len(group.pieces), 2, width, width), new.new_zeros(len(group.pieces), 2, width))
            )
        self.update_sums = new.new_zeros(self.node_tiles, 6 * self.size**2 + 5 * self.size)
        self.d_slots = new.new_empty(max(1, layout.slot_count), self.size)
        self.weight_work = {number: _WeightWork(self, number) for number in self.branches}
        self.kept: list[Tensor] = []
        """Embeddings and hidden layers that branches may still read."""

    def _backward(self, saved: Saved, gradient: Tensor) -> Tensor:
        """Gradient with respect to the embeddings before the layer; gradients of the weights are added up."""
        layout = self.layout
        d_x, d_joined, result = (torch.empty_like(gradient) for _ in range(3))
        update_backward_kernel[(self.node_tiles,)](
            saved.x, saved.joined, self.update1, self.bias1, self.update2, self.bias2, self.scale, gradient,
            d_x, d_joined, self.update_sums, layout.node_count,
            D=self.size, BN=NODES, P=self.precision, num_warps=4,
        )  # fmt: skip
        self.kept += [saved.x, *saved.hidden]
        for number, branch in self.branches.items():
            group, work = layout.groups[number], self.weight_work[number]
            w1, _, w2, _ = self.message_weights[number]
            branch.start()
            scratch = work.free_scratch(branch)
            with branch.work():
                backward_kernel[(len(group.tiles),)](
                    saved.messages, saved.joined, d_joined, group.index, group.position, group.tiles, w1, w2,
                    saved.hidden[number], self.d_slots, *scratch, SHARPNESS,
                    A=group.arity, D=self.size, BM=TILE, P=self.precision, num_warps=4,
                )  # fmt: skip
            work.branch.follow(branch)
            with work.branch.work():
                weights_kernel[(len(group.pieces), group.arity * group.arity, 2)](
                    saved.x, group.index, group.pieces, saved.hidden[number], *scratch, *self.sums[number],
                    A=group.arity, D=self.size, BM=TILE, P=self.precision, num_warps=2,
                )  # fmt: skip
            work.give_back(scratch)
        for branch in self.branches.values():
            branch.join()
        segment_sum_kernel[(layout.node_count,)](
            self.d_slots, layout.slot_offset, d_x, result, D=self.size, BS=TILE, num_warps=1
        )
        return result

    def _weight_gradients(self) -> list[Tensor]:
        """Gradients of all weights: the sums over the rows of each relation, in a fixed order."""
        for work in self.weight_work.values():
            work.branch.join()
        self.kept.clear()
        result: list[Tensor] = []
        for group, weights, parts in zip(self.layout.groups, self.message_weights, self.sums, strict=True):
            matrices, biases = (self._sum_pieces(group.piece_offset, part) for part in parts)
            result += [
                part[:, which].reshape(weight.shape)
                for (part, which), weight in zip(
                    ((matrices, 0), (biases, 0), (matrices, 1), (biases, 1)), weights, strict=True
                )
            ]
        total = self.update_sums.sum(0)
        square = self.size**2
        parts = total.split([4 * square, 2 * square, 2 * self.size, self.size, self.size, self.size])
        u1, u2, c1, c2, scale, shift = parts
        update = [u1.view(self.update1.shape), c1, u2.view(self.update2.shape), c2]
        return [*result, *update, scale, shift]

    def _sum_pieces(self, offset: Tensor, part: Tensor) -> Tensor:
        """Sums of adjacent rows, one per relation."""
        flat = part.reshape(len(part), -1)
        if not len(flat):
            return part.new_zeros(len(offset) - 1, *part.shape[1:])
        total = torch.segment_reduce(flat, "sum", offsets=offset, axis=0, initial=0)
        return total.reshape(len(offset) - 1, *part.shape[1:])


class _WeightWork:
    """The branch that sums the gradients of a group's weights, and what the layers leave there for it.

    Two layers may be under way: one writes while the other is read.
    """

    def __init__(self, passing: CudaPass, number: int) -> None:
        group = passing.layout.groups[number]
        self.branch = Branch(passing.device, len(passing.layout.groups) + number)
        new = passing.update1
        self.free: deque[tuple[list[Tensor], Any]] = deque(
            ([new.new_empty(group.index.numel() * passing.size) for _ in range(2)], None) for _ in range(2)
        )

    def free_scratch(self, branch: Branch) -> list[Tensor]:
        """Memory for one layer, which the branch may write to once it has been read."""
        scratch, mark = self.free.popleft()
        branch.wait(mark)
        return scratch

    def give_back(self, scratch: list[Tensor]) -> None:
        """Marks memory as free after all work of the branch so far."""
        self.free.append((scratch, self.branch.mark()))
