"""Stage `learn`: the saved state of a run: made, summed up and restored.

A state that was damaged must not become a run that trains on nonsense or crashes hours later. So it has a checksum;
what is checked besides is that it belongs to the trainer that is to go on with it: its problems, and the names and
shapes of its weights. States of earlier versions have no checksum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from saltus.errors import InputError
from saltus.learn.problems import digest_of
from saltus.learn.validation import Validation
from saltus.model.schema import read_value
from saltus.model.tensor_file import DamageError, kind_of

if TYPE_CHECKING:
    from saltus.learn.trainer import Trainer


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
