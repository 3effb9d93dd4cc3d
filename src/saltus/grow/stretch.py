"""Stage `grow`: larger maps: a lattice of cells gets one more line.

Cells of a lattice cannot be inserted one by one. But a lattice can be cut into two parts by edges that are opposite to
each other in squares, and the cells on one side of the cut can be doubled: the new line lies between the two parts.
What is static about a cell, apart from its neighbours, is copied from the cell beside it, as are fluent atoms and goals
about this cell alone.

Edges are the static atoms between two objects that are equals. Where atoms say the direction (`up`, or a third
argument), opposite edges are told by it, and maps may have holes; otherwise, by squares.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from saltus.grow.draft import Atom, Draft, substituted
from saltus.grow.rules import Rules
from saltus.grow.values import MANY

Edge = tuple[int, int]
Label = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Cut:
    """Edges from one part of a lattice to the other, each `(cell of the first part, cell of the second)`."""

    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Lattice:
    """A graph of objects, and the cuts along which it can be stretched."""

    cells: tuple[int, ...]
    edges: dict[Edge, Label]
    cuts: tuple[Cut, ...]


def lattice_kinds(drafts: Sequence[Draft]) -> list[frozenset[int]]:
    """Sets of kinds whose objects are lattices in most of the problems that have enough of them."""
    found = []
    for kinds in neighbouring_kinds(drafts):
        enough = [draft for draft in drafts if sum(kind in kinds for kind in draft.kind) > MANY]
        good = sum(find_lattice(draft, kinds) is not None for draft in enough)
        if enough and 2 * good > len(enough):
            found.append(kinds)
    return found


def stretchable_kinds(drafts: Sequence[Draft], rules: Rules) -> list[frozenset[int]]:
    """Sets of kinds whose objects are lattices, if one of the given ones at least can be stretched.

    What cannot be stretched anywhere is no map, whatever its squares look like.
    """
    return [
        kinds
        for kinds in lattice_kinds(drafts)
        if any(stretch(draft.copy(), rules, random.Random(0), kinds, len(draft)) for draft in reversed(drafts))
    ]


def neighbouring_kinds(drafts: Sequence[Draft]) -> list[frozenset[int]]:
    """Kinds that static atoms connect as equals: the same kinds are found at two positions of a predicate."""
    at: dict[tuple[int, int], set[int]] = defaultdict(set)
    for draft in drafts:
        for atom in draft.atoms:
            if draft.relations.static[atom[0]]:
                for i, number in enumerate(atom[1:]):
                    if number >= draft.constants:
                        at[atom[0], i].add(draft.kind[number])
    sets: list[set[int]] = []
    for (relation, i), first in sorted(at.items()):
        for (other, j), second in sorted(at.items()):
            if relation == other and i < j and first & second:
                joined = first | second
                overlapping = [entry for entry in sets if entry & joined]
                sets = [entry for entry in sets if not entry & joined]
                sets.append(joined.union(*overlapping))
    return sorted((frozenset(entry) for entry in sets), key=sorted)


def find_lattice(draft: Draft, kinds: frozenset[int]) -> Lattice | None:
    """The lattice of the objects of some kinds; None if their graph is none."""
    edges = edges_of(draft, kinds)
    neighbours: dict[int, list[int]] = defaultdict(list)
    for x, y in edges:
        neighbours[x].append(y)
    if max(map(len, neighbours.values()), default=9) > 8:
        return None
    labels = {label for edge, label in edges.items() if label != edges[edge[1], edge[0]]}
    cuts = _directed_cuts(edges, neighbours, labels) if labels else _square_cuts(neighbours)
    # half of the edges, which have two directions, must be in cuts
    covered = {frozenset(edge) for cut in cuts for edge in cut.edges}
    if 4 * len(covered) < len(edges) or all(len(cut.edges) == 1 for cut in cuts):
        return None
    return Lattice(tuple(sorted(neighbours)), edges, tuple(cuts))


def edges_of(draft: Draft, kinds: frozenset[int]) -> dict[Edge, Label]:
    """Labels of the pairs that static atoms connect: the atoms with the two objects' positions marked."""
    found: dict[Edge, set[tuple[int, ...]]] = defaultdict(set)
    for atom in draft.atoms:
        if draft.relations.static[atom[0]] and len(atom) > 2:
            own = [i for i in range(1, len(atom)) if draft.kind[atom[i]] in kinds]
            if len(own) == 2 and atom[own[0]] != atom[own[1]]:
                x, y = atom[own[0]], atom[own[1]]
                found[x, y].add(substituted(atom, {x: -1, y: -2}))
                found[y, x].add(substituted(atom, {y: -1, x: -2}))
    return {edge: tuple(sorted(label)) for edge, label in found.items()}


