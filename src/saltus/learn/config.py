"""Stage `learn`: everything that can be configured, as small frozen dataclasses.

A TOML file, which may extend another one, overrides the defaults, and texts `section.key=value` override the file. An
unknown key, a value of the wrong type and a meaningless combination are refused with the name of the key. The folder
`configs/` holds the named configurations: our defaults, the paper's values (`paper`), and its baselines and ablations
with our defaults and with the paper's values (`paper-…`).

A key exists because a named configuration, a contest or an experiment sets it; what else has a meaning is in
`values.py`. The text under each field is its entry in the configuration reference.
"""

from __future__ import annotations

import importlib.resources
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from saltus.errors import ConfigurationError, InputError, shorten, suggestion
from saltus.files import SETTINGS_BYTES, read_whole
from saltus.graph import EncodingSpec
from saltus.graph.encodings import method_name
from saltus.learn.values import PREFETCH, VALIDATE_SECONDS, VALIDATION_PROBLEMS
from saltus.lookahead import UNITS, PlaySpec, TreeSpec
from saltus.lookahead.spec import newer_play, split_older
from saltus.model import ModelSpec
from saltus.model.older import REMOVED, refuse_removed, removed, without_removed

SELECTIONS = ("larger", "paper")

Spec = TypeVar("Spec")


