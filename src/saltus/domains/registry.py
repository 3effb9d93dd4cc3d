"""Stage `domains`: the registry of the 21 domains, and problems of a domain by split or by sizes.

Takes a name, a split and a position in it (or sizes), and a seed; gives PDDL text. The registry is not in the package's
`__init__`, because the generators imported here would hide the folders of the same names.
"""

from __future__ import annotations

import importlib.resources
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol

from saltus.domains.blocksworld import generator as blocksworld
from saltus.domains.childsnack import generator as childsnack
from saltus.domains.delivery import generator as delivery
from saltus.domains.depots import generator as depots
from saltus.domains.driverlog import generator as driverlog
from saltus.domains.ferry import generator as ferry
from saltus.domains.floortile import generator as floortile
from saltus.domains.freecell import generator as freecell
from saltus.domains.goldminer import generator as goldminer
from saltus.domains.grid import generator as grid
from saltus.domains.grippers import generator as grippers
from saltus.domains.logistics import generator as logistics
from saltus.domains.miconic import generator as miconic
from saltus.domains.reward import generator as reward
from saltus.domains.rovers import generator as rovers
from saltus.domains.satellite import generator as satellite
from saltus.domains.satellite import paper as satellite_paper
from saltus.domains.sokoban import generator as sokoban
from saltus.domains.spanner import generator as spanner
from saltus.domains.transport import generator as transport
from saltus.domains.visitall import generator as visitall
from saltus.errors import ConfigurationError, suggestion
from saltus.task import Split

SPLIT_NAMES = tuple(split.value for split in Split)


class GeneratorModule(Protocol):
    """The contents of a module `NAME/generator.py`."""

    __name__: str

    @property
    def Sizes(self) -> type[Any]:  # noqa: N802 (a module's class)
        """A frozen dataclass of integers; invalid values raise a `ConfigurationError` with the field's name."""

    @property
    def SPLITS(self) -> Mapping[str, Callable[[int, int, random.Random], Any]]:  # noqa: N802 (a module's constant)
        """For each split, a function that gives the sizes of problem i of n."""

    def generate(self, sizes: Any, name: str, rng: random.Random) -> str:
        """The PDDL text of one solvable problem."""


@dataclass(frozen=True)
class DomainEntry:
    """One domain of the registry."""

    name: str
    """The domain's name on the command line and in `DOMAINS`."""
    summary: str
    """What the problems ask for, in one line."""
    path: Path
    """The domain file."""
    module: GeneratorModule
    """The generator."""

    @property
    def sizes(self) -> type[Any]:
        """The frozen dataclass of sizes."""
        return self.module.Sizes

    @property
    def splits(self) -> Mapping[str, Callable[[int, int, random.Random], Any]]:
        """For each split, the function that draws its sizes."""
        return self.module.SPLITS

    def ends(self, split: str) -> tuple[Any, Any]:
        """The smallest and the largest sizes of a split."""
        first, last = (self.splits[split](index, 2, random.Random(0)) for index in (0, 1))
        return first, last


def _entry(name: str, module: GeneratorModule, summary: str) -> tuple[str, DomainEntry]:
    folder = module.__name__.rsplit(".", 2)[-2]
    path = Path(str(importlib.resources.files("saltus.domains") / folder / "domain.pddl"))
    return name, DomainEntry(name, summary, path, module)


DOMAINS: dict[str, DomainEntry] = dict(
    (
        _entry("blocksworld", blocksworld, "turn towers of blocks into other towers"),
        _entry("childsnack", childsnack, "make sandwiches and serve children, some allergic"),
        _entry("delivery", delivery, "bring packages to one cell of a grid, one at a time"),
        _entry("depots", depots, "restack crates on pallets with hoists and trucks"),
        _entry("driverlog", driverlog, "deliver packages with trucks that need drivers"),
        _entry("ferry", ferry, "take cars to other locations, one at a time"),
        _entry("floortile", floortile, "paint a floor without blocking the way"),
        _entry("freecell", freecell, "solve deals of the solitaire game"),
        _entry("goldminer", goldminer, "reach gold through rock with laser and bombs"),
        _entry("grid", grid, "carry keys to their places through locked cells"),
        _entry("grippers", grippers, "carry balls between rooms with two-handed robots"),
        _entry("logistics", logistics, "deliver packages with trucks and airplanes"),
        _entry("miconic", miconic, "take passengers to their floors with one lift"),
        _entry("reward", reward, "pick up rewards on a grid with blocked cells"),
        _entry("rovers", rovers, "sample soil and rock, take images, send the results"),
        _entry("satellite", satellite, "take images with satellites (the IPC's sizes)"),
        _entry("satellite-paper", satellite_paper, "take images with satellites (the paper's own sizes)"),
        _entry("sokoban", sokoban, "push boxes to their places in a walled room"),
        _entry("spanner", spanner, "collect spanners on a one-way walk, tighten nuts"),
        _entry("transport", transport, "deliver packages with vehicles of limited capacity"),
        _entry("visitall", visitall, "visit all or many cells of a grid"),
    )
)


