"""Stage `domains`: the registry of the 21 domains, and problems of a domain by split or by sizes.

Takes a name, a split and a position in it (or sizes), and a seed; gives PDDL text. A generator is imported when it is
first used.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from saltus.domains.sizes import Split
from saltus.errors import ConfigurationError, suggestion
from saltus.task import Split as SplitName

SPLIT_NAMES = tuple(split.value for split in SplitName)


@dataclass(frozen=True)
class DomainEntry:
    """One domain of the registry."""

    name: str
    """The domain's name on the command line and in `DOMAINS`."""
    summary: str
    """What the problems ask for, in one line."""

    @property
    def path(self) -> Path:
        """The domain file; two lists of sizes may share it."""
        return Path(__file__).parent / "generators" / f"{self.name.partition('-')[0]}.pddl"

    @property
    def module(self) -> Any:
        """The generator: the module of that name, with `Sizes`, `SPLITS` and `generate`."""
        return importlib.import_module(f"saltus.domains.generators.{self.name.replace('-', '_')}")

    @property
    def sizes(self) -> type[Any]:
        """A frozen dataclass of integers; invalid values raise a `ConfigurationError` with the field's name."""
        sizes: type[Any] = self.module.Sizes
        return sizes

    @property
    def splits(self) -> Mapping[str, Split[Any]]:
        """For each split, a function that gives the sizes of problem i of n."""
        splits: Mapping[str, Split[Any]] = self.module.SPLITS
        return splits

    def generate(self, sizes: Any, name: str, rng: random.Random) -> str:
        """The PDDL text of one solvable problem."""
        text: str = self.module.generate(sizes, name, rng)
        return text

    def ends(self, split: str) -> tuple[Any, Any]:
        """The smallest and the largest sizes of a split."""
        first, last = (self.splits[split](index, 2, random.Random(0)) for index in (0, 1))
        return first, last


DOMAINS = {
    entry.name: entry
    for entry in (
        DomainEntry("blocksworld", "turn towers of blocks into other towers"),
        DomainEntry("childsnack", "make sandwiches and serve children, some allergic"),
        DomainEntry("delivery", "bring packages to one cell of a grid, one at a time"),
        DomainEntry("depots", "restack crates on pallets with hoists and trucks"),
        DomainEntry("driverlog", "deliver packages with trucks that need drivers"),
        DomainEntry("ferry", "take cars to other locations, one at a time"),
        DomainEntry("floortile", "paint a floor without blocking the way"),
        DomainEntry("freecell", "solve deals of the solitaire game"),
        DomainEntry("goldminer", "reach gold through rock with laser and bombs"),
        DomainEntry("grid", "carry keys to their places through locked cells"),
        DomainEntry("grippers", "carry balls between rooms with two-handed robots"),
        DomainEntry("logistics", "deliver packages with trucks and airplanes"),
        DomainEntry("miconic", "take passengers to their floors with one lift"),
        DomainEntry("reward", "pick up rewards on a grid with blocked cells"),
        DomainEntry("rovers", "sample soil and rock, take images, send the results"),
        DomainEntry("satellite", "take images with satellites (the IPC's sizes)"),
        DomainEntry("satellite-paper", "take images with satellites (the paper's own sizes)"),
        DomainEntry("sokoban", "push boxes to their places in a walled room"),
        DomainEntry("spanner", "collect spanners on a one-way walk, tighten nuts"),
        DomainEntry("transport", "deliver packages with vehicles of limited capacity"),
        DomainEntry("visitall", "visit all or many cells of a grid"),
    )
}
"""All domains, in the order of their names."""


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
    split: str = SplitName.TRAINING.value,
    index: int = 0,
    count: int = 1,
    seed: int = 0,
    overrides: Mapping[str, int] | None = None,
) -> str:
    """The PDDL text of problem `index` (from 0) of `count` in a split.

    The count only spreads the sizes over the split's range; seed and index determine the rest.
    """
    sizes, rng = _drawn(name, split, index, count, seed, overrides)
    return DOMAINS[name].generate(sizes, f"{name}-{split}-{index + 1:03}", rng)


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
    return entry.generate(sizes, f"{name}-{seed}", _random(name, "sizes", 0, seed))