def _directed_cuts(edges: dict[Edge, Label], neighbours: dict[int, list[int]], labels: set[Label]) -> list[Cut]:
    """Cuts between cells with and without enough steps in one direction behind them."""
    cuts: list[Cut] = []
    for label in sorted(labels):
        place: dict[int, int] = {}
        consistent = True
        for start in neighbours:
            if start in place:
                continue
            place[start] = 0
            stack = [start]
            while stack and consistent:
                x = stack.pop()
                for y in neighbours[x]:
                    step = (edges[x, y] == label) - (edges[y, x] == label)
                    if y not in place:
                        place[y] = place[x] + step
                        stack.append(y)
                    consistent &= place[y] == place[x] + step
        if consistent:
            for line in sorted(set(place.values())):
                found = [edge for edge, own in edges.items() if own == label and place[edge[0]] == line]
                if found and _is_matching(found):
                    cuts.append(Cut(tuple(sorted(found))))
    return cuts


def _square_cuts(neighbours: dict[int, list[int]]) -> list[Cut]:
    """Classes of edges that are opposite to each other in squares, if they cut the graph in two."""
    sets = {x: set(entry) for x, entry in neighbours.items()}
    known: set[Edge] = set()
    cuts: list[Cut] = []
    for x in neighbours:
        for y in neighbours[x]:
            if (x, y) in known:
                continue
            found = {(x, y)}
            stack = [(x, y)]
            while stack:
                a, b = stack.pop()
                for c in neighbours[a]:
                    if c != b:
                        for d in neighbours[b]:
                            if d not in (a, c) and d in sets[c] and (c, d) not in found:
                                found.add((c, d))
                                stack.append((c, d))
            known |= found
            if len(found) > 1 and _cuts(found, neighbours):
                cuts.append(Cut(tuple(sorted(found))))
    return cuts


def _is_matching(edges: Collection[Edge]) -> bool:
    """Whether no two edges share a cell."""
    return len({cell for edge in edges for cell in edge}) == 2 * len(edges)


def _cuts(edges: set[Edge], neighbours: dict[int, list[int]]) -> bool:
    """Whether the edges share no cells, and no way around them leads from their first to their second cells."""
    first, second = [edge[0] for edge in edges], [edge[1] for edge in edges]
    if not _is_matching(edges):
        return False
    seen = set(first)
    stack = list(first)
    while stack:
        x = stack.pop()
        for y in neighbours[x]:
            if (x, y) not in edges and y not in seen:
                if (y, x) in edges:
                    return False
                seen.add(y)
                stack.append(y)
    return seen.isdisjoint(second)


def stretch(draft: Draft, rules: Rules, rng: random.Random, kinds: frozenset[int], room: int) -> int:
    """Number of cells added to the lattice of some kinds, at most `room`; 0 if no cut could be doubled."""
    lattice = find_lattice(draft, kinds)
    if lattice is None:
        return 0
    cuts = [cut for cut in lattice.cuts if len(cut.edges) <= room]
    rng.shuffle(cuts)
    for cut in cuts[:8]:
        mark = draft.mark()
        new = _double(draft, rules, lattice, cut)
        if rules.fits(draft, mark, new, stretched=True):
            return len(new)
        draft.undo(mark)
    return 0


def _double(draft: Draft, rules: Rules, lattice: Lattice, cut: Cut) -> list[int]:
    """New cells between the two sides of a cut."""
    relations = draft.relations
    cells = set(lattice.cells)
    copies = {x: draft.add_object(x) for x, _ in cut.edges}
    across = dict(cut.edges)
    mapped: dict[Atom, float] = {}
    for x, y in cut.edges:
        for atom in list(draft.of[x]):
            others = [number for number in atom[1:] if number != x and number in cells]
            value = draft.atoms[atom]
            if relations.static[atom[0]]:
                if others == [y] and across[x] == y:
                    draft.remove(atom)
                    mapped[substituted(atom, {y: copies[x]})] = value
                    mapped[substituted(atom, {x: copies[x]})] = value
                elif all(number in copies for number in others):
                    mapped[substituted(atom, copies)] = value
            elif atom[0] not in rules.totals and all(
                number == x or rules.relations.is_constant(draft.kind[number]) or relations.is_goal(atom[0])
                for number in atom[1:]
            ):
                mapped[substituted(atom, {x: copies[x]})] = value
    for atom, value in mapped.items():
        if atom not in draft.atoms:
            draft.add(atom, value)
    for copied in copies.values():
        _settle(draft, rules, copied)
    return list(copies.values())


def _settle(draft: Draft, rules: Rules, cell: int) -> None:
    """Gives a new cell whose row was never seen the atoms of another cell of its kind that concern it alone."""
    relations = draft.relations
    goal = [atom for atom in draft.of[cell] if relations.is_goal(atom[0])]
    if any(not rules.goal_fits(draft, number) for atom in goal for number in atom[1:]):
        for atom in goal:
            draft.remove(atom)
    if rules.coarse_fits(draft, cell) and rules.goal_fits(draft, cell):
        return
    for model in draft.objects_of(draft.kind[cell])[:50]:
        own = [atom for atom in draft.of[model] if not relations.static[atom[0]]]
        if all(len(atom) == 2 and atom[0] not in rules.totals for atom in own) and model != cell:
            for atom in [atom for atom in draft.of[cell] if not relations.static[atom[0]]]:
                draft.remove(atom)
            for atom in own:
                draft.add((atom[0], cell))
            if rules.coarse_fits(draft, cell) and rules.goal_fits(draft, cell):
                return
