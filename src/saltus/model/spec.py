"""Stage `model`: the specification of a network."""

from __future__ import annotations

import math
from dataclasses import dataclass

from saltus.errors import ConfigurationError

PRECISIONS = ("float32", "tf32", "bf16")
"""Precisions of the matrix products on a GPU."""

MAX_EMBEDDING = 1024
MAX_LAYERS = 1000

AGGREGATIONS = ("smooth-max", "max", "sum", "mean")
"""How the messages to a node are combined."""


@dataclass(frozen=True)
class ModelSpec:
    """Specification of a network. Invalid values are refused with the name of the field."""

    embedding: int = 32
    """Size of a node's embedding."""
    # Departure: the paper gives no number. Its code draws one from 30 to 60 for every training pass.
    layers: int = 10
    """Layers of message passing. They share their weights, so a call may use another number."""
    aggregation: str = "smooth-max"
    """How the messages to a node are combined: smooth-max (log-sum-exp), max, sum or mean. Without messages it is 0.
    A key: the usual choices of relational networks, to compare with."""
    sharpness: float = 12.0
    """Factor inside the log-sum-exp; the larger, the closer to the maximum. A key: one of the authors' values."""
    # Departure: the paper's text says two, its code has one, as here. The fast passes are written for one.
    hidden_layers: int = 1
    """Hidden layers of every network: 1, or 2 as in the paper's text. Two use the slow pass everywhere."""
    # Departure: the paper's formula has no such network, its code has one, as here.
    object_network: bool = True
    """Whether the sum of the objects goes through a network of its own before the readout (the paper's text: false).
    The encoding ext always has one, as in the paper: for each pair of objects, before the sum."""
    norm: bool = True
    """Whether the update network is followed by a layer norm. A key: a part of the network that can be left out."""
    precision: str = "float32"
    """Precision of the matrix products on a GPU: float32, tf32 or bf16. Sums, and everything on a CPU, are float32.
    A key: speed against the last digits."""

    def __post_init__(self) -> None:
        for name, most in (("embedding", MAX_EMBEDDING), ("layers", MAX_LAYERS)):
            value = getattr(self, name)
            if value < 1:
                raise ConfigurationError(f"model: {name} is {value}, expected at least 1")
            if value > most:
                raise ConfigurationError(f"model: {name} is {value}, expected at most {most:,}")
        if self.hidden_layers not in (1, 2):
            raise ConfigurationError(f"model: hidden_layers is {self.hidden_layers}, expected 1 or 2")
        if self.aggregation not in AGGREGATIONS:
            raise ConfigurationError(
                f"model: aggregation is {self.aggregation!r}, expected one of {', '.join(AGGREGATIONS)}"
            )
        if self.precision not in PRECISIONS:
            raise ConfigurationError(f"model: precision is {self.precision!r}, expected one of {', '.join(PRECISIONS)}")
        if not self.sharpness > 0:
            raise ConfigurationError(f"model: sharpness is {self.sharpness}, expected more than 0")
        if not math.isfinite(self.sharpness):
            raise ConfigurationError(f"model: sharpness is {self.sharpness}, expected a finite number")

    @property
    def has_fast_pass(self) -> bool:
        """Whether the fast passes of message passing, on a CPU or a GPU, can run the network; `plain.py` always can."""
        return self.hidden_layers == 1
