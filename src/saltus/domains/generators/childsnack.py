"""Childsnack problems: children wait at tables, everything else is in the kitchen.

There is one portion of bread and one of content per child, and as many gluten-free portions as
allergic children. Trays start in the kitchen. Which table a child sits at and who is allergic is
random.

Solvable by construction: gluten-free portions suffice for the allergic children and there is a
sandwich object for every child. Objects and atoms are exact functions of the sizes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from saltus.domains.sizes import Ramp, Split, refuse_above, refuse_below
from saltus.domains.text import numbered, problem_text


@dataclass(frozen=True)
class Sizes:
    children: int
    """Children to serve."""
    allergic: int
    """Children who are allergic to gluten."""
    trays: int
    """Trays, all in the kitchen at first."""
    sandwiches: int
    """Sandwich objects, at least one per child."""
    tables: int = 3
    """Tables where children wait, not counting the kitchen."""

    def __post_init__(self) -> None:
        refuse_below(self, children=1, allergic=0, trays=1, sandwiches=1, tables=1)
        refuse_above("allergic", self.allergic, self.children, "the number of children")
        refuse_below(self, sandwiches=self.children)


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    children = numbered("child", sizes.children)
    trays = numbered("tray", sizes.trays)
    sandwiches = numbered("sandw", sizes.sandwiches)
    breads = numbered("bread", sizes.children)
    contents = numbered("content", sizes.children)
    tables = numbered("table", sizes.tables)
    allergic = set(rng.sample(children, sizes.allergic))
    init = [f"(at {tray} kitchen)" for tray in trays]
    init += [f"(at_kitchen_bread {bread})" for bread in breads]
    init += [f"(at_kitchen_content {content})" for content in contents]
    init += [f"(no_gluten_bread {bread})" for bread in rng.sample(breads, sizes.allergic)]
    init += [f"(no_gluten_content {one})" for one in rng.sample(contents, sizes.allergic)]
    init += [
        f"(allergic_gluten {child})" if child in allergic else f"(not_allergic_gluten {child})" for child in children
    ]
    init += [f"(waiting {child} {rng.choice(tables)})" for child in children]
    init += [f"(notexist {sandwich})" for sandwich in sandwiches]
    objects = [
        (children, "child"),
        (trays, "tray"),
        (sandwiches, "sandwich"),
        (breads, "bread-portion"),
        (contents, "content-portion"),
        (tables, "place"),
    ]
    return problem_text(name, "childsnack", objects, init, [f"(served {child})" for child in children])


SPLITS: dict[str, Split[Sizes]] = {
    "training": Ramp(Sizes(1, 0, 1, 1, tables=1), Sizes(8, 4, 2, 11)),
    "validation": Ramp(Sizes(8, 4, 2, 11), Sizes(10, 6, 3, 15)),
    "easy": Ramp(Sizes(4, 0, 1, 4), Sizes(10, 6, 3, 15)),
    "medium": Ramp(Sizes(15, 15, 2, 15), Sizes(40, 25, 5, 59)),
    "hard": Ramp(Sizes(50, 50, 4, 50), Sizes(292, 147, 10, 437)),
}
