"""Rules of well-formedness that several domains share.

A rule takes the facts of a problem and yields a sentence for every fault. The functions here make rules from kinds and
patterns (see `facts.py`); the rules of a domain are then a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from tests.domains.checks.facts import Facts, Where, chain, reached

Rule = Callable[[Facts], Iterable[str]]

Offset = tuple[int, int]
"""Difference of two cells in rows and columns."""


def count(least: int, most: int | None, kind: str, *patterns: str, where: Where = Where.INIT) -> Rule:
    """Every object of a kind, or "" for the whole problem, has `least` to `most` atoms that match the patterns."""

    def rule(facts: Facts) -> Iterator[str]:
        total: Counter[str] = Counter()
        for pattern in patterns:
            total += facts.count(pattern, where)
        for name in sorted(facts.kind(kind)) if kind else [""]:
            if total[name] < least or (most is not None and total[name] > most):
                subject = f"{kind.rstrip('!')} {name}" if name else "the problem"
                names = " or ".join(f"({pattern})" for pattern in patterns)
                yield f"{where}: {subject} has {total[name]} of {names}, expected {_range(least, most)}"

    return rule


def _range(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least}"
    return str(least) if least == most else f"at most {most}" if least == 0 else f"{least} to {most}"


def one(kind: str, *patterns: str) -> Rule:
    """Exactly one initial atom per object."""
    return count(1, 1, kind, *patterns)


def at_most_one(kind: str, *patterns: str) -> Rule:
    """At most one initial atom per object."""
    return count(0, 1, kind, *patterns)


def some(kind: str, *patterns: str) -> Rule:
    """At least one initial atom per object."""
    return count(1, None, kind, *patterns)


def none(kind: str, *patterns: str) -> Rule:
    """No initial atom per object."""
    return count(0, 0, kind, *patterns)


def goal_at_most_one(kind: str, *patterns: str) -> Rule:
    """At most one goal per object."""
    return count(0, 1, kind, *patterns, where=Where.GOAL)


def goals(*patterns: str) -> Rule:
    """Every goal matches one of the patterns."""

    def rule(facts: Facts) -> Iterator[str]:
        fitting = sum((facts.count(pattern, Where.GOAL) for pattern in patterns), Counter[str]()).total()
        others = len(facts.task.goal.positive) - fitting
        if others > 0:
            names = " or ".join(f"({pattern})" for pattern in patterns)
            yield f"goal: {others} of {len(facts.task.goal.positive)} goals are not {names}"
        if len(facts.task.goal.negative):
            yield f"goal: {len(facts.task.goal.negative)} negated goals, expected none"

    return rule


def open_goal(facts: Facts) -> Iterator[str]:
    """There is something to do."""
    task = facts.task
    if task.goal.impossible:
        yield "goal: a static goal is false"
    elif task.goal.holds(task.initial_state):
        yield "goal: it holds at the start"


def arguments(predicate: str, *kinds: str) -> Rule:
    """The arguments of a predicate, in the initial state and in the goal, are of these kinds."""

    def rule(facts: Facts) -> Iterator[str]:
        for where in Where:
            for atom in sorted(facts.atoms(predicate, where)):
                for name, kind in zip(atom, kinds, strict=True):
                    if name not in facts.kind(kind):
                        yield f"{where}: {name} in ({' '.join((predicate, *atom))}) is not a {kind}"

    return rule


def acyclic(predicate: str) -> Rule:
    """No object is above itself, in the initial state or in the goal."""

    def rule(facts: Facts) -> Iterator[str]:
        for where in Where:
            graph = facts.graph(predicate, where=where)
            for name in sorted(graph):
                if name in reached(graph, graph[name]):
                    yield f"{where}: {name} is on a cycle of {predicate}"

    return rule


def symmetric(predicate: str) -> Rule:
    """Where the last two arguments are related one way, so they are the other way; and no object to itself."""

    def rule(facts: Facts) -> Iterator[str]:
        atoms = facts.atoms(predicate)
        for atom in sorted(atoms):
            *front, one, other = atom
            if (*front, other, one) not in atoms:
                yield f"init: ({' '.join((predicate, *atom))}) holds one way only"
            if one == other:
                yield f"init: ({' '.join((predicate, *atom))}) relates an object to itself"

    return rule


def connected(kind: str, predicate: str) -> Rule:
    """Every object of the kind is reached from every other; the predicate is taken as symmetric."""

    def rule(facts: Facts) -> Iterator[str]:
        objects = facts.kind(kind)
        seen = reached(facts.graph(predicate), sorted(objects)[:1])
        if objects - seen:
            yield f"init: {len(objects - seen)} of {len(objects)} {kind} are not connected by {predicate}"

    return rule


def a_chain(kind: str, predicate: str) -> Rule:
    """The objects of the kind form one chain."""

    def rule(facts: Facts) -> Iterator[str]:
        if chain(facts.graph(predicate), facts.kind(kind)) is None:
            yield f"init: {predicate} is not one chain of all {kind}"

    return rule


def total_order(kind: str, predicate: str) -> Rule:
    """Every two objects of the kind are related one way, transitively."""

    def rule(facts: Facts) -> Iterator[str]:
        objects = facts.kind(kind)
        after = facts.count(f"{predicate} x _")  # a tournament is transitive if all these numbers differ
        pairs = facts.atoms(predicate)
        one_way = all((other, name) not in pairs for name, other in pairs)
        if not one_way or sorted(after[name] for name in objects) != list(range(len(objects))):
            yield f"init: {predicate} is not a total order of {kind}"

    return rule


def a_grid(kind: str, predicate: str) -> tuple[Rule, ...]:
    """Rules for cells whose neighbours have no direction: necessary for being a part of a grid, not sufficient."""

    def rule(facts: Facts) -> Iterator[str]:
        graph = facts.graph(predicate)
        colour: dict[str, bool] = {}
        for name in sorted(graph):
            if len(graph[name]) > 4:
                yield f"init: {name} has {len(graph[name])} neighbours"
            shared = Counter(other for near in graph[name] for other in graph.get(near, ()) if other != name)
            for other in sorted(other for other, number in shared.items() if number > 2 and name < other):
                yield f"init: {name} and {other} have {shared[other]} neighbours in common"
        for start in sorted(graph):
            stack = [start] if colour.setdefault(start, False) is False else []
            while stack:
                here = stack.pop()
                for other in graph.get(here, ()):
                    if other not in colour:
                        colour[other] = not colour[here]
                        stack.append(other)
        if any(colour[name] == colour[other] for name, others in graph.items() for other in others):
            yield f"init: {predicate} has a cycle of odd length, a grid has none"

    return symmetric(predicate), connected(kind, predicate), rule


def on_a_plane(steps: Callable[[Facts], dict[str, list[tuple[str, Offset]]]]) -> Rule:
    """Cells whose neighbours have directions can be laid out on a plane, each at a place of its own.

    `steps` gives the neighbours of a cell and where they lie. Every step must have a step back, and cells that come to
    lie next to each other must be neighbours.
    """

    def rule(facts: Facts) -> Iterator[str]:
        around = steps(facts)
        position: dict[str, Offset] = {}
        for start in sorted(around):
            if start in position:
                continue
            position[start] = (0, 0)
            cells = [start]
            for here in cells:  # grows
                row, column = position[here]
                for other, (down, right) in around.get(here, ()):
                    place = (row + down, column + right)
                    if (here, (-down, -right)) not in around.get(other, ()):
                        yield f"init: the step from {here} to {other} has no step back"
                    if other not in position:
                        position[other] = place
                        cells.append(other)
                    elif position[other] != place:
                        yield f"init: {other} does not lie where its neighbour {here} has it"
            yield from _crowding(around, position, cells)

    return rule


def _crowding(
    around: dict[str, list[tuple[str, Offset]]], position: dict[str, Offset], cells: list[str]
) -> Iterator[str]:
    """Faults of connected cells once they have positions: two at one place, or next to each other unrelated."""
    at: dict[Offset, str] = {}
    for name in cells:
        other = at.setdefault(position[name], name)
        if other != name:
            yield f"init: {name} and {other} lie at the same place"
    for (row, column), name in at.items():
        for step in ((1, 0), (0, 1)):
            other = at.get((row + step[0], column + step[1]), name)
            if other != name and (other, step) not in around.get(name, ()):
                yield f"init: {name} and {other} lie side by side but are not neighbours"
