"""Stage `learn`: the network and its gradient steps.

`Learner.step` takes a batch and starts one step of Adam. Its result is read later, so that nothing waits for a GPU. On
a GPU, steps are recorded as CUDA graphs and replayed (`recorded_step.py`) if the encoding allows it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saltus.learn.batch import TrainingBatch
from saltus.learn.config import Configuration
from saltus.learn.losses import (
    BatchLoss,
    Means,
    Predictions,
    batch_loss,
    mellowmax,
    td_target,
    unpack,
)
from saltus.learn.values import AVERAGE_START, DISCOUNT, MELLOWMAX
from saltus.model import Layout, RelationalNetwork, make_layout
from saltus.model.branches import Branch
from saltus.model.cuda import is_fused

Array = TypeVar("Array")


@dataclass(frozen=True, eq=False)
class SampleArrays(Generic[Array]):
    """What a training batch holds in addition to its graphs, one row per sample; as tensors, or as NumPy arrays."""

    chosen: Array
    after_index: Array
    """[samples, candidates]: candidates of the successor's tree, padded with 0."""
    after_mask: Array
    final: Array
    bound: Array
    cost: Array
    weight: Array
    depth_index: Array
    """[samples, depths]: depth nodes in the order of their depths, padded with 0."""
    depth_mask: Array

    def to_tensors(self: SampleArrays[NDArray[Any]]) -> SampleArrays[Tensor]:
        """NumPy arrays as tensors."""
        return SampleArrays(*(torch.from_numpy(np.ascontiguousarray(array)) for array in vars(self).values()))

    def to(self: SampleArrays[Tensor], device: torch.device | str) -> SampleArrays[Tensor]:
        """The tensors on a device."""
        return SampleArrays(*(tensor.to(device) for tensor in vars(self).values()))


@dataclass(frozen=True)
class StepResult:
    """Losses of one step, which may still be running."""

    packed: Tensor
    """As in `BatchLoss`."""
    ready: Any = None
    """CUDA event after which `packed` may be read; None if it can be read at once."""

    def read(self) -> tuple[NDArray[np.float32], Means]:
        """The loss of each sample, and the means; waits for the step."""
        if self.ready is not None:
            self.ready.synchronize()
        return unpack(self.packed.detach().cpu().numpy())


def spread_rows(first: NDArray[np.int64], count: NDArray[np.int64], width: int) -> tuple[Any, Any]:
    """Ranges of numbers as the rows of a matrix [rows, width], padded with 0, and a mask that is false for padding."""
    inside = np.arange(width)[None, :]
    mask = inside < count[:, None]
    return np.where(mask, first[:, None] + inside, 0), mask


def sample_arrays(batch: TrainingBatch, after_width: int, depth_width: int) -> SampleArrays[NDArray[Any]]:
    """Arrays of a batch, in which matrices have these widths."""
    after_index, after_mask = spread_rows(batch.after_first, batch.after_count, after_width)
    depth_index, depth_mask = spread_rows(batch.depth_first, batch.depth_count, depth_width)
    return SampleArrays(
        chosen=batch.chosen,
        after_index=after_index,
        after_mask=after_mask,
        final=batch.final,
        bound=batch.bound,
        cost=batch.cost,
        weight=batch.weight,
        depth_index=depth_index,
        depth_mask=depth_mask,
    )


def batch_tensors(batch: TrainingBatch, device: torch.device | str) -> SampleArrays[Tensor]:
    """Tensors of a batch, no wider than needed."""
    widths = (max(1, int(count.max())) for count in (batch.after_count, batch.depth_count))
    return sample_arrays(batch, *widths).to_tensors().to(device)


def loss_of(
    network: RelationalNetwork,
    now: Layout,
    after: Layout | None,
    samples: SampleArrays[Tensor],
    dead_end: float,
    layers: int,
) -> BatchLoss:
    """The loss of a batch; a GPU values successors beside the other pass."""
    branch = Branch(samples.bound.device, -1)  # those of message passing have numbers from 0 on
    branch.start()
    with branch.work(), torch.no_grad():
        if after is None:
            value = torch.zeros_like(samples.bound)
        else:
            q = network(after, layers).q[samples.after_index]  # [samples, candidates]
            value = mellowmax(q, samples.after_mask, MELLOWMAX)
        target = td_target(value, samples.cost, samples.final, DISCOUNT, dead_end)
    scores = network(now, layers)
    branch.join()
    predictions = Predictions(
        q=scores.q.index_select(0, samples.chosen),
        target=target,
        bound=samples.bound,
        cost=samples.cost,
        depth=scores.depth,
        depth_index=samples.depth_index,
        depth_mask=samples.depth_mask,
    )
    return batch_loss(predictions, samples.weight)


