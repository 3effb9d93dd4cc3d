"""Stage `model`: keys of configurations that earlier versions had and this one has not.

Policy files and saved runs of earlier versions have them. They are read all the same as long as such a key had the
value that now holds without it; with another value, the policy or the run is one that this version cannot go on with.
Users' files and settings are refused with a text that says what holds now.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saltus.errors import ConfigurationError

ANY: Any = object()
"""The value of a key that no longer matters."""


@dataclass(frozen=True)
class Removed:
    """A key that is gone."""

    value: Any
    """What it must have been, since this now holds; `ANY` where it does not matter."""
    now: str = ""
    """What holds now; empty if the value says it."""
    only_with: str = ""
    """Key of the same section without which, or with 0 as whose value, it made no difference."""
    with_paper: Any = ANY
    """What it must have been with `selection=paper`, if not the same."""

    def allows(self, value: Any, values: Mapping[str, Any]) -> bool:
        """Whether what now holds is what the value said among the other values of its section."""
        is_papers = self.with_paper is not ANY and values.get("selection") == "paper"
        wanted = self.with_paper if is_papers else self.value
        return wanted is ANY or wanted == value or bool(self.only_with and not values.get(self.only_with))

    @property
    def text(self) -> str:
        """What holds now, in words."""
        return self.now or f"it is always {json.dumps(self.value)}"


REMOVED: dict[str, dict[str, Removed]] = {
    "lookahead": {
        "derived_novelty": Removed(True, "derived atoms always count for novelty"),
    },
    "play": {
        "max_atoms": Removed(100_000_000),
        "max_root_actions": Removed(20_000),
    },
    "encoding": {
        "depth_unit": Removed("jumps", "depth nodes count jumps"),
        "derived": Removed(True, "derived atoms are always encoded"),
    },
    "model": {
        "aggregation": Removed("smooth-max"),
        "sharpness": Removed(12.0),
        "norm": Removed(True),
    },
    "training": {
        "rollouts": Removed(4),
        "paced": Removed(True, "a curriculum always keeps pace with success", only_with="curriculum"),
        "learning_rate_end": Removed(1e-5),
        "clip": Removed(0.0, "gradients have no limit"),
        "temperature_end": Removed(0.1),
        "temperature_episodes": Removed(1000),
        "take_goals": Removed(False, "exploration goes by temperature alone"),
        "cost_scale": Removed(0.0, "the mean jump counts as 1"),
        "cost_per_jump": Removed(0.5),
        "discount": Removed(0.999),
        "bootstrap": Removed("mellowmax", "the value of a state is the mellowmax of the Q-values of its tree"),
        "mellowmax_factor": Removed(10.0),
        "target_every": Removed(0, "there is no target network"),
        "least_target": Removed(0.0, "targets have no lower bound"),
        "bounds": Removed(True, "bounds are always part of the loss"),
        "rank_weight": Removed(1.0),
        "alpha": Removed(0.6),
        "beta": Removed(0.4),
        "beta_samples": Removed(100_000),
        "original_share": Removed(0.5),
        "keep_failed": Removed(False, "failed trajectories are stored in hindsight alone"),
        "hindsight": Removed("lifted", "hindsight is lifted"),
        "hindsight_atoms": Removed(10),
        "hindsight_variants": Removed(2),
        "hindsight_trajectories": Removed(100),
        "search_by": Removed("policy", "the policy guides searches", only_with="searches"),
        "search_decisions": Removed(100, only_with="searches"),
        "plan_starts": Removed(0, "rollouts begin in initial states"),
        "validation_jumps": Removed(50),
        "validation_takes_goals": Removed(ANY, "play.take_goals has taken its place"),
        "validate_seconds": Removed(ANY, "validations are due every 60 s, too, unless selection is paper"),
        "validation_problems": Removed(ANY, "24 are used, unless selection is paper"),
        "checkpoint_every": Removed(ANY, "runs are saved every 10 episodes"),
        "prefetch": Removed(4, "batches are prepared in advance unless selection is paper", with_paper=0),
        "larger_training": Removed(0, "larger problems serve validation alone"),
        "problems_from": Removed("auto", "problems are grown where the domain has no generator"),
        "larger_from": Removed(0.9),
    },
}
"""Keys that are gone, by section."""


def removed(section: str, key: str) -> Removed | None:
    """What became of a key; None if there never was such a key, or if it is still there."""
    return REMOVED.get(section, {}).get(key)


def refuse_removed(section: str, key: str) -> None:
    """Raises a `ConfigurationError` that says what holds now if the key is gone."""
    found = removed(section, key)
    if found is not None:
        raise ConfigurationError(f"{section}: {key} was removed: {found.text}")


def without_removed(section: str, values: Any) -> Any:
    """Plain values of a section that an earlier version may have saved, without keys that are gone.

    One whose value is not what holds now is a `ConfigurationError`. What is no section is returned as it is.
    """
    if not isinstance(values, Mapping):
        return values
    for key, value in values.items():
        found = removed(section, key)
        if found is not None and not found.allows(value, values):
            setting = f"{section}.{key}={json.dumps(value, default=str)}"
            raise ConfigurationError(f"made with {setting}, which this version does not have: {found.text}")
    return {key: value for key, value in values.items() if removed(section, key) is None}
