"""Grid problems: keys must be taken to their places on a grid with locked cells.

Locked cells are random. They get their shapes in an order in which the robot can open them: a random
locked cell at the border of the reachable cells gets the shape of a reachable key (keys are placed
on the way), and the cells behind it become reachable. Keys left over are put on any open cell. The
goal gives every key another place.

Solvable by construction: the reachable keys suffice to open the cells in that order, keys are never
used up, and in the end every cell can be entered. Exact: objects (width * height + shapes
+ keys) and atoms. The extremes of every split are those of the paper's data table (11 and 48 up to
890 and 6,027); the table fixes only sums, so width, height, shapes, keys and locks are our choice
among the divisions that give them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from saltus.domains.sizes import Ramp, Split, refuse_above, refuse_below
from saltus.domains.text import (
    Cell,
    grid_cells,
    grid_pairs,
    neighbours,
    numbered,
    problem_text,
    reachable,
)
from saltus.errors import ConfigurationError


@dataclass(frozen=True)
class Sizes:
    width: int
    """Columns of the grid."""
    height: int
    """Rows of the grid."""
    shapes: int
    """Shapes of keys and locks."""
    keys: int
    """Keys, each to be taken to another place."""
    locks: int
    """Locked cells."""

    def __post_init__(self) -> None:
        refuse_below(self, width=1, height=1, shapes=1, keys=1, locks=0)
        cells = self.width * self.height
        if cells < 2:
            raise ConfigurationError("width and height must give at least 2 cells")
        refuse_above("locks", self.locks, cells - 1, "the robot's cell is open")


@dataclass
class _Maze:
    """Locks and keys, filled in while the maze is opened from the robot's cell."""

    lock_shape: dict[Cell, str]
    key_shape: dict[str, str]
    key_cell: dict[str, Cell]


def _maze(sizes: Sizes, start: Cell, locked: set[Cell], rng: random.Random) -> _Maze:
    """Shapes of locks and keys, and cells of keys, such that every cell can be opened."""
    shapes = numbered("shape", sizes.shapes, first=0)
    unused = numbered("key", sizes.keys, first=0)
    cells = set(grid_cells(sizes.height, sizes.width))
    open_cells = cells - locked
    maze = _Maze({}, {key: rng.choice(shapes) for key in unused}, {})
    reach = reachable(start, open_cells)
    while len(maze.lock_shape) < len(locked):
        if unused and (not maze.key_cell or rng.random() < 0.5):
            key = unused.pop(rng.randrange(len(unused)))
            maze.key_cell[key] = rng.choice(sorted(reach & open_cells))
        border = sorted(
            cell for cell in locked if cell not in reach and any(other in reach for other in neighbours(cell))
        )
        lock = rng.choice(border)
        maze.lock_shape[lock] = maze.key_shape[rng.choice(sorted(maze.key_cell))]
        reach |= reachable(lock, open_cells)
    for key in unused:
        maze.key_cell[key] = rng.choice(sorted(open_cells))
    return maze


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    cells = grid_cells(sizes.height, sizes.width)
    start = rng.choice(cells)
    locked = set(rng.sample([cell for cell in cells if cell != start], sizes.locks))
    maze = _maze(sizes, start, locked, rng)
    names = {(row, column): f"node{column}-{row}" for row, column in cells}
    shapes = numbered("shape", sizes.shapes, first=0)
    keys = numbered("key", sizes.keys, first=0)
    init = ["(arm-empty)", f"(at-robot {names[start]})"]
    init += [f"(place {names[cell]})" for cell in cells]
    init += [f"(shape {shape})" for shape in shapes]
    init += [f"(key {key})" for key in keys]
    for cell in cells:
        if cell in locked:
            init.append(f"(locked {names[cell]})")
            init.append(f"(lock-shape {names[cell]} {maze.lock_shape[cell]})")
        else:
            init.append(f"(open {names[cell]})")
    goal: list[str] = []
    for key in keys:
        home = maze.key_cell[key]
        init.append(f"(key-shape {key} {maze.key_shape[key]})")
        init.append(f"(at {key} {names[home]})")
        goal.append(f"(at {key} {names[rng.choice([cell for cell in cells if cell != home])]})")
    init += [f"(conn {names[one]} {names[other]})" for one, other in grid_pairs(sizes.height, sizes.width)]
    objects = [(list(names.values()), ""), (shapes, ""), (keys, "")]
    return problem_text(name, "grid", objects, init, goal)


SPLITS: dict[str, Split[Sizes]] = {
    "training": Ramp(Sizes(3, 2, 4, 1, 2), Sizes(9, 7, 4, 9, 4)),
    "validation": Ramp(Sizes(12, 8, 4, 8, 10), Sizes(16, 12, 4, 10, 11)),
    "test": Ramp(Sizes(18, 14, 12, 14, 10), Sizes(32, 27, 12, 14, 15)),
}
