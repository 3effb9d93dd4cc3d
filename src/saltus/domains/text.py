"""Stage `domains`: the text of a PDDL problem, and a few structures that several generators share.

Takes names and atoms as text; gives the problem file. What is random uses the generator passed in.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

Cell = tuple[int, int]


def problem_text(
    name: str,
    domain: str,
    objects: Sequence[tuple[Sequence[str], str]],
    init: Iterable[str],
    goal: Iterable[str],
) -> str:
    """The PDDL text of a problem; object groups without names are left out.

    The type "" leaves a group untyped, for domains without `:typing`.
    """
    lines = [f"(define (problem {name})", f"  (:domain {domain})", "  (:objects"]
    for names, type_name in objects:
        if names:
            lines.append("    " + " ".join(names) + (f" - {type_name}" if type_name else ""))
    lines[-1] += ")"
    lines.append("  (:init")
    lines.extend(f"    {atom}" for atom in init)
    lines[-1] += ")"
    lines.append("  (:goal (and")
    lines.extend(f"    {atom}" for atom in goal)
    lines[-1] += ")))"
    return "\n".join(lines) + "\n"


def numbered(prefix: str, count: int, first: int = 1) -> list[str]:
    """The names prefix1, prefix2, ... of `count` objects."""
    return [f"{prefix}{number}" for number in range(first, first + count)]


def grid_cells(rows: int, columns: int) -> list[Cell]:
    """Cells (row, column) of a grid, row by row."""
    return [(row, column) for row in range(rows) for column in range(columns)]


def neighbours(cell: Cell) -> tuple[Cell, Cell, Cell, Cell]:
    """The four cells around `cell`, inside the grid or not."""
    row, column = cell
    return (row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)


def grid_pairs(rows: int, columns: int) -> list[tuple[Cell, Cell]]:
    """Ordered pairs of neighbouring cells of a full grid."""
    return [
        (cell, other)
        for cell in grid_cells(rows, columns)
        for other in neighbours(cell)
        if 0 <= other[0] < rows and 0 <= other[1] < columns
    ]


def reachable(start: Cell, free: set[Cell]) -> set[Cell]:
    """The cells of `free` that are connected with `start`, including `start`."""
    seen = {start}
    stack = [start]
    while stack:
        for cell in neighbours(stack.pop()):
            if cell in free and cell not in seen:
                seen.add(cell)
                stack.append(cell)
    return seen


def other_than(names: Sequence[str], excluded: str, rng: random.Random) -> str:
    """A random element of `names` other than `excluded`, which must be among them."""
    position = rng.randrange(len(names) - 1)
    return names[position] if names[position] != excluded else names[-1]


def deliveries(things: Sequence[str], places: Sequence[str], rng: random.Random) -> tuple[list[str], list[str]]:
    """Atoms that say where things are, and others that say where each should go: to another place."""
    init: list[str] = []
    goal: list[str] = []
    for thing in things:
        start = rng.choice(places)
        init.append(f"(at {thing} {start})")
        goal.append(f"(at {thing} {other_than(places, start, rng)})")
    return init, goal


def both_ways(predicate: str, names: Sequence[str], pairs: Iterable[tuple[int, int]]) -> list[str]:
    """Atoms that connect the names of every pair of numbers, in both directions."""
    return [f"({predicate} {names[i]} {names[j]})" for one, other in pairs for i, j in ((one, other), (other, one))]


def connected_pairs(nodes: int, edges: int, rng: random.Random) -> list[tuple[int, int]]:
    """Edges (i < j) of a random connected graph over 0..nodes-1: a random tree and extra edges.

    `edges` lies between nodes - 1 and nodes * (nodes - 1) / 2; 0 draws such a number.
    """
    edges = edges or rng.randrange(nodes - 1, nodes * (nodes - 1) // 2 + 1)
    order = list(range(nodes))
    rng.shuffle(order)
    chosen: set[tuple[int, int]] = set()
    for position in range(1, nodes):
        one, other = order[position], order[rng.randrange(position)]
        chosen.add((min(one, other), max(one, other)))
    rest = [(one, other) for one in range(nodes) for other in range(one + 1, nodes) if (one, other) not in chosen]
    chosen.update(rng.sample(rest, edges - len(chosen)))
    return sorted(chosen)


def spanning_pairs(nodes: int, pairs: Sequence[tuple[int, int]], rng: random.Random) -> set[tuple[int, int]]:
    """Edges (i < j) of a random spanning tree of the connected graph given by `pairs`."""
    around: list[list[int]] = [[] for _ in range(nodes)]
    for one, other in pairs:
        around[one].append(other)
        around[other].append(one)
    seen = {rng.randrange(nodes)}
    stack = list(seen)
    tree: set[tuple[int, int]] = set()
    while stack:
        node = stack.pop(rng.randrange(len(stack)))
        for other in around[node]:
            if other not in seen:
                seen.add(other)
                stack.append(other)
                tree.add((min(node, other), max(node, other)))
    return tree
