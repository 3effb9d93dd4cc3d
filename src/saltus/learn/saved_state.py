"""Stage `learn`: what the saved state of a run must be like, checked before any of it is used.

A state that was damaged must not become a run that trains on nonsense or crashes hours later. Takes the tensors and
plain values of `Trainer.get_state` and the trainer that is to go on with them; anything wrong is a `DamageError` that
names the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from saltus.learn.experience import CODES, Final
from saltus.learn.validation import Coverage, Validation
from saltus.model.schema import read_spec, read_value
from saltus.model.tensor_file import DamageError, kind_of
from saltus.task import Task

if TYPE_CHECKING:
    from saltus.learn.learner import Learner
    from saltus.learn.trainer import Trainer

STORES = ("original", "hindsight")
"""Names of the replay stores in a state."""

MOMENTS = ("exp_avg", "exp_avg_sq", "step")
"""What Adam remembers of each weight."""


@dataclass(frozen=True)
class StoreValues:
    """Plain values of a replay store."""

    highest: float
    next: int


def check_state(trainer: Trainer, tensors: Mapping[str, torch.Tensor], values: Mapping[str, Any]) -> None:
    """Raises a `DamageError` unless the trainer can go on with this state."""
    for key in ("episode", "samples"):
        whole(values, key)
    is_old = "plan_starts" not in values  # saved by a version without them
    check_generators(values.get("random"), [name for name in trainer.random if not (is_old and name == "starts")])
    check_validations(values)
    if not is_old:
        check_plan_starts(values["plan_starts"], len(trainer.tasks))
    if "pace" in values and not 0 <= read_value(float, values["pace"], "pace") <= 1:
        raise DamageError(f"pace: {values['pace']}, expected 0 to 1")
    names: set[str] = set()
    for name in STORES:
        prefix = f"{name}."
        arrays = {key: value for key, value in tensors.items() if key.startswith(prefix)}
        names |= arrays.keys()
        store: StoreValues = read_spec(StoreValues, values.get(name), name)
        check_store(trainer, name, {key[len(prefix) :]: numbers(key, value) for key, value in arrays.items()}, store)
    prefix = "learner."
    learned = {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}
    check_learner(trainer.learner, learned)
    for key in tensors:
        if key not in names and not key.startswith(prefix):
            raise DamageError(f"{key}: unknown")


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


# -- plain values ----------------------------------------------------------------------------------------------------


def check_generators(states: Any, wanted: Iterable[str]) -> None:
    """Checks the states of all random generators."""
    for name in wanted:
        match states.get(name) if isinstance(states, dict) else None:
            case {
                "bit_generator": "PCG64",
                "state": {"state": int(state), "inc": int(step)},
                "has_uint32": 0 | 1,
                "uinteger": int(left),
            } if 0 <= state < 1 << 128 and 0 <= step < 1 << 128 and step % 2 == 1 and 0 <= left < 1 << 32:
                pass
            case _:
                raise DamageError(f"random.{name}: not the state of a random generator")


def check_validations(values: Mapping[str, Any]) -> None:
    """Checks the validations so far, which of them was the best, and the TD errors since the last one."""
    for key in ("validations", "td_errors"):
        if not isinstance(values.get(key), list):
            raise DamageError(f"{key}: expected a list, found {kind_of(values.get(key))}")
    last = 0
    episodes = set()
    for number, entry in enumerate(values["validations"]):
        where = f"validations.{number}"
        found: Validation = read_spec(Validation, entry, where)
        if not last <= found.episode <= values["episode"]:
            raise DamageError(f"{where}.episode: {found.episode}, expected {last} to {values['episode']}")
        for part in (found.held_out, found.larger):
            if part is not None and not is_coverage(part):
                raise DamageError(f"{where}: solved {part.solved} of {part.problems} problems")
        last = found.episode
        episodes.add(last)
    if "best" not in values:
        raise DamageError("best: missing")
    best = read_value(int | None, values["best"], "best")
    if best is not None and best not in episodes:
        raise DamageError(f"best: there is no validation of episode {kind_of(best)}")
    for number, error in enumerate(values["td_errors"]):
        read_value(float, error, f"td_errors.{number}")


def check_plan_starts(values: Any, tasks: int) -> None:
    """Checks how far from the ends of their plans rollouts begin: pairs of problems and distances."""
    match values:
        case {"success": int() | float() as success, "distance": list(pairs)} if 0 <= success <= 1:
            pass
        case _:
            raise DamageError("plan_starts: expected a share of success and a list of distances")
    for place, pair in enumerate(pairs):
        match pair:
            case [int(number), int() | float() as distance] if 0 <= number < tasks and 0 < distance < 1 << 62:
                pass
            case _:
                raise DamageError(f"plan_starts.distance.{place}: not a problem and a distance")


def is_coverage(part: Coverage) -> bool:
    """Whether the numbers can be those of a validation."""
    numbers_fit = 0 <= part.jumps < 1 << 62 and 0 <= part.actions < 1 << 62 and (part.cost is None or part.cost >= 0)
    return 0 <= part.solved <= part.problems < 1 << 62 and numbers_fit


# -- stores ----------------------------------------------------------------------------------------------------------


def numbers(name: str, tensor: torch.Tensor) -> NDArray[Any]:
    """A list of numbers in a state as an array."""
    kind = torch.float64 if name.endswith((".bound", ".cost", ".priority")) else torch.int64
    if tensor.dtype != kind or tensor.dim() != 1:
        raise DamageError(f"{name}: expected {kind} numbers in one dimension, found {tensor.dtype}, {tensor.dim()}")
    return tensor.numpy()


def check_store(trainer: Trainer, name: str, arrays: Mapping[str, NDArray[Any]], store: StoreValues) -> None:
    """Checks a replay store: its transitions, their priorities, and where the next one goes."""
    offsets = tuple(f"{part}_offset" for part in CODES)
    wanted = ("task", "final", "bound", "priority", *CODES, *offsets)
    if "cost" in arrays or trainer.spec.cost != "jumps":  # older states do not say that every jump costs 1
        wanted = (*wanted, "cost")
    if arrays.keys() != set(wanted):
        raise DamageError(f"{name}: expected {', '.join(wanted)}")
    count, capacity = len(arrays["task"]), trainer.spec.replay
    if count > capacity:
        raise DamageError(f"{name}: {count:,} transitions, but room for {capacity:,}")
    if not (0 <= store.next < capacity if count == capacity else store.next == count):
        raise DamageError(f"{name}.next: {store.next}, but the store has {count:,} transitions")
    if not store.highest > 0:
        raise DamageError(f"{name}.highest: {store.highest}, expected more than 0")
    for key in wanted:
        if key not in CODES and len(arrays[key]) != count + (key in offsets):
            raise DamageError(f"{name}.{key}: {len(arrays[key]):,} numbers for {count:,} transitions")
    if not (np.isfinite(arrays["priority"]) & (arrays["priority"] > 0)).all():
        raise DamageError(f"{name}.priority: expected finite numbers above 0")
    if "cost" in arrays and not (np.isfinite(arrays["cost"]) & (arrays["cost"] > 0)).all():
        raise DamageError(f"{name}.cost: expected finite numbers above 0")
    if np.isinf(arrays["bound"]).any():
        raise DamageError(f"{name}.bound: expected finite numbers")
    if not np.isin(arrays["final"], list(Final)).all():
        raise DamageError(f"{name}.final: expected {', '.join(str(int(kind)) for kind in Final)}")
    if not ((arrays["task"] >= 0) & (arrays["task"] < len(trainer.tasks))).all():
        raise DamageError(f"{name}.task: expected numbers of problems, 0 to {len(trainer.tasks) - 1}")
    for part in CODES:
        where = f"{name}.{part}"
        codes, offset = arrays[part], arrays[f"{part}_offset"]
        if offset[0] != 0 or offset[-1] != len(codes) or (np.diff(offset) < 0).any():
            raise DamageError(f"{where}_offset: not the places of {len(codes):,} atoms")
        if part.endswith("negative") and len(codes) and not trainer.configuration.encoding.negative_goals:
            raise DamageError(f"{where}: there are negated goals, which the encoding lacks")
        check_codes(where, codes, np.repeat(arrays["task"], np.diff(offset)), trainer.tasks)


def check_codes(where: str, codes: NDArray[np.int64], owner: NDArray[np.int64], tasks: Sequence[Task]) -> None:
    """Checks that each code is that of a fluent atom of the task it belongs to."""
    for number in np.unique(owner).tolist():
        task = tasks[number]
        own = codes[owner == number]
        if own.min() < 0 or own.max() >= task.code_offset[-1]:
            raise DamageError(f"{where}: a number that is no atom of problem {task.name!r}")
        if not task.fluent[np.searchsorted(task.code_offset, own, side="right") - 1].all():
            raise DamageError(f"{where}: an atom of problem {task.name!r} that no action changes")


# -- weights ---------------------------------------------------------------------------------------------------------


def check_learner(learner: Learner, state: Mapping[str, torch.Tensor]) -> None:
    """Checks the weights of all networks, and what the optimiser remembers of those that were learned so far."""
    shapes: dict[str, torch.Size] = {}
    for prefix, module in (("network", learner.network), ("target", learner.target), ("averaged", learner.averaged)):
        if module is not None:
            shapes |= {f"{prefix}.{name}": value.shape for name, value in module.state_dict().items()}
    for number, weight in enumerate(learner.network.parameters()):
        if any(name.startswith(f"optimiser.{number}.") for name in state):
            shapes |= {f"optimiser.{number}.{key}": weight.shape for key in MOMENTS}
            shapes[f"optimiser.{number}.step"] = torch.Size()
    for name, shape in shapes.items():
        value = state.get(name)
        if value is None:
            raise DamageError(f"learner.{name}: missing")
        if value.dtype != torch.float32 or value.shape != shape:
            found = f"{value.dtype} {list(value.shape)}"
            raise DamageError(f"learner.{name}: expected {torch.float32} {list(shape)}, found {found}")
        if not torch.isfinite(value).all():
            raise DamageError(f"learner.{name}: some are not finite numbers")
        if name.endswith(("exp_avg_sq", "step")) and (value < 0).any():
            raise DamageError(f"learner.{name}: some are negative")
    for name in state:
        if name not in shapes:
            raise DamageError(f"learner.{name}: unknown")
