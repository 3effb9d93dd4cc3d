"""Stage `model`: reductions over segments of rows, without atomics, and the Mish activation.

On the CPU the kernel computes them (float32 and float64, several threads); on other devices, PyTorch does. The rows of
a segment are adjacent (`source` is None) or listed by `source`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from saltus import _kernel


def reduce_segments(values: Tensor, offset: Tensor, source: Tensor | None, owner: Tensor, kind: str) -> Tensor:
    """Sum or maximum of each segment of rows, [segments, width]; an empty sum is 0, an empty maximum -inf.

    Segment i has the rows source[offset[i]:offset[i+1]] of `values`; `owner` is the segment of each entry of `source`.
    Without gradient; `segment_sum` has one.
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
    """Mish of a matrix, without gradient; written to `output`, which may be `x`, if given."""
    if x.device.type != "cpu":
        result = functional.mish(x)
        return result if output is None else output.copy_(result)
    result = torch.empty_like(x) if output is None else output
    _kernel.mish(x.numpy(), result.numpy(), torch.get_num_threads())
    return result


def mish_backward(gradient: Tensor, x: Tensor) -> Tensor:
    """Gradient with respect to the input of Mish; on the CPU it overwrites `gradient`."""
    if x.device.type != "cpu":
        return torch.ops.aten.mish_backward(gradient, x)  # type: ignore[no-any-return]
    _kernel.mish_backward(x.numpy(), gradient.numpy(), gradient.numpy(), torch.get_num_threads())
    return gradient


def smooth_maximum(
    values: Tensor, offset: Tensor, source: Tensor, target: Tensor, sharpness: float, *, keep: bool
) -> tuple[Tensor, Tensor]:
    """Smooth maximum of each segment, 0 for an empty one; and, if `keep`, the share of each row in the sum of its
    segment, which overwrites `values`.

    Segment i has the rows source[offset[i]:offset[i+1]]; `target` is the segment of each row.
    """
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
    """Hidden layer of a perceptron over the embeddings of several nodes, summed from what each node contributes.

    `table` [nodes, arity * width] holds the contribution of each node at each position, `index` [rows, arity] the
    nodes, and `biases` [2, width] the biases of both linear maps. Writes `active`, the hidden layer after Mish, and
    `residual`, the nodes' embeddings plus the second bias. For the CPU, without gradient.
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
    """The row of its segment for each entry, with gradient; the reverse of `segment_sum`."""
    result: Tensor = _Spread.apply(values, offset, owner)  # type: ignore[no-untyped-call]
    return result


def segment_sum(values: Tensor, offset: Tensor, owner: Tensor) -> Tensor:
    """Sum of each segment of adjacent rows, with gradient; `owner` is the segment of each row."""
    result: Tensor = _SegmentSum.apply(values, offset, owner)  # type: ignore[no-untyped-call]
    return result
