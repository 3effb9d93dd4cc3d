"""Goldminer problems: a clear first column, rock elsewhere, gold in the last column.

Robot, bombs and laser are at random cells of the first column. Every other cell is hard or soft rock
with equal probability, except that the rock over the gold is soft.

Solvable by construction: the laser clears the gold's row up to the cell next to the gold; then the
robot puts the laser down, fetches a bomb (bombs never run out) and detonates it over the gold.
Exact: objects and atoms depend on rows and columns only. All six extremes of the paper's data table
are reproduced (2 x 2: 4 and 25, 2 x 10: 20 and 121, 14 x 17: 238 and 1,609, 2 x 9: 18 and 109, 19 x 19: 361 and
2,456).
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from saltus.domains.sizes import Ramp, Split, Steps, refuse_below
from saltus.domains.text import grid_cells, grid_pairs, problem_text


@dataclass(frozen=True)
class Sizes:
    rows: int
    """Rows of the grid."""
    columns: int
    """Columns of the grid, at least 2."""

    def __post_init__(self) -> None:
        refuse_below(self, rows=1, columns=2)


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    names = {(row, column): f"f{row}-{column}f" for row, column in grid_cells(sizes.rows, sizes.columns)}
    entrance = [names[row, 0] for row in range(sizes.rows)]
    gold = names[rng.randrange(sizes.rows), sizes.columns - 1]
    init = [
        "(arm-empty)",
        f"(robot-at {rng.choice(entrance)})",
        f"(bomb-at {rng.choice(entrance)})",
        f"(laser-at {rng.choice(entrance)})",
        f"(gold-at {gold})",
    ]
    for (_, column), cell in names.items():
        if column == 0:
            init.append(f"(clear {cell})")
        elif cell == gold or rng.random() < 0.5:
            init.append(f"(soft-rock-at {cell})")
        else:
            init.append(f"(hard-rock-at {cell})")
    init += [f"(connected {names[one]} {names[other]})" for one, other in grid_pairs(sizes.rows, sizes.columns)]
    return problem_text(name, "gold-miner-typed", [(list(names.values()), "loc")], init, ["(holds-gold)"])


_TRAINING = sorted(
    (
        Sizes(rows, columns)
        for rows in range(2, 11)
        for columns in range(2, 11)
        if rows * columns <= 20 and {rows, columns} != {4, 5}
    ),
    key=lambda sizes: (sizes.rows * sizes.columns, sizes.columns),
)

SPLITS: dict[str, Split[Sizes]] = {
    # 4 x 5 has more atoms than the paper's largest training problem, 2 x 10 exactly as many.
    "training": Steps(tuple(_TRAINING)),
    "validation": Ramp(Sizes(2, 2), Sizes(14, 17)),
    "test": Ramp(Sizes(2, 9), Sizes(19, 19)),
}