@dataclass(frozen=True)
class TrainingSpec:
    """How a policy is learned; meaningless values are refused with the name of the field.

    Values that nothing sets are in `values.py`.
    """

    # Departure: the paper ends runs after 12 hours.
    episodes: int = 300
    """Number of episodes: rounds of collecting experience and learning from it."""
    curriculum: int = 0
    """Episodes until training problems are drawn from all of them, at the latest. Before that they are drawn from the
    smallest ones, whose share grows from a tenth, faster while more than a quarter of the rollouts reach the goal, and
    shrinks while fewer do, but never behind its episodes. 0 draws from all problems from the start."""
    horizon: int = 20
    """Largest number of jumps per trajectory (the paper: 20, and 200 for flat policies)."""
    steps: int = 32
    """Gradient steps per episode."""
    batch: int = 32
    """Transitions per gradient step."""
    # Departure: with the paper's 1e-3, a prototype was less steady in domains with dead ends.
    learning_rate: float = 3e-4
    """Learning rate of Adam at the start (the paper: 1e-3). It falls linearly to 1e-5."""
    learning_rate_episodes: int = 300
    """Length of the schedule of the learning rate; after that the end value holds, unless it begins anew."""
    # Departure: the paper trains for a fixed number of episodes.
    learning_rate_restarts: bool = False
    """Whether the schedule of the learning rate begins anew whenever it ends, each time twice as long. Contests set it,
    because they do not know the number of episodes before."""
    # Departure: the paper has no such average. The defaults have none either, only contests and some bundled policies.
    average: float = 0.0
    """Decay per gradient step of an average of the weights, which then is the policy; 0 uses the weights themselves. In
    the first steps the decay is smaller, so that random weights at the start are soon forgotten."""
    temperature: float = 1.0
    """Temperature of the Boltzmann exploration at the start. It falls linearly to 0.1 over 1,000 episodes."""
    cost: str = "jumps"
    """What a jump costs, and so what Q-values count: jumps: 1 (the paper); actions: its number of actions; costs: the
    sum of its action costs (1 per action in problems without costs). Actions and costs are counted in multiples of the
    mean jump from the initial states of the training problems to the states of their trees. Policy files say which it
    was."""
    # Departure: with the authors' -10,000, a prototype's Q-values drifted towards it.
    dead_end: float = -50.0
    """Value of a jump to a dead end, where the mean jump costs 1 (the authors' script: -10,000)."""
    # Departure: the paper's 100 hold the relabelled experience of one or two episodes.
    replay: int = 1000
    """Transitions kept in each of the two replay stores, original and relabelled experience (the paper: 100, and 1000
    for flat policies)."""
    # Departure: the authors try one. A grounding that already held before the last jump teaches nothing.
    hindsight_groundings: int = 4
    """Groundings that are tried per lifted sub-goal and state until one did not hold before (the authors: 1)."""
    searches: int = 0
    """Searches per episode, with the policy, on problems whose rollouts failed; the trajectories they find are stored
    like rollouts."""
    layers_least: int = 0
    """If not 0, every gradient step draws its number of layers between this and `model.layers`."""
    validate_every: int = 25
    """Episodes between validations."""
    validation_limit: float = 0.0
    """Longest time of a validation in seconds, 0 for no limit: problems that are not solved by then count as unsolved.
    A policy that wanders through large problems would take up the time of the run."""
    generated_problems: int = 0
    """Generated training problems in addition to the given ones and no larger than the largest of them. Problems are
    generated by Saltus's own generator if the domain has one; otherwise they are grown from the given ones (`saltus
    grow`), which may give fewer than asked for."""
    # Departure: the paper selects on validation problems alone, on which many checkpoints tie.
    larger_problems: int = 8
    """Generated validation problems three to five times larger than the training problems. They are tried by policies
    that solve nine tenths of the others."""
    far_problems: int = 0
    """Generated validation problems up to sixteen times larger than the given ones, with at most about 300 objects, for
    policies that solve all others. They count as larger problems. Where small problems are easy, only these tell
    policies apart."""
    lean: bool = False
    """Whether up to half of the larger and of the far larger problems have nothing to spare of what actions use up for
    good, and such versions of the training problems are learned from, too. Where problems have spare tools or
    ingredients, a policy may learn to count on it. Nothing changes where nothing is used up. Contests set it; named
    configurations leave it off, so that their problems are those of the paper."""
    # Departure: coverage of larger problems tells apart checkpoints that tie on validation problems, and a validation
    # plays as planning does (`policy/rollout.py`).
    selection: str = "larger"
    """What chooses the best checkpoint. larger: coverage of validation and larger problems together, then plan length;
    goal states that are seen are taken, as in planning. paper: coverage of validation problems by the best Q-value
    alone, then plan length, then TD error; all validation problems are used, validations are due by episodes alone, and
    batches are not prepared in advance. With `cost=costs`, the cost of the plans takes the place of their length."""
    stop_after: int = 0
    """Ends the run after so many regular validations in a row that solved every problem, of which only the first may be
    better than all before it; 0 never does."""

    def __post_init__(self) -> None:
        for name, known in (("cost", tuple(UNITS)), ("selection", SELECTIONS)):
            if getattr(self, name) not in known:
                raise ConfigurationError(
                    f"training: {name} is {getattr(self, name)!r}, expected one of {', '.join(known)}"
                )
        positive = {"episodes", "horizon", "steps", "batch", "replay", "validate_every"}
        positive |= {"learning_rate_episodes", "hindsight_groundings"}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name in ("learning_rate", "temperature") and not value > 0:
                raise ConfigurationError(f"training: {entry.name} is {value}, expected more than 0")
            least = 1 if entry.name in positive else -math.inf if entry.name == "dead_end" else 0
            if isinstance(value, int | float) and not value >= least:
                raise ConfigurationError(f"training: {entry.name} is {value}, expected at least {least}")
            most = 10**7 if entry.name == "replay" else 10**12  # a store is made whole
            if isinstance(value, int) and value > most:
                raise ConfigurationError(f"training: {entry.name} is {value}, expected at most {most:,}")
        if not self.average < 1:
            raise ConfigurationError(f"training: average is {self.average}, expected less: it would never change")
        if not self.dead_end <= -1:
            raise ConfigurationError(f"training: dead_end is {self.dead_end}, expected at most -1, the cost of a jump")

    @property
    def prefetch(self) -> int:
        """Batches prepared in advance while the network learns. It changes which transitions are drawn."""
        return 0 if self.selection == "paper" else PREFETCH

    @property
    def validate_seconds(self) -> float:
        """Seconds after which a validation takes place even if none is due by episodes; 0 for none."""
        return 0.0 if self.selection == "paper" else VALIDATE_SECONDS

    @property
    def validation_problems(self) -> int:
        """Most validation problems that are used; 0 for all."""
        return 0 if self.selection == "paper" else VALIDATION_PROBLEMS


