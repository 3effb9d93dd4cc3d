"""The kernel's reductions and Mish against PyTorch, on inputs large enough to be shared out among threads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from saltus import _kernel

pytestmark = pytest.mark.kernel

TOLERANCE = {np.float32: 2e-6, np.float64: 1e-13}


def segments(seed: int, count: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offsets of segments of very different lengths, some empty; an order of the rows; the segment of every row."""
    rng = np.random.default_rng(seed)
    owner = np.sort((count * rng.random(rows) ** 3).astype(np.int32))
    offset = np.searchsorted(owner, np.arange(count + 1)).astype(np.int32)
    source = rng.permutation(rows).astype(np.int32)
    target = np.empty(rows, np.int64)
    target[source] = owner
    return offset, source, target


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_mish(real: type[np.floating], threads: int) -> None:
    rng = np.random.default_rng(1)
    x, g = (rng.normal(scale=9, size=(9001, 32)).astype(real) for _ in range(2))
    x[0, :4] = -200, -30, 45, 300
    variable = torch.from_numpy(x.astype(np.float64)).requires_grad_()
    functional.mish(variable).backward(torch.from_numpy(g.astype(np.float64)))
    value, slope = np.empty_like(x), np.empty_like(x)
    _kernel.mish(x, value, threads)
    _kernel.mish_backward(x, g, slope, threads)
    assert variable.grad is not None
    for found, wanted in ((value, functional.mish(variable).detach()), (slope, variable.grad)):
        assert np.abs(found - wanted.numpy()).max() < TOLERANCE[real] * 300


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_reductions(real: type[np.floating], threads: int) -> None:
    """Sum, maximum, smooth maximum and its shares."""
    count, rows, width, sharpness = 700, 9001, 32, 12.0
    offset, source, target = segments(2, count, rows)
    values = np.random.default_rng(3).normal(size=(rows, width)).astype(real)
    exact = torch.from_numpy(values.astype(np.float64))
    place = torch.from_numpy(target)[:, None].expand_as(exact)
    base = torch.full((count, width), -torch.inf, dtype=torch.float64)
    highest = base.scatter_reduce(0, place, exact, "amax")
    parts = torch.exp(sharpness * (exact - highest[target]))
    total = torch.zeros(count, width, dtype=torch.float64).index_add(0, torch.from_numpy(target), parts)
    empty = torch.isinf(highest)
    smooth = (highest + torch.log(total) / sharpness).masked_fill(empty, 0.0)
    found = np.empty((count, width), real)
    _kernel.reduce_segments(values, offset, source, found, True, threads)
    assert np.array_equal(found, highest.numpy().astype(real))
    _kernel.reduce_segments(values, offset, source, found, False, threads)
    added = torch.zeros(count, width, dtype=torch.float64).index_add(0, torch.from_numpy(target), exact)
    assert np.abs(found - added.numpy()).max() < TOLERANCE[real] * 1000
    share = np.empty_like(values)
    _kernel.smooth_maximum(values, offset, source, sharpness, found, share, threads)
    assert np.abs(found - smooth.numpy()).max() < TOLERANCE[real] * 10
    assert np.abs(share - (parts / total[target]).numpy()).max() < TOLERANCE[real] * 10
