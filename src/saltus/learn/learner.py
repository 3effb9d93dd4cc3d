"""Stage `learn`: the network and its gradient steps.

`Learner.step` takes a batch and starts one step of Adam; what it gives is read later, so that a GPU need not be waited
for. On a GPU steps are replayed as CUDA graphs (`cuda_graphs.py`) where the encoding allows it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saltus.learn.batch import TrainingBatch
from saltus.learn.config import Configuration, TrainingSpec
from saltus.learn.losses import bounds_loss, huber, maximum, mellowmax, rank_loss, td_target
from saltus.model import Layout, RelationalNetwork, make_layout
from saltus.model.cuda import is_fused


@dataclass(frozen=True)
class BatchTensors:
    """What a training batch says beside its graphs; [samples, …]."""

    chosen: Tensor
    after_index: Tensor
    """[samples, candidates]: candidates of the successor's tree, padded with 0."""
    after_mask: Tensor
    final: Tensor
    bound: Tensor
    weight: Tensor
    depth_index: Tensor
    """[samples, depths]: depth nodes in the order of their depths, padded with 0."""
    depth_mask: Tensor


@dataclass(frozen=True)
class StepResult:
    """Losses of one step; reading them waits for it."""

    values: Tensor
    """[samples + 4]: loss of every sample; means of TD, bounds and rank losses, and of the absolute TD error."""
    ready: Any = None
    """CUDA event after which `values` may be read; None if they are there."""

    def read(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Loss of every sample, and the four means."""
        if self.ready is not None:
            self.ready.synchronize()
        values = self.values.detach().cpu().numpy()
        return values[:-4].copy(), values[-4:].copy()


def spread_rows(first: NDArray[np.int64], count: NDArray[np.int64], width: int) -> tuple[Any, Any]:
    """Runs of numbers as the rows of a matrix [rows, width], padded with 0, and a mask of what is no padding."""
    inside = np.arange(width)[None, :]
    mask = inside < count[:, None]
    return np.where(mask, first[:, None] + inside, 0), mask


def batch_tensors(batch: TrainingBatch, device: torch.device | str) -> BatchTensors:
    """Tensors of a batch, no wider than needed."""
    after_index, after_mask = spread_rows(batch.after_first, batch.after_count, max(1, int(batch.after_count.max())))
    depth_index, depth_mask = spread_rows(batch.depth_first, batch.depth_count, max(1, int(batch.depth_count.max())))
    arrays = (
        batch.chosen,
        after_index,
        after_mask,
        batch.final,
        batch.bound,
        batch.weight,
        depth_index,
        depth_mask,
    )
    return BatchTensors(*(torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in arrays))


def losses_of(
    network: RelationalNetwork,
    valuer: RelationalNetwork,
    now: Layout,
    after: Layout | None,
    tensors: BatchTensors,
    spec: TrainingSpec,
    layers: int,
) -> tuple[Tensor, Tensor]:
    """The loss to minimise, and what `StepResult.values` holds."""
    with torch.no_grad():
        if after is None:
            value = torch.zeros_like(tensors.bound)
        else:
            q = valuer(after, layers).q[tensors.after_index]  # [samples, candidates]
            mask = tensors.after_mask
            value = mellowmax(q, mask, spec.mellowmax_factor) if spec.bootstrap == "mellowmax" else maximum(q, mask)
        target = td_target(value, tensors.final, spec.discount, spec.dead_end, spec.least_target)
    scores = network(now, layers)
    q = scores.q.index_select(0, tensors.chosen)
    error = q - target
    td = huber(error)
    bounds = bounds_loss(q, tensors.bound) if spec.bounds else torch.zeros_like(td)
    each = td + bounds
    loss = (tensors.weight * each).mean()
    rank = torch.zeros_like(td)
    if spec.rank_weight > 0 and len(scores.depth):
        rank = rank_loss(scores.depth[tensors.depth_index], tensors.depth_mask)
        loss = loss + spec.rank_weight * rank.mean()
    means = torch.stack([td.mean(), bounds.mean(), rank.mean(), error.abs().mean()])
    return loss, torch.cat([each, means]).detach()


class Learner:
    """Network, optimiser, and the copies that the configuration asks for."""

    def __init__(self, network: RelationalNetwork, configuration: Configuration, device: str) -> None:
        self.spec = configuration.training
        self.device = torch.device(device)
        self.network = network.to(self.device)
        on_gpu = self.device.type == "cuda"
        rate: float | Tensor = self.spec.learning_rate
        if on_gpu:
            rate = torch.tensor(rate, device=self.device)  # a replayed step reads the present value
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=rate, capturable=on_gpu, fused=on_gpu or None)
        self.target = copy.deepcopy(self.network).requires_grad_(False) if self.spec.target_every else None
        self.averaged = copy.deepcopy(self.network).requires_grad_(False) if self.spec.average else None
        self._graphs: Any = None
        if on_gpu and configuration.encoding.is_joint and is_fused(self.network):
            from saltus.learn.recorded_step import RecordedStep

            self._graphs = RecordedStep(self)

    @property
    def valuer(self) -> RelationalNetwork:
        """The network that values successors."""
        return self.target if self.target is not None else self.network

    @property
    def player(self) -> RelationalNetwork:
        """The network that is the policy."""
        return self.averaged if self.averaged is not None else self.network

    def set_rate(self, rate: float) -> None:
        """Sets the learning rate."""
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def copy_target(self) -> None:
        """Copies the weights to the network that values successors."""
        if self.target is not None:
            self.target.load_state_dict(self.network.state_dict())

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Sets the weights of the network and its copies."""
        for module in (self.network, self.target, self.averaged):
            if module is not None:
                module.load_state_dict(weights)

    def prepare(self, batch: TrainingBatch) -> Any:
        """What `step` takes: everything of it that needs no learning thread is done here."""
        if self._graphs is not None:
            return self._graphs.prepare(batch)
        now = make_layout(batch.now, self.network.arities)
        after = make_layout(batch.after, self.network.arities) if batch.after is not None else None
        return now, after, batch_tensors(batch, "cpu")

    def step(self, prepared: Any, layers: int) -> StepResult:
        """Starts one gradient step."""
        if self._graphs is not None:
            result: StepResult = self._graphs.step(prepared, layers)
            return result
        now, after, tensors = prepared
        moved = BatchTensors(*(value.to(self.device) for value in vars(tensors).values()))
        values = self.descend(now.to(self.device), after.to(self.device) if after is not None else None, moved, layers)
        return StepResult(values)

    def descend(self, now: Layout, after: Layout | None, tensors: BatchTensors, layers: int) -> Tensor:
        """One gradient step on tensors of the learner's device; gives `StepResult.values`."""
        self.optimiser.zero_grad(set_to_none=False)
        loss, values = losses_of(self.network, self.valuer, now, after, tensors, self.spec, layers)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.spec.clip:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.spec.clip)
        self.optimiser.step()
        if self.averaged is not None:
            with torch.no_grad():
                pairs = zip(self.averaged.parameters(), self.network.parameters(), strict=True)
                for mean, weight in pairs:
                    mean.lerp_(weight, 1.0 - self.spec.average)
        return values

    # -- saved with a run --------------------------------------------------------------------------------------------

    def get_state(self) -> dict[str, Tensor]:
        """All tensors that make up the learner."""
        state = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        for prefix, module in (("target", self.target), ("averaged", self.averaged)):
            if module is not None:
                state |= {f"{prefix}.{name}": value for name, value in module.state_dict().items()}
        for number, entry in self.optimiser.state_dict()["state"].items():
            state |= {f"optimiser.{number}.{name}": torch.as_tensor(value) for name, value in entry.items()}
        return {name: value.detach().cpu().clone() for name, value in state.items()}

    def set_state(self, state: dict[str, Tensor]) -> None:
        """Restores what `get_state` gave."""

        def part(prefix: str) -> dict[str, Tensor]:
            return {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}

        self.network.load_state_dict(part("network."))
        for prefix, module in (("target.", self.target), ("averaged.", self.averaged)):
            if module is not None:
                module.load_state_dict(part(prefix))
        entries: dict[int, dict[str, Tensor]] = {}
        for name, value in part("optimiser.").items():
            number, _, key = name.partition(".")
            entries.setdefault(int(number), {})[key] = value.clone()
        full = self.optimiser.state_dict()
        self.optimiser.load_state_dict({"state": entries, "param_groups": full["param_groups"]})
