"""Stage `lab.experiment`: the file that describes an experiment, as TOML, and what it says.

    problems = "FOLDER"          a folder of problems, or a folder of such folders; environment variables are filled in
    [training]                   what every run may use
    [testing]                    what is played, and under which limits
    [machines]                   devices, and how much goes on side by side
    [systems.NAME]               what is compared

A system is trained with a configuration (`config`), by a contest between configurations (`contest = true`), or not
trained at all: a yardstick or an existing policy (`policy`). Another planner (`planner`) is trained if it learns. An
unknown key, a value of another kind and a senseless combination are refused with the file and the key.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from saltus.errors import ConfigurationError, InputError, suggestion
from saltus.files import SETTINGS_BYTES, read_whole
from saltus.lab.baselines.lama import LamaJob, find_driver
from saltus.lab.baselines.wl_goose import WLGooseJob
from saltus.lab.baselines.wl_model import find_wlplan
from saltus.lab.baselines.wl_training import PLAN_SECONDS
from saltus.lab.experiment.table import Table
from saltus.model.device import DEVICES
from saltus.policy.catalogue import SUFFIX, YARDSTICK_NAMES
from saltus.policy.outcome import PROTOCOLS, Limits, PlanningProtocol
from saltus.process import PlanJob
from saltus.task import Split, Suite, find_suites

PLANNERS: dict[str, type[PlanJob]] = {LamaJob.planner: LamaJob, WLGooseJob.planner: WLGooseJob}
"""Planners that are compared with policies, by the name that `saltus bench --planner` takes."""

LEARNING_PLANNERS = (WLGooseJob.planner,)
"""Planners that are trained on the training problems; they are deterministic and have no seeds."""

REQUIREMENTS: dict[str, Callable[[], object]] = {LamaJob.planner: find_driver, WLGooseJob.planner: find_wlplan}
"""What raises a `ConfigurationError` where a planner is not installed."""

NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
"""Names of systems, which become names of files."""


@dataclass(frozen=True)
class Training:
    """What every training run may use."""

    episodes: int | None = None
    """Episodes of a run; None for those of its configuration."""
    seconds: float | None = None
    """Seconds of training of a run, or of a whole contest; None for no limit, or for the default of a contest."""
    settings: tuple[str, ...] = ()
    """Changes to the configuration of every system: `key=value`."""


@dataclass(frozen=True)
class Testing:
    """What is played, and under which limits."""

    splits: tuple[str, ...]
    problems: tuple[str, ...]
    """Names of problems, without their ending; empty for all of the splits."""
    protocol: str
    limits: Limits
    has_own_time: bool
    """Whether the time limit is the file's, not the protocol's."""
    search: bool
    improve: bool

    @property
    def rules(self) -> PlanningProtocol:
        """The protocol itself."""
        return PROTOCOLS[self.protocol]


@dataclass(frozen=True)
class Machines:
    """Devices, and how much goes on side by side."""

    device: str = "auto"
    """Device for training."""
    test_device: str = "cpu"
    """Device for playing."""
    runs: int | None = None
    """Training runs side by side; None for as many as the cores and the memory of a GPU allow."""
    trials: int | None = None
    """Problems played side by side; None for one per core."""
    threads: int = 1
    """Threads per process."""
    ray: str | None = None
    """Address of a Ray cluster; None for this machine alone."""


@dataclass(frozen=True)
class System:
    """One of the systems that are compared."""

    name: str
    config: str | None = None
    """Name or file of a configuration."""
    contest: bool = False
    """Whether a contest chooses the configuration."""
    policy: str | None = None
    """A yardstick, a bundled policy, a file, or `auto`."""
    planner: str | None = None
    """Another planner: a key of `PLANNERS`."""
    plan_seconds: float = PLAN_SECONDS
    """Time limit for the optimal plan of a training problem, from which a planner learns."""
    lookahead: tuple[str, ...] = ()
    """Lookahead of a yardstick: `key=value`."""
    play: tuple[str, ...] = ()
    """What is to be changed of how the policy plays: `key=value`."""
    slots: int = 1
    """Runs of a contest side by side; it takes the place of as many runs."""
    training: Training = field(default_factory=Training)
    search: bool = False
    seeds: tuple[int, ...] = (0,)
    domains: tuple[str, ...] = ()
    """Names of the suites that it is tried on."""

    @property
    def is_trained(self) -> bool:
        """Whether there are runs of it."""
        return self.contest or self.config is not None or self.planner in LEARNING_PLANNERS

    @property
    def has_seeds(self) -> bool:
        """Whether its runs differ by seed."""
        return self.is_trained and self.planner is None


@dataclass(frozen=True)
class ExperimentSpec:
    """What an experiment's file says."""

    path: Path
    title: str
    suites: tuple[Suite, ...]
    systems: tuple[System, ...]
    training: Training
    testing: Testing
    machines: Machines

    def suite(self, name: str) -> Suite:
        """The suite of that name."""
        return next(suite for suite in self.suites if suite.name == name)


