"""Ferry problems: every car must be taken from a random location to another.

Solvable by construction: the ferry sails between any two locations, so the cars can be taken to
their goals one after the other. Objects and atoms are exact functions of the sizes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from saltus.domains.sizes import Ramp, Split, refuse_below
from saltus.domains.text import deliveries, numbered, problem_text


@dataclass(frozen=True)
class Sizes:
    cars: int
    """Cars to take to another location."""
    locations: int
    """Locations, at least 2."""

    def __post_init__(self) -> None:
        refuse_below(self, cars=1, locations=2)


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    cars = numbered("car", sizes.cars)
    locations = numbered("loc", sizes.locations)
    init = ["(empty-ferry)", f"(at-ferry {rng.choice(locations)})"]
    start, goal = deliveries(cars, locations, rng)
    return problem_text(name, "ferry", [(cars, "car"), (locations, "location")], [*init, *start], goal)


SPLITS: dict[str, Split[Sizes]] = {
    "training": Ramp(Sizes(1, 2), Sizes(13, 12)),
    "validation": Ramp(Sizes(14, 12), Sizes(20, 15)),
    "easy": Ramp(Sizes(2, 5), Sizes(20, 15)),
    "medium": Ramp(Sizes(10, 20), Sizes(97, 49)),
    "hard": Ramp(Sizes(200, 100), Sizes(974, 487)),
}