class Learner:
    """The network, its optimiser, and the average of its weights if the configuration asks for one."""

    def __init__(self, network: RelationalNetwork, configuration: Configuration, device: str) -> None:
        self.spec = configuration.training
        self.device = torch.device(device)
        self.network = network.to(self.device)
        self.network.trained_by_kernel = True
        on_gpu = self.device.type == "cuda"
        rate: float | Tensor = self.spec.learning_rate
        if on_gpu:
            rate = torch.tensor(rate, device=self.device)  # a replayed step reads the current value
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=rate, capturable=on_gpu, fused=on_gpu or None)
        self.averaged = copy.deepcopy(self.network).requires_grad_(False) if self.spec.average else None
        self.is_given = False
        """Whether the weights at the start were learned before."""
        self.recorded: Any = None
        """Recorded steps; None where steps are not recorded."""
        if on_gpu and configuration.encoding.is_joint and is_fused(self.network):
            from saltus.learn.recorded_step import RecordedStep

            self.recorded = RecordedStep(self)

    @property
    def player(self) -> RelationalNetwork:
        """The network that is the policy."""
        return self.averaged if self.averaged is not None else self.network

    @property
    def modules(self) -> dict[str, RelationalNetwork]:
        """The network, and the average of its weights if there is one."""
        averaged = {} if self.averaged is None else {"averaged": self.averaged}
        return {"network": self.network, **averaged}

    def set_rate(self, rate: float) -> None:
        """Sets the learning rate."""
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Sets the weights of the network and of their average."""
        for module in self.modules.values():
            module.load_state_dict(weights)

    def prepare(self, batch: TrainingBatch) -> Any:
        """What `step` takes. Everything that does not need the learning thread is done here."""
        if self.recorded is not None:
            return self.recorded.prepare(batch)
        now = make_layout(batch.now, self.network.arities)
        after = make_layout(batch.after, self.network.arities) if batch.after is not None else None
        return now, after, batch_tensors(batch, "cpu")

    def step(self, prepared: Any, layers: int) -> StepResult:
        """Starts one gradient step."""
        if self.recorded is not None:
            result: StepResult = self.recorded.step(prepared, layers)
            return result
        now, after, samples = prepared
        moved = after.to(self.device) if after is not None else None
        return StepResult(self.descend(now.to(self.device), moved, samples.to(self.device), layers))

    def descend(self, now: Layout, after: Layout | None, samples: SampleArrays[Tensor], layers: int) -> Tensor:
        """Takes one gradient step on tensors of the learner's device; returns `BatchLoss.packed`."""
        self.optimiser.zero_grad(set_to_none=False)
        loss = loss_of(self.network, now, after, samples, self.spec.dead_end, layers)
        loss.total.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        if self.averaged is not None:
            with torch.no_grad():
                share = self._averaged_share()
                pairs = zip(self.averaged.parameters(), self.network.parameters(), strict=True)
                for mean, weight in pairs:
                    mean.lerp_(weight, share)
        return loss.packed

    def _averaged_share(self) -> Tensor:
        """Share of the present weights in their average: larger in the first steps, so that random weights are soon
        forgotten, unless the weights at the start were learned. It is a tensor because recorded steps are replayed."""
        steps: Tensor = self.optimiser.state[self.network.update.first.weight]["step"]  # of Adam, this one counted
        least = 1.0 - self.spec.average
        return (
            torch.full_like(steps, least) if self.is_given else (AVERAGE_START / (steps + AVERAGE_START)).clamp(least)
        )

    # -- for a while in memory ---------------------------------------------------------------------------------------

    def remember(self) -> list[Tensor]:
        """Copies of everything that gradient steps change."""
        return [tensor.clone() for tensor in self._changing()]

    def go_back(self, remembered: list[Tensor]) -> None:
        """Undoes all gradient steps since `remember`. Tensors stay where they are, since recorded steps know them."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        changing = self._changing()
        with torch.no_grad():
            for tensor, value in zip(changing, remembered, strict=False):
                tensor.copy_(value)
            for tensor in changing[len(remembered) :]:  # moments that Adam has made since; they begin with zero
                tensor.zero_()

    def _changing(self) -> list[Tensor]:
        """Weights of the networks, then the optimiser's moments, of which there are none before the first step."""
        weights = [value.detach() for module in self.modules.values() for value in module.state_dict().values()]
        moments = [entry for state in self.optimiser.state.values() for entry in state.values()]
        return weights + [entry for entry in moments if isinstance(entry, Tensor)]

    # -- saved with a run --------------------------------------------------------------------------------------------

    def get_state(self) -> dict[str, Tensor]:
        """All tensors of the learner's state."""
        state: dict[str, Tensor] = {}
        for prefix, module in self.modules.items():
            state |= {f"{prefix}.{name}": value for name, value in module.state_dict().items()}
        for number, entry in self.optimiser.state_dict()["state"].items():
            state |= {f"optimiser.{number}.{name}": torch.as_tensor(value) for name, value in entry.items()}
        return {name: value.detach().cpu().clone() for name, value in state.items()}

    def set_state(self, state: dict[str, Tensor]) -> None:
        """Restores what `get_state` returned; PyTorch refuses weights with other names or shapes."""

        def part(prefix: str) -> dict[str, Tensor]:
            return {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}

        for prefix, module in self.modules.items():
            module.load_state_dict(part(f"{prefix}."))
        entries: dict[int, dict[str, Tensor]] = {}
        weights = list(self.network.parameters())
        for name, value in part("optimiser.").items():
            number, _, key = name.partition(".")
            if key != "step" and value.shape != weights[int(number)].shape:
                raise ValueError(f"optimiser.{name}: its shape is {list(value.shape)}, not that of the weight")
            entries.setdefault(int(number), {})[key] = value.clone()
        full = self.optimiser.state_dict()
        self.optimiser.load_state_dict({"state": entries, "param_groups": full["param_groups"]})
