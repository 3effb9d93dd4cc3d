"""Stage `learn`: everything that can be configured, as small frozen dataclasses.

A TOML file, which may extend another one, overrides the defaults, and texts `section.key=value` override the file. An
unknown key, a value of the wrong type and a meaningless combination are refused with the name of the key. The folder
`configs/` holds the named configurations: our defaults, the paper's values (`paper`), and its baselines and ablations
with our defaults and with the paper's values (`paper-…`).

The text under each field is its entry in the configuration reference. Where no configuration sets a
key, its text says why it is one, after "A key:".
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
from saltus.lookahead import UNITS, PlaySpec, TreeSpec
from saltus.lookahead.spec import split_older
from saltus.model import ModelSpec

HINDSIGHT = ("lifted", "propositional", "state", "off")
BOOTSTRAPS = ("mellowmax", "max")
SELECTIONS = ("larger", "paper")
GUIDES = ("goal-count", "policy")
ORIGINS = ("auto", "generator", "grown", "none")

LARGEST = 10**12
"""Largest value of any whole number."""

MAX_REPLAY = 10**7

Spec = TypeVar("Spec")


@dataclass(frozen=True)
class TrainingSpec:
    """How a policy is learned; meaningless values are refused with the name of the field."""

    # Departure: the paper ends runs after 12 hours.
    episodes: int = 300
    """Number of episodes: rounds of collecting experience and learning from it."""
    rollouts: int = 4
    """Trajectories per episode, each on a training problem drawn at random. A key: experience against gradient steps
    is the first thing to vary where episodes are slow."""
    curriculum: int = 0
    """Episodes until training problems are drawn from all of them, at the latest. Before that they are drawn from the
    smallest ones, whose share grows from a tenth. 0 draws from all problems from the start."""
    paced: bool = False
    """Whether a curriculum, if there is one, goes faster while more than a quarter of the rollouts reach the goal, and
    back while fewer do, but never behind its episodes. A key: contests set it."""
    horizon: int = 20
    """Largest number of jumps per trajectory (the paper: 20, and 200 for flat policies)."""
    steps: int = 32
    """Gradient steps per episode."""
    batch: int = 32
    """Transitions per gradient step."""
    # Departure: with the paper's 1e-3, a prototype was less steady in domains with dead ends.
    learning_rate: float = 3e-4
    """Learning rate of Adam at the start (the paper: 1e-3)."""
    learning_rate_end: float = 1e-5
    """Learning rate at the end of its linear schedule. A key: one of the paper's values."""
    learning_rate_episodes: int = 300
    """Length of the schedule of the learning rate; after that the end value holds, unless it begins anew."""
    # Departure: the paper trains for a fixed number of episodes.
    learning_rate_restarts: bool = False
    """Whether the schedule of the learning rate begins anew whenever it ends, each time twice as long. A key:
    contests set it, because they do not know the number of episodes before."""
    clip: float = 0.0
    """Largest norm of the gradient; 0 for no limit. A key: the remedy if the loss of a domain explodes."""
    # Departure: the paper has no such average. The defaults have none either, only contests and some bundled policies.
    average: float = 0.0
    """Decay per gradient step of an average of the weights, which then is the policy; 0 uses the weights themselves. In
    the first steps the decay is smaller, so that random weights at the start are soon forgotten."""
    temperature: float = 1.0
    """Temperature of the Boltzmann exploration at the start."""
    temperature_end: float = 0.1
    """Temperature at the end of its linear schedule. A key: one of the authors' values."""
    temperature_episodes: int = 1000
    """Length of the schedule of the temperature; after that the end value holds."""
    cost: str = "jumps"
    """What a jump costs, and so what Q-values count: jumps: 1 (the paper); actions: its number of actions; costs: the
    sum of its action costs (1 per action in problems without costs). Policy files say which it was. A key: short or
    cheap plans against the paper's reward."""
    cost_scale: float = 0.0
    """Number of actions, or sum of action costs, that counts as 1: `dead_end`, `least_target`, the temperature and the
    loss are made for jumps that cost about 1. 0 takes the mean over the jumps from the initial states of the training
    problems to the states of their trees. A key: the scale of Q-values."""
    cost_per_jump: float = 0.5
    """What every jump costs in addition to its actions or action costs, in multiples of `cost_scale`: without it, many
    short jumps are as good as one long jump, and jumps of free actions are free. With `cost=jumps` it has no effect.
    A key: few jumps against short plans."""
    discount: float = 0.999
    """Discount factor per jump. A key: one of the paper's values."""
    bootstrap: str = "mellowmax"
    """Value of a state from the Q-values of its tree: mellowmax or max. A key: the paper's choice against the usual
    one of deep Q-learning."""
    mellowmax_factor: float = 10.0
    """Sharpness of mellowmax: the larger, the closer to the maximum. A key: one of the
    authors' values."""
    target_every: int = 0
    """Episodes between copies of the weights to the target network, which values successors; 0 for none.
    A key: target networks are usual in deep Q-learning, and off here as in the authors' script."""
    # Departure: with the authors' -10,000, a prototype's Q-values drifted towards it.
    dead_end: float = -50.0
    """Value of a jump to a dead end, where the mean jump costs 1 (the authors' script: -10,000)."""
    least_target: float = 0.0
    """Lower bound on the targets of jumps that do not lead to a dead end; 0 for no bound."""
    bounds: bool = True
    """Whether Q-values outside of [return to go, -cost of the jump] are penalised on trajectories that reached their
    goal. A key: a part of the loss that can be left out."""
    rank_weight: float = 1.0
    """Weight of the loss that orders depth nodes, which only the encoding ad has. A key: a part of the loss that can be
    left out, with 0."""
    # Departure: the paper's 100 hold the relabelled experience of one or two episodes.
    replay: int = 1000
    """Transitions kept in each of the two replay stores, original and relabelled experience (the paper: 100, and 1000
    for flat policies)."""
    alpha: float = 0.6
    """Exponent of the priorities in replay; 0 draws uniformly. A key: one of the usual values of
    prioritised replay."""
    beta: float = 0.4
    """Exponent of the importance weights at the start; it grows linearly to 1. A key: one of the usual values
    of prioritised replay."""
    beta_samples: int = 100_000
    """Samples drawn until the exponent of the importance weights is 1. A key: one of the authors'
    values, about as many as 100 episodes draw."""
    original_share: float = 0.5
    """Share of a batch that is drawn from trajectories with their own goal, if there are any. A key: saved
    runs say how their batches were made up."""
    keep_failed: bool = False
    """Whether trajectories that reached neither their goal nor a dead end are also stored with their own goal."""
    hindsight: str = "lifted"
    """Goals that trajectories are relabelled with: lifted (lifted sub-goals), propositional (atoms of the problem's own
    goal), state (whole states), or off. A key: hindsight is a choice of the paper that can be compared with others."""
    hindsight_atoms: int = 10
    """Largest number of atoms in a lifted sub-goal. A key: it bounds the cost of relabelling in domains with
    long goals."""
    hindsight_variants: int = 2
    """Lifted sub-goals kept per number of atoms. A key: for the same reason."""
    # Departure: the authors try one. A grounding that already held before the last jump teaches nothing.
    hindsight_groundings: int = 4
    """Groundings that are tried per lifted sub-goal and state until one did not hold before (the authors: 1)."""
    hindsight_trajectories: int = 100
    """Largest number of relabelled trajectories per episode. A key: for the same reason."""
    searches: int = 0
    """Searches per episode on problems whose rollouts failed; the trajectories they find are stored like rollouts."""
    search_by: str = "goal-count"
    """What guides these searches: goal-count (number of goals reached, needs no pass of the network) or policy."""
    search_decisions: int = 1000
    """Largest number of decisions per search."""
    # Departure: where random jumps never reach a goal of many steps, hindsight has nothing to begin with.
    plan_starts: int = 0
    """Rollouts per episode that begin on the way of a plan for their problem, if relaxed plans lead to one
    (`policy/relaxed.py`): at first close to its end, and farther from it each time that the policy gets there. A key:
    domains in which random jumps reach no goal may need it."""
    layers_least: int = 0
    """If not 0, every gradient step draws its number of layers between this and `model.layers`."""
    validate_every: int = 25
    """Episodes between validations."""
    # Departure: the paper says nothing about when it validates; slow runs would show nothing for hours.
    validate_seconds: float = 120.0
    """Seconds after which a validation takes place even if none is due by episodes, so that slow runs show results;
    0 for none. These validations take at most a fifth of the time and never change the weights, but since their
    checkpoints can become the policy, which one does may depend on the speed of the machine."""
    validation_jumps: int = 50
    """Limit on the jumps of a validation rollout; two more are allowed per object and per goal. A key: domains with
    long plans may need more."""
    validation_problems: int = 0
    """Most validation problems that are used, spread over their sizes; 0 for all. A key: where there are many, most of
    the time would be spent on them."""
    validation_limit: float = 0.0
    """Longest time of a validation in seconds, 0 for no limit: problems that are not solved by then count as unsolved.
    A key: a policy that wanders through large problems would take up the time of the run."""
    generated_problems: int = 0
    """Generated training problems in addition to the given ones and no larger than the largest of them; see
    `problems_from`."""
    larger_training: int = 0
    """Generated training problems with more objects than the given ones, up to three times as many, in addition to
    these; see `problems_from`. A key: where all given problems are small, a user may want to learn from larger ones."""
    # Departure: the paper selects on validation problems alone, on which many checkpoints tie.
    larger_problems: int = 8
    """Generated validation problems three to five times larger than the training problems; see `problems_from`."""
    far_problems: int = 0
    """Generated validation problems up to sixteen times larger than the given ones, with at most about 300 objects, for
    policies that solve all others; see `problems_from`. They count as larger problems. A key: where small problems are
    easy, only these tell policies apart."""
    lean: bool = False
    """Whether up to half of the larger and of the far larger problems have nothing to spare of what actions use up for
    good, and such versions of the training problems are learned from, too. Where problems have spare tools or
    ingredients, a policy may learn to count on it. Nothing changes where nothing is used up. A key: contests set it;
    named configurations leave it off, so that their problems are those of the paper."""
    problems_from: str = "auto"
    """Where generated and larger problems come from: generator: Saltus's own generator for the domain; grown: the given
    problems (`saltus grow`); auto: the generator if the domain has one, otherwise the given problems; none: there are
    none. Growing may make fewer problems than asked for. A key: known domains can be treated as if
    they were unknown."""
    larger_from: float = 0.9
    """Share of the validation problems that must be solved before the larger ones are tried. A key: they take
    most of the time of a validation."""
    # Departure: coverage of larger problems tells apart checkpoints that tie on validation problems.
    selection: str = "larger"
    """What chooses the best checkpoint. larger: coverage of validation and larger problems together, then plan length;
    paper: coverage of validation problems, then plan length, then TD error. With `cost=costs`, the cost of the plans
    takes the place of their length."""
    stop_after: int = 0
    """Ends the run after so many regular validations in a row that solved every problem, of which only the first may be
    better than all before it; 0 never does."""
    checkpoint_every: int = 10
    """Episodes between saves of the whole run, from which it can be resumed."""
    # Departure: preparing batches takes longer than learning from them. Without it, priorities are always current.
    prefetch: int = 4
    """Batches prepared in advance while the network learns; priorities lag behind by as many steps. It is part of a
    run, since it changes which transitions are drawn."""

    def __post_init__(self) -> None:
        for name, known in (
            ("bootstrap", BOOTSTRAPS),
            ("cost", tuple(UNITS)),
            ("hindsight", HINDSIGHT),
            ("selection", SELECTIONS),
            ("search_by", GUIDES),
            ("problems_from", ORIGINS),
        ):
            if getattr(self, name) not in known:
                raise ConfigurationError(
                    f"training: {name} is {getattr(self, name)!r}, expected one of {', '.join(known)}"
                )
        least = {
            **dict.fromkeys(("episodes", "rollouts", "horizon", "steps", "batch", "replay", "validate_every"), 1),
            **dict.fromkeys(("learning_rate_episodes", "temperature_episodes", "beta_samples", "checkpoint_every"), 1),
            **dict.fromkeys(("hindsight_atoms", "hindsight_variants", "hindsight_trajectories"), 1),
            **dict.fromkeys(("hindsight_groundings",), 1),
            **dict.fromkeys(("searches", "plan_starts"), 0),
            **dict.fromkeys(("search_decisions",), 1),
            **dict.fromkeys(("target_every", "layers_least", "validation_jumps", "larger_problems", "stop_after"), 0),
            **dict.fromkeys(("validation_problems", "validation_limit", "far_problems"), 0),
            **dict.fromkeys(("generated_problems", "larger_training", "curriculum"), 0),
            **dict.fromkeys(("clip", "rank_weight", "alpha", "prefetch", "validate_seconds", "cost_scale"), 0),
            **dict.fromkeys(("cost_per_jump",), 0),
        }
        for name, bound in least.items():
            if not getattr(self, name) >= bound:
                raise ConfigurationError(f"training: {name} is {getattr(self, name)}, expected at least {bound}")
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, int) and value > LARGEST:
                raise ConfigurationError(f"training: {entry.name} is {value}, expected at most {LARGEST:,}")
        if self.replay > MAX_REPLAY:
            raise ConfigurationError(f"training: replay is {self.replay}, expected at most {MAX_REPLAY:,}")
        for name in ("learning_rate", "learning_rate_end", "temperature", "temperature_end", "mellowmax_factor"):
            if not getattr(self, name) > 0:
                raise ConfigurationError(f"training: {name} is {getattr(self, name)}, expected more than 0")
        for name in ("discount", "beta", "original_share", "larger_from", "average"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigurationError(f"training: {name} is {getattr(self, name)}, expected 0 to 1")
        if self.curriculum > self.episodes and not self.paced:
            raise ConfigurationError(
                f"training: curriculum is {self.curriculum}, more than episodes, {self.episodes}: it would never end"
            )
        if self.cost_scale and self.cost == "jumps":
            raise ConfigurationError(
                f"training: cost_scale is {self.cost_scale}, but cost is jumps, which always cost 1"
            )
        for name in ("cost_scale", "cost_per_jump"):
            if not getattr(self, name) < math.inf:
                raise ConfigurationError(f"training: {name} is {getattr(self, name)}, expected a finite number")
        if self.cost == "costs" and not self.cost_per_jump:
            raise ConfigurationError("training: cost_per_jump is 0, but with cost=costs some jumps may be free")
        if self.average == 1:
            raise ConfigurationError("training: average is 1, expected less: the policy would never change")
        if not self.dead_end <= -1:
            raise ConfigurationError(f"training: dead_end is {self.dead_end}, expected at most -1, the cost of a jump")
        if self.least_target and not self.least_target <= -1:
            raise ConfigurationError(f"training: least_target is {self.least_target}, expected 0 or at most -1")


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
        if self.training.plan_starts and self.play.goals_in_sight is not None:
            raise ConfigurationError("training: plan_starts and play.goals_in_sight exclude each other")
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

Values = dict[str, dict[str, Any]]


def named_configurations() -> dict[str, Path]:
    """Files of the named configurations, by name."""
    folder = Path(str(importlib.resources.files("saltus.learn") / "configs"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def configuration_path(source: str) -> str:
    """The source with a path that means the same in every folder; the name of a configuration stays as it is."""
    return source if source in named_configurations() else os.path.abspath(source)


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
        return values
    trees, play = split_older(values.get("lookahead", {}))
    training = {key: value for key, value in values.get("training", {}).items() if key != "take_goals"}
    if "validation_takes_goals" in training:
        play["take_goals"] = training.pop("validation_takes_goals")
    return {**values, "lookahead": trees, "play": play, "training": training}


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
    name, sign, raw = text.partition("=")
    name = name.strip()
    if not sign or not name:
        raise ConfigurationError(f"--set {shorten(text)}: expected key=value")
    section, dot, key = name.partition(".")
    if not dot:
        key = name
        owners = [entry for entry, kind in SECTIONS.items() if key in kind.__dataclass_fields__]
        if len(owners) > 1:
            candidates = " or ".join(f"{owner}.{key}" for owner in owners)
            raise ConfigurationError(f"--set {name}: ambiguous, write {candidates}")
        everything = [entry for kind in SECTIONS.values() for entry in kind.__dataclass_fields__]
        if not owners:
            hint = suggestion(key, everything) or f"; known are {', '.join(everything)}"
            raise ConfigurationError(f"--set {name}: unknown key {key!r}{hint}")
        section = owners[0]
    elif section not in SECTIONS:
        raise ConfigurationError(f"--set {name}: unknown section {section!r}; known are {', '.join(SECTIONS)}")
    try:
        value = tomllib.loads(f"value = {raw.strip()}")["value"]
    except (ValueError, RecursionError):  # not TOML: a text without quotation marks
        value = raw.strip()
    return section, key, value
