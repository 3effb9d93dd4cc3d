"""Stage `learn`: what the saved state of a run must be like, checked before any of it is used.

A state that was damaged must not become a run that trains on nonsense or crashes hours later. So it has a checksum;
what is checked besides is that it belongs to the trainer that is to go on with it: names, types and shapes of its
tensors. Anything wrong is a `DamageError`. States of earlier versions have no checksum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from saltus.learn.experience import CODES
from saltus.model.schema import read_value
from saltus.model.tensor_file import DamageError, kind_of

if TYPE_CHECKING:
    from saltus.learn.learner import Learner
    from saltus.learn.trainer import Trainer

STORES = ("original", "hindsight")
"""Names of the replay stores in a state."""

MOMENTS = ("exp_avg", "exp_avg_sq", "step")
"""What Adam remembers of each weight."""


def checksum(text: str, tensors: Mapping[str, torch.Tensor]) -> str:
    """A short text that differs for other plain values, and for other tensors."""
    digest = hashlib.sha256(text.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"\n{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


def check_state(trainer: Trainer, tensors: Mapping[str, torch.Tensor], values: Mapping[str, Any]) -> None:
    """Raises a `DamageError` unless the tensors fit the trainer."""
    wanted = learner_shapes(trainer.learner, tensors)
    for name in STORES:
        wanted |= store_shapes(name, tensors, trainer.spec.replay)
    for name, (kind, shape) in wanted.items():
        found = tensors.get(name)
        if found is None:
            raise DamageError(f"{name}: missing")
        if found.dtype != kind or found.shape != shape:
            raise DamageError(f"{name}: expected {kind} {list(shape)}, found {found.dtype} {list(found.shape)}")
    for name in tensors:
        if name not in wanted:
            raise DamageError(f"{name}: unknown")


Shapes = dict[str, tuple[torch.dtype, torch.Size]]
"""Types and shapes of tensors by name."""


def learner_shapes(learner: Learner, tensors: Mapping[str, torch.Tensor]) -> Shapes:
    """Of the weights, and of what the optimiser remembers of those that were learned so far."""
    shapes: dict[str, torch.Size] = {}
    for prefix, module in learner.modules.items():
        shapes |= {f"{prefix}.{name}": value.shape for name, value in module.state_dict().items()}
    for number, weight in enumerate(learner.network.parameters()):
        if any(name.startswith(f"learner.optimiser.{number}.") for name in tensors):
            shapes |= {f"optimiser.{number}.{key}": weight.shape for key in MOMENTS}
            shapes[f"optimiser.{number}.step"] = torch.Size()
    return {f"learner.{name}": (torch.float32, shape) for name, shape in shapes.items()}


def store_shapes(name: str, tensors: Mapping[str, torch.Tensor], capacity: int) -> Shapes:
    """Of the transitions in a replay store, by the number of them that the tensors have."""
    task = tensors.get(f"{name}.task")
    count = task.numel() if task is not None else 0
    if count > capacity:
        raise DamageError(f"{name}: {count:,} transitions, but room for {capacity:,}")
    shapes: Shapes = {f"{name}.{key}": (torch.int64, torch.Size([count])) for key in ("task", "final")}
    shapes |= {f"{name}.{key}": (torch.float64, torch.Size([count])) for key in ("bound", "priority")}
    if f"{name}.cost" in tensors:  # older states do not say that every jump costs 1
        shapes[f"{name}.cost"] = (torch.float64, torch.Size([count]))
    for part in CODES:
        codes = tensors.get(f"{name}.{part}")
        shapes[f"{name}.{part}"] = (torch.int64, torch.Size([codes.numel() if codes is not None else 0]))
        shapes[f"{name}.{part}_offset"] = (torch.int64, torch.Size([count + 1]))
    return shapes


def whole(values: Mapping[str, Any], key: str) -> int:
    """The whole number under a key, 0 or more."""
    value: int = read_value(int, values.get(key), key)
    if not 0 <= value < 1 << 62:
        raise DamageError(f"{key}: expected 0 or more, found {kind_of(value)}")
    return value


def seconds(values: Mapping[str, Any], key: str) -> float:
    """The number of seconds under a key."""
    value: float = read_value(float, values.get(key), key)
    if value < 0:
        raise DamageError(f"{key}: expected 0 or more, found {value}")
    return value
