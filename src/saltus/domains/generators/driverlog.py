"""Driverlog problems: junctions joined by roads for trucks and by footpaths for drivers.

Roads and footpaths are two random connected graphs over the junctions; each footpath has a
location of its own. As in the well-known problem files, some of these locations are blind: they
have the name of a footpath in the opposite direction and are connected with nothing. The goal gives
a place to every package and to some trucks and drivers.

Solvable by construction: any driver walks to any truck, any truck drives to any junction. Exact:
objects and atoms (7 and 27 for 2 junctions, 1 driver, 1 truck, 1 package, 1 road, 1 footpath and
its blind twin). The extremes of every split are those of the paper's data table; their division
into kinds of objects is derived, not known, and problems between them are drawn within the
table's ranges of objects and atoms.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from saltus.domains.sizes import Drawn, Split, refuse_above, refuse_below, refuse_edges
from saltus.domains.text import both_ways, connected_pairs, numbered, other_than, problem_text


@dataclass(frozen=True)
class Sizes:
    junctions: int
    """Junctions, at least 2."""
    drivers: int
    """Drivers."""
    trucks: int
    """Trucks."""
    packages: int
    """Packages."""
    roads: int
    """Roads, each in both directions."""
    paths: int
    """Footpaths, each with a location in the middle."""
    blind: int = 0
    """Locations connected with nothing, at most one per footpath."""

    def __post_init__(self) -> None:
        refuse_below(self, junctions=2, drivers=1, trucks=1, packages=1, blind=0)
        refuse_edges(self, "roads", self.junctions, "junctions")
        refuse_edges(self, "paths", self.junctions, "junctions")
        refuse_above("blind", self.blind, self.paths, "one per footpath")

    @property
    def objects(self) -> int:
        """Objects of a problem with these sizes."""
        movable = self.drivers + self.trucks + self.packages
        return self.junctions + self.paths + self.blind + movable

    @property
    def atoms(self) -> int:
        """Atoms of the initial state, types included."""
        movable = self.drivers + self.trucks + self.packages
        return 2 * (self.objects + movable + self.roads) + self.trucks + 4 * self.paths


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    junctions = numbered("s", sizes.junctions, first=0)
    drivers = numbered("driver", sizes.drivers)
    trucks = numbered("truck", sizes.trucks)
    packages = numbered("package", sizes.packages)
    roads = connected_pairs(sizes.junctions, sizes.roads, rng)
    paths = connected_pairs(sizes.junctions, sizes.paths, rng)
    points = [f"p{one}-{other}" for one, other in paths]
    blind = [f"p{other}-{one}" for one, other in sorted(rng.sample(paths, sizes.blind))]
    start = {thing: rng.choice(junctions) for thing in drivers + trucks + packages}
    init = [f"(at {thing} {place})" for thing, place in start.items()]
    init += [f"(empty {truck})" for truck in trucks]
    for (one, other), point in zip(paths, points, strict=True):
        for end in (junctions[one], junctions[other]):
            init += [f"(path {end} {point})", f"(path {point} {end})"]
    init += both_ways("link", junctions, roads)
    goal = [f"(at {one} {rng.choice(junctions)})" for one in drivers if rng.random() < 0.5]
    goal += [f"(at {one} {rng.choice(junctions)})" for one in trucks if rng.random() < 0.5]
    goal += [f"(at {one} {other_than(junctions, start[one], rng)})" for one in packages]
    objects = [
        (drivers, "driver"),
        (trucks, "truck"),
        (packages, "obj"),
        (junctions + points + blind, "location"),
    ]
    return problem_text(name, "driverlog", objects, init, goal)


def _between(smallest: Sizes, largest: Sizes) -> Split[Sizes]:
    """A split of drawn sizes whose objects and atoms lie between those of the two ends."""

    def draw(objects: int, rng: random.Random) -> Sizes:
        while True:
            junctions = rng.randrange(2, max(3, objects // 2))
            most = junctions * (junctions - 1) // 2
            paths = rng.randrange(junctions - 1, min(most, 2 * junctions) + 1)
            roads = rng.randrange(junctions - 1, min(most, 3 * junctions) + 1)
            blind = rng.randrange(min(paths, 2) + 1)
            movable = objects - junctions - paths - blind
            drivers = rng.randrange(1, 3 + objects // 20)
            trucks = rng.randrange(1, 3 + objects // 20)
            if movable <= drivers + trucks:
                continue
            packages = movable - drivers - trucks
            sizes = Sizes(junctions, drivers, trucks, packages, roads, paths, blind)
            if smallest.atoms <= sizes.atoms <= largest.atoms:
                return sizes

    return Drawn(smallest, largest, lambda sizes: sizes.objects, draw)


SPLITS: dict[str, Split[Sizes]] = {
    "training": _between(Sizes(2, 1, 1, 1, 1, 1, 1), Sizes(5, 1, 1, 2, 10, 6)),
    "validation": _between(Sizes(4, 2, 1, 4, 4, 4, 1), Sizes(6, 1, 2, 2, 14, 7)),
    "test": _between(Sizes(5, 2, 1, 6, 7, 5), Sizes(17, 3, 3, 7, 41, 20)),
}
