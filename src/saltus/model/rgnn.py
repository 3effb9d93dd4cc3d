"""Stage `model`: the relational graph neural network and its readouts.

Takes a `Layout`, gives a Q-value for every candidate (and a score for every depth node). The paper's section
"Relational Graph Neural Networks": embeddings start at zero; in every round each atom sends one message to each of its
arguments, a network of its relation over the arguments' embeddings, with residual; a node joins its messages by a
smooth maximum and updates itself. All rounds share their weights. Cost: one matrix product a relation and round.

`message_passing.py` holds the fast passes, `plain.py` the slow twin on the same weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from saltus.model.layout import Layout
from saltus.model.message_passing import pass_messages
from saltus.model.plain import plain_pass_messages
from saltus.model.segments import segment_sum, spread
from saltus.model.spec import READOUTS, ModelSpec


@dataclass(frozen=True)
class Scores:
    """What the network says about a batch."""

    q: Tensor
    """[candidates]"""
    depth: Tensor
    """[depth nodes]: scores that the rank loss orders."""


class MessageWeights(nn.Module):
    """Message networks of all relations of one arity: linear, Mish, linear, both of the size of the input."""

    def __init__(self, relations: int, arity: int, embedding: int) -> None:
        super().__init__()
        size = arity * embedding
        bound = 1 / math.sqrt(size)

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))

        self.weight1 = parameter(relations, size, size)  # [relations, in, out]
        self.bias1 = parameter(relations, size)
        self.weight2 = parameter(relations, size, size)
        self.bias2 = parameter(relations, size)


class Perceptron(nn.Module):
    """Linear, Mish, linear; the hidden layer has the size of the input."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, inputs)
        self.second = nn.Linear(inputs, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """[rows, inputs] to [rows, outputs]"""
        result: Tensor = self.second(functional.mish(self.first(x)))
        return result


class RelationalNetwork(nn.Module):
    """The network for a vocabulary's arities and an encoding."""

    def __init__(self, arities: Sequence[int], encoding: str, spec: ModelSpec | None = None) -> None:
        super().__init__()
        self.spec = spec = spec or ModelSpec()
        self.arities = tuple(arities)
        self.encoding = encoding
        self.readout_kind = READOUTS[encoding]
        size = spec.embedding
        self.messages = nn.ModuleList(
            MessageWeights(self.arities.count(arity), arity, size) for arity in sorted(set(self.arities))
        )
        self.update = Perceptron(2 * size, size)
        self.norm = nn.LayerNorm(size) if spec.norm else None
        self.objects = Perceptron(2 * size if self.readout_kind == "pair" else size, size)
        self.readout = Perceptron(2 * size if self.readout_kind == "candidate" else size, 1)
        self.depth = nn.Linear(size, 1, bias=False)

    def forward(self, layout: Layout, layers: int | None = None, *, plain: bool = False) -> Scores:
        """Scores of a batch after `layers` rounds (default: the specification's); `plain` takes the slow twin."""
        rounds = layers if layers is not None else self.spec.layers
        embedding = (plain_pass_messages if plain else pass_messages)(self, layout, rounds)  # [nodes, embedding]
        return Scores(
            self._values(embedding, layout), self.depth(embedding.index_select(0, layout.depth_node)).squeeze(-1)
        )

    def _values(self, embedding: Tensor, layout: Layout) -> Tensor:
        if self.readout_kind == "pair":
            return self._pair_values(embedding, layout)
        objects = embedding.index_select(0, layout.object_node)  # [objects, embedding]
        total = segment_sum(objects, layout.object_offset, layout.object_graph)  # [graphs, embedding]
        context = self.objects(total)
        if self.readout_kind == "sum":
            values: Tensor = self.readout(context).squeeze(-1)
            return values.index_select(0, layout.candidate_graph)
        candidate = embedding.index_select(0, layout.candidate_node)
        around = spread(context, layout.graph_candidate, layout.candidate_graph)
        result: Tensor = self.readout(torch.cat([candidate, around], dim=1)).squeeze(-1)
        return result

    def message_weights(self) -> list[MessageWeights]:
        """Message networks by ascending arity, as the layout's groups are."""
        return [part for part in self.messages if isinstance(part, MessageWeights)]

    def _pair_values(self, embedding: Tensor, layout: Layout) -> Tensor:
        """Objects of the root state and of the successor meet one by one; both graphs list them in the same order."""
        start = layout.object_offset.long()
        counts = (start[1:] - start[:-1]).index_select(0, layout.candidate_graph)
        offset = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        owner = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
        inside = torch.arange(len(owner), device=counts.device) - offset[owner]
        here = layout.object_node[start[layout.source_graph[owner]] + inside]
        there = layout.object_node[start[layout.candidate_graph[owner]] + inside]
        pairs = torch.cat([embedding.index_select(0, here), embedding.index_select(0, there)], dim=1)
        total = segment_sum(self.objects(pairs), offset.int(), owner)  # [candidates, embedding]
        result: Tensor = self.readout(total).squeeze(-1)
        return result
