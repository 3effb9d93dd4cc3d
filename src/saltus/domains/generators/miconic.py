"""Miconic problems: every passenger must be taken from a random floor to another.

Solvable by construction: the lift reaches every floor and carries any number of passengers.
Objects and atoms are exact functions of the sizes; `above` is written for all pairs of floors.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from saltus.domains.sizes import Ramp, Split, refuse_below
from saltus.domains.text import numbered, other_than, problem_text


@dataclass(frozen=True)
class Sizes:
    passengers: int
    """Passengers to serve."""
    floors: int
    """Floors, at least 2."""

    def __post_init__(self) -> None:
        refuse_below(self, passengers=1, floors=2)


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    passengers = numbered("p", sizes.passengers)
    floors = numbered("f", sizes.floors)
    init = [f"(lift-at {rng.choice(floors)})"]
    for passenger in passengers:
        start = rng.choice(floors)
        init.append(f"(origin {passenger} {start})")
        init.append(f"(destin {passenger} {other_than(floors, start, rng)})")
    init += [f"(above {lower} {upper})" for position, lower in enumerate(floors) for upper in floors[position + 1 :]]
    objects = [(passengers, "passenger"), (floors, "floor")]
    return problem_text(name, "miconic", objects, init, [f"(served {one})" for one in passengers])


SPLITS: dict[str, Split[Sizes]] = {
    "training": Ramp(Sizes(1, 2), Sizes(7, 14)),
    "validation": Ramp(Sizes(7, 15), Sizes(10, 20)),
    "easy": Ramp(Sizes(1, 4), Sizes(10, 20)),
    "medium": Ramp(Sizes(20, 30), Sizes(78, 59)),
    "hard": Ramp(Sizes(50, 80), Sizes(485, 196)),
}
