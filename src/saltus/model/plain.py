"""Twin of the fast passes: message passing as a loop over relations in plain PyTorch, against which tests compare.

Relation by relation: gather the arguments, apply the network, scatter the messages. Other libraries do it this way.
What no fast pass can run is left to it: training with two hidden layers or unusual sizes, relations of many arguments
on a GPU, other precisions than float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from saltus.model.values import SHARPNESS

if TYPE_CHECKING:
    from saltus.model.layout import Layout
    from saltus.model.rgnn import RelationalNetwork


def plain_pass_messages(network: RelationalNetwork, layout: Layout, layers: int) -> Tensor:
    """Embeddings [nodes, embedding] after `layers` layers."""
    size = network.spec.embedding
    reference = network.update.first.weight
    x = torch.zeros(layout.node_count, size, dtype=reference.dtype, device=reference.device)
    for _ in range(layers):
        if network.before_layer is not None:
            network.before_layer()
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
        joined = aggregate(messages, targets, x)
        x = x + network.norm(network.update(torch.cat([x, joined], dim=1)))
    return x


def aggregate(messages: list[Tensor], targets: list[Tensor], x: Tensor) -> Tensor:
    """Smooth maximum of the messages to each node; 0 for nodes without messages."""
    if not messages:
        return torch.zeros_like(x)
    message, target = torch.cat(messages), torch.cat(targets)
    highest = torch.full_like(x, -torch.inf).scatter_reduce(0, target[:, None].expand_as(message), message, "amax")
    silent = torch.isinf(highest)
    shift = highest.detach().masked_fill(silent, 0.0)
    parts = torch.exp(SHARPNESS * (message - shift.index_select(0, target)))
    total = torch.zeros_like(x).index_add(0, target, parts)
    smooth = torch.log(total.masked_fill(silent, 1.0)) / SHARPNESS + shift
    return smooth.masked_fill(silent, 0.0)
