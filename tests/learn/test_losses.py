"""Targets and losses against answers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from saltus.learn.experience import Final, return_to_go
from saltus.learn.losses import (
    FIGURES,
    TERMS,
    Predictions,
    batch_loss,
    bounds_loss,
    huber,
    mean_of,
    mellowmax,
    rank_loss,
    td_target,
    total_of,
    unpack,
)

NAN = float("nan")


def test_mellowmax() -> None:
    q = torch.tensor([[-1.0, -2.0, 9.0], [-3.0, 9.0, 9.0], [5.0, 5.0, 5.0]])
    mask = torch.tensor([[True, True, False], [True, False, False], [False, False, False]])
    # log((e^-10 + e^-20) / 2) / 10 = (-10 + log1p(e^-10) - log 2) / 10
    first = (-10 + math.log1p(math.exp(-10)) - math.log(2)) / 10
    assert mellowmax(q, mask, 10.0).tolist() == pytest.approx([first, -3.0, 0.0])
    # one value, however often it stands there, is its own mellowmax
    assert mellowmax(torch.full((1, 7), -4.0), torch.ones(1, 7, dtype=torch.bool), 10.0).item() == pytest.approx(-4.0)


def test_mellowmax_of_large_values_does_not_overflow() -> None:
    q = torch.tensor([[-1000.0, -1000.5]])
    assert math.isfinite(mellowmax(q, torch.ones(1, 2, dtype=torch.bool), 10.0).item())


def test_targets() -> None:
    final = torch.tensor([int(Final.NO), int(Final.GOAL), int(Final.DEAD_END)])
    value = torch.tensor([-4.0, -7.0, -7.0])
    one, three = torch.ones(3), torch.full((3,), 3.0)
    assert td_target(value, one, final, 0.9, -50.0).tolist() == pytest.approx([-4.6, -1.0, -50.0])
    assert td_target(value, three, final, 0.9, -50.0).tolist() == pytest.approx([-6.6, -3.0, -50.0])


def test_huber() -> None:
    assert huber(torch.tensor([0.0, 0.5, -0.5, 3.0, -3.0])).tolist() == pytest.approx([0.0, 0.125, 0.125, 2.5, 2.5])


def test_bounds() -> None:
    q = torch.tensor([-2.0, -6.0, -0.5, -6.0, 4.0])
    bound = torch.tensor([-3.0, -3.0, -3.0, NAN, NAN])
    # inside; three below: 3 - 1/2; half above -1: 1/8; unknown bounds count nothing
    assert bounds_loss(q, bound, torch.ones(5)).tolist() == pytest.approx([0.0, 2.5, 0.125, 0.0, 0.0])
    # a jump that costs 2.5: -2 is half above -2.5, -1/2 is two above it
    assert bounds_loss(q, bound, torch.full((5,), 2.5)).tolist() == pytest.approx([0.125, 2.5, 1.5, 0.0, 0.0])


def test_bounds_have_gradients_only_outside_and_none_are_nan() -> None:
    q = torch.tensor([-2.0, -6.0, -0.5, -6.0], requires_grad=True)
    bounds_loss(q, torch.tensor([-3.0, -3.0, -3.0, NAN]), torch.ones(4)).sum().backward()
    assert q.grad is not None
    assert q.grad.tolist() == pytest.approx([0.0, -1.0, 0.5, 0.0])


def test_return_to_go() -> None:
    assert return_to_go([], 0.9) == 0
    assert return_to_go([1.0, 1.0, 1.0], 0.9) == pytest.approx(-(1 + 0.9 + 0.81))
    assert return_to_go([3.0, 1.0, 0.5], 0.9) == pytest.approx(-(3 + 0.9 + 0.405))


def test_rank_loss_of_three_depths() -> None:
    z = torch.tensor([[0.0, 1.0, 3.0, 99.0]])
    mask = torch.tensor([[True, True, True, False]])

    def part(difference: float) -> float:
        return math.log1p(math.exp(difference))

    wanted = (part(0 - 1) + part(1 - 3) + 0.5 * part(0 - 3)) / 2.5
    assert rank_loss(z, mask).item() == pytest.approx(wanted)


def test_rank_loss_is_small_in_order_large_out_of_order_and_0_without_pairs() -> None:
    mask = torch.ones(1, 4, dtype=torch.bool)
    rising, falling = torch.tensor([[0.0, 9.0, 18.0, 27.0]]), torch.tensor([[27.0, 18.0, 9.0, 0.0]])
    assert rank_loss(rising, mask).item() < 1e-3
    assert rank_loss(falling, mask).item() > 9
    assert rank_loss(torch.tensor([[5.0, 7.0]]), torch.tensor([[True, False]])).item() == 0.0


def predictions(depth: torch.Tensor | None = None) -> Predictions:
    """Two samples: TD errors 1/2 and -3; the second is one below its bound. Its tree has two depths, out of order."""
    return Predictions(
        q=torch.tensor([-2.0, -6.0], requires_grad=True),
        target=torch.tensor([-2.5, -3.0]),
        bound=torch.tensor([NAN, -5.0]),
        cost=torch.ones(2),
        depth=torch.tensor([4.0, 1.0]) if depth is None else depth,
        depth_index=torch.tensor([[0, 0], [0, 1]]),
        depth_mask=torch.tensor([[True, False], [True, True]]),
    )


RANK = math.log1p(math.exp(3.0))


def test_the_loss_of_a_batch() -> None:
    """Importance weights, here 1/2, apply to TD and bounds alone; the rank is not part of a sample's loss."""
    found = predictions()
    loss = batch_loss(found, torch.tensor([0.5, 0.5]))
    assert loss.total.item() == pytest.approx(0.78125 + 0.5 * RANK)
    samples, figures = unpack(loss.packed.numpy())
    assert samples.tolist() == pytest.approx([0.125, 3.0])
    assert list(figures) == ["td", "bounds", "rank", "td_error"]
    assert list(figures.values()) == pytest.approx([1.3125, 0.25, RANK / 2, 1.75])
    assert total_of(figures) == pytest.approx(1.3125 + 0.25 + RANK / 2)
    loss.total.backward()  # type: ignore[no-untyped-call]
    assert found.q.grad is not None
    assert found.q.grad.tolist() == pytest.approx([0.125, -0.5])


def test_without_depth_nodes_there_is_no_rank_loss() -> None:
    loss = batch_loss(predictions(torch.zeros(0)), torch.ones(2))
    assert unpack(loss.packed.numpy())[1]["rank"] == 0.0


def test_means_of_steps() -> None:
    steps = [dict.fromkeys(FIGURES, value) for value in (1.0, 2.0, 6.0)]
    assert mean_of(steps) == dict.fromkeys(FIGURES, 3.0)
    assert mean_of([]) == dict.fromkeys(FIGURES, 0.0)


def test_names_of_terms_are_the_names_in_logs() -> None:
    """Old logs have these keys."""
    assert list(TERMS) == ["td", "bounds", "rank"]
    assert (*TERMS, "td_error") == FIGURES
