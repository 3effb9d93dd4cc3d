"""Stage `model`: the network's forward pass in the kernel, without PyTorch.

Takes a network's weights as NumPy arrays and a `GraphBatch`, gives a Q-value per candidate in float32. `rgnn.py` is the
twin. The kernel picks the fastest instruction set of the machine; the result does not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from saltus import _kernel
from saltus.errors import ConfigurationError, shorten
from saltus.graph import ENCODINGS, Candidate, GraphBatch
from saltus.model.schema import MAPS, weight_shapes
from saltus.model.spec import ModelSpec
from saltus.model.values import SHARPNESS
from saltus.model.weights import load_weights

if TYPE_CHECKING:
    from saltus.model.rgnn import RelationalNetwork

INSTRUCTIONS = ("avx512", "avx2", "neon", "portable")
"""Instruction sets that the kernel has loops for, the fastest first."""

INSTRUCTIONS_VARIABLE = "SALTUS_INSTRUCTIONS"
"""Environment variable that names the instruction set to use in place of the machine's fastest."""

READOUTS = {Candidate.STATE_NODE: 0, Candidate.ACTION_NODE: 0, Candidate.GRAPH: 1, Candidate.PAIR: 2}
"""The kernel's number of each readout."""


class Engine:
    """A network that the kernel runs."""

    def __init__(
        self,
        arities: Sequence[int],
        encoding: str,
        spec: ModelSpec,
        weights: Mapping[str, NDArray[Any]],
        instructions: str | None = None,
    ) -> None:
        """From the weights by their names in a policy file.

        `instructions` is one of `INSTRUCTIONS` (default: what `SALTUS_INSTRUCTIONS` says, else the machine's fastest);
        a set that the machine does not have is a `ConfigurationError`.
        """
        place = "engine"
        if instructions is None:
            instructions = os.environ.get(INSTRUCTIONS_VARIABLE, "")
            place = f"{INSTRUCTIONS_VARIABLE}={shorten(instructions)}" if instructions else place
        self.spec = spec
        self.arities = tuple(arities)
        self.parts = ENCODINGS[encoding]
        flat = _flat_weights(self.arities, encoding, spec, weights)
        try:
            self._network = _kernel.Network(
                np.array(self.arities, np.int32),
                spec.embedding,
                spec.hidden_layers,
                SHARPNESS,
                READOUTS[self.parts.candidate],
                spec.object_network,
                flat,
                instructions,
            )
        except ValueError as error:
            raise ConfigurationError(f"{place}: {_reason(error)}") from None

    @classmethod
    def of(cls, network: RelationalNetwork, instructions: str | None = None) -> Engine:
        """The engine of a PyTorch network, with a copy of its weights."""
        weights = {name: value.detach().cpu().float().numpy() for name, value in network.state_dict().items()}
        return cls(network.arities, network.encoding, network.spec, weights, instructions)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Engine:
        """The engine of a policy file."""
        description, weights = load_weights(path)
        return cls(description.arities, description.encoding.kind, description.model, weights)

    @property
    def instructions(self) -> str:
        """The instruction set in use, one of `INSTRUCTIONS`."""
        return self._network.instructions

    @property
    def device(self) -> str:
        """cpu."""
        return "cpu"

    def q_values(
        self,
        batch: GraphBatch,
        threads: int | None = None,
        *,
        layers: int | None = None,
        check: Callable[[], None] | None = None,
    ) -> NDArray[np.float32]:
        """Q-values [candidates] after `layers` layers (default: as specified), on `threads` threads (default: one per
        core). A batch that does not fit the network is refused with a `ConfigurationError`.

        `check` is called about every 50 ms; what it raises ends the pass.
        """
        try:
            return self._network.q_values(
                batch.graph_offset,
                batch.object_count,
                batch.argument_offset,
                batch.arguments,
                batch.candidate_node,
                batch.candidate_graph,
                batch.source_graph,
                layers if layers is not None else self.spec.layers,
                threads or os.cpu_count() or 1,
                check,
            )
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"engine: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """The kernel's message without the name of its part."""
    return str(error).removeprefix("network: ")


def _flat_weights(
    arities: tuple[int, ...], encoding: str, spec: ModelSpec, weights: Mapping[str, NDArray[Any]]
) -> NDArray[np.float32]:
    """All weights as one array in the order of the kernel's `NetworkWeights`: matrices are [inputs, outputs]."""
    shapes = weight_shapes(arities, encoding, spec)
    for name, shape in shapes.items():
        if name not in weights:
            raise ConfigurationError(f"engine: weights {name}: missing")
        if weights[name].shape != shape:
            raise ConfigurationError(
                f"engine: weights {name}: expected {list(shape)}, found {list(weights[name].shape)}"
            )
    pieces: list[NDArray[Any]] = []
    groups = {arity: number for number, arity in enumerate(sorted(set(arities)))}
    for relation, arity in enumerate(arities):
        place = arities[:relation].count(arity)
        for layer in range(1, spec.hidden_layers + 2):
            name = f"messages.{groups[arity]}"
            pieces += [weights[f"{name}.weight{layer}"][place], weights[f"{name}.bias{layer}"][place]]

    def add_perceptron(name: str) -> None:
        for step in MAPS[: spec.hidden_layers + 1]:
            pieces.extend([weights[f"{name}.{step}.weight"].T, weights[f"{name}.{step}.bias"]])

    add_perceptron("update")
    pieces += [weights["norm.weight"], weights["norm.bias"]]
    if "objects.first.weight" in shapes:
        add_perceptron("objects")
    add_perceptron("readout")
    return np.concatenate([piece.reshape(-1) for piece in pieces], dtype=np.float32)
