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
    layers: int = 10
    """Layers of message passing. They share their weights, so a call may use another number."""
    aggregation: str = "smooth-max"
    """How the messages to a node are combined: smooth-max (log-sum-exp), max, sum or mean. Without messages it is 0."""
    sharpness: float = 12.0
    """Factor inside the log-sum-exp; the larger, the closer to the maximum."""
    norm: bool = True
    """Whether the update network is followed by a layer norm."""
    precision: str = "float32"
    """Precision of the matrix products on a GPU: float32, tf32 or bf16. Sums, and everything on a CPU, are float32."""

    def __post_init__(self) -> None:
        for name, most in (("embedding", MAX_EMBEDDING), ("layers", MAX_LAYERS)):
            value = getattr(self, name)
            if value < 1:
                raise ConfigurationError(f"model: {name} is {value}, expected at least 1")
            if value > most:
                raise ConfigurationError(f"model: {name} is {value}, expected at most {most:,}")
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
