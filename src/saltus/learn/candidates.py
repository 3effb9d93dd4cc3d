"""Stage `learn`: the configurations between which a contest chooses.

They differ in what depends on the domain: the features by which trees are pruned, whether moves are free, and whether
dead ends are looked for. All else is shared, so that their validations compare. Configurations that the given problems
or the user's settings make equal, or impossible, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from saltus.errors import ConfigurationError
from saltus.grow.values import ENOUGH_GIVEN
from saltus.learn.config import Configuration, differences, load_configuration
from saltus.learn.problems import NEGATIVE_GOALS
from saltus.learn.values import PART
from saltus.lookahead.free_moves import find_free_moves
from saltus.task import Task

CANDIDATES: dict[str, tuple[str, tuple[str, ...]]] = {
    "aiw-free": ("aiw-ad", ("lookahead.free_moves=true",)),
    "iw-free": ("iw-ad", ("lookahead.free_moves=true",)),
    "aiw-free-dead-ends": ("dead-ends", ("lookahead.free_moves=true",)),
    "iw-free-dead-ends": ("dead-ends", ("lookahead.kind=iw", "lookahead.free_moves=true")),
    "aiw": ("aiw-ad", ()),
    "iw": ("iw-ad", ()),
    "aiw-dead-ends": ("dead-ends", ()),
    "iw-dead-ends": ("dead-ends", ("lookahead.kind=iw",)),
}
"""Named configuration and changes to it, by candidate.

Those that tie rank in this order, small trees first.
"""

SHARED = (
    "play.max_encoded=10000",
    "training.larger_problems=12",
    "training.far_problems=4",
    "training.episodes=10000",
    "training.stop_after=4",
    "training.learning_rate_restarts=true",
    "training.average=0.997",
    "training.curriculum=100",
    "training.lean=true",
)
"""What all candidates have in common; runs end by time, or when they solve everything steadily. The network sees many
nodes of a tree: a limit that large problems run into costs the policy its way, since what it learned to choose may be
what was left out."""

CPU = (
    "model.embedding=16",
    "model.layers=5",
    "training.steps=16",
    "training.batch=16",
    "training.learning_rate=2e-3",
    "training.learning_rate_episodes=1200",
    "training.validate_every=20",
    "training.curriculum=300",
)
"""What they have in common on a CPU, where gradient steps take most of the time."""


@dataclass(frozen=True)
class Candidate:
    """A run of a contest."""

    name: str
    config: str
    """Name of a configuration."""
    settings: tuple[str, ...]
    """Changes to it."""
    seed: int

    @cached_property
    def configuration(self) -> Configuration:
        """The resolved configuration."""
        return load_configuration(self.config, self.settings)

    @property
    def looks_for_dead_ends(self) -> bool:
        """Whether dead ends are looked for."""
        return self.configuration.play.dead_ends


def shared_settings(tasks: Sequence[Task], device: str, seconds: float = 0.0) -> tuple[str, ...]:
    """What all candidates for some training problems have in common; `device` is cpu or cuda.

    `seconds` is the time of the contest; 0 if it is not limited.
    """
    found = [*SHARED, *(CPU if device == "cpu" else ())]
    found.append(f"training.validation_limit={PART * seconds:g}")
    found.append(f"training.cost={'costs' if any(task.has_costs for task in tasks) else 'actions'}")
    if any(len(task.goal.negative) for task in tasks):
        found.append(f"{NEGATIVE_GOALS}=true")
    if len(tasks) < ENOUGH_GIVEN:
        found.append(f"training.generated_problems={ENOUGH_GIVEN}")
    return tuple(found)


def candidates_for(
    tasks: Sequence[Task], device: str, settings: Sequence[str] = (), seed: int = 0, seconds: float = 0.0
) -> list[Candidate]:
    """The candidates for some training problems, each changed by the user's settings `key=value`.

    Those modulo free moves are left out if no problem has any. `seconds` is the time of the contest; 0 if it is not
    limited.
    """
    common = (*shared_settings(tasks, device, seconds), *settings)
    has_free_moves = any(find_free_moves(task) is not None for task in tasks)
    found: dict[Configuration, Candidate] = {}
    refused: list[ConfigurationError] = []
    for name, (config, changes) in CANDIDATES.items():
        candidate = Candidate(name, config, (*changes, *common), seed)
        try:
            configuration = candidate.configuration
        except ConfigurationError as error:
            refused.append(error)
            continue
        if configuration.lookahead.free_moves and not has_free_moves:
            continue
        other = found.get(configuration)
        if other is None or _overruled(candidate, settings) < _overruled(other, settings):
            found[configuration] = candidate
    if found:
        return list(found.values())
    if refused:
        raise refused[0]
    return [Candidate("aiw", "aiw-ad", common, seed)]  # the settings ask for free moves where there are none


def most_able(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    """So many of the candidates, in their order, to try where time is short: those that look for dead ends first.

    These learn nearly wherever the others do, more slowly, and in some domains in which the others never begin to.
    """
    order = sorted(candidates, key=lambda entry: not entry.looks_for_dead_ends)
    return [entry for entry in candidates if entry in order[:count]]


def _overruled(candidate: Candidate, settings: Sequence[str]) -> int:
    """How many values of a candidate the user's settings change."""
    own = load_configuration(candidate.config, candidate.settings[: len(candidate.settings) - len(settings)])
    return len(differences(own, candidate.configuration))
