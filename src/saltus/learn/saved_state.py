"""Stage `learn`: the saved state of a run, and what it must be like, checked before any of it is used.

A state that was damaged must not become a run that trains on nonsense or crashes hours later. So it has a checksum;
what is checked besides is that it belongs to the trainer that is to go on with it: names, types and shapes of its
tensors. Anything wrong is a `DamageError`. States of earlier versions have no checksum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from saltus.errors import InputError
from saltus.learn.experience import CODES
from saltus.learn.problems import digest_of
from saltus.learn.validation import Validation
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


def state_of(trainer: Trainer) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Tensors and plain values that make up the run, so that a resumed one equals an uninterrupted one."""
    tensors = {f"learner.{name}": value for name, value in trainer.learner.get_state().items()}
    values: dict[str, Any] = {
        "episode": trainer.episode,
        "samples": trainer.steps.samples,
        "random": {name: rng.bit_generator.state for name, rng in trainer.random.items()},
        "validations": [entry.to_json() for entry in trainer.validations],
        "best": trainer.best.episode if trainer.best is not None else None,
        "td_errors": trainer.td_errors,
        "pace": trainer.curriculum.pace,
        "problems": digest_of([*trainer.tasks, *trainer.held_out]),
    }
    for name, store in (("original", trainer.original), ("hindsight", trainer.hindsight)):
        arrays, values[name] = store.get_state()
        tensors |= {f"{name}.{key}": torch.from_numpy(array) for key, array in arrays.items()}
    return tensors, values


def restore(trainer: Trainer, tensors: dict[str, torch.Tensor], values: dict[str, Any]) -> None:
    """Restores what `state_of` returned; anything else is an `InputError`.

    So are other problems, since stored transitions refer to them.
    """
    own = digest_of([*trainer.tasks, *trainer.held_out])
    if values.get("problems", own) != own:
        raise InputError("the problems are not those that the run was started with")
    try:
        check_state(trainer, tensors, values)
    except DamageError as error:
        raise InputError(f"damaged: {error}") from error

    def part(prefix: str) -> dict[str, torch.Tensor]:
        return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}

    trainer.learner.set_state(part("learner."))
    for name, store in (("original", trainer.original), ("hindsight", trainer.hindsight)):
        store.set_state({key: value.numpy() for key, value in part(f"{name}.").items()}, values[name])
    for name, rng in trainer.random.items():
        if name in values["random"]:  # runs of earlier versions lack some, and have others
            rng.bit_generator.state = values["random"][name]
    trainer.episode = int(values["episode"])
    trainer.steps.samples = int(values["samples"])
    trainer.validations = [Validation.from_json(entry) for entry in values["validations"]]
    found = [entry for entry in trainer.validations if entry.episode == values["best"]]
    trainer.best = found[-1] if found else None
    trainer.td_errors = list(values["td_errors"])
    trainer.curriculum.pace = float(values.get("pace", trainer.curriculum.pace))


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
