"""Stage `model`: a network that is ready to score graphs, whatever runs it: the kernel on a CPU, PyTorch on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from saltus.graph import GraphBatch
from saltus.model.engine import Engine
from saltus.model.schema import PolicyDescription
from saltus.model.spec import ModelSpec
from saltus.model.weights import Weights


class Scorer(Protocol):
    """A network that is ready to score graphs."""

    @property
    def spec(self) -> ModelSpec:
        """Specification of the network."""

    @property
    def device(self) -> str:
        """cpu or cuda."""

    def q_values(
        self,
        batch: GraphBatch,
        threads: int | None = None,
        *,
        layers: int | None = None,
        check: Callable[[], None] | None = None,
    ) -> NDArray[np.float32]:
        """Q-values [candidates] after `layers` layers (default: as specified).

        `check` may be called meanwhile, on the same thread; what it raises ends the pass.
        """


def make_scorer(description: PolicyDescription, weights: Weights, device: str) -> Scorer:
    """The network of a policy file on a device, cpu or cuda; only the latter imports PyTorch."""
    if device == "cpu":
        return Engine(description.arities, description.encoding.kind, description.model, weights)
    from saltus.model.policy_file import make_network
    from saltus.model.torch_scorer import TorchScorer

    return TorchScorer(make_network(description, weights).to(device))
