"""Stage `grow`: one more rung of a ladder, with all that belongs to it.

A ladder is a chain of numbers whose rungs own objects: the values of a deck, each with one card per suit. Neither rung
nor member can be added alone, and members of neighbouring rungs are connected, too (which card goes on which). So a
rung is copied with its members, and the copy is put between the rung and its neighbour: what connected the two now
connects the rung with the copy, and the copy with the neighbour. Members of two rungs are counterparts if they are tied
to the same other objects: their suit.

The ends of a ladder are often special: nothing is put on an ace. A ladder grows only where it is seen to grow: between
rungs that are connected in a way of which larger problems have more.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence

from saltus.grow.draft import Atom, Draft, substituted
from saltus.grow.insert import Copy
from saltus.grow.rules import Rules

Crossing = frozenset[tuple[int, int, int]]
"""What connects two neighbouring rungs: relations, with the positions of what is below and of what is above."""


class Ladders:
    """The ladders of the given problems."""

    def __init__(self, rules: Rules, drafts: Sequence[Draft]) -> None:
        self.rules = rules
        self.kinds = {kind for kind in sorted(rules.scales) if self._is_ladder(kind, drafts)}
        """Kinds of rungs."""
        self._growing: dict[int, set[Crossing]] = {kind: self._growing_crossings(kind, drafts) for kind in self.kinds}

    def _is_ladder(self, kind: int, drafts: Sequence[Draft]) -> bool:
        """Whether every rung has members, all of kinds that vary."""
        owned = [self.members(draft, rung) for draft in drafts for rung in draft.objects_of(kind)]
        varying = self.rules.varying
        return all(owned) and all(
            draft.kind[member] in varying
            for draft in drafts
            for rung in draft.objects_of(kind)
            for member in self.members(draft, rung)
        )

    def _growing_crossings(self, kind: int, drafts: Sequence[Draft]) -> set[Crossing]:
        counts = [
            Counter(self._crossing(draft, low, high) for low, high in self._neighbours(draft, kind)) for draft in drafts
        ]
        return {crossing for entry in counts for crossing in entry if len({other[crossing] for other in counts}) > 1}

    def members(self, draft: Draft, rung: int) -> list[int]:
        """Objects of other families that static atoms tie to this rung and to no other."""
        static = self.rules.relations.static
        return sorted(
            {
                other
                for atom, other in self.rules.owned(draft, rung)
                if static[atom[0]] and draft.family[other] != draft.family[rung]
            }
        )

    def _neighbours(self, draft: Draft, kind: int) -> list[tuple[int, int]]:
        """Pairs of rungs that follow each other."""
        links = self.rules.links(kind)
        return [
            (atom[1], atom[2])
            for atom in draft.atoms
            if atom[0] in links and draft.kind[atom[1]] == draft.kind[atom[2]] == kind
        ]

    def _crossing(self, draft: Draft, low: int, high: int) -> Crossing:
        below, above = ({rung, *self.members(draft, rung)} for rung in (low, high))
        return frozenset(
            (atom[0], i, j)
            for atom in _static_atoms(draft, below)
            for i, x in enumerate(atom[1:])
            for j, y in enumerate(atom[1:])
            if x in below and y in above
        )

    def insert(self, draft: Draft, kind: int, rng: random.Random, room: int, check: Callable[[], None]) -> int:
        """Number of objects inserted, a rung and its members, at most `room`; 0 if no try succeeded."""
        growing = self._growing.get(kind, set())
        pairs = [pair for pair in self._neighbours(draft, kind) if self._crossing(draft, *pair) in growing]
        for attempt in range(24 if pairs else 0):
            check()
            low, high = rng.choice(pairs)
            counterparts = self._counterparts(draft, low, high)
            if counterparts is None or len(counterparts) > room:
                continue
            mark = draft.mark()
            copy = Copy(self.rules, rng, draft, list(counterparts.values()))
            copy.add_objects()
            self._connect(draft, copy.copies, counterparts)
            copy.copy_fluent_and_goals(attempt, piled=True)
            if self.rules.fits(draft, mark, list(copy.copies.values())):
                return len(counterparts)
            draft.undo(mark)
        return 0

    def _counterparts(self, draft: Draft, low: int, high: int) -> dict[int, int] | None:
        """For the upper rung and each of its members, what is like it below; None if it is not one each."""
        below, above = ([rung, *self.members(draft, rung)] for rung in (low, high))
        ties = {_ties(draft, number, {*below, *above}): number for number in below[1:]}
        found = {high: low}
        for number in above[1:]:
            tie = _ties(draft, number, {*below, *above})
            if tie not in ties:
                return None
            found[number] = ties[tie]
        return found if len(set(found.values())) == len(found) == len(below) else None

    def _connect(self, draft: Draft, copies: dict[int, int], counterparts: dict[int, int]) -> None:
        """Moves the connections of two rungs so that they lead over the copy, and ties the copy to all the others."""
        kind = draft.kind[next(iter(copies))]
        elsewhere = {
            number
            for rung in draft.objects_of(kind)
            if rung not in copies and rung not in counterparts and rung not in copies.values()
            for number in (rung, *self.members(draft, rung))
        }
        upward = {above: copies[below] for above, below in counterparts.items()}
        for atom in _static_atoms(draft, set(copies)):
            value = draft.atoms[atom]
            if any(number in upward for number in atom[1:]):
                draft.remove(atom)
                draft.add(substituted(atom, upward), value)
                draft.add(substituted(atom, copies), value)
            elif not any(number in elsewhere for number in atom[1:]):
                draft.add(substituted(atom, copies), value)


def _static_atoms(draft: Draft, numbers: set[int]) -> list[Atom]:
    """Static atoms about some objects, each once."""
    static = draft.relations.static
    return list(dict.fromkeys(atom for number in sorted(numbers) for atom in draft.of[number] if static[atom[0]]))


def _ties(draft: Draft, number: int, apart: set[int]) -> frozenset[Atom]:
    """Static atoms of an object with objects outside of two rungs, with itself left out; not those with other rungs."""
    kind = draft.kind[number]
    return frozenset(
        substituted(atom, {number: -1})
        for atom in draft.of[number]
        if draft.relations.static[atom[0]]
        and all(other == number or (other not in apart and draft.kind[other] != kind) for other in atom[1:])
    )
