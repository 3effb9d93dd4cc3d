"""Depots problems: crates in random stacks on pallets, some of which must be restacked.

Every place has one of the first pallets and hoists; the others, and the trucks, are anywhere.
The goal stacks a random non-empty set of the crates on pallets and on each other.

Solvable by construction: every place has a hoist and trucks carry any number of crates, so one
truck can collect all crates and the goal stacks can be built from it. Exact: objects and atoms
(13 and 62 for 1 depot, 2 distributors, 2 trucks, 3 pallets, 3 hoists, 2 crates). The extremes of
every split are those of the paper's data table; the division into places, trucks, hoists, pallets
and crates is derived from the totals where it is not unique.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from saltus.domains.sizes import Ramp, Split, refuse_below
from saltus.domains.text import numbered, problem_text
from saltus.errors import ConfigurationError


@dataclass(frozen=True)
class Sizes:
    depots: int
    """Depots."""
    distributors: int
    """Distributors."""
    trucks: int
    """Trucks."""
    pallets: int
    """Pallets, at least one per place."""
    hoists: int
    """Hoists, at least one per place."""
    crates: int
    """Crates."""

    def __post_init__(self) -> None:
        refuse_below(self, depots=0, distributors=0, trucks=1, pallets=1, hoists=1, crates=1)
        places = self.depots + self.distributors
        if places == 0:
            raise ConfigurationError("depots must be at least 1 if there are no distributors")
        refuse_below(self, pallets=places, hoists=places)
        if self.crates == 1 and self.pallets == 1:
            raise ConfigurationError("crates must be at least 2 if there is only one pallet")


def _stacks(crates: list[str], pallets: list[str], rng: random.Random) -> dict[str, str]:
    """What every crate stands on: a pallet or another crate."""
    tops = list(pallets)
    below: dict[str, str] = {}
    for crate in rng.sample(crates, len(crates)):
        position = rng.randrange(len(tops))
        below[crate] = tops[position]
        tops[position] = crate
    return below


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    depots = numbered("depot", sizes.depots, first=0)
    distributors = numbered("distributor", sizes.distributors, first=0)
    places = depots + distributors
    trucks = numbered("truck", sizes.trucks, first=0)
    pallets = numbered("pallet", sizes.pallets, first=0)
    hoists = numbered("hoist", sizes.hoists, first=0)
    crates = numbered("crate", sizes.crates, first=0)
    place_of = dict(zip(pallets, places, strict=False))
    for pallet in pallets[len(places) :]:
        place_of[pallet] = rng.choice(places)
    below = _stacks(crates, pallets, rng)
    for crate, surface in below.items():
        place_of[crate] = place_of[surface]
    covered = set(below.values())
    init = [f"(at {thing} {place_of[thing]})" for thing in pallets + crates]
    init += [f"(clear {surface})" for surface in pallets + crates if surface not in covered]
    init += [f"(at {truck} {rng.choice(places)})" for truck in trucks]
    for position, hoist in enumerate(hoists):
        place = places[position] if position < len(places) else rng.choice(places)
        init += [f"(at {hoist} {place})", f"(available {hoist})"]
    init += [f"(on {crate} {below[crate]})" for crate in crates]
    goal: dict[str, str] = {}
    while all(below[crate] == surface for crate, surface in goal.items()):
        wanted = rng.sample(crates, rng.randrange(len(crates)) + 1)
        goal = _stacks(sorted(wanted), pallets, rng)
    objects = [
        (depots, "depot"),
        (distributors, "distributor"),
        (trucks, "truck"),
        (pallets, "pallet"),
        (crates, "crate"),
        (hoists, "hoist"),
    ]
    return problem_text(name, "depot", objects, init, [f"(on {crate} {goal[crate]})" for crate in sorted(goal)])


SPLITS: dict[str, Split[Sizes]] = {
    "training": Ramp(Sizes(1, 2, 2, 3, 3, 2), Sizes(1, 2, 2, 3, 3, 9)),
    "validation": Ramp(Sizes(1, 4, 3, 5, 5, 3), Sizes(1, 3, 2, 4, 4, 11)),
    "test": Ramp(Sizes(1, 5, 3, 6, 6, 5), Sizes(1, 8, 5, 9, 10, 27)),
}