def _find(name: str) -> DomainEntry:
    """The entry of a domain; an unknown name raises a `ConfigurationError` with the known ones."""
    if name not in DOMAINS:
        hint = suggestion(name, DOMAINS) or f"; expected one of {', '.join(DOMAINS)}"
        raise ConfigurationError(f"unknown domain {name!r}{hint}")
    return DOMAINS[name]


def _refuse_unknown(entry: DomainEntry, sizes: Mapping[str, int]) -> None:
    """Raises a `ConfigurationError` if `sizes` names a field that the domain does not have."""
    known = [field.name for field in fields(entry.sizes)]
    for field in sizes:
        if field not in known:
            hint = suggestion(field, known) or f"; expected one of {', '.join(known)}"
            raise ConfigurationError(f"{entry.name} has no size {field!r}{hint}")


def _random(name: str, split: str, index: int, seed: int) -> random.Random:
    """The random generator for one problem; it depends on domain, split, index and seed."""
    return random.Random(f"{name}/{split}/{seed}/{index}")


def draw_sizes(
    name: str,
    split: str,
    index: int = 0,
    count: int = 1,
    seed: int = 0,
    overrides: Mapping[str, int] | None = None,
) -> Any:
    """The sizes of problem `index` (from 0) of `count` in a split, with some fields overridden.

    `generate_problem` uses these sizes for the same arguments.
    """
    return _drawn(name, split, index, count, seed, overrides)[0]


def _drawn(
    name: str, split: str, index: int, count: int, seed: int, overrides: Mapping[str, int] | None
) -> tuple[Any, random.Random]:
    """The sizes, and the random generator to continue with."""
    entry = _find(name)
    if split not in entry.splits:
        hint = suggestion(split, entry.splits) or f"; expected one of {', '.join(entry.splits)}"
        raise ConfigurationError(f"{name} has no split {split!r}{hint}")
    if not 0 <= index < count:
        raise ConfigurationError(f"index must be from 0 to {count - 1}, not {index}")
    rng = _random(name, split, index, seed)
    sizes = entry.splits[split](index, count, rng)
    if overrides:
        _refuse_unknown(entry, overrides)
        sizes = replace(sizes, **overrides)
    return sizes, rng


def generate_problem(
    name: str,
    split: str = Split.TRAINING.value,
    index: int = 0,
    count: int = 1,
    seed: int = 0,
    overrides: Mapping[str, int] | None = None,
) -> str:
    """The PDDL text of problem `index` (from 0) of `count` in a split.

    The count only spreads the sizes over the split's range; seed and index determine the rest.
    """
    sizes, rng = _drawn(name, split, index, count, seed, overrides)
    return DOMAINS[name].module.generate(sizes, f"{name}-{split}-{index + 1:03}", rng)


def generate_sizes(name: str, sizes: Any, seed: int = 0) -> str:
    """The PDDL text of one problem with the given sizes: an instance of the domain's `Sizes`, or a mapping."""
    entry = _find(name)
    if isinstance(sizes, Mapping):
        _refuse_unknown(entry, sizes)
        try:
            sizes = entry.sizes(**sizes)
        except TypeError as error:
            needed = ", ".join(field.name for field in fields(entry.sizes))
            raise ConfigurationError(f"{name} needs the sizes {needed}: {error}") from None
    return entry.module.generate(sizes, f"{name}-{seed}", _random(name, "sizes", 0, seed))
