"""Twin of `message_passing.py`: message passing as a loop over relations in plain PyTorch, against which tests compare.
Networks with two hidden layers, which the fast passes cannot run, use it everywhere.

Relation by relation: gather the arguments, apply the network, scatter the messages. Other libraries do it this way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from saltus.model.layout import Layout
    from saltus.model.rgnn import RelationalNetwork


def plain_pass_messages(network: RelationalNetwork, layout: Layout, layers: int) -> Tensor:
    """Embeddings [nodes, embedding] after `layers` layers."""
    size = network.spec.embedding
    reference = network.update.first.weight
    x = torch.zeros(layout.node_count, size, dtype=reference.dtype, device=reference.device)
    for _ in range(layers):
        messages: list[Tensor] = []
        targets: list[Tensor] = []
        for group, weights in zip(layout.groups, network.message_weights(), strict=True):
            for number in range(len(group.relations)):
                rows = group.index[group.row_offset[number] : group.row_offset[number + 1]].long()
                if not len(rows):
                    continue
                arguments = x.index_select(0, rows.reshape(-1)).reshape(len(rows), group.arity * size)
                output = weights.output(number, arguments) + arguments
                messages.append(output.reshape(-1, size))
                targets.append(rows.reshape(-1))
        joined = aggregate(network, messages, targets, x)
        change = network.update(torch.cat([x, joined], dim=1))
        x = x + (network.norm(change) if network.norm is not None else change)
    return x


def aggregate(network: RelationalNetwork, messages: list[Tensor], targets: list[Tensor], x: Tensor) -> Tensor:
    """Aggregate of the messages to each node; 0 for nodes without messages."""
    if not messages:
        return torch.zeros_like(x)
    message, target = torch.cat(messages), torch.cat(targets)
    kind = network.spec.aggregation
    if kind in ("sum", "mean"):
        total = torch.zeros_like(x).index_add(0, target, message)
        if kind == "sum":
            return total
        return total / torch.bincount(target, minlength=len(x)).clamp(min=1)[:, None]
    highest = torch.full_like(x, -torch.inf).scatter_reduce(0, target[:, None].expand_as(message), message, "amax")
    silent = torch.isinf(highest)
    if kind == "max":
        return highest.masked_fill(silent, 0.0)
    k = network.spec.sharpness
    shift = highest.detach().masked_fill(silent, 0.0)
    parts = torch.exp(k * (message - shift.index_select(0, target)))
    total = torch.zeros_like(x).index_add(0, target, parts)
    smooth = torch.log(total.masked_fill(silent, 1.0)) / k + shift
    return smooth.masked_fill(silent, 0.0)
