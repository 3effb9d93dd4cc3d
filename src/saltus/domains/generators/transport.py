"""Transport problems: packages, vehicles with capacities, and a road map of any density.

The road map is a random connected graph. By default its number of roads lies anywhere between a tree
and a complete graph, as in the IPC 2023 files. The goal of a package differs from its start.

Solvable by construction: the map is connected and every vehicle has room for at least one
package. The number of objects is exact; atoms vary with the number of roads unless `roads` fixes it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise

from saltus.domains.sizes import Ramp, Split, refuse_below, refuse_edges
from saltus.domains.text import both_ways, connected_pairs, deliveries, numbered, problem_text


@dataclass(frozen=True)
class Sizes:
    vehicles: int
    """Vehicles at random locations."""
    packages: int
    """Packages to deliver."""
    locations: int
    """Locations, at least 2."""
    capacity: int
    """Largest capacity; the capacity of each vehicle is drawn from 1 up to it."""
    roads: int = 0
    """Roads, each in both directions; 0 draws a number between a tree and a complete graph."""

    def __post_init__(self) -> None:
        refuse_below(self, vehicles=1, packages=1, locations=2, capacity=1, roads=0)
        if self.roads:
            refuse_edges(self, "roads", self.locations, "locations")


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    vehicles = numbered("v", sizes.vehicles)
    packages = numbered("p", sizes.packages)
    locations = numbered("l", sizes.locations)
    capacities = numbered("c", sizes.capacity + 1, first=0)
    init = [f"(capacity {vehicle} {rng.choice(capacities[1:])})" for vehicle in vehicles]
    init += [f"(capacity-predecessor {less} {more})" for less, more in pairwise(capacities)]
    start, goal = deliveries(packages, locations, rng)
    init += start
    init += [f"(at {vehicle} {rng.choice(locations)})" for vehicle in vehicles]
    init += both_ways("road", locations, connected_pairs(sizes.locations, sizes.roads, rng))
    objects = [
        (vehicles, "vehicle"),
        (packages, "package"),
        (locations, "location"),
        (capacities, "size"),
    ]
    return problem_text(name, "transport", objects, init, goal)


SPLITS: dict[str, Split[Sizes]] = {
    "training": Ramp(Sizes(1, 1, 2, 1), Sizes(6, 12, 13, 2)),
    "validation": Ramp(Sizes(6, 12, 13, 2), Sizes(7, 17, 17, 3)),
    "easy": Ramp(Sizes(3, 1, 5, 2), Sizes(6, 15, 15, 2)),
    "medium": Ramp(Sizes(10, 5, 20, 4), Sizes(20, 44, 40, 4)),
    "hard": Ramp(Sizes(30, 20, 50, 10), Sizes(50, 194, 99, 10)),
}
