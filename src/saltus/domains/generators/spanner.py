"""Spanner problems: spanners lie along a one-way corridor, all nuts wait at the gate.

The corridor leads from the shed through numbered locations to the gate; every spanner lies at a
random location. Solvable by construction: there are at least as many spanners as nuts, and a walk
that picks up every spanner can tighten all nuts. Objects and atoms are exact functions of the sizes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise

from saltus.domains.sizes import Ramp, Split, refuse_above, refuse_below
from saltus.domains.text import numbered, problem_text


@dataclass(frozen=True)
class Sizes:
    spanners: int
    """Spanners, at least one per nut."""
    nuts: int
    """Nuts to tighten, all at the gate."""
    locations: int
    """Locations between shed and gate."""

    def __post_init__(self) -> None:
        refuse_below(self, spanners=1, nuts=1, locations=1)
        refuse_above("nuts", self.nuts, self.spanners, "a spanner works once")


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    spanners = numbered("spanner", sizes.spanners)
    nuts = numbered("nut", sizes.nuts)
    middle = numbered("location", sizes.locations)
    corridor = ["shed", *middle, "gate"]
    init = ["(at bob shed)"]
    for spanner in spanners:
        init += [f"(at {spanner} {rng.choice(middle)})", f"(usable {spanner})"]
    for nut in nuts:
        init += [f"(at {nut} gate)", f"(loose {nut})"]
    init += [f"(link {here} {next_})" for here, next_ in pairwise(corridor)]
    objects = [(["bob"], "man"), (spanners, "spanner"), (nuts, "nut"), (corridor, "location")]
    return problem_text(name, "spanner", objects, init, [f"(tightened {nut})" for nut in nuts])


SPLITS: dict[str, Split[Sizes]] = {
    "training": Ramp(Sizes(1, 1, 1), Sizes(7, 4, 8)),
    "validation": Ramp(Sizes(7, 4, 8), Sizes(10, 5, 10)),
    "easy": Ramp(Sizes(1, 1, 4), Sizes(10, 5, 10)),
    "medium": Ramp(Sizes(30, 15, 15), Sizes(88, 49, 44)),
    "hard": Ramp(Sizes(100, 50, 50), Sizes(487, 244, 99)),
}
