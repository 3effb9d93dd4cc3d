"""Reward problems: a square grid with blocked cells and rewards on some of the others.

Solvable by construction: rewards are put only on cells connected with the robot's. If too few
cells are connected after many tries, the open cells are grown from the robot's instead, which
always succeeds. Exact: objects (side * side) and atoms (4 * side * (side - 1) + 1 + 4 * side *
side - blocked + rewards). All six extremes of the paper's data table are reproduced with a tenth of
the cells blocked and 1 to 7, 8 to 13 and 8 to 14 rewards in training, validation and test problems
(2 x 2: 26 atoms, 12 x 12: 1,098). The table fixes blocked - rewards only; the tenth is our choice.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from saltus.domains.sizes import Ramp, Split, refuse_above, refuse_below
from saltus.domains.text import Cell, grid_cells, grid_pairs, neighbours, problem_text, reachable


@dataclass(frozen=True)
class Sizes:
    side: int
    """Side of the square grid, at least 2."""
    blocked: int
    """Cells the robot cannot enter."""
    rewards: int
    """Cells with a reward to pick up."""

    def __post_init__(self) -> None:
        refuse_below(self, side=2, blocked=0, rewards=1)
        most = self.side * self.side - 1
        refuse_above("blocked", self.blocked, most - 1, "the robot and a reward each need a cell")
        refuse_above("rewards", self.rewards, most - self.blocked, "one per open cell")


def _grown(start: Cell, cells: set[Cell], size: int, rng: random.Random) -> set[Cell]:
    """A random connected set of `size` cells around `start`."""
    grown = {start}
    edge = [cell for cell in neighbours(start) if cell in cells]
    while len(grown) < size:
        cell = edge.pop(rng.randrange(len(edge)))
        if cell not in grown:
            grown.add(cell)
            edge.extend(other for other in neighbours(cell) if other in cells)
    return grown


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    cells = grid_cells(sizes.side, sizes.side)
    start = rng.choice(cells)
    others = [cell for cell in cells if cell != start]
    for _ in range(50):
        free = set(cells).difference(rng.sample(others, sizes.blocked))
        around = reachable(start, free)
        if len(around) > sizes.rewards and 4 * len(around) >= 3 * len(free):
            break
    else:
        free = around = _grown(start, set(cells), len(cells) - sizes.blocked, rng)
    rewards = rng.sample(sorted(around - {start}), sizes.rewards)
    names = {(row, column): f"c_{row}_{column}" for row, column in cells}
    init = [f"(adjacent {names[one]} {names[other]})" for one, other in grid_pairs(sizes.side, sizes.side)]
    init.append(f"(at {names[start]})")
    init += [f"(unblocked {names[cell]})" for cell in sorted(free)]
    init += [f"(reward {names[cell]})" for cell in sorted(rewards)]
    return problem_text(
        name,
        "reward-strips",
        [(list(names.values()), "cell")],
        init,
        [f"(picked {names[cell]})" for cell in sorted(rewards)],
    )


def _tenth_blocked(values: dict[str, int]) -> Mapping[str, int]:
    """Sizes with a tenth of the cells blocked and no more rewards than cells left."""
    cells = values["side"] ** 2
    blocked = cells // 10
    return {
        "side": values["side"],
        "blocked": blocked,
        "rewards": min(values["rewards"], cells - blocked - 1),
    }


def _split(side: int, rewards: int, last_side: int, last_rewards: int) -> Split[Sizes]:
    """Ramp over sides with a drawn number of rewards."""
    return Ramp(
        Sizes(side, side * side // 10, rewards),
        Sizes(last_side, last_side * last_side // 10, last_rewards),
        drawn=("rewards",),
        adjust=_tenth_blocked,
    )


SPLITS: dict[str, Split[Sizes]] = {
    "training": _split(2, 1, 12, 7),
    "validation": _split(13, 8, 15, 13),
    "test": _split(16, 8, 29, 14),
}
