"""Stage `domains`: the sizes of generated problems: what a split of a domain draws, smallest problem first.

Takes the position of a problem in its split (index of count) and a random generator; gives the domain's `Sizes`. A
split spreads sizes over its whole range whatever the count: index 0 is exactly the smallest problem, index count - 1
exactly the largest. There are three kinds of split:

- `Ramp`: every field grows linearly from the smallest to the largest sizes;
- `Steps`: a hand-written list of sizes, taken from the first to the last;
- `Drawn`: a measure such as the number of objects grows linearly, and the domain draws sizes of that measure.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from saltus.errors import ConfigurationError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

S = TypeVar("S", bound="DataclassInstance")

Split = Callable[[int, int, random.Random], S]


def refuse_below(sizes: object, **minimum: int) -> None:
    """Raises a `ConfigurationError` that names the first field of `sizes` below its minimum, if there is one."""
    for field, least in minimum.items():
        value = getattr(sizes, field)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigurationError(f"{field} must be an integer, not {value!r}")
        if value < least:
            raise ConfigurationError(f"{field} must be at least {least}, not {value}")


def refuse_above(field: str, value: int, most: int, why: str) -> None:
    """Raises a `ConfigurationError` that names `field` if `value` exceeds `most`."""
    if value > most:
        raise ConfigurationError(f"{field} must be at most {most} ({why}), not {value}")


def refuse_edges(sizes: object, field: str, nodes: int, of: str) -> None:
    """Raises a `ConfigurationError` if a number of edges does not connect the nodes, or exceeds the pairs of them."""
    refuse_below(sizes, **{field: nodes - 1})
    refuse_above(field, getattr(sizes, field), nodes * (nodes - 1) // 2, f"one per pair of {of}")


def between(low: int, high: int, index: int, count: int) -> int:
    """The integer at `index` on the line from `low` (index 0) to `high` (index count - 1).

    Halves are rounded up, so that parallel lines stay parallel.
    """
    if count <= 1:
        return low
    return (2 * (low * (count - 1) + (high - low) * index) + count - 1) // (2 * (count - 1))


@dataclass(frozen=True)
class Ramp(Generic[S]):
    """Sizes whose fields all grow linearly from `smallest` to `largest`."""

    smallest: S
    largest: S
    drawn: tuple[str, ...] = ()
    """Fields drawn uniformly between the ends instead, except at the ends."""
    adjust: Callable[[dict[str, int]], Mapping[str, int]] | None = None
    """Repairs a combination that rounding or drawing made invalid; not used at the ends."""

    def __call__(self, index: int, count: int, rng: random.Random) -> S:
        if index == 0:
            return self.smallest
        if index == count - 1:
            return self.largest
        values: dict[str, int] = {}
        for field in fields(self.smallest):
            low, high = getattr(self.smallest, field.name), getattr(self.largest, field.name)
            if field.name in self.drawn:
                values[field.name] = rng.randrange(min(low, high), max(low, high) + 1)
            else:
                values[field.name] = between(low, high, index, count)
        changes: Any = values if self.adjust is None else self.adjust(values)
        return replace(self.smallest, **changes)


@dataclass(frozen=True)
class Steps(Generic[S]):
    """Sizes from a list, smallest first; a count below the list's length skips some."""

    listed: tuple[S, ...]

    def __call__(self, index: int, count: int, rng: random.Random) -> S:
        return self.listed[between(0, len(self.listed) - 1, index, count)]


@dataclass(frozen=True)
class Drawn(Generic[S]):
    """Sizes of a measure that grows linearly, such as the number of objects, drawn by the domain."""

    smallest: S
    largest: S
    measure: Callable[[S], int]
    draw: Callable[[int, random.Random], S]
    """Draws sizes of the given measure."""

    def __call__(self, index: int, count: int, rng: random.Random) -> S:
        if index == 0:
            return self.smallest
        if index == count - 1:
            return self.largest
        low, high = self.measure(self.smallest), self.measure(self.largest)
        return self.draw(between(low, high, index, count), rng)
