"""Stage `model`: sizes and variants of the network."""

from __future__ import annotations

from dataclasses import dataclass

from saltus.errors import ConfigurationError

PRECISIONS = ("float32", "tf32", "bf16")
"""Of the matrix products on a GPU."""

AGGREGATIONS = ("smooth-max", "max", "sum", "mean")
"""How the messages to a node become one."""

READOUTS = {"ad": "candidate", "aa": "candidate", "ext": "pair", "int": "sum", "id": "sum"}
"""Readout of every encoding: candidate and object sum, objects of both states in pairs, object sum alone."""


@dataclass(frozen=True)
class ModelSpec:
    """Description of a network; senseless values are refused with the field's name."""

    embedding: int = 32
    """Size of the embedding of a node."""
    layers: int = 10
    """Rounds of message passing; all share their weights, so a call may ask for another number."""
    aggregation: str = "smooth-max"
    """smooth-max: log-sum-exp; max; sum; mean. A node without messages gets 0."""
    sharpness: float = 12.0
    """Factor inside of the log-sum-exp."""
    norm: bool = True
    """Layer norm after the update network."""
    precision: str = "float32"
    """Of the matrix products on a GPU: float32, tf32 or bf16; sums are float32 in any case, and so is the CPU."""

    def __post_init__(self) -> None:
        if self.embedding < 1:
            raise ConfigurationError(f"model: embedding is {self.embedding}, expected at least 1")
        if self.layers < 1:
            raise ConfigurationError(f"model: layers is {self.layers}, expected at least 1")
        if self.aggregation not in AGGREGATIONS:
            raise ConfigurationError(
                f"model: aggregation is {self.aggregation!r}, expected one of {', '.join(AGGREGATIONS)}"
            )
        if self.precision not in PRECISIONS:
            raise ConfigurationError(f"model: precision is {self.precision!r}, expected one of {', '.join(PRECISIONS)}")
        if self.sharpness <= 0:
            raise ConfigurationError(f"model: sharpness is {self.sharpness}, expected more than 0")
