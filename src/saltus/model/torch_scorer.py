"""Stage `model`: a PyTorch network that scores graphs: on a GPU, and on a CPU as the engine's twin."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from saltus.graph import GraphBatch
from saltus.model.layout import make_layout
from saltus.model.recorded_pass import recorded_pass
from saltus.model.rgnn import RelationalNetwork
from saltus.model.spec import ModelSpec


class TorchScorer:
    """A PyTorch network as a `Scorer`; its weights may be changed in place between passes."""

    def __init__(self, network: RelationalNetwork) -> None:
        self.network = network.eval()
        self.recorded = recorded_pass(network, network.parts.is_joint)
        """Recorded passes; None unless the network is on a GPU that can replay them."""

    @property
    def spec(self) -> ModelSpec:
        """Specification of the network."""
        return self.network.spec

    @property
    def device(self) -> str:
        """cpu or cuda."""
        return next(self.network.parameters()).device.type

    def q_values(
        self,
        batch: GraphBatch,
        threads: int | None = None,
        *,
        layers: int | None = None,
        check: Callable[[], None] | None = None,
    ) -> NDArray[np.float32]:
        """Q-values [candidates]. PyTorch has its own number of threads; `check` is called once, before the pass."""
        del threads
        if check is not None:
            check()
        layers = layers if layers is not None else self.spec.layers
        if self.recorded is not None:
            return self.recorded.q(batch, layers)
        with torch.inference_mode():
            layout = make_layout(batch, self.network.arities).to(next(self.network.parameters()).device)
            values: NDArray[np.float32] = self.network(layout, layers).q.cpu().numpy()
            return values
