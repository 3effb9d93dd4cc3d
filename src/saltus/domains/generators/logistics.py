"""Logistics problems: cities of equal size, each with a truck and an airport, and some airplanes.

Packages and trucks start anywhere (trucks in their city), airplanes at any airport. Every package
goes to another location, often in another city.

Solvable by construction: trucks reach every location of their city, airplanes every airport.
Exact: objects (airplanes + cities * (2 + locations) + packages) and atoms, which are 3 * objects;
6 and 18 for 1 airplane, 1 city of 2 locations, 1 package. The extremes of every split are those of
the paper's data table; their division into kinds of objects is our choice.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from saltus.domains.sizes import Ramp, Split, refuse_below
from saltus.domains.text import deliveries, numbered, problem_text
from saltus.errors import ConfigurationError


@dataclass(frozen=True)
class Sizes:
    airplanes: int
    """Airplanes."""
    cities: int
    """Cities, each with one truck."""
    locations: int
    """Locations per city; the first is its airport."""
    packages: int
    """Packages to deliver."""

    def __post_init__(self) -> None:
        refuse_below(self, airplanes=1, cities=1, locations=1, packages=1)
        if self.cities * self.locations < 2:
            raise ConfigurationError("locations must be at least 2 if there is only one city")


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    airplanes = numbered("a", sizes.airplanes, first=0)
    cities = numbered("c", sizes.cities, first=0)
    trucks = numbered("t", sizes.cities, first=0)
    packages = numbered("p", sizes.packages, first=0)
    inside = [numbered(f"l{city}-", sizes.locations, first=0) for city in range(sizes.cities)]
    airports = [locations[0] for locations in inside]
    everywhere = [location for locations in inside for location in locations]
    init = [f"(airplane {one})" for one in airplanes]
    init += [f"(city {one})" for one in cities]
    init += [f"(truck {one})" for one in trucks]
    init += [f"(location {one})" for one in everywhere]
    init += [f"(airport {one})" for one in airports]
    init += [f"(obj {one})" for one in packages]
    for city, locations in zip(cities, inside, strict=True):
        init += [f"(in-city {location} {city})" for location in locations]
    for truck, locations in zip(trucks, inside, strict=True):
        init.append(f"(at {truck} {rng.choice(locations)})")
    init += [f"(at {airplane} {rng.choice(airports)})" for airplane in airplanes]
    start, goal = deliveries(packages, everywhere, rng)
    objects = [(names, "") for names in (airplanes, cities, trucks, everywhere, packages)]
    return problem_text(name, "logistics-strips", objects, [*init, *start], goal)


SPLITS: dict[str, Split[Sizes]] = {
    "training": Ramp(Sizes(1, 1, 2, 1), Sizes(2, 4, 3, 4), drawn=("packages",)),
    "validation": Ramp(Sizes(2, 4, 3, 8), Sizes(3, 6, 4, 13), drawn=("packages",)),
    "test": Ramp(Sizes(4, 6, 5, 14), Sizes(6, 10, 7, 24), drawn=("packages",)),
}
