"""The kernel's reductions and Mish against PyTorch, on inputs large enough to be shared out among threads."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
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


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_streamed_maximum(real: type[np.floating]) -> None:
    """The smooth maximum in the order of the rows is the one by segments; empty segments give 0."""
    offset, source, target = segments(6, 700, 9001)
    values = np.random.default_rng(7).normal(scale=30, size=(9001, 32)).astype(real)
    wanted, found = (np.empty((700, 32), real) for _ in range(2))
    _kernel.smooth_maximum(values, offset, source, 12.0, wanted, None, 1)
    _kernel.smooth_maximum_streamed(values, target.astype(np.int32), 12.0, found)
    assert (np.diff(offset) == 0).any()
    assert np.abs(found - wanted).max() < TOLERANCE[real] * 100


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_gathered_layer(real: type[np.floating], threads: int) -> None:
    """The first layer of a perceptron over nodes' rows, from what each node adds to it."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(40, 8)).astype(real)
    weight = rng.normal(size=(3, 8, 24)).astype(real)
    biases = rng.normal(size=(2, 24)).astype(real)
    index = rng.integers(40, size=(5000, 3)).astype(np.int32)
    table = np.einsum("ns,psw->npw", x, weight).reshape(40, 72).astype(real)
    residual, active = (np.empty((5000, 24), real) for _ in range(2))
    _kernel.gather_active(x, table, index, biases, residual, active, threads)
    arguments = x[index].reshape(5000, 24)
    inner = arguments.astype(np.float64) @ weight.reshape(24, 24) + biases[0]
    assert np.abs(residual - (arguments + biases[1])).max() < TOLERANCE[real] * 10
    assert np.abs(active - functional.mish(torch.from_numpy(inner)).numpy()).max() < TOLERANCE[real] * 100


def test_what_does_not_fit_is_refused() -> None:
    x, table, biases = np.zeros((4, 2)), np.zeros((4, 8)), np.zeros((2, 4))
    rows = np.zeros((3, 4))
    for index in ([[0, 4]], [[0, -1]]):
        with pytest.raises(ValueError, match="out of range"):
            _kernel.gather_active(x, table, np.array(index * 3, np.int32), biases, rows, rows.copy(), 1)
    with pytest.raises(ValueError, match="do not fit"):
        _kernel.gather_active(x, table[:3], np.zeros((3, 2), np.int32), biases, rows, rows.copy(), 1)
    with pytest.raises(ValueError, match="out of range"):
        _kernel.smooth_maximum_streamed(rows, np.array([0, 1, 7], np.int32), 12.0, np.zeros((2, 4)))
    with pytest.raises(ValueError, match="do not fit"):
        _kernel.smooth_maximum_streamed(rows, np.array([0, 1], np.int32), 12.0, np.zeros((2, 4)))


def placed(values: NDArray[Any], offset: int) -> NDArray[Any]:
    """A copy that begins so many elements after a multiple of sixteen of them."""
    room = np.zeros(values.size + 64, values.dtype)
    start = -(room.ctypes.data // values.itemsize) % 16 + offset
    copy = room[start : start + values.size].reshape(values.shape)
    copy[...] = values
    return copy


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("width", [7, 8, 32, 96])
def test_results_do_not_depend_on_where_arrays_lie(real: type[np.floating], width: int) -> None:
    """Bit for bit, in place or not: a training run must come out the same every time."""
    rng = np.random.default_rng(width)
    rows, count = 37, 11
    values = (3 * rng.standard_normal((rows, width))).astype(real)
    owner = rng.integers(0, count, rows).astype(np.int32)
    source = np.argsort(owner, kind="stable").astype(np.int32)
    offset = np.searchsorted(owner[source], np.arange(count + 1)).astype(np.int32)
    seen: dict[str, set[bytes]] = defaultdict(set)
    for one, two in itertools.product(range(0, 16, 3), range(0, 16, 5)):
        x, output = placed(values, one), placed(values, two)
        joined = placed(np.zeros((count, width), real), two)
        _kernel.mish(x, output, 1)
        seen["mish"].add(output.tobytes())
        _kernel.mish_backward(x, x, output, 1)
        seen["backward"].add(output.tobytes())
        _kernel.smooth_maximum_streamed(x, owner, 12.0, joined)
        seen["streamed"].add(joined.tobytes())
        _kernel.smooth_maximum(x, offset, source, 12.0, joined, output, 1)
        seen["smooth"].add(joined.tobytes() + output.tobytes())
        _kernel.smooth_maximum(x, offset, source, 12.0, joined, x, 1)
        seen["smooth"].add(joined.tobytes() + x.tobytes())
        x = placed(values, one)
        _kernel.mish(x, x, 1)
        seen["mish"].add(x.tobytes())
    assert {name: len(results) for name, results in seen.items()} == dict.fromkeys(seen, 1)
