"""Stage `model`: the specification of a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saltus.errors import ConfigurationError
from saltus.model.values import MAX_EMBEDDING, MAX_LAYERS, SHARPNESS

PRECISIONS = ("float32", "tf32", "bf16")
"""Precisions of the matrix products on a GPU."""

OLDER_MODEL = {"aggregation": "smooth-max", "sharpness": SHARPNESS, "norm": True}
"""Fields of the specification in earlier versions, with the value that all networks have now."""


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
        for name, most in (("embedding", MAX_EMBEDDING), ("layers", MAX_LAYERS)):
            value = getattr(self, name)
            if value < 1:
                raise ConfigurationError(f"model: {name} is {value}, expected at least 1")
            if value > most:
                raise ConfigurationError(f"model: {name} is {value}, expected at most {most:,}")
        if self.hidden_layers not in (1, 2):
            raise ConfigurationError(f"model: hidden_layers is {self.hidden_layers}, expected 1 or 2")
        if self.precision not in PRECISIONS:
            raise ConfigurationError(f"model: precision is {self.precision!r}, expected one of {', '.join(PRECISIONS)}")


def without_older(values: Any) -> Any:
    """Plain values of a specification that an earlier version may have saved, without the fields that are gone.

    One with another value than all networks have now is a `ConfigurationError`: the network cannot be run any more.
    What is no specification is returned as it is.
    """
    if not isinstance(values, Mapping):
        return values
    for key, only in OLDER_MODEL.items():
        if values.get(key, only) != only:
            setting = f"model.{key}={json.dumps(values[key], default=str)}"
            raise ConfigurationError(
                f"made with {setting}, which this version does not have: it is always {json.dumps(only)}"
            )
    return {key: value for key, value in values.items() if key not in OLDER_MODEL}