def read_experiment(
    path: str | os.PathLike[str],
    problems: str | os.PathLike[str] | None = None,
    *,
    for_training: bool = True,
    for_playing: bool = True,
) -> ExperimentSpec:
    """The experiment of a TOML file; `problems` takes the place of the folder that the file names.

    Only what is needed is checked: configurations, which takes PyTorch, for training; test problems for playing.
    """
    file = Path(path)
    try:
        table = Table(os.fspath(file), "", tomllib.loads(read_whole(file, SETTINGS_BYTES).decode("utf-8")))
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{file}: cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is no TOMLDecodeError
        raise ConfigurationError(f"{file}: {error}") from error
    title = table.text("title", file.stem)
    named = table.text("problems", "")
    suites = _suites(table, file, named if problems is None else os.fspath(problems), given=problems is not None)
    seeds = _seeds(table, (0,))
    training = _training(table.section("training"), Training())
    testing = _testing(table.section("testing"))
    machines = _machines(table.section("machines"))
    found = table.section("systems")
    names = tuple(suite.name for suite in suites)
    systems = tuple(_system(entry, training, testing, seeds, names, file) for entry in found.sections())
    if for_training:
        systems = tuple(_with_configuration(found.section(system.name), system, file) for system in systems)
    if not systems:
        raise found.error("no system is named; expected [systems.NAME]")
    table.end()
    if for_playing:
        _check_splits(table.section("testing"), testing, suites)
    return ExperimentSpec(file, title, suites, systems, training, testing, machines)


def _suites(table: Table, file: Path, named: str, *, given: bool) -> tuple[Suite, ...]:
    """The suites of the file's domains; a folder that is not given is relative to the file."""
    wanted = table.texts("domains")
    if not named:
        raise table.error("problems is missing, the folder of the domains")
    filled = os.path.expanduser(os.path.expandvars(named))
    if unset := re.search(r"\$\w+|\$\{\w+\}", filled):
        raise table.error(f"problems is {named!r}, but the environment variable {unset[0].strip('${}')} is not set")
    folder = Path(filled) if given else file.parent / filled
    try:
        found = {suite.name: suite for suite in find_suites(folder)}
    except (InputError, OSError, ValueError) as error:  # no file can have such a name
        raise table.error(f"problems: {error}") from error
    for name in wanted:
        if name not in found:
            raise table.error(f"domains: there is no {name!r} in {folder}{suggestion(name, found)}")
    return tuple(found[name] for name in wanted or found)


def _seeds(table: Table, default: tuple[int, ...]) -> tuple[int, ...]:
    """A number of seeds, or a list of them."""
    value = table.take("seeds")
    if value is None:
        return default
    if type(value) is int and 1 <= value <= 1000:
        return tuple(range(value))
    if isinstance(value, list) and value and all(type(seed) is int and 0 <= seed < 2**31 for seed in value):
        return tuple(dict.fromkeys(value))
    raise table.wrong("seeds", value, "a number from 1 to 1,000, or a list of seeds")


def _training(table: Table, default: Training) -> Training:
    """What a run may use, with defaults for what the table does not say; settings are added to the default's.

    A contest has its own settings alone: those for every run are meant for one configuration.
    """
    training = Training(
        episodes=table.whole("episodes", default.episodes),
        seconds=table.seconds("time_limit", default.seconds),
        settings=(*(() if table.has("contest") else default.settings), *table.texts("settings")),
    )
    table.end()
    return training


def _testing(table: Table) -> Testing:
    protocol = table.choice("protocol", PROTOCOLS, "open")
    rules = PROTOCOLS[protocol]
    testing = Testing(
        splits=table.texts("splits") or (Split.EASY, Split.MEDIUM, Split.HARD, Split.TEST),
        problems=table.texts("problems"),
        protocol=protocol,
        has_own_time=table.has("time_limit"),
        limits=Limits(
            table.seconds("time_limit", rules.limits.seconds),
            table.megabytes("memory_limit", rules.limits.memory_mb),
            table.whole("max_jumps", rules.limits.max_jumps, least=0),
        ),
        search=table.flag("search", rules.search),
        improve=table.flag("improve", False),
    )
    table.end()
    return testing


