"""Stage `learn`: how a policy does on validation problems: greedy rollouts on all of them at once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from saltus.learn.values import VALIDATION_JUMPS
from saltus.policy import Ending, Policy, play, run_rollouts
from saltus.task import Task


@dataclass(frozen=True)
class Coverage:
    """Number of problems solved, and of the jumps and actions of their plans."""

    problems: int
    solved: int
    jumps: int
    actions: int
    cost: float | None = None
    """Total cost of the plans; None unless the problems have action costs."""
    nodes: int = 0
    """Nodes of the trees on the way to the plans; 0 in logs without it."""

    @property
    def share(self) -> float:
        """Share of the problems that were solved; 1 if there are none."""
        return self.solved / self.problems if self.problems else 1.0

    def length(self, unit: str) -> float:
        """Total length of the plans of a policy that counts this unit: their cost if it counts costs, else actions."""
        return self.cost if unit == "costs" and self.cost is not None else self.actions

    def __add__(self, other: Coverage) -> Coverage:
        """Coverage of the problems of both."""
        costs = [entry.cost for entry in (self, other) if entry.cost is not None]
        return Coverage(
            self.problems + other.problems,
            self.solved + other.solved,
            self.jumps + other.jumps,
            self.actions + other.actions,
            sum(costs) if costs else None,
            self.nodes + other.nodes,
        )

    def __str__(self) -> str:
        return f"{self.solved} of {self.problems}, {self.actions:,} actions"


def jump_limit(task: Task, least: int = VALIDATION_JUMPS) -> int:
    """Limit on the jumps of a validation rollout: `least`, and two more per object and per goal."""
    return least + 2 * (len(task.objects) + task.goal.size)


def measure(
    policy: Policy,
    tasks: Sequence[Task],
    least_jumps: int = VALIDATION_JUMPS,
    *,
    until: float = math.inf,
    check: Callable[[], None] = lambda: None,
) -> Coverage:
    """Coverage of greedy rollouts, by the rules of the policy.

    Rollouts that go on at the time `until` of the monotonic clock have failed; every rollout makes at least one jump.
    `check` is called before every jump; what it raises ends the measurement.
    """
    rollouts = [play(policy, task) for task in tasks]
    limits = [jump_limit(task, least_jumps) for task in tasks]
    actions = [0] * len(tasks)
    costs = [0.0] * len(tasks)
    nodes = [0] * len(tasks)
    for steps in run_rollouts(policy, rollouts, check):
        for i, step in steps:
            actions[i] += int(step.tree.length[step.node])
            nodes[i] += len(step.tree)
            if tasks[i].has_costs:
                costs[i] += sum(tasks[i].action_cost(action) for action in step.actions)
            if rollouts[i].ending is None and rollouts[i].jumps >= limits[i]:
                rollouts[i].ending = Ending.STUCK
        if time.monotonic() >= until:
            break
    solved = [i for i, rollout in enumerate(rollouts) if rollout.ending is Ending.SOLVED]
    has_costs = any(task.has_costs for task in tasks)
    return Coverage(
        problems=len(tasks),
        solved=len(solved),
        jumps=sum(rollouts[i].jumps for i in solved),
        actions=sum(actions[i] for i in solved),
        cost=sum(costs[i] if tasks[i].has_costs else actions[i] for i in solved) if has_costs else None,
        nodes=sum(nodes[i] for i in solved),
    )


@dataclass(frozen=True)
class Validation:
    """How a policy did on the validation problems."""

    kind: ClassVar[Literal["validation"]] = "validation"
    """Tells the two kinds of events apart."""

    episode: int
    held_out: Coverage
    larger: Coverage | None
    """On larger problems; None where they were not tried."""
    td_error: float
    """Mean absolute TD error since the last regular validation."""

    def key(self, selection: str, unit: str = "jumps") -> tuple[float, ...]:
        """What checkpoints are compared by, the larger the better; see `TrainingSpec.selection`.

        `unit` is what the policy counts: among equal coverage, the cheapest plans win if it counts costs, the shortest
        ones otherwise.
        """
        if selection == "paper":
            return self.held_out.solved, -self.held_out.length(unit), -self.td_error
        larger = self.larger or Coverage(0, 0, 0, 0)
        return self.held_out.solved + larger.solved, -(self.held_out.length(unit) + larger.length(unit))

    @property
    def complete(self) -> bool:
        """Whether every problem was solved."""
        return self.held_out.share == 1 and self.larger is not None and self.larger.share == 1

    def __str__(self) -> str:
        text = f"validation {self.held_out}"
        return f"{text}; larger {self.larger}" if self.larger is not None and self.larger.problems else text

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Validation:
        """The opposite of `to_json`."""
        larger = Coverage(**values["larger"]) if values["larger"] is not None else None
        return cls(values["episode"], Coverage(**values["held_out"]), larger, values["td_error"])
