"""Delivery problems: a truck takes packages on a square grid to one cell.

Solvable by construction: the grid is connected, and the truck takes one package after the other.
Exact: objects (side * side + 1 + packages) and atoms. All six extremes of the paper's data table
are reproduced (6 objects and 31 atoms for 2 x 2 and 1 package, 70 and 447 for 8 x 8 and 5, up to 634
and 4,321 for 25 x 25 and 8). That no package starts on the goal cell is our choice.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from saltus.domains.sizes import Ramp, Split, refuse_below
from saltus.domains.text import grid_cells, grid_pairs, numbered, problem_text


@dataclass(frozen=True)
class Sizes:
    side: int
    """Side of the square grid, at least 2."""
    packages: int
    """Packages to deliver."""

    def __post_init__(self) -> None:
        refuse_below(self, side=2, packages=1)


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    names = {cell: f"c_{cell[0]}_{cell[1]}" for cell in grid_cells(sizes.side, sizes.side)}
    cells = list(names.values())
    packages = numbered("p", sizes.packages)
    target = rng.choice(cells)
    others = [cell for cell in cells if cell != target]
    init = [f"(adjacent {names[one]} {names[other]})" for one, other in grid_pairs(sizes.side, sizes.side)]
    init.append(f"(at t1 {rng.choice(cells)})")
    init.append("(empty t1)")
    init += [f"(at {package} {rng.choice(others)})" for package in packages]
    objects = [(cells, "cell"), (["t1"], "truck"), (packages, "package")]
    return problem_text(name, "delivery", objects, init, [f"(at {package} {target})" for package in packages])


SPLITS: dict[str, Split[Sizes]] = {
    "training": Ramp(Sizes(2, 1), Sizes(8, 5), drawn=("packages",)),
    "validation": Ramp(Sizes(9, 6), Sizes(11, 7), drawn=("packages",)),
    "test": Ramp(Sizes(12, 8), Sizes(25, 8)),
}
