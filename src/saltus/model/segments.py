"""Stage `model`: sums over segments of adjacent rows, with gradient and without atomics: the order of sums is fixed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def _sums(values: Tensor, offset: Tensor) -> Tensor:
    """[segments, width]: sums of the rows offset[i] to offset[i + 1], 0 for an empty segment; without gradient."""
    return torch.segment_reduce(values, "sum", offsets=offset, axis=0, initial=0)


class _SegmentSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, offset: Tensor, owner: Tensor) -> Tensor:
        ctx.save_for_backward(owner)
        return _sums(values, offset)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (owner,) = ctx.saved_tensors
        return gradients[0].index_select(0, owner), None, None


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, offset: Tensor, owner: Tensor) -> Tensor:
        ctx.save_for_backward(offset)
        return values.index_select(0, owner)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (offset,) = ctx.saved_tensors
        return _sums(gradients[0], offset), None, None


def spread(values: Tensor, offset: Tensor, owner: Tensor) -> Tensor:
    """The row of its segment for each entry, with gradient; the reverse of `segment_sum`."""
    result: Tensor = _Spread.apply(values, offset, owner)  # type: ignore[no-untyped-call]
    return result


def segment_sum(values: Tensor, offset: Tensor, owner: Tensor) -> Tensor:
    """Sum of each segment of adjacent rows, with gradient; `owner` is the segment of each row."""
    result: Tensor = _SegmentSum.apply(values, offset, owner)  # type: ignore[no-untyped-call]
    return result