@dataclass(frozen=True)
class Configuration:
    """A whole configuration, one field per section."""

    lookahead: TreeSpec = field(default_factory=TreeSpec)
    play: PlaySpec = field(default_factory=PlaySpec)
    encoding: EncodingSpec = field(default_factory=EncodingSpec)
    model: ModelSpec = field(default_factory=ModelSpec)
    training: TrainingSpec = field(default_factory=TrainingSpec)

    def __post_init__(self) -> None:
        self.encoding.check_lookahead(self.lookahead.kind)
        if self.training.layers_least > self.model.layers:
            raise ConfigurationError(
                f"training: layers_least is {self.training.layers_least}, more than model.layers, {self.model.layers}"
            )

    @property
    def method(self) -> str:
        """Lookahead and encoding, such as aiw-ad."""
        return method_name(self.lookahead, self.encoding)


SECTIONS: dict[str, type[Any]] = {
    "lookahead": TreeSpec,
    "play": PlaySpec,
    "encoding": EncodingSpec,
    "model": ModelSpec,
    "training": TrainingSpec,
}

FIRST_KEYS = (
    *("lookahead.kind", "lookahead.free_moves", "encoding.kind", "model.embedding", "model.layers"),
    *("training.episodes", "training.learning_rate", "training.cost"),
)
"""What matters first: the configuration reference shows it, and `saltus train --help`, which has it written out."""

Values = dict[str, dict[str, Any]]


def named_configurations() -> dict[str, Path]:
    """Files of the named configurations, by name."""
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
    """The configuration with values changed by texts `section.key=value` (or `key=value`)."""
    values = plain_values(configuration)
    for text in settings:
        section, key, value = _parse_setting(text)
        values[section][key] = value
    return configuration_of(values)


def differences(one: Configuration, two: Configuration) -> list[str]:
    """Keys whose values differ, each as `section.key`."""
    left, right = plain_values(one), plain_values(two)
    return [
        f"{section}.{key}" for section in left for key in left[section] if left[section][key] != right[section][key]
    ]


def configuration_of(values: Mapping[str, Mapping[str, Any]]) -> Configuration:
    """Configuration of plain values by section, with defaults for those that are missing."""
    sections = {name: _make(kind, name, values.get(name, {})) for name, kind in SECTIONS.items()}
    unknown = sorted(values.keys() - SECTIONS.keys())
    if unknown:
        raise ConfigurationError(f"unknown section {unknown[0]!r}{suggestion(unknown[0], SECTIONS)}")
    return Configuration(**sections)


def from_older(values: Values) -> Values:
    """Values of an earlier version, whose keys of play stood in other sections; those of this version as they are."""
    if "play" in values:
        return {**values, "play": newer_play(values["play"])}
    trees, play = split_older(values.get("lookahead", {}))
    training = dict(values.get("training", {}))
    if "validation_takes_goals" in training:
        play["take_goals"] = training.pop("validation_takes_goals")
    return {**values, "lookahead": trees, "play": play, "training": training}


def saved_configuration(values: Mapping[str, Mapping[str, Any]]) -> Configuration:
    """Configuration of plain values that an earlier version may have saved: keys that are gone are left out, as long as
    what now holds without them is what they said."""
    now = from_older({name: dict(section) for name, section in values.items()})
    return configuration_of({name: without_removed(name, section) for name, section in now.items()})


def saved_settings(settings: Sequence[str]) -> list[str]:
    """Texts `section.key=value` that an earlier version may have saved, without keys that are gone, likewise."""
    kept: list[str] = []
    for text in map(newer, settings):
        section, key, value = _split_setting(text)
        if not section and not any(key in kind.__dataclass_fields__ for kind in SECTIONS.values()):
            section = next((name for name in REMOVED if removed(name, key)), "")
        if removed(section, key) is None:
            kept.append(text)
        else:
            without_removed(section, {key: value})
    return kept


def newer(setting: str) -> str:
    """A setting `key=value` of an earlier version, whose keys of play stood in other sections; others as they are."""
    key, _, value = (part.strip() for part in setting.partition("="))
    section, _, name = key.rpartition(".")
    if name == "validation_takes_goals":
        return f"play.take_goals={value}"
    _, play = split_older({name: value})
    if name in play and (section == "lookahead" or play[name] != value):
        return f"play.{name}={str(play[name]).lower()}"
    return setting


