"""Stage `learn`: everything that can be set, as small frozen dataclasses.

Defaults are overridden by a TOML file, which may extend another one, and that by `section.key=value` texts. An unknown
key, a value of the wrong type and a senseless combination are refused, with the key's name. `configs/` beside this file
holds the named configurations: our defaults, the paper's values, its baselines and its ablations.
"""

from __future__ import annotations

import importlib.resources
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from saltus.errors import ConfigurationError, shorten, suggestion
from saltus.graph import EncodingSpec
from saltus.lookahead import LookaheadSpec
from saltus.model import ModelSpec

HINDSIGHT = ("lifted", "propositional", "state", "off")
BOOTSTRAPS = ("mellowmax", "max")
SELECTIONS = ("larger", "paper")
GUIDES = ("goal-count", "policy")

Spec = TypeVar("Spec")


@dataclass(frozen=True)
class TrainingSpec:
    """How a policy is learned; senseless values are refused with the field's name."""

    episodes: int = 300
    """Rounds of collecting experience and learning from it."""
    rollouts: int = 4
    """Trajectories an episode, each on a training problem drawn at random."""
    curriculum: int = 0
    """Episodes until all training problems are drawn from; before, from the smallest ones, a share that grows from a
    tenth; 0: from all of them at once."""
    horizon: int = 20
    """Most jumps of a trajectory (the paper: 20, and 200 for flat policies)."""
    steps: int = 32
    """Gradient steps an episode."""
    batch: int = 32
    """Transitions a gradient step."""
    learning_rate: float = 3e-4
    """Of Adam, at the start (the paper: 1e-3)."""
    learning_rate_end: float = 1e-5
    """At the end of the linear schedule."""
    learning_rate_episodes: int = 300
    """Length of the schedule; the end value holds from then on."""
    clip: float = 0.0
    """Largest norm of the gradient; 0 for no bound."""
    average: float = 0.0
    """Decay a step of averaged weights, which then are the policy's; 0 for the weights themselves."""
    temperature: float = 1.0
    """Of the Boltzmann exploration, at the start."""
    temperature_end: float = 0.1
    """At the end of the linear schedule."""
    temperature_episodes: int = 1000
    """Length of the schedule."""
    take_goals: bool = False
    """Whether exploration jumps to a goal state whenever the tree has one."""
    discount: float = 0.999
    """Of future jumps."""
    bootstrap: str = "mellowmax"
    """Value of a state from the Q-values of its tree: mellowmax or max."""
    mellowmax_factor: float = 10.0
    """The larger, the closer to the maximum."""
    target_every: int = 0
    """Episodes between copies of the weights to the network that values successors; 0: the weights themselves."""
    dead_end: float = -50.0
    """Value of a jump to a state without successors (the authors' script: -10,000)."""
    least_target: float = 0.0
    """Least target of a jump that is not into a dead end; 0 for no bound."""
    bounds: bool = True
    """Whether Q-values outside of [return to go, -1] are punished on trajectories that reached their goal."""
    rank_weight: float = 1.0
    """Weight of the loss that orders depth nodes; only the encoding ad has them."""
    replay: int = 1000
    """Transitions kept in each of the two stores."""
    alpha: float = 0.6
    """Exponent of priorities; 0 draws uniformly."""
    beta: float = 0.4
    """Exponent of importance weights, at the start; it grows to 1."""
    beta_samples: int = 100_000
    """Samples until it is 1."""
    original_share: float = 0.5
    """Share of a batch from trajectories with their own goal, where there are any."""
    keep_failed: bool = False
    """Whether trajectories that neither reached their goal nor a dead end are stored with their own goal, too."""
    hindsight: str = "lifted"
    """Goals that trajectories are relabelled with: lifted sub-goals, the goal's own atoms, whole states, or off."""
    hindsight_atoms: int = 10
    """Most atoms of a lifted sub-goal."""
    hindsight_variants: int = 2
    """Lifted sub-goals kept of every size."""
    hindsight_trajectories: int = 100
    """Most relabelled trajectories an episode."""
    searches: int = 0
    """Searches an episode, on problems whose rollouts failed; the trajectories they find are stored like rollouts."""
    search_by: str = "goal-count"
    """What guides them: goal-count, the number of goals reached, which costs no pass of the network; or policy."""
    search_decisions: int = 1000
    """Most decisions of a search."""
    layers_least: int = 0
    """If not 0, every gradient step draws its rounds of message passing between this and the model's."""
    validate_every: int = 25
    """Episodes between validations."""
    validate_seconds: float = 120.0
    """Most seconds between validations, so that a slow run shows results, too; 0 for validations by episodes only.
    They never take more than a fifth of the time and do not change the weights, but which checkpoint is best may
    depend on the speed of the machine."""
    validation_jumps: int = 50
    """Most jumps of a validation rollout, and two more for every object."""
    generated_problems: int = 0
    """Generated training problems beside those at hand, no larger than the largest of them, where the domain has a
    generator."""
    larger_problems: int = 8
    """Generated problems, three to five times larger than training, where the domain has a generator."""
    larger_from: float = 0.9
    """Share of the validation problems that must be solved before the larger ones are tried."""
    selection: str = "larger"
    """Best checkpoint by: larger: coverage of validation and larger problems together, then plan length; paper:
    coverage of validation problems, plan length, TD error."""
    stop_after: int = 0
    """Stops after so many validations in a row with every problem solved; 0: never."""
    checkpoint_every: int = 10
    """Episodes between checkpoints of the whole run."""
    prefetch: int = 4
    """Batches made ahead while the network learns; priorities lag as many steps behind."""

    def __post_init__(self) -> None:
        for name, known in (
            ("bootstrap", BOOTSTRAPS),
            ("hindsight", HINDSIGHT),
            ("selection", SELECTIONS),
            ("search_by", GUIDES),
        ):
            if getattr(self, name) not in known:
                raise ConfigurationError(
                    f"training: {name} is {getattr(self, name)!r}, expected one of {', '.join(known)}"
                )
        least = {
            **dict.fromkeys(("episodes", "rollouts", "horizon", "steps", "batch", "replay", "validate_every"), 1),
            **dict.fromkeys(("learning_rate_episodes", "temperature_episodes", "beta_samples", "checkpoint_every"), 1),
            **dict.fromkeys(("hindsight_atoms", "hindsight_variants", "hindsight_trajectories"), 1),
            **dict.fromkeys(("searches",), 0),
            **dict.fromkeys(("search_decisions",), 1),
            **dict.fromkeys(("target_every", "layers_least", "validation_jumps", "larger_problems", "stop_after"), 0),
            **dict.fromkeys(("generated_problems", "curriculum"), 0),
            **dict.fromkeys(("clip", "rank_weight", "alpha", "prefetch", "validate_seconds"), 0),
        }
        for name, bound in least.items():
            if not getattr(self, name) >= bound:
                raise ConfigurationError(f"training: {name} is {getattr(self, name)}, expected at least {bound}")
        for name in ("learning_rate", "learning_rate_end", "temperature", "temperature_end", "mellowmax_factor"):
            if not getattr(self, name) > 0:
                raise ConfigurationError(f"training: {name} is {getattr(self, name)}, expected more than 0")
        for name in ("discount", "beta", "original_share", "larger_from", "average"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigurationError(f"training: {name} is {getattr(self, name)}, expected 0 to 1")
        if self.curriculum > self.episodes:
            raise ConfigurationError(
                f"training: curriculum is {self.curriculum}, more than episodes, {self.episodes}: it would never end"
            )
        if self.average == 1:
            raise ConfigurationError("training: average is 1, expected less: the policy would never change")
        if not self.dead_end <= -1:
            raise ConfigurationError(f"training: dead_end is {self.dead_end}, expected at most -1, the cost of a jump")
        if self.least_target and not self.least_target <= -1:
            raise ConfigurationError(f"training: least_target is {self.least_target}, expected 0 or at most -1")


@dataclass(frozen=True)
class Configuration:
    """A whole configuration, one field a section."""

    lookahead: LookaheadSpec = field(default_factory=LookaheadSpec)
    encoding: EncodingSpec = field(default_factory=EncodingSpec)
    model: ModelSpec = field(default_factory=ModelSpec)
    training: TrainingSpec = field(default_factory=TrainingSpec)

    def __post_init__(self) -> None:
        if self.encoding.kind == "aa" and self.lookahead.kind != "flat":
            raise ConfigurationError(f"encoding: aa needs a flat lookahead, lookahead.kind is {self.lookahead.kind}")
        if self.training.layers_least > self.model.layers:
            raise ConfigurationError(
                f"training: layers_least is {self.training.layers_least}, more than model.layers, {self.model.layers}"
            )

    @property
    def method(self) -> str:
        """Short name of lookahead and encoding."""
        return f"{self.lookahead.kind}-{self.encoding.kind}"


SECTIONS: dict[str, type[Any]] = {
    "lookahead": LookaheadSpec,
    "encoding": EncodingSpec,
    "model": ModelSpec,
    "training": TrainingSpec,
}

Values = dict[str, dict[str, Any]]


def named_configurations() -> dict[str, Path]:
    """Files of the configurations that come with the package, by name."""
    folder = Path(str(importlib.resources.files("saltus.learn") / "configs"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


ConfigurationSource = Configuration | str | os.PathLike[str] | None
"""A configuration, the name of one or a TOML file; None for the defaults."""


def load_configuration(source: ConfigurationSource = None, settings: Sequence[str] = ()) -> Configuration:
    """The configuration of a name or TOML file, changed by texts `section.key=value` (or `key=value`)."""
    if source is None:
        source = Configuration()
    if not isinstance(source, Configuration):
        source = configuration_of(_read(os.fspath(source), ()))
    return changed(source, settings)


def changed(configuration: Configuration, settings: Sequence[str]) -> Configuration:
    """The configuration with some values set by `section.key=value` (or `key=value`) texts."""
    values = plain_values(configuration)
    for text in settings:
        section, key, value = _parse_setting(text)
        values[section][key] = value
    return configuration_of(values)


def differences(one: Configuration, two: Configuration) -> list[str]:
    """Keys, with their sections, whose values differ."""
    left, right = plain_values(one), plain_values(two)
    return [
        f"{section}.{key}" for section in left for key in left[section] if left[section][key] != right[section][key]
    ]


def configuration_of(values: Mapping[str, Mapping[str, Any]]) -> Configuration:
    """Configuration of plain values by section; what is missing takes its default."""
    sections = {name: _make(kind, name, values.get(name, {})) for name, kind in SECTIONS.items()}
    unknown = sorted(values.keys() - SECTIONS.keys())
    if unknown:
        raise ConfigurationError(f"unknown section {unknown[0]!r}{suggestion(unknown[0], SECTIONS)}")
    return Configuration(**sections)


def plain_values(configuration: Configuration) -> Values:
    """All values by section, the opposite of `configuration_of`."""
    return asdict(configuration)


def _read(source: str, seen: tuple[Path, ...]) -> Values:
    """Values of a file over those of the files it extends."""
    known = named_configurations()
    path = known.get(source, Path(source))
    if source not in known and not path.is_file():
        hint = suggestion(source, known) or f"; named ones are {', '.join(known)}"
        raise ConfigurationError(f"configuration {source}: no such file or name{hint}")
    path = path.resolve()
    if path in seen:
        raise ConfigurationError(f"configuration {path}: extends itself")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"configuration {path}: cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"configuration {path}: {error}") from error
    base = table.pop("extends", None)
    table.pop("summary", None)
    values: Values = {name: {} for name in SECTIONS}
    if base is not None:
        beside = path.parent / str(base)
        values = _read(str(beside) if beside.is_file() else str(base), (*seen, path))
    for section, entries in table.items():
        if section not in SECTIONS or not isinstance(entries, dict):
            raise ConfigurationError(f"configuration {path}: unknown key {section!r}{suggestion(section, SECTIONS)}")
        values[section].update(entries)
    try:
        configuration_of(values)
    except ConfigurationError as error:
        raise ConfigurationError(f"configuration {path}: {error}") from error
    return values


def _make(kind: type[Spec], section: str, values: Mapping[str, Any]) -> Spec:
    """A section from plain values, whose names and types are checked."""
    hints = get_type_hints(kind)
    known = [entry.name for entry in fields(kind)]  # type: ignore[arg-type]
    checked: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            hint = suggestion(key, known) or f"; it has {', '.join(known)}"
            raise ConfigurationError(f"{section}: unknown key {key!r}{hint}")
        checked[key] = _typed(section, key, value, hints[key])
    return kind(**checked)


def _typed(section: str, key: str, value: Any, hint: Any) -> Any:
    wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint == (int | None):
        if value is None or value == 0:
            return None
        hint = int
    if type(value) is not hint:
        raise ConfigurationError(f"{section}: {key} is {value!r}, expected {wanted[hint]}")
    return value


def _parse_setting(text: str) -> tuple[str, str, Any]:
    """Section, key and value of `section.key=value`; the section may be left out where only one has the key."""
    name, sign, raw = text.partition("=")
    name = name.strip()
    if not sign or not name:
        raise ConfigurationError(f"--set {shorten(text)}: expected key=value")
    section, dot, key = name.partition(".")
    if not dot:
        key = name
        owners = [entry for entry, kind in SECTIONS.items() if key in kind.__dataclass_fields__]
        if len(owners) > 1:
            choices = " or ".join(f"{owner}.{key}" for owner in owners)
            raise ConfigurationError(f"--set {name}: ambiguous, write {choices}")
        everything = [entry for kind in SECTIONS.values() for entry in kind.__dataclass_fields__]
        if not owners:
            hint = suggestion(key, everything) or f"; known are {', '.join(everything)}"
            raise ConfigurationError(f"--set {name}: unknown key {key!r}{hint}")
        section = owners[0]
    elif section not in SECTIONS:
        raise ConfigurationError(f"--set {name}: unknown section {section!r}; known are {', '.join(SECTIONS)}")
    try:
        value = tomllib.loads(f"value = {raw.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        value = raw.strip()
    return section, key, value
