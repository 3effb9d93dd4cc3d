"""Stage `learn`: targets and losses, as pure functions of tensors.

The paper's section "Learning Generalized Policies" and the values of its surroundings: reward -1 a jump; the value of a
state is the mellowmax of the Q-values of its tree; Huber loss of the TD error, Huber loss of what exceeds the bounds of
a trajectory that reached its goal, and a loss that ranks depth nodes. Rows are samples; masks tell what is padding.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from saltus.learn.experience import Final


def mellowmax(q: Tensor, mask: Tensor, factor: float) -> Tensor:
    """log(mean(exp(factor q))) / factor over the entries of every row, [rows]; a row without entries gives 0."""
    some = mask.any(dim=1)
    filled = q.masked_fill(~mask, -math.inf)
    filled = torch.where(some[:, None], filled, torch.zeros_like(filled))
    total = torch.logsumexp(factor * filled, dim=1)
    count = mask.sum(dim=1).clamp(min=1).to(q.dtype)
    return torch.where(some, (total - count.log()) / factor, torch.zeros_like(total))


def maximum(q: Tensor, mask: Tensor) -> Tensor:
    """Largest entry of every row, [rows]; a row without entries gives 0."""
    highest = q.masked_fill(~mask, -math.inf).amax(dim=1)
    return torch.where(mask.any(dim=1), highest, torch.zeros_like(highest))


def td_target(value: Tensor, final: Tensor, discount: float, dead_end: float, least: float = 0.0) -> Tensor:
    """-1 plus the discounted value of the successor; -1 if that is a goal, the dead-end value if it leads nowhere.

    `least`, unless it is 0, bounds the first from below: without, the values of states that no way leads out of, but
    many lead around in, sink for ever.
    """
    target = discount * value - 1.0
    if least:
        target = target.clamp(min=least)
    target = torch.where(final == int(Final.GOAL), torch.full_like(target, -1.0), target)
    return torch.where(final == int(Final.DEAD_END), torch.full_like(target, dead_end), target)


def huber(difference: Tensor) -> Tensor:
    """Huber loss with delta 1."""
    return functional.huber_loss(difference, torch.zeros_like(difference), reduction="none")


def bounds_loss(q: Tensor, bound: Tensor) -> Tensor:
    """Huber loss of how far a Q-value lies below the return of its trajectory, or above -1; 0 where `bound` is nan."""
    lower = torch.nan_to_num(bound, nan=-math.inf)
    below = (lower - q).clamp(min=0.0)
    above = (q + 1.0).clamp(min=0.0)
    known = ~torch.isnan(bound)
    return torch.where(known, huber(below) + huber(above), torch.zeros_like(q))


def rank_loss(z: Tensor, mask: Tensor) -> Tensor:
    """The paper's rank loss of every row's depth scores [rows, depths], which stand in the order of their depths.

    Pairs k < l weigh 1 / (l - k); rows with fewer than two depths give 0.
    """
    depths = torch.arange(z.shape[1], device=z.device)
    gap = (depths[None, :] - depths[:, None]).to(z.dtype)  # [k, l]
    weight = torch.where(gap > 0, 1.0 / gap.clamp(min=1.0), torch.zeros_like(gap))
    pairs = weight * (mask[:, :, None] & mask[:, None, :])  # [rows, k, l]
    losses = functional.softplus(z[:, :, None] - z[:, None, :])
    return (pairs * losses).sum(dim=(1, 2)) / pairs.sum(dim=(1, 2)).clamp(min=1e-12)
