"""Grippers problems: robots with two grippers each take every ball to another room.

Solvable by construction: a robot goes from any room to any other. Exact: objects (3 * robots +
rooms + balls) and atoms (2 * objects + 3 * robots); 7 and 17 for 1 robot, 2 rooms, 2 balls. The
extremes of every split are those of the paper's data table, which fix the number of robots (13 in
the largest training problem, then 2 rooms and 1 ball); rooms and balls of the others are our
choice, and problems between the ends are drawn within the table's ranges.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from saltus.domains.sizes import Drawn, Split, refuse_below
from saltus.domains.text import deliveries, numbered, problem_text


@dataclass(frozen=True)
class Sizes:
    robots: int
    """Robots, each with two grippers."""
    rooms: int
    """Rooms, at least 2."""
    balls: int
    """Balls to carry."""

    def __post_init__(self) -> None:
        refuse_below(self, robots=1, rooms=2, balls=1)

    @property
    def objects(self) -> int:
        """Objects of a problem with these sizes."""
        return 3 * self.robots + self.rooms + self.balls


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    robots = numbered("robot", sizes.robots)
    rooms = numbered("room", sizes.rooms)
    balls = numbered("ball", sizes.balls)
    hands = [(robot, f"{side}gripper{number}") for number, robot in enumerate(robots, 1) for side in ("l", "r")]
    init = [f"(at-robby {robot} {rng.choice(rooms)})" for robot in robots]
    init += [f"(free {robot} {gripper})" for robot, gripper in hands]
    start, goal = deliveries(balls, rooms, rng)
    objects = [
        (robots, "robot"),
        ([gripper for _, gripper in hands], "gripper"),
        (rooms, "room"),
        (balls, "object"),
    ]
    return problem_text(name, "gripper-strips", objects, [*init, *start], goal)


def _between(smallest: Sizes, largest: Sizes) -> Split[Sizes]:
    """Split of drawn sizes with no more atoms than the largest."""
    most_atoms = 2 * largest.objects + 3 * largest.robots

    def draw(objects: int, rng: random.Random) -> Sizes:
        most = min((objects - 3) // 3, (most_atoms - 2 * objects) // 3)
        robots = rng.randrange(1, max(most, 1) + 1)
        rest = objects - 3 * robots
        rooms = rng.randrange(2, max(3, rest // 2 + 1))
        return Sizes(robots, rooms, rest - rooms)

    return Drawn(smallest, largest, lambda sizes: sizes.objects, draw)


SPLITS: dict[str, Split[Sizes]] = {
    "training": _between(Sizes(1, 2, 2), Sizes(13, 2, 1)),
    "validation": _between(Sizes(1, 2, 3), Sizes(19, 20, 49)),
    "test": _between(Sizes(1, 4, 15), Sizes(18, 20, 53)),
}
