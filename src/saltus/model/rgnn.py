"""Stage `model`: the relational graph neural network and its readouts.

Takes a `Layout`, gives a Q-value per candidate and a score per depth node. The paper's section "Relational Graph Neural
Networks": embeddings start at zero. In every layer, each atom sends one message to each of its arguments, computed from
the arguments' embeddings by the network of its relation, with a residual. A node combines its messages by a smooth
maximum and updates its embedding. All layers share their weights. Cost: two matrix products per relation and layer.

Departure: every network has one hidden layer (`ModelSpec.hidden_layers`; the paper's text: two), and the sum of the
objects goes through one of its own before the readout (`ModelSpec.object_network`; the paper's formula: none). Both
are as in the authors' code, on which the paper builds.

`message_passing.py` finds the fastest pass through the layers, `plain.py` is the slow twin with the same weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from saltus.graph import ENCODINGS, Candidate
from saltus.model.layout import Layout
from saltus.model.message_passing import pass_messages
from saltus.model.plain import plain_pass_messages
from saltus.model.schema import MAPS
from saltus.model.segments import segment_sum, spread
from saltus.model.spec import ModelSpec


@dataclass(frozen=True)
class Scores:
    """The network's output for a batch."""

    q: Tensor
    """[candidates]"""
    depth: Tensor
    """[depth nodes]: scores that the rank loss puts in order."""


class MessageWeights(nn.Module):
    """Message networks of all relations of one arity: linear maps of the size of the input, with Mish in between.

    Map i has the weights `weight{i}` [relations, in, out] and `bias{i}` [relations, out], counted from 1.
    """

    def __init__(self, relations: int, arity: int, embedding: int, hidden_layers: int = 1) -> None:
        super().__init__()
        size = arity * embedding
        bound = 1 / math.sqrt(size)
        for i in range(1, hidden_layers + 2):
            for name, shape in (("weight", (relations, size, size)), ("bias", (relations, size))):
                self.register_parameter(f"{name}{i}", nn.Parameter(torch.empty(shape).uniform_(-bound, bound)))

    def output(self, number: int, arguments: Tensor) -> Tensor:
        """Messages [rows, size] of one relation, by the number of its network, without the residual."""
        weights = list(self.parameters())
        x = arguments
        for i in range(0, len(weights), 2):
            x = torch.addmm(weights[i + 1][number], functional.mish(x) if i else x, weights[i][number])
        return x


class Perceptron(nn.Module):
    """Linear maps, named as `MAPS` says, with Mish in between; the hidden layers have the size of the input."""

    first: nn.Linear

    def __init__(self, inputs: int, outputs: int, hidden_layers: int = 1) -> None:
        super().__init__()
        for i in range(hidden_layers + 1):
            self.add_module(MAPS[i], nn.Linear(inputs, inputs if i < hidden_layers else outputs))

    def forward(self, x: Tensor) -> Tensor:
        """[rows, inputs] to [rows, outputs]"""
        for i, linear in enumerate(self.children()):
            x = linear(functional.mish(x) if i else x)
        return x


class RelationalNetwork(nn.Module):
    """Network for the arities of a vocabulary and the readout of an encoding."""

    before_layer: Callable[[], None] | None = None
    """Called before every layer, by the kernel also on the way back; what it raises ends the pass. For networks on a
    CPU."""
    trained_by_kernel: bool = False
    """Whether the kernel passes messages, forward and backward, where it can: on a CPU."""

    def __init__(self, arities: Sequence[int], encoding: str, spec: ModelSpec | None = None) -> None:
        super().__init__()
        self.spec = spec = spec or ModelSpec()
        self.arities = tuple(arities)
        self.encoding = encoding
        self.parts = ENCODINGS[encoding]
        size, hidden = spec.embedding, spec.hidden_layers
        self.messages = nn.ModuleList(
            MessageWeights(self.arities.count(arity), arity, size, hidden) for arity in sorted(set(self.arities))
        )
        self.update = Perceptron(2 * size, size, hidden)
        self.norm = nn.LayerNorm(size)
        self.objects: nn.Module
        if self.parts.candidate is Candidate.PAIR:
            self.objects = Perceptron(2 * size, size, hidden)
        else:
            self.objects = Perceptron(size, size, hidden) if spec.object_network else nn.Identity()
        self.readout = Perceptron(2 * size if self.parts.is_joint else size, 1, hidden)
        self.depth = nn.Linear(size, 1, bias=False)

    def forward(self, layout: Layout, layers: int | None = None, *, plain: bool = False) -> Scores:
        """Scores of a batch after `layers` layers (default: as specified); `plain` uses the slow twin."""
        layers = layers if layers is not None else self.spec.layers
        embedding = (plain_pass_messages if plain else pass_messages)(self, layout, layers)  # [nodes, embedding]
        return Scores(
            self._values(embedding, layout), self.depth(embedding.index_select(0, layout.depth_node)).squeeze(-1)
        )

    def _values(self, embedding: Tensor, layout: Layout) -> Tensor:
        """Q-values, read from pairs of objects, from sums of objects, or from candidates and sums of objects."""
        if self.parts.candidate is Candidate.PAIR:
            return self._pair_values(embedding, layout)
        objects = embedding.index_select(0, layout.object_node)  # [objects, embedding]
        total = segment_sum(objects, layout.object_offset, layout.object_graph)  # [graphs, embedding]
        context = self.objects(total)
        if not self.parts.is_joint:
            values: Tensor = self.readout(context).squeeze(-1)
            return values.index_select(0, layout.candidate_graph)
        candidate = embedding.index_select(0, layout.candidate_node)
        around = spread(context, layout.graph_candidate, layout.candidate_graph)
        result: Tensor = self.readout(torch.cat([candidate, around], dim=1)).squeeze(-1)
        return result

    def message_weights(self) -> list[MessageWeights]:
        """Message networks by ascending arity, in the order of the layout's groups."""
        return [part for part in self.messages if isinstance(part, MessageWeights)]

    def _pair_values(self, embedding: Tensor, layout: Layout) -> Tensor:
        """Q-values from pairs: each object in the root's graph with the same object in the candidate's graph. Both
        graphs list the objects in the same order."""
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
