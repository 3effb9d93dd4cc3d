"""Sums over segments and their reverse: values and gradients, empty segments included."""

from __future__ import annotations

import torch

from saltus.model.segments import segment_sum, spread

OWNER = torch.tensor([0, 0, 2, 2, 2, 5])
OFFSET = torch.tensor([0, 2, 2, 5, 5, 5, 6], dtype=torch.int32)


def test_sums_of_segments() -> None:
    values = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    found = segment_sum(values, OFFSET, OWNER)
    assert torch.allclose(found, torch.zeros(6, 3, dtype=torch.float64).index_add(0, OWNER, values), rtol=1e-14)
    assert (found[[1, 3, 4]] == 0).all()
    weights = torch.randn_like(found)
    (found * weights).sum().backward()
    assert values.grad is not None
    assert torch.equal(values.grad, weights[OWNER])


def test_rows_of_segments() -> None:
    values = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    found = spread(values, OFFSET, OWNER)
    assert torch.equal(found, values[OWNER])
    weights = torch.randn_like(found)
    (found * weights).sum().backward()
    assert values.grad is not None
    assert torch.allclose(values.grad, torch.zeros_like(values).index_add(0, OWNER, weights), rtol=1e-14)


def test_a_sum_runs_in_the_order_of_the_rows() -> None:
    """Bit for bit, for any number of rows: a training run must come out the same every time."""
    values = torch.randn(5000, 4)
    total = torch.zeros(4)
    for row in values:
        total += row
    offset = torch.tensor([0, 5000], dtype=torch.int32)
    assert torch.equal(segment_sum(values, offset, torch.zeros(5000, dtype=torch.int64))[0], total)
