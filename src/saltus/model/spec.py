"""Stage `model`: the specification of a network."""

from __future__ import annotations

from dataclasses import dataclass

from saltus.errors import ConfigurationError

PRECISIONS = ("float32", "tf32", "bf16")
"""Precisions of the matrix products on a GPU."""


@dataclass(frozen=True)
class ModelSpec:
    """Specification of a network. Invalid values are refused with the name of the field."""

    embedding: int = 32
    """Size of a node's embedding."""
    # Departure: the paper gives no number. Its code draws one from 30 to 60 for every training pass.
    layers: int = 10
    """Layers of message passing. They share their weights, so a call may use another number."""
    # Departure: the paper's text says two, its code has one, as here. The fast passes are written for one.
    hidden_layers: int = 1
    """Hidden layers of every network: 1, or 2 as in the paper's text. Training with two has no fast pass."""
    # Departure: the paper's formula has no such network, its code has one, as here.
    object_network: bool = True
    """Whether the sum of the objects goes through a network of its own before the readout (the paper's text: false).
    The encoding ext always has one, as in the paper: for each pair of objects, before the sum."""
    precision: str = "float32"
    """Precision of the matrix products on a GPU: float32, tf32 or bf16. Sums, and everything on a CPU, are float32.
    A key: bf16 takes three fifths of the time of float32, and loses digits."""

    def __post_init__(self) -> None:
        for name, most in (("embedding", 1024), ("layers", 1000)):
            value = getattr(self, name)
            if value < 1:
                raise ConfigurationError(f"model: {name} is {value}, expected at least 1")
            if value > most:
                raise ConfigurationError(f"model: {name} is {value}, expected at most {most:,}")
        if self.hidden_layers not in (1, 2):
            raise ConfigurationError(f"model: hidden_layers is {self.hidden_layers}, expected 1 or 2")
        if self.precision not in PRECISIONS:
            raise ConfigurationError(f"model: precision is {self.precision!r}, expected one of {', '.join(PRECISIONS)}")