def _machines(table: Table) -> Machines:
    machines = Machines(
        device=table.choice("device", DEVICES, "auto"),
        test_device=table.choice("test_device", DEVICES, "cpu"),
        runs=table.whole("runs", None),
        trials=table.whole("trials", None),
        threads=table.whole("threads", None) or 1,
        ray=table.text("ray", "") or None,
    )
    table.end()
    return machines


KINDS = ("config", "contest", "policy", "planner")
TRAINED = ("config", "contest")
"""Those that are trained."""

NEEDS = {
    "settings": TRAINED,
    "episodes": ("config",),
    "time_limit": TRAINED,
    "seeds": (*TRAINED, "policy"),
    "slots": ("contest",),
    "plan_time": ("planner",),
    "lookahead": ("policy",),
    "play": (*TRAINED, "policy"),
    "search": (*TRAINED, "policy"),
}
"""Keys that make sense for some kinds of systems only."""


def _system(
    table: Table, training: Training, testing: Testing, seeds: tuple[int, ...], domains: tuple[str, ...], file: Path
) -> System:
    name = table.name.removeprefix("systems.")
    if NAME.fullmatch(name) is None:
        raise table.error("expected a name of lower-case letters, digits, '.' and '-'")
    kinds = [kind for kind in KINDS if table.has(kind)]
    if len(kinds) != 1:
        found = f"found {' and '.join(kinds)}" if kinds else "found none of them"
        raise table.error(f"expected one of {', '.join(KINDS)}; {found}")
    for key, allowed in NEEDS.items():
        if table.has(key) and kinds[0] not in allowed:
            raise table.error(f"{key} cannot be combined with {kinds[0]}")
    if not table.flag("contest", True):
        raise table.wrong("contest", False, "true")
    wanted = table.texts("domains")
    for domain in wanted:
        if domain not in domains:
            raise table.error(f"domains: {domain!r} is not one of the experiment{suggestion(domain, domains)}")
    is_trained = kinds[0] in TRAINED
    system = System(
        name,
        config=table.text("config", "") or None,
        contest=kinds[0] == "contest",
        policy=_policy(table.text("policy", ""), file) or None,
        planner=table.choice("planner", PLANNERS, "") or None,
        plan_seconds=_plan_seconds(table),
        lookahead=table.texts("lookahead"),
        play=table.texts("play"),
        slots=table.whole("slots", None) or 1,
        search=table.flag("search", testing.search),
        seeds=_seeds(table, seeds if is_trained else (0,)),
        domains=wanted or domains,
        training=_training(table, training),
    )
    if table.has("plan_time") and system.planner not in LEARNING_PLANNERS:
        raise table.error(f"plan_time: {system.planner} does not learn")
    if len(system.seeds) > 1 and not is_trained and system.policy not in YARDSTICK_NAMES:
        raise table.error("seeds: a policy that is not trained here has none")
    return system


def _plan_seconds(table: Table) -> float:
    """Time limit for an optimal plan; there must be one."""
    seconds = table.seconds("plan_time", PLAN_SECONDS)
    if seconds is None:
        raise table.wrong("plan_time", "none", "a time")
    return seconds


def _with_configuration(table: Table, system: System, file: Path) -> System:
    """The system with the place of its configuration, which is checked; files are relative to the experiment's."""
    if system.config is None:
        return system
    from saltus.learn.config import load_configuration, named_configurations  # here: importing PyTorch takes a second

    source = system.config
    near = os.path.join(file.parent, source)
    if source not in named_configurations() and os.path.isfile(near):
        source = near
    try:
        load_configuration(source, system.training.settings)
    except ConfigurationError as error:
        raise table.error(str(error)) from error
    return replace(system, config=source)


def _policy(name: str, file: Path) -> str:
    """Name or file of a policy; files are relative to that of the experiment."""
    return str(file.parent / name) if "/" in name or name.endswith(SUFFIX) else name


def _check_splits(table: Table, testing: Testing, suites: tuple[Suite, ...]) -> None:
    """Raises an error for splits and problems that no suite has."""
    known = dict.fromkeys(split for suite in suites for split in suite.splits)
    for split in testing.splits if table.has("splits") else ():
        if split not in known:
            raise table.error(
                f"splits: there is no {split!r}{suggestion(split, known) or '; there are ' + ', '.join(known)}"
            )
    names = {path.stem for suite in suites for split in testing.splits for path in suite.splits.get(split, ())}
    for name in testing.problems:
        if name not in names:
            raise table.error(f"problems: there is no {name!r} in the splits {', '.join(testing.splits)}")
