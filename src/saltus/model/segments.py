"""Stage `model`: reductions over segments of rows, without atomics, and Mish, by the kernel on the CPU.

On the CPU the kernel works (float32 and float64, several threads); elsewhere PyTorch does. Rows of one segment may be
given in place (`source` None) or through an order.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from saltus import _kernel


def reduce_segments(values: Tensor, offset: Tensor, source: Tensor | None, owner: Tensor, kind: str) -> Tensor:
    """Sum or maximum of every segment of rows, [segments, width]; the empty sum is 0, the empty maximum -inf.

    Segment i has the rows source[offset[i]:offset[i+1]] of `values`; `owner` names the segment of every entry of
    `source`. No gradient: see `segment_sum`.
    """
    if values.device.type == "cpu":
        result = values.new_empty(len(offset) - 1, values.shape[1])
        order = source.numpy() if source is not None else None
        _kernel.reduce_segments(
            values.detach().contiguous().numpy(),
            offset.numpy(),
            order,
            result.numpy(),
            kind == "max",
            torch.get_num_threads(),
        )
        return result
    rows = values if source is None else values.index_select(0, source)
    if kind == "sum":
        return torch.segment_reduce(rows, "sum", offsets=offset, axis=0, initial=0)
    result = torch.full((len(offset) - 1, values.shape[1]), -torch.inf, dtype=values.dtype, device=values.device)
    return result.scatter_reduce_(0, owner.long()[:, None].expand_as(rows), rows, "amax")


def mish(x: Tensor, output: Tensor | None = None) -> Tensor:
    """Mish of a matrix, without gradient; into `output` (which may be `x`) if given."""
    if x.device.type != "cpu":
        result = functional.mish(x)
        return result if output is None else output.copy_(result)
    result = torch.empty_like(x) if output is None else output
    _kernel.mish(x.numpy(), result.numpy(), torch.get_num_threads())
    return result


def mish_backward(gradient: Tensor, x: Tensor) -> Tensor:
    """Gradient by the input of Mish; on the CPU it takes the place of `gradient`."""
    if x.device.type != "cpu":
        return torch.ops.aten.mish_backward(gradient, x)  # type: ignore[no-any-return]
    _kernel.mish_backward(x.numpy(), gradient.numpy(), gradient.numpy(), torch.get_num_threads())
    return gradient


def smooth_maximum(
    values: Tensor, offset: Tensor, source: Tensor, target: Tensor, sharpness: float, *, keep: bool
) -> tuple[Tensor, Tensor]:
    """Smooth maximum of every segment, 0 for an empty one; and, if kept, every row's share of its segment's sum, in the
    place of `values`. Segment i has the rows source[offset[i]:offset[i+1]]; `target` names the segment of every row."""
    joined = values.new_empty(len(offset) - 1, values.shape[1])
    if values.device.type == "cpu":
        share = values.numpy() if keep else None
        threads = torch.get_num_threads()
        if threads == 1 and not keep:
            _kernel.smooth_maximum_streamed(values.numpy(), target.numpy(), sharpness, joined.numpy())
            return joined, values
        _kernel.smooth_maximum(
            values.numpy(), offset.numpy(), source.numpy(), sharpness, joined.numpy(), share, threads
        )
        return joined, values
    owner = target.index_select(0, source)
    highest = reduce_segments(values, offset, source, owner, "max")
    silent = torch.isinf(highest)
    highest.masked_fill_(silent, 0.0)
    parts = values.sub_(highest.index_select(0, target)).mul_(sharpness).exp_()
    total = reduce_segments(parts, offset, source, owner, "sum").masked_fill_(silent, 1.0)
    torch.add(highest, total.log(), alpha=1 / sharpness, out=joined)
    return joined, parts.div_(total.index_select(0, target)) if keep else parts


def gather_active(x: Tensor, table: Tensor, index: Tensor, biases: Tensor, residual: Tensor, active: Tensor) -> None:
    """First layer of a perceptron over the rows of nodes, from what each node adds to it; on the CPU, no gradient.

    `table` [nodes, arity * width] holds that for every place; `index` [rows, arity] names the nodes, `biases`
    [2, width] are of both layers. Written are `active`, the layer after Mish, and `residual`, the nodes' own rows
    plus the second bias.
    """
    _kernel.gather_active(
        x.numpy(),
        table.numpy(),
        index.numpy(),
        biases.numpy(),
        residual.numpy(),
        active.numpy(),
        torch.get_num_threads(),
    )


class _SegmentSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, offset: Tensor, owner: Tensor) -> Tensor:
        ctx.save_for_backward(owner)
        return reduce_segments(values, offset, None, owner, "sum")

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (owner,) = ctx.saved_tensors
        return gradients[0].index_select(0, owner), None, None


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, offset: Tensor, owner: Tensor) -> Tensor:
        ctx.save_for_backward(offset, owner)
        return values.index_select(0, owner)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        offset, owner = ctx.saved_tensors
        return reduce_segments(gradients[0], offset, None, owner, "sum"), None, None


def spread(values: Tensor, offset: Tensor, owner: Tensor) -> Tensor:
    """The segment's row for every entry of a segment, with gradient: the opposite of `segment_sum`."""
    result: Tensor = _Spread.apply(values, offset, owner)  # type: ignore[no-untyped-call]
    return result


def segment_sum(values: Tensor, offset: Tensor, owner: Tensor) -> Tensor:
    """Sum of every segment of adjacent rows, with gradient; `owner` names the segment of every row."""
    result: Tensor = _SegmentSum.apply(values, offset, owner)  # type: ignore[no-untyped-call]
    return result
