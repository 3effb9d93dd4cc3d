"""Stage `grow`: regularities of the given problems, each found by a function of its own. Drafts in, values out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from saltus.grow.draft import Draft, Feature, Relations
from saltus.grow.values import MANY

Signature = tuple[tuple[int, int, int], ...]
"""Static atoms that contain two objects: relation and positions of the first and the second object."""


def varying_kinds(drafts: Sequence[Draft]) -> set[int]:
    """Kinds whose number differs between problems; if none does, those with several objects in every problem."""
    counts = [{kind: draft.kind.count(kind) for kind in set(draft.kind)} for draft in drafts]
    kinds = {kind for entry in counts for kind in entry}
    varying = {kind for kind in kinds if len({entry.get(kind, 0) for entry in counts}) > 1}
    several = {kind for kind in kinds if all(entry.get(kind, 0) > 1 for entry in counts)}
    return varying or several


def signature_of(draft: Draft, x: int, y: int) -> tuple[int, int, Signature]:
    """Kinds of two objects and the static atoms that contain both, in an order that depends on the kinds alone."""
    static = draft.relations.static
    few, many = (x, y) if len(draft.of[x]) <= len(draft.of[y]) else (y, x)
    found = set()
    for atom in draft.of[few]:
        if static[atom[0]] and many in atom[1:]:
            found.add((atom[0], atom.index(x, 1), atom.index(y, 1)))
    return _signature(draft, x, y, found)


def signatures_of(draft: Draft, pairs: Collection[tuple[int, int]]) -> Iterator[tuple[int, int, Signature]]:
    """`signature_of` of many pairs of different objects, in any order; the atoms of an object are gone through once for
    all of its pairs."""
    static = draft.relations.static
    partners: dict[int, set[int]] = defaultdict(set)
    for x, y in pairs:
        partners[x].add(y)
        partners[y].add(x)
    for x in sorted(partners, key=lambda number: len(partners[number]), reverse=True):
        found: dict[int, set[tuple[int, int, int]]] = {y: set() for y in partners[x]}
        if not found:
            continue
        for atom in draft.of[x]:
            if static[atom[0]]:
                for y in atom[1:]:
                    if y in found:
                        found[y].add((atom[0], atom.index(x, 1), atom.index(y, 1)))
        for y, atoms in found.items():
            partners[y].discard(x)
            yield _signature(draft, x, y, atoms)


def _signature(draft: Draft, x: int, y: int, found: Collection[tuple[int, int, int]]) -> tuple[int, int, Signature]:
    """The signature of two objects, given the atoms that contain both: relations, with the places of both."""
    forth = tuple(sorted(found))
    back = tuple(sorted((relation, second, first) for relation, first, second in found))
    if draft.kind[x] != draft.kind[y]:
        return (draft.kind[x], draft.kind[y], forth) if draft.kind[x] < draft.kind[y] else (
            draft.kind[y], draft.kind[x], back)  # fmt: skip
    return draft.kind[x], draft.kind[x], min(forth, back)


def connection_of(draft: Draft, y: int, p: int) -> frozenset[tuple[int, int, int]]:
    """Initial and static atoms that contain both objects."""
    few, many = (y, p) if len(draft.of[y]) <= len(draft.of[p]) else (p, y)
    return frozenset(
        (atom[0], atom.index(y, 1), atom.index(p, 1))
        for atom in draft.of[few]
        if atom[0] < draft.relations.goal and many in atom[1:]
    )


def unary_relations(draft: Draft, number: int) -> frozenset[int]:
    """Relations of the atoms about an object alone, in the initial state and the goal."""
    return frozenset(feature[0] for feature in draft.counts[number] if not feature[2])


def static_bounds(relations: Relations, drafts: Sequence[Draft]) -> dict[tuple[int, Feature], int]:
    """Largest counts of static features among objects of one kind, where the larger half of the problems has no larger
    ones."""
    ordered = sorted(drafts, key=len)
    half = len(ordered) // 2
    most: list[dict[tuple[int, Feature], int]] = [defaultdict(int), defaultdict(int)]
    for i, draft in enumerate(ordered):
        for number, counts in enumerate(draft.counts):
            for feature, count in counts.items():
                if relations.static[feature[0]] and draft.family[number] in feature[2]:
                    key = draft.kind[number], feature
                    most[i >= half][key] = max(most[i >= half][key], count)
    return {key: count for key, count in most[0].items() if count >= most[1][key]} if half else {}


def exact_numbers(drafts: Sequence[Draft]) -> dict[tuple[int, Feature], int]:
    """Counts of two or more that all objects of a kind share, in problems of different sizes or for many objects."""
    seen: dict[tuple[int, Feature], set[int]] = defaultdict(set)
    objects: dict[tuple[int, Feature], int] = defaultdict(int)
    for draft in drafts:
        for number, counts in enumerate(draft.counts):
            for feature, count in counts.items():
                seen[draft.kind[number], feature].add(count)
                objects[draft.kind[number], feature] += 1
    return {
        key: count
        for key, counts in seen.items()
        if len(counts) == 1 and (count := min(counts)) >= MANY and objects[key] > MANY
    }


def constant_totals(relations: Relations, drafts: Sequence[Draft]) -> dict[int, int]:
    """Numbers of atoms that all problems share; if all problems are of one size, only ones say something."""
    sizes = len({len(draft) for draft in drafts})
    found: dict[int, int] = {}
    for relation in range(len(relations.arity)):
        totals = {draft.total[relation] for draft in drafts}
        if len(totals) == 1 and not relations.is_function(relation):
            total = totals.pop()
            if total == 1 or (total and sizes > 1):
                found[relation] = total
    return found


def dependencies(relations: Relations, drafts: Sequence[Draft]) -> dict[int, list[tuple[int, ...]]]:
    found: dict[int, list[tuple[int, ...]]] = {}
    for relation, arity in enumerate(relations.arity):
        if arity < 3:
            continue
        atoms = [[atom for atom in draft.atoms if atom[0] == relation] for draft in drafts]
        if sum(map(len, atoms)) < 2:
            continue
        for size in range(2, arity):
            for positions in combinations(range(arity), size):
                if any(set(smaller) <= set(positions) for smaller in found.get(relation, ())):
                    continue
                if all(len({tuple(atom[1 + i] for i in positions) for atom in own}) == len(own) for own in atoms):
                    found.setdefault(relation, []).append(positions)
    return found


def pair_signatures(drafts: Sequence[Draft]) -> tuple[dict[tuple[int, int], set[Signature]], dict[int, list[int]]]:
    """Signatures of pairs by kinds; and the kinds all of whose objects are connected with all of another kind."""
    signatures: dict[tuple[int, int], set[Signature]] = defaultdict(set)
    connected: dict[tuple[int, int], int] = defaultdict(int)
    possible: dict[tuple[int, int], int] = defaultdict(int)
    for draft in drafts:
        pairs = {
            (min(x, y), max(x, y))
            for atom in draft.atoms
            if draft.relations.static[atom[0]]
            for x, y in combinations(atom[1:], 2)
            if x != y
        }
        for first, second, signature in signatures_of(draft, pairs):
            signatures[first, second].add(signature)
            connected[first, second] += 1
        counts = {kind: draft.kind.count(kind) for kind in set(draft.kind)}
        for first in counts:
            for second in counts:
                if first <= second:
                    own = counts[first]
                    possible[first, second] += own * (own - 1) // 2 if first == second else own * counts[second]
    complete: dict[int, list[int]] = defaultdict(list)
    for (first, second), count in sorted(connected.items()):
        if MANY < count == possible[first, second]:
            complete[first].append(second)
            if first != second:
                complete[second].append(first)
    return signatures, dict(complete)


def acyclic_relations(relations: Relations, drafts: Sequence[Draft]) -> list[int]:
    """Binary relations between objects of one kind that never have a cycle."""
    found = []
    for relation, arity in enumerate(relations.arity):
        if arity != 2:
            continue
        used = {draft.kind[x] for draft in drafts for r, *own in draft.atoms if r == relation for x in own[:1]}
        ends = {draft.kind[own[1]] for draft in drafts for r, *own in draft.atoms if r == relation}
        if used & ends and not any(
            has_cycle(draft, relation, number) for draft in drafts for number in range(len(draft))
        ):
            found.append(relation)
    return found


def has_cycle(draft: Draft, relation: int, start: int) -> bool:
    """Whether the relation leads from an object back to it."""
    seen: set[int] = set()
    stack = [start]
    while stack:
        number = stack.pop()
        for atom in draft.of[number]:
            if atom[0] == relation and atom[1] == number:
                if atom[2] == start:
                    return True
                if atom[2] not in seen:
                    seen.add(atom[2])
                    stack.append(atom[2])
    return False
