"""Visitall problems: a robot on a full square grid must visit all or some of the cells.

Solvable by construction: the grid is connected. Exact: objects (side * side) and atoms, whatever the
share of cells in the goal. All six extremes of the paper's data table are reproduced (2 x 2: 4 and
22, 12 x 12: 144 and 962, 30 x 30: 900 and 6,182). The table does not say which cells are in the
goal: half to all of them, at random, is our choice (all of them in the smallest and largest problem).
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from saltus.domains.sizes import Drawn, Split, refuse_above, refuse_below
from saltus.domains.text import grid_cells, grid_pairs, problem_text


@dataclass(frozen=True)
class Sizes:
    side: int
    """Side of the square grid, at least 2."""
    share: int = 100
    """Percentage of the cells that are in the goal."""

    def __post_init__(self) -> None:
        refuse_below(self, side=2, share=1)
        refuse_above("share", self.share, 100, "a percentage")


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    cells = grid_cells(sizes.side, sizes.side)
    names = {(row, column): f"loc-x{column}-y{row}" for row, column in cells}
    start = rng.choice(cells)
    others = [cell for cell in cells if cell != start]
    wanted = set(rng.sample(others, max(1, len(others) * sizes.share // 100)))
    if sizes.share == 100:
        wanted.add(start)
    init = [f"(at-robot {names[start]})", f"(visited {names[start]})"]
    init += [f"(connected {names[one]} {names[other]})" for one, other in grid_pairs(sizes.side, sizes.side)]
    goal = [f"(visited {names[cell]})" for cell in cells if cell in wanted]
    return problem_text(name, "grid-visit-all", [(list(names.values()), "place")], init, goal)


def _half_to_all(side: int, last_side: int) -> Split[Sizes]:
    """A split over sides; between the ends, half to all of the cells are in the goal."""
    ends = Sizes(side), Sizes(last_side)
    return Drawn(*ends, lambda sizes: sizes.side, lambda between, rng: Sizes(between, rng.randrange(50, 101)))


SPLITS: dict[str, Split[Sizes]] = {
    "training": _half_to_all(2, 12),
    "validation": _half_to_all(13, 15),
    "test": _half_to_all(16, 30),
}
