"""Sokoban problems: a square room with random inner walls, in which every box has a goal of its own.

Boxes, goals and the robot are put on random cells of the empty room. Then the boxes are pushed to
their goals one after the other, along paths with few turns, and every cell that the robot or a box
enters is kept open. Of the other inner cells, `walls` percent become walls; the rest is additional
floor. The problem's locations are all cells of the square, including the walls.

Solvable by construction: the pushes that made the room are a plan. If a box cannot be pushed to its
goal in the empty room, another goal is drawn, and after many tries another placement. The number of
objects is exact (side * side + boxes + the four directions); atoms vary with the walls.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass

from saltus.domains.sizes import Ramp, Split, refuse_above, refuse_below
from saltus.domains.text import Cell, neighbours, numbered, problem_text
from saltus.errors import ConfigurationError


@dataclass(frozen=True)
class Sizes:
    side: int
    """Side of the square, including the outer walls."""
    boxes: int
    """Boxes to push."""
    walls: int = 50
    """Percentage of walls among the inner cells that the construction does not need."""

    def __post_init__(self) -> None:
        refuse_below(self, side=5, boxes=1, walls=0)
        refuse_above("walls", self.walls, 100, "a percentage")
        refuse_above("boxes", self.boxes, (self.side - 2) ** 2 // 8, "one eighth of the inner cells")


class _Room:
    """The room while boxes are pushed: robot, boxes, and the cells entered so far."""

    def __init__(self, side: int, robot: Cell, boxes: list[Cell]) -> None:
        self.side = side
        self.robot = robot
        self.boxes = set(boxes)
        self.entered = {robot, *boxes}

    def free(self, cell: Cell) -> bool:
        """Whether `cell` is inside the outer walls and holds no box."""
        return 0 < cell[0] < self.side - 1 and 0 < cell[1] < self.side - 1 and cell not in self.boxes

    def walk(self, target: Cell) -> bool:
        """Walks to `target` on a shortest path and returns whether that was possible."""
        before: dict[Cell, Cell] = {self.robot: self.robot}
        queue = deque([self.robot])
        while queue and target not in before:
            here = queue.popleft()
            for cell in neighbours(here):
                if cell not in before and self.free(cell):
                    before[cell] = here
                    queue.append(cell)
        if target not in before:
            return False
        cell = target
        while cell != self.robot:
            self.entered.add(cell)
            cell = before[cell]
        self.robot = target
        return True

    def pushable(self, box: Cell, step: Cell) -> bool:
        """Whether the cells in front of and behind the box are free; the robot may be anywhere."""
        return self.free((box[0] + step[0], box[1] + step[1])) and self.free((box[0] - step[0], box[1] - step[1]))

    def straight(self, box: Cell, goal: Cell, rows_first: bool) -> list[Cell] | None:
        """Pushes from `box` to `goal` with at most one turn; None if there are none."""
        rows = [(1 if goal[0] > box[0] else -1, 0)] * abs(goal[0] - box[0])
        columns = [(0, 1 if goal[1] > box[1] else -1)] * abs(goal[1] - box[1])
        pushes = rows + columns if rows_first else columns + rows
        here = box
        for step in pushes:
            if not self.pushable(here, step):
                return None
            here = (here[0] + step[0], here[1] + step[1])
        return pushes

    def around(self, box: Cell, goal: Cell) -> list[Cell] | None:
        """The fewest pushes from `box` to `goal` around obstacles; None if there are none."""
        before: dict[Cell, tuple[Cell, Cell] | None] = {box: None}
        queue = deque([box])
        while queue and goal not in before:
            here = queue.popleft()
            for step in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                cell = (here[0] + step[0], here[1] + step[1])
                if cell not in before and self.pushable(here, step):
                    before[cell] = (here, step)
                    queue.append(cell)
        if goal not in before:
            return None
        pushes: list[Cell] = []
        link = before[goal]
        while link is not None:
            pushes.append(link[1])
            link = before[link[0]]
        return pushes[::-1]

    def deliver(self, box: Cell, goal: Cell, rng: random.Random) -> bool:
        """Pushes the box to the goal and returns whether that was possible; if not, the room is unchanged."""
        saved = self.robot, set(self.entered)
        self.boxes.remove(box)
        rows_first = rng.random() < 0.5
        pushes = self.straight(box, goal, rows_first) or self.straight(box, goal, not rows_first)
        pushes = pushes or self.around(box, goal)
        here = box
        for step in pushes or ():
            self.boxes.add(here)
            reached = self.walk((here[0] - step[0], here[1] - step[1]))
            self.boxes.remove(here)
            if not reached:
                break
            self.robot = here
            here = (here[0] + step[0], here[1] + step[1])
            self.entered.add(here)
        if here == goal:
            self.boxes.add(goal)
            return True
        self.robot, self.entered = saved
        self.boxes.add(box)
        return False


def _layout(sizes: Sizes, rng: random.Random) -> tuple[Cell, list[Cell], list[Cell], set[Cell]]:
    """Robot, boxes, their goals, and the cells that must stay open."""
    inner = [(row, column) for row in range(1, sizes.side - 1) for column in range(1, sizes.side - 1)]
    for _ in range(200):
        robot, *boxes = rng.sample(inner, sizes.boxes + 1)
        room = _Room(sizes.side, robot, boxes)
        goals: list[Cell] = []
        for box in boxes:
            for _ in range(20):
                goal = rng.choice(inner)
                if goal not in room.boxes and room.deliver(box, goal, rng):
                    goals.append(goal)
                    break
            else:
                break
        if len(goals) == len(boxes):
            return robot, boxes, goals, room.entered
    raise ConfigurationError(f"boxes: no room of side {sizes.side} found for {sizes.boxes} boxes")


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    robot, boxes, goals, entered = _layout(sizes, rng)
    side = range(sizes.side)
    inner = side[1:-1]
    floor = {
        (row, column)
        for row in inner
        for column in inner
        if (row, column) in entered or rng.randrange(100) >= sizes.walls
    }
    names = {(row, column): f"loc_{row + 1}_{column + 1}" for row in side for column in side}
    box_names = numbered("box", sizes.boxes)
    placed = list(zip(box_names, boxes, goals, strict=True))
    init = [f"(at-robot {names[robot]})"]
    init += [f"(at {box} {names[cell]})" for box, cell, _ in placed]
    init += [f"(clear {names[cell]})" for cell in sorted(floor - set(boxes))]
    directions = (((0, 1), "right"), ((0, -1), "left"), ((1, 0), "down"), ((-1, 0), "up"))
    for (row_step, column_step), direction in directions:
        for row, column in sorted(floor):
            other = (row + row_step, column + column_step)
            if other in floor:
                init.append(f"(adjacent {names[row, column]} {names[other]} {direction})")
    goal = [f"(at {box} {names[cell]})" for box, _, cell in placed]
    objects = [(list(names.values()), "location"), (box_names, "box")]
    return problem_text(name, "sokoban", objects, init, goal)


SPLITS: dict[str, Split[Sizes]] = {
    "training": Ramp(Sizes(7, 1, 100), Sizes(11, 3, 40), drawn=("walls",)),
    "validation": Ramp(Sizes(11, 3, 50), Sizes(13, 4, 30), drawn=("walls",)),
    "easy": Ramp(Sizes(8, 1, 75), Sizes(13, 4, 35), drawn=("walls",)),
    "medium": Ramp(Sizes(20, 5, 60), Sizes(49, 34, 50), drawn=("walls",)),
    "hard": Ramp(Sizes(60, 40, 60), Sizes(99, 79, 40), drawn=("walls",)),
}
