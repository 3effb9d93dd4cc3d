"""Floortile problems: robots paint a floor like a chessboard.

Row 0 stays unpainted; the tiles of the rows above it alternate between white and black. Robots
start on random tiles with a random colour.

Solvable by construction, because there are at most as many robots as columns. All robots can be
brought to row 0: while one stands higher, row 0 has a free tile, and shifting the robots of row 0
frees the tile below the lowest of the others. From there one robot climbs and paints row after
row from the top, always upwards, and comes down into the free tile of row 0; the lowest row is
painted from row 0 by robots shifting along it (a full row 0 paints it at once, and its robots
climb and paint their own columns instead). Objects and atoms are exact functions of the sizes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from saltus.domains.sizes import Split, Steps, between, refuse_above, refuse_below
from saltus.domains.text import numbered, problem_text


@dataclass(frozen=True)
class Sizes:
    rows: int
    """Rows to paint; the floor has one more."""
    columns: int
    """Columns of the floor."""
    robots: int
    """Robots, at most one per column."""

    def __post_init__(self) -> None:
        refuse_below(self, rows=1, columns=1, robots=1)
        refuse_above("robots", self.robots, self.columns, "all robots end in the unpainted row")


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    rows, columns = range(sizes.rows + 1), range(1, sizes.columns + 1)
    tiles = [f"tile_{row}_{column}" for row in rows for column in columns]
    robots = numbered("robot", sizes.robots)
    init: list[str] = []
    occupied = rng.sample(tiles, sizes.robots)
    for robot, tile in zip(robots, occupied, strict=True):
        init.append(f"(robot-at {robot} {tile})")
        init.append(f"(robot-has {robot} {rng.choice(('white', 'black'))})")
    init += ["(available-color white)", "(available-color black)"]
    taken = set(occupied)
    init += [f"(clear {tile})" for tile in tiles if tile not in taken]
    for row in rows:
        for column in columns:
            here = f"tile_{row}_{column}"
            if row > 0:
                below = f"tile_{row - 1}_{column}"
                init += [f"(up {here} {below})", f"(down {below} {here})"]
            if column > 1:
                before = f"tile_{row}_{column - 1}"
                init += [f"(right {here} {before})", f"(left {before} {here})"]
    goal = [
        f"(painted tile_{row}_{column} {'black' if (row + column) % 2 else 'white'})"
        for row in rows[1:]
        for column in columns
    ]
    objects = [(tiles, "tile"), (robots, "robot"), (["white", "black"], "color")]
    return problem_text(name, "floortile", objects, init, goal)


def _rising(shapes: list[tuple[int, int]], fewest: int, most: int) -> Steps[Sizes]:
    """Shapes with an increasing number of robots, at most one per column."""
    count = len(shapes)
    return Steps(
        tuple(
            Sizes(rows, columns, min(columns, between(fewest, most, index, count)))
            for index, (rows, columns) in enumerate(shapes)
        )
    )


_SMALL = [(3, 3), (3, 4), (4, 3), (3, 5), (5, 3), (4, 4), (3, 6), (6, 3), (4, 5), (5, 4)]

SPLITS: dict[str, Split[Sizes]] = {
    "training": _rising(
        [
            *[(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2)],
            *_SMALL,
            *[(3, 7), (7, 3), (3, 8), (4, 6), (6, 4), (8, 3), (5, 5), (5, 5), (9, 3), (3, 9)],
        ],
        1,
        2,
    ),
    "validation": Steps((Sizes(7, 4, 3), Sizes(4, 7, 2), Sizes(4, 7, 3), Sizes(5, 6, 3), Sizes(3, 10, 3))),
    "easy": _rising([*_SMALL, (4, 5), (5, 4), (7, 3), (3, 7), (4, 6), (4, 6), (3, 8)], 1, 3),
    "medium": _rising(
        [
            *[(10, 10), (10, 13), (13, 10), (10, 16), (16, 10), (13, 13)],
            *[(10, 19), (19, 10), (13, 16), (16, 13), (19, 13), (13, 19)],
        ],
        3,
        15,
    ),
    "hard": _rising(
        [
            *[(25, 25), (25, 28), (28, 25), (25, 31), (31, 25), (28, 28)],
            *[(25, 34), (34, 25), (28, 31), (31, 28), (34, 28), (28, 34)],
        ],
        14,
        35,
    ),
}
