"""Stage `learn`: targets and losses, as pure functions of tensors.

The paper's section "Learning Generalized Policies": the reward of a jump is minus its cost, which is 1 in the paper
(`TrainingSpec.cost`); the value of a state is the mellowmax of the Q-values of its tree. The terms of the loss are the
Huber loss of the TD error, the Huber loss of what exceeds the bounds of a trajectory that reached its goal, and a loss
that ranks depth nodes. Rows are samples; masks are false for padding.

`TERMS` lists the terms by name; the loss is their sum (the paper). The mean of each appears, under its name, in the
report of every episode and in the log.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from saltus.learn.experience import Final


def mellowmax(q: Tensor, mask: Tensor, factor: float) -> Tensor:
    """[rows]: log(mean(exp(factor q))) / factor over the entries of each row; 0 for a row without entries."""
    some = mask.any(dim=1)
    filled = q.masked_fill(~mask, -math.inf)
    filled = torch.where(some[:, None], filled, torch.zeros_like(filled))
    total = torch.logsumexp(factor * filled, dim=1)
    count = mask.sum(dim=1).clamp(min=1).to(q.dtype)
    return torch.where(some, (total - count.log()) / factor, torch.zeros_like(total))


def td_target(value: Tensor, cost: Tensor, final: Tensor, discount: float, dead_end: float) -> Tensor:
    """Discounted value of the successor minus the cost of the jump; minus the cost alone if it is a goal, `dead_end` if
    it is a dead end."""
    target = discount * value - cost
    target = torch.where(final == int(Final.GOAL), -cost, target)
    return torch.where(final == int(Final.DEAD_END), torch.full_like(target, dead_end), target)


def huber(difference: Tensor) -> Tensor:
    """Huber loss with delta 1."""
    return functional.huber_loss(difference, torch.zeros_like(difference), reduction="none")


def bounds_loss(q: Tensor, bound: Tensor, cost: Tensor) -> Tensor:
    """Huber loss of how far a Q-value is below the return of its trajectory, or above that of the jump alone; 0 where
    `bound` is nan."""
    lower = torch.nan_to_num(bound, nan=-math.inf)
    below = (lower - q).clamp(min=0.0)
    above = (q + cost).clamp(min=0.0)
    known = ~torch.isnan(bound)
    return torch.where(known, huber(below) + huber(above), torch.zeros_like(q))


def rank_loss(z: Tensor, mask: Tensor) -> Tensor:
    """The paper's rank loss of depth scores [rows, depths], which are in the order of their depths.

    A pair k < l has the weight 1 / (l - k). The loss is 0 for rows with fewer than two depths.
    """
    depths = torch.arange(z.shape[1], device=z.device)
    gap = (depths[None, :] - depths[:, None]).to(z.dtype)  # [k, l]
    weight = torch.where(gap > 0, 1.0 / gap.clamp(min=1.0), torch.zeros_like(gap))
    pairs = weight * (mask[:, :, None] & mask[:, None, :])  # [rows, k, l]
    losses = functional.softplus(z[:, :, None] - z[:, None, :])
    return (pairs * losses).sum(dim=(1, 2)) / pairs.sum(dim=(1, 2)).clamp(min=1e-12)


# -- the terms of the loss -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Predictions:
    """What the terms of the loss compare."""

    q: Tensor
    """[samples]: Q-values of the jumps taken."""
    target: Tensor
    """[samples]"""
    bound: Tensor
    """[samples]: return of the trajectory; nan where it did not reach its goal."""
    cost: Tensor
    """[samples]: costs of the jumps."""
    depth: Tensor
    """[depth nodes]: scores of the depth nodes of all samples."""
    depth_index: Tensor
    """[samples, depths]: depth nodes in the order of their depths, padded with 0."""
    depth_mask: Tensor


TERMS = ("td", "bounds", "rank")
"""Terms of the loss by name."""

TD_ERROR = "td_error"
"""Name of the mean absolute TD error, which is reported but not minimised."""

FIGURES = (*TERMS, TD_ERROR)
"""Names of the means that a step reports."""

Means = dict[str, float]
"""Means of a step or an episode by name, one for each of `FIGURES`."""


@dataclass(frozen=True, eq=False)
class BatchLoss:
    """The loss of a batch."""

    total: Tensor
    """What is minimised, with gradient."""
    packed: Tensor
    """[samples + figures]: the loss of each sample and the means, as one tensor that is copied from a GPU at once."""


def batch_loss(found: Predictions, importance: Tensor) -> BatchLoss:
    """The sum of all terms; `importance` [samples] holds the importance weights."""
    difference = found.q - found.target
    td, bounds, rank = huber(difference), bounds_loss(found.q, found.bound, found.cost), torch.zeros_like(found.q)
    if len(found.depth):
        rank = rank_loss(found.depth[found.depth_index], found.depth_mask)
    each = td + bounds  # what counts towards the priority of a sample, and has its importance weight
    total = (importance * each).mean() + rank.mean()
    means = torch.stack([td.mean(), bounds.mean(), rank.mean(), difference.abs().mean()])
    return BatchLoss(total, torch.cat([each, means]).detach())


def unpack(packed: NDArray[np.float32]) -> tuple[NDArray[np.float32], Means]:
    """The loss of each sample and the means, from `BatchLoss.packed`."""
    count = len(FIGURES)
    return packed[:-count].copy(), dict(zip(FIGURES, packed[-count:].tolist(), strict=True))


def mean_of(steps: Sequence[Means]) -> Means:
    """Means over some steps; 0 without steps."""
    total = dict.fromkeys(FIGURES, 0.0)
    for means in steps:
        total = {name: value + means[name] for name, value in total.items()}
    return {name: value / max(1, len(steps)) for name, value in total.items()}


def total_of(means: Means) -> float:
    """The loss: the sum of the means, without importance weights."""
    return sum(means[name] for name in TERMS)
