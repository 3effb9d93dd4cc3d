"""Stage `grow`: one more object: the copy of another, with its atoms, function values and goals.

What an object needs to be of its kind (a city its locations, a rover its store) is copied with it: objects behind a
missing feature join the set that is copied until nothing is missing. Neighbours outside the set stay the same in static
atoms, or are drawn anew if there are few; in fluent atoms and goals they are always drawn anew, from the same kind.
Where an atom gives a neighbour a row that was never seen, an atom about that neighbour alone makes way for it (a block
with another one on it is no longer clear); if that does not help, the atom is left out. In a chain, the copy comes
between the object and its successor.

On request, an object is copied with its whole group (`groups.py`); then neighbours in chains stay the same, and a copy
that lost a static atom is undone.

Every copy is checked by all rules, and undone if it breaks one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from itertools import combinations

from saltus.grow.draft import Atom, Draft, Feature, substituted
from saltus.grow.groups import group_of
from saltus.grow.regularities import signature_of
from saltus.grow.rules import Rules
from saltus.grow.values import MOST_TOGETHER


class Inserter:
    """Inserts objects into drafts that follow some rules."""

    def __init__(
        self, rules: Rules, rng: random.Random, check: Callable[[], None] = lambda: None, *, groups: bool = False
    ) -> None:
        self.rules = rules
        self.rng = rng
        self.check = check
        self.groups = groups
        """Whether an object is copied with all that belongs to it."""
        self._together: dict[int, int] = {}

    def insert(self, draft: Draft, kind: int, room: int) -> int:
        """Number of objects inserted, at least one of them of the kind and at most `room`; 0 if no try succeeded."""
        originals = draft.objects_of(kind)
        if not originals:
            return 0
        for attempt in range(24):
            self.check()
            original = self.rng.choice(originals)
            size = self._copy_closed(draft, original, attempt, room)
            if size:
                self._together[kind] = size
                return size
        return 0

    def together(self, draft: Draft, kind: int) -> int:
        """Number of objects that an insertion of the kind takes; found by trying."""
        if kind not in self._together:
            mark = draft.mark()
            if not self.insert(draft, kind, MOST_TOGETHER):
                self._together[kind] = 0
            draft.undo(mark)
        return self._together[kind]

    def _copy_closed(self, draft: Draft, original: int, attempt: int, room: int) -> int:
        """Size of the copied set; 0 if it broke a rule."""
        together = group_of(draft, self.rules, original) if self.groups else [original]
        kept = self.rules.chained if self.groups else frozenset()
        while len(together) <= min(MOST_TOGETHER, room):
            mark = draft.mark()
            is_chain = attempt % 3 == 2 and len(together) == 1 and not self.groups
            chain = self._chain_end(draft, original) if is_chain else None
            copy = Copy(self.rules, self.rng, draft, together, kept)
            copies = copy.make(attempt, chain)
            new = list(copies.values())
            behind = self._behind(draft, copies)
            if self.groups and copy.is_incomplete and not behind:
                draft.undo(mark)
                return 0
            if not behind and self.rules.fits(draft, mark, new) and not self._too_many(draft, new):
                return len(together)
            draft.undo(mark)
            if not behind:
                return 0
            together += behind
        return 0

    def _behind(self, draft: Draft, copies: dict[int, int]) -> list[int]:
        """Originals of objects that the copies still lack."""
        found: dict[int, None] = {}
        for original, copied in copies.items():
            for feature in self.rules.missing(draft, copied):
                for atom in draft.of[original]:
                    if (original, feature) in draft.features(atom):
                        found.update(dict.fromkeys(atom[1:]))
            for kind in self.rules.reach_lacking(draft, copied):
                for far, between in list(self.rules.near(draft, original).get(kind, {}).items())[:1]:
                    found.update({far: None, between: None})
        return [o for o in found if o not in copies and o >= draft.constants and o < min(copies.values())]

    def _too_many(self, draft: Draft, new: Sequence[int]) -> bool:
        """Whether an object two atoms away has too many objects of a kind now."""
        for number in new:
            for atom in draft.of[number]:
                if len(atom) == 3 and atom[0] < draft.relations.goal:
                    between = atom[1] if atom[2] == number else atom[2]
                    if self.rules.is_functional(draft.kind[number], _feature(draft, atom, number)):
                        for further in draft.of[between]:
                            if len(further) == 3 and self.rules.is_functional(
                                draft.kind[between], _feature(draft, further, between)
                            ):
                                owner = further[1] if further[2] == between else further[2]
                                if self.rules.reach_exceeded(draft, owner):
                                    return True
        return False

    def _chain_end(self, draft: Draft, original: int) -> int | None:
        """An object of the same family that static atoms connect with the original; None if there is none."""
        static = draft.relations.static
        family = draft.family[original]
        ends = sorted(
            {
                other
                for atom in draft.of[original]
                if static[atom[0]]
                for other in atom[1:]
                if other != original and draft.family[other] == family
            }
        )
        return self.rng.choice(ends) if ends else None


class Copy:
    """One try: the copy of a set of objects."""

    def __init__(
        self, rules: Rules, rng: random.Random, draft: Draft, together: Sequence[int], kept: Collection[int] = ()
    ) -> None:
        self.rules = rules
        self.rng = rng
        self.draft = draft
        self.together = list(together)
        self.kept = kept
        """Kinds of neighbours that stay as they are."""
        self.copies: dict[int, int] = {}
        self.is_incomplete = False
        """Whether a static atom was left out because its neighbour can have only one."""
        self._atoms: list[tuple[Atom, float]] = []
        self.replaced: dict[int, dict[int, int]] = {}
        """Neighbours drawn anew, for static atoms, fluent atoms and goals."""

    def make(self, attempt: int, chain: int | None) -> dict[int, int]:
        """The copy of each object, made in the draft."""
        self.add_objects()
        static = self.draft.relations.static
        self._copy_static([(atom, value) for atom, value in self._atoms if static[atom[0]]], attempt, chain)
        self.copy_fluent_and_goals(attempt, piled=attempt % 3 != 2)
        return self.copies

    def add_objects(self) -> None:
        """Adds the copies, without atoms, and takes down the atoms of the originals."""
        draft = self.draft
        self._atoms = [
            (atom, draft.atoms[atom])
            for atom in dict.fromkeys(atom for number in self.together for atom in draft.of[number])
            if atom[0] not in self.rules.totals
        ]
        for number in self.together:
            self.copies[number] = draft.add_object(number)

    def copy_fluent_and_goals(self, attempt: int, *, piled: bool) -> None:
        """Gives the copies fluent atoms and goals, with neighbours drawn anew; on request, puts them into piles."""
        relations, rules = self.draft.relations, self.rules
        fluent = [atom for atom, _ in self._atoms if relations.is_initial_fluent(atom[0])]
        goals = [atom for atom, _ in self._atoms if relations.is_goal(atom[0])]
        strict = attempt % 4 < 2
        self.rng.shuffle(fluent)
        self.rng.shuffle(goals)
        for layer, atoms, fits in ((1, fluent, rules.initial_fits), (2, goals, rules.patterned_goal_fits)):
            piles = {number: self._pile(number, layer) for number in self.together} if piled else {}
            others = [number for number in self.together if piles.get(number) is None]
            self._copy_fluent([atom for atom in atoms if any(o in atom[1:] for o in others)], layer, fits, strict)
            for number, relation in piles.items():
                if relation is not None:
                    self._put_between(number, layer, relation, fits)

    # -- towers ------------------------------------------------------------------------------------------------------

    def _pile(self, number: int, layer: int) -> int | None:
        """A relation without cycles by which objects of a copied kind lie on one another; None if there is none."""
        kind, family = self.draft.kind[number], self.draft.family[number]
        for relation in self.rules.acyclic:
            if self._is_in(relation, layer) and all(
                self.rules.is_functional(kind, (relation, position, (family,))) for position in (0, 1)
            ):
                return relation
        return None

    def _is_in(self, relation: int, layer: int) -> bool:
        relations = self.draft.relations
        return relations.is_initial_fluent(relation) if layer == 1 else relations.is_goal(relation)

    def _put_between(self, original: int, layer: int, relation: int, fits: Callable[[Draft, int], bool]) -> None:
        """Puts the copy next to an object of its kind: between this one and the one that lies on it, or under it."""
        draft = self.draft
        copied = self.copies[original]
        beside = self.rng.choice([o for o in draft.objects_of(draft.kind[copied]) if o not in self.copies.values()])
        atoms = [atom for atom in draft.of[beside] if self._is_in(atom[0], layer) and atom[0] not in self.rules.totals]
        if layer == 2 and not atoms:
            return
        side = self.rng.choice((1, 2))  # position of the object in the atoms that the copy takes over
        for atom in atoms:
            if atom[0] == relation:
                if atom[side] == beside:
                    draft.remove(atom)
                    draft.add(substituted(atom, {beside: copied}))
            else:
                draft.add(substituted(atom, {beside: copied}))
        draft.add((relation, copied, beside) if side == 2 else (relation, beside, copied))
        for number in (beside, copied):
            if not fits(draft, number):
                self._make_way(number, layer, fits)

    # -- neighbours drawn anew ---------------------------------------------------------------------------------------

    def _copy_static(self, atoms: Sequence[tuple[Atom, float]], attempt: int, chain: int | None) -> None:
        draft = self.draft
        outside = [atom for atom, _ in atoms if any(number not in self.copies for number in atom[1:])]
        # only objects with few static atoms about others may get other neighbours
        anew = attempt % 2 == 0 and chain is None and len(outside) <= 6 * len(self.together)
        for atom, value in atoms:
            if chain is not None and chain in atom[1:]:
                self._lengthen(atom, value, chain)
                continue
            if chain is not None and self._is_along(atom):
                continue
            copied = substituted(atom, self.copies)
            if anew:
                copied = self._drawn(copied, 0)
            if copied not in draft.atoms:
                if self._doubles(copied):
                    self.is_incomplete = True
                else:
                    draft.add(copied, value)
        if chain is None:
            self._complete(atoms)

    def _is_along(self, atom: Atom) -> bool:
        """Whether the atom connects the original with another object of its family."""
        own = self.draft.family[self.together[0]]
        return sum(self.draft.family[number] == own for number in atom[1:]) > 1

    def _lengthen(self, atom: Atom, value: float, end: int) -> None:
        """Puts the copy between the original and the end: `link x y` becomes `link x x'` and `link x' y`."""
        original = self.together[0]
        copied = self.copies[original]
        self.draft.remove(atom)
        self.draft.add(substituted(atom, {end: copied}), value)
        self.draft.add(substituted(atom, {original: copied}), value)

    def _complete(self, atoms: Sequence[tuple[Atom, float]]) -> None:
        """Connects copies with originals where all objects of their kinds are connected."""
        draft, complete = self.draft, self.rules.complete
        for atom, value in atoms:
            inside = [number for number in atom[1:] if number in self.copies]
            for x, y in combinations(inside, 2):
                if x != y and draft.kind[y] in complete.get(draft.kind[x], ()):
                    for copied in (substituted(atom, {x: self.copies[x]}), substituted(atom, {y: self.copies[y]})):
                        if copied not in draft.atoms:
                            draft.add(copied, value)
        for original, own in self.copies.items():
            kind = draft.kind[original]
            if kind in complete.get(kind, ()):
                self._connect(original, own, kind)

    def _connect(self, original: int, copied: int, kind: int) -> None:
        """Gives an object and its copy a signature that was seen, with the values of another pair."""
        draft = self.draft
        signature = self.rng.choice(self.rules.signatures(kind, kind))
        pair = [original, copied]
        self.rng.shuffle(pair)
        models = [number for number in draft.objects_of(kind) if number not in (original, copied)]
        for x in models:
            for y in models:
                if x != y and signature_of(draft, x, y)[2] == signature:
                    chosen = [atom for atom in draft.of[x] if draft.relations.static[atom[0]] and y in atom[1:]]
                    for atom in chosen:
                        connecting = substituted(atom, {x: pair[0], y: pair[1]})
                        if connecting not in draft.atoms:
                            draft.add(connecting, draft.atoms[atom])
                    return

    def _doubles(self, atom: Atom) -> bool:
        """Whether the atom would be the second one of a neighbour that can have only one."""
        draft, rules = self.draft, self.rules
        return any(
            feature in draft.counts[number] and rules.is_functional(draft.kind[number], feature)
            for number, feature in draft.features(atom)
        )

    def _drawn(self, atom: Atom, layer: int) -> Atom:
        """The atom with neighbours drawn anew, the same one for the same neighbour throughout a layer."""
        drawn = self.replaced.setdefault(layer, {})
        new = set(self.copies.values())
        for number in atom[1:]:
            if number not in new and number not in drawn:
                drawn[number] = self._others(number, layer, 1)[0]
        return substituted(atom, drawn)

    def _others(self, number: int, layer: int, most: int) -> list[int]:
        """Objects of the same kind in random order that do not yet stand for another; else the object itself."""
        if self.draft.kind[number] in self.kept:
            return [number]
        taken = {*self.replaced.get(layer, {}).values(), *self.copies.values()}
        same = [other for other in self.draft.objects_of(self.draft.kind[number]) if other not in taken]
        return self.rng.sample(same, min(most, len(same))) or [number]

    def _copy_fluent(self, atoms: Sequence[Atom], layer: int, fits: Callable[[Draft, int], bool], strict: bool) -> None:
        """Copies fluent atoms or goals, with neighbours whose rows fit; if there are none, only if `strict`."""
        draft = self.draft
        new = set(self.copies.values())
        drawn = self.replaced.setdefault(layer, {})
        for atom in atoms:
            mark = draft.mark()
            for draw in self._draws(substituted(atom, self.copies), layer):
                copied = substituted(substituted(atom, self.copies), {**drawn, **draw})
                if copied in draft.atoms:
                    continue
                draft.add(copied)
                if all(
                    number in new or fits(draft, number) or self._make_way(number, layer, fits) for number in copied[1:]
                ):
                    drawn.update(draw)
                    break
                draft.undo(mark)
            else:
                if strict:
                    return

    def _draws(self, atom: Atom, layer: int) -> list[dict[int, int]]:
        """Ways to draw the neighbours of an atom that are not drawn yet."""
        new, drawn = set(self.copies.values()), self.replaced[layer]
        fixed = {*new, *drawn, *(number for number in atom[1:] if self.draft.kind[number] in self.kept)}
        left = [number for number in dict.fromkeys(atom[1:]) if number not in fixed]
        if not left:
            return [{}]
        others = [self._others(number, layer, 20) for number in left]
        return [dict(zip(left, draw, strict=False)) for draw in zip(*others, strict=False)]

    def _make_way(self, number: int, layer: int, fits: Callable[[Draft, int], bool]) -> bool:
        """Whether the object's row was seen once one atom about it alone is gone."""
        draft = self.draft
        for atom in list(draft.of[number]):
            if len(atom) == 2 and self._is_in(atom[0], layer) and atom[0] not in self.rules.totals:
                mark = draft.mark()
                draft.remove(atom)
                if fits(draft, number):
                    return True
                draft.undo(mark)
        return False


def _feature(draft: Draft, atom: Atom, number: int) -> Feature:
    return next(feature for own, feature in draft.features(atom) if own == number)