def plain_values(configuration: Configuration) -> Values:
    """All values by section; the inverse of `configuration_of`."""
    return asdict(configuration)


def _read(source: str, seen: tuple[Path, ...]) -> Values:
    """Values of a file, on top of those of the file it extends."""
    known = named_configurations()
    path = known.get(source, Path(source))
    if source not in known and not _is_file(path):
        hint = suggestion(source, known) or f"; named ones are {', '.join(known)}"
        raise ConfigurationError(f"configuration {shorten(source, 200)}: no such file or name{hint}")
    path = path.resolve()
    if path in seen:
        raise ConfigurationError(f"configuration {path}: extends itself")
    try:
        table = tomllib.loads(read_whole(path, SETTINGS_BYTES).decode("utf-8"))
    except InputError as error:
        raise ConfigurationError(f"configuration {error}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"configuration {path}: cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is no TOMLDecodeError
        raise ConfigurationError(f"configuration {path}: {error}") from error
    base = table.pop("extends", None)
    table.pop("summary", None)
    values: Values = {name: {} for name in SECTIONS}
    if base is not None:
        sibling = path.parent / str(base)
        values = _read(str(sibling) if _is_file(sibling) else str(base), (*seen, path))
    for section, entries in table.items():
        if section not in SECTIONS or not isinstance(entries, dict):
            raise ConfigurationError(f"configuration {path}: unknown key {section!r}{suggestion(section, SECTIONS)}")
        values[section].update(entries)
    try:
        configuration_of(values)
    except ConfigurationError as error:
        raise ConfigurationError(f"configuration {path}: {error}") from error
    return values


def _is_file(path: Path) -> bool:
    """Whether there is such a file; a name that no file can have is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _make(kind: type[Spec], section: str, values: Mapping[str, Any]) -> Spec:
    """A section of plain values, whose names and types are checked."""
    hints = get_type_hints(kind)
    known = [entry.name for entry in fields(kind)]  # type: ignore[arg-type]
    checked: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            refuse_removed(section, key)
            raise ConfigurationError(f"{section}: unknown key {key!r}{_hint(section, key, known)}")
        checked[key] = _typed(section, key, value, hints[key])
    return kind(**checked)


def _hint(section: str, key: str, known: list[str]) -> str:
    """What to say about a key that a section does not have."""
    others = [name for name, kind in SECTIONS.items() if name != section and key in kind.__dataclass_fields__]
    if others:
        return f": it is a key of {' and '.join(others)}"
    return suggestion(key, known) or f"; it has {', '.join(known)}"


def _typed(section: str, key: str, value: Any, hint: Any) -> Any:
    wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
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
    """Section, key and value of `section.key=value`; the section may be omitted where only one has the key."""
    section, key, value = _split_setting(text)
    name = f"{section}.{key}" if section else key
    if not section:
        owners = [entry for entry, kind in SECTIONS.items() if key in kind.__dataclass_fields__]
        if len(owners) > 1:
            candidates = " or ".join(f"{owner}.{key}" for owner in owners)
            raise ConfigurationError(f"--set {name}: ambiguous, write {candidates}")
        everything = [entry for kind in SECTIONS.values() for entry in kind.__dataclass_fields__]
        if not owners:
            for owner in REMOVED:
                refuse_removed(owner, key)
            hint = suggestion(key, everything) or f"; known are {', '.join(everything)}"
            raise ConfigurationError(f"--set {name}: unknown key {key!r}{hint}")
        section = owners[0]
    elif section not in SECTIONS:
        raise ConfigurationError(f"--set {name}: unknown section {section!r}; known are {', '.join(SECTIONS)}")
    return section, key, value


def _split_setting(text: str) -> tuple[str, str, Any]:
    """The parts of `section.key=value`; an empty text where the section is omitted."""
    name, sign, raw = text.partition("=")
    section, dot, key = name.strip().partition(".")
    if not sign or not section:
        raise ConfigurationError(f"--set {shorten(text)}: expected key=value")
    try:
        value = tomllib.loads(f"value = {raw.strip()}")["value"]
    except (ValueError, RecursionError):  # not TOML: a text without quotation marks
        value = raw.strip()
    return (section, key, value) if dot else ("", section, value)
