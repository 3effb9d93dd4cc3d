"""Stage `learn`: how a policy does on validation problems: greedy rollouts on all of them at once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

from saltus.learn.values import VALIDATION_JUMPS
from saltus.policy import Ending, Policy, play, run_rollouts
from saltus.task import Action, Task


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


def jump_limit(task: Task) -> int:
    """Limit on the jumps of a validation rollout: more for more objects and goals."""
    return VALIDATION_JUMPS + 2 * (len(task.objects) + task.goal.size)


@dataclass(eq=False)
class Rolled:
    """What came of a greedy rollout."""

    ending: Ending | None = None
    """None if its time was up."""
    actions: list[Action] = field(default_factory=list)
    jumps: int = 0
    nodes: int = 0
    """Nodes of the trees on the way."""

    def cost_of(self, task: Task) -> float:
        """Cost of the actions in their task; their number where it has no costs."""
        return sum(map(task.action_cost, self.actions)) if task.has_costs else float(len(self.actions))


def roll_out(
    policy: Policy, tasks: Sequence[Task], *, until: float = math.inf, check: Callable[[], None] = lambda: None
) -> list[Rolled]:
    """What came of greedy rollouts, all at once, by the rules of the policy.

    Those that go on at the time `until` of the monotonic clock have failed; every one makes at least one jump. `check`
    is called before every jump; what it raises ends them all.
    """
    rollouts = [play(policy, task) for task in tasks]
    found = [Rolled() for _ in tasks]
    for steps in run_rollouts(policy, rollouts, check):
        for i, step in steps:
            found[i].actions += step.actions
            found[i].nodes += len(step.tree)
            if rollouts[i].ending is None and rollouts[i].jumps >= jump_limit(tasks[i]):
                rollouts[i].ending = Ending.STUCK
        if time.monotonic() >= until:
            break
    for rolled, rollout in zip(found, rollouts, strict=True):
        rolled.ending, rolled.jumps = rollout.ending, rollout.jumps
    return found


def measure(
    policy: Policy, tasks: Sequence[Task], *, until: float = math.inf, check: Callable[[], None] = lambda: None
) -> Coverage:
    """Coverage of greedy rollouts, whose arguments are those of `roll_out`."""
    rolled = zip(tasks, roll_out(policy, tasks, until=until, check=check), strict=True)
    solved = [(task, entry) for task, entry in rolled if entry.ending is Ending.SOLVED]
    return Coverage(
        problems=len(tasks),
        solved=len(solved),
        jumps=sum(entry.jumps for _, entry in solved),
        actions=sum(len(entry.actions) for _, entry in solved),
        cost=sum(entry.cost_of(task) for task, entry in solved) if any(task.has_costs for task in tasks) else None,
        nodes=sum(entry.nodes for _, entry in solved),
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
        return self.total.solved, -self.total.length(unit)

    @property
    def total(self) -> Coverage:
        """Coverage of validation and larger problems together."""
        return self.held_out if self.larger is None else self.held_out + self.larger

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
