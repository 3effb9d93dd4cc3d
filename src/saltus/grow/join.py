"""Stage `grow`: two problems joined into one.

What does not vary (constants, kinds with the same number of objects in all problems) and what is ordered (chains) is
shared by position; all other objects are added under new names, with their atoms, function values and goals. A shared
object keeps its place: an atom that would be its second one where it can have only one is left out. The rules decide
whether the result is a problem like the given ones.

Parts of a joined problem are not connected. So problems with maps are not joined: neither those with lattices, nor
those whose objects are connected by the static atoms between them in every given problem.
"""

from __future__ import annotations

from collections.abc import Sequence

from saltus.grow.draft import Draft, substituted
from saltus.grow.rules import Rules
from saltus.grow.stretch import edges_of, neighbouring_kinds


def can_join(drafts: Sequence[Draft], rules: Rules, lattices: Sequence[frozenset[int]]) -> bool:
    """Whether joined problems would not break a map in two."""
    if lattices:
        return False
    for kinds in neighbouring_kinds(drafts):
        if kinds <= rules.chained or not kinds & rules.varying:
            continue
        parts = [number for draft in drafts if (number := _parts(draft, kinds))]
        if parts and max(parts) == 1:
            return False
    return True


def _parts(draft: Draft, kinds: frozenset[int]) -> int:
    """Number of parts into which the static atoms between objects of some kinds divide these; single ones are left
    out."""
    neighbours: dict[int, list[int]] = {}
    for x, y in edges_of(draft, kinds):
        neighbours.setdefault(x, []).append(y)
    seen: set[int] = set()
    parts = 0
    for first in neighbours:
        parts += first not in seen
        stack = [first]
        while stack:
            number = stack.pop()
            if number not in seen:
                seen.add(number)
                stack += neighbours[number]
    return parts


def join(draft: Draft, other: Draft, rules: Rules) -> dict[int, int] | None:
    """For each object of the other problem, the one that stands for it in the draft, to which it was added; None if
    that breaks a rule, and the draft is as before."""
    mark = draft.mark()
    objects = len(draft)
    mapping = {number: number for number in range(other.constants)}
    for kind in dict.fromkeys(other.kind):
        own = [number for number in other.objects_of(kind) if number >= other.constants]
        is_shared = kind not in rules.varying or kind in rules.chained
        shared = [number for number in draft.objects_of(kind) if number >= draft.constants] if is_shared else []
        if kind in rules.chained:
            own, shared = (in_order(one, rules, kind, found) for one, found in ((other, own), (draft, shared)))
        mapping.update(zip(own, shared, strict=False))
    for number in range(len(other)):
        if number not in mapping:
            mapping[number] = draft.add_foreign(other, number)
    for atom, value in other.atoms.items():
        mapped = substituted(atom, mapping)
        if mapped in draft.atoms or atom[0] in rules.totals:
            continue
        if any(
            number < objects and feature in draft.counts[number] and rules.is_functional(draft.kind[number], feature)
            for number, feature in draft.features(mapped)
        ):
            continue
        draft.add(mapped, value)
    new = range(objects, len(draft))
    if len(new) and rules.fits(draft, mark, new):
        return mapping
    draft.undo(mark)
    return None


def in_order(draft: Draft, rules: Rules, kind: int, objects: Sequence[int]) -> list[int]:
    """Objects of a chain from its first one to its last one."""
    links = set(rules.links(kind))
    before = {atom[2]: atom[1] for number in objects for atom in draft.of[number] if atom[0] in links}
    place: dict[int, int] = {}
    for number in objects:
        steps, first = 0, number
        while first in before and steps <= len(objects):
            first, steps = before[first], steps + 1
        place[number] = steps
    return sorted(objects, key=lambda number: (place[number], number))
