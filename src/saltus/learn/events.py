"""Stage `learn`: what a trainer tells while it trains, one event per episode and one per validation; and a contest."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

from saltus.learn.losses import Means
from saltus.learn.validation import Validation


@dataclass(frozen=True)
class EpisodeReport:
    """What happened in one episode."""

    kind: ClassVar[Literal["episode"]] = "episode"
    """Tells the two kinds of events apart."""

    episode: int
    """Number of the episode, from 1."""
    loss: float
    losses: Means
    """Means of the terms of the loss, and of the absolute TD error, by name."""
    success: float
    """Share of the episode's trajectories that reached their goal."""
    jumps: float
    """Mean number of jumps per trajectory."""
    searched: int
    """Trajectories found by search."""
    original: int
    """Transitions in the store of original experience."""
    hindsight: int
    """Transitions in the store of relabelled experience."""
    temperature: float
    learning_rate: float
    steps_per_second: float
    seconds: dict[str, float] = field(default_factory=dict)
    """Seconds by part: rollouts and searches, hindsight, waiting for batches, gradient steps."""

    def __str__(self) -> str:
        return f"loss {self.loss:.3f}, success {self.success:.0%}, {self.steps_per_second:.1f} steps/s"

    def to_json(self) -> dict[str, Any]:
        """Plain values by name, as in the log; the losses are among them, each under its own name."""
        values = asdict(self)
        losses = values.pop("losses")
        return {**values, **losses}


Event = EpisodeReport | Validation
"""What a trainer yields; `kind` is "episode" or "validation"."""


@dataclass(frozen=True)
class ContestEvent:
    """Something that happened in a contest."""

    kind: str
    """round: one begins or has ended; validation: of a run; leader: another run is ahead; episode: one has passed."""
    text: str
    round: int
    used: float
    limit: float
