"""Stage `grow`: what the given problems have in common: rules that a made problem must not break.

- Rows: an object's atoms, counted by feature (0, 1, many), must have been seen for an object of its kind; separately
  for the initial state with the static atoms, and for the goal. A feature that was seen more than once for one object
  of the kind, also in states reached by walking, may be there any number of times.
- Bounds: a static feature among objects of one kind (roads of a place) whose largest number does not grow with the
  problems stays below that number.
- Exact numbers: two or more atoms that all objects of a kind have (the two hands of a robot) stay that many.
- Totals: a relation with the same number of atoms in all problems, of whatever size, keeps it.
- Dependencies: arguments of a predicate with three or more that determine the others.
- Pairs: the static atoms that connect two objects must have been seen together for two objects of these kinds; if
  there was always one, there must be one.
- Orders: relations without cycles stay without cycles.
- Triangles: if an object has one atom with y and one with p, what connects y with p must have been seen.
- Reach: a city has one truck in one of its locations: numbers of objects two atoms away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from saltus.grow.draft import Atom, Draft, Feature, Relations
from saltus.grow.regularities import (
    Signature,
    acyclic_relations,
    connection_of,
    constant_totals,
    dependencies,
    exact_numbers,
    has_cycle,
    pair_signatures,
    signatures_of,
    static_bounds,
    unary_relations,
    varying_kinds,
)
from saltus.grow.values import MANY, MOST_TRIANGLE_ATOMS

Row = frozenset[tuple[Feature, int]]


class Rules:
    """Rules learned from the given problems; `walked` are the same problems in states reached by walking."""

    def __init__(self, relations: Relations, drafts: Sequence[Draft], walked: Sequence[Draft] = ()) -> None:
        self.relations = relations
        self.varying = varying_kinds(drafts)
        """Kinds whose number differs between the problems, apart from scales, by which others are measured."""
        self._families = {kind: own for draft in drafts for kind, own in zip(draft.kind, draft.family, strict=True)}
        self._most: dict[tuple[int, Feature], int] = defaultdict(int)
        for draft in (*drafts, *walked):
            for number, counts in enumerate(draft.counts):
                for feature, count in counts.items():
                    key = draft.kind[number], feature
                    self._most[key] = max(self._most[key], count)
        self._initial: dict[int, set[Row]] = defaultdict(set)
        self._coarse: dict[int, set[Row]] = defaultdict(set)
        self._goal: dict[int, set[Row]] = defaultdict(set)
        self._wanted: dict[int, set[Row]] = defaultdict(set)
        self._unary: dict[int, set[frozenset[int]]] = defaultdict(set)
        self._always: dict[int, set[Feature]] = {}
        for draft in drafts:
            for number, kind in enumerate(draft.kind):
                self._initial[kind].add(self.initial_row(draft, number))
                self._coarse[kind].add(self.coarse_row(draft, number))
                self._goal[kind].add(self.goal_row(draft, number))
                self._wanted[kind].add(self.goal_row(draft, number, with_static=True))
                self._unary[kind].add(unary_relations(draft, number))
                features = set(draft.counts[number])
                self._always[kind] = self._always.get(kind, features) & features
        self._bound = static_bounds(relations, drafts)
        self._exact = exact_numbers(drafts)
        self.totals = constant_totals(relations, drafts)
        """Relations that keep their number of atoms."""
        self._dependencies = dependencies(relations, drafts)
        self._signatures, self.complete = pair_signatures(drafts)
        self.acyclic = acyclic_relations(relations, drafts)
        """Binary relations that never have a cycle."""
        self._triangles: dict[tuple[int, Feature, Feature], set[object]] = defaultdict(set)
        for draft in drafts:
            for number in range(len(draft)):
                for triangle, connection in self._triangles_of(draft, number):
                    self._triangles[triangle].add(connection)
        self._reach = _reach(self, drafts)
        self.scales = {kind for kind in self.varying if self.is_scale(kind)}
        """Kinds of chains of numbers whose length varies."""
        self.varying -= self.scales
        self.chained = frozenset(kind for kind in self._families if self.links(kind))
        """Kinds of chains: their objects cannot stand for one another."""

    # -- rows --------------------------------------------------------------------------------------------------------

    def _clipped(self, kind: int, feature: Feature, count: int) -> int:
        """1 for any number of atoms that may be there more than once; those that connect an object with others of its
        kind in a static way are counted up to two."""
        relation = feature[0]
        if not self.relations.static[relation] or not self._among_equals(kind, feature):
            most = self._most[kind, feature]
            if self.relations.is_goal(relation):
                base = relation - (self.relations.goal if relation < self.relations.negated else self.relations.negated)
                most = max(most, self._most.get((kind, (base, *feature[1:])), 0))
            if most >= MANY:
                return 1
        return min(count, MANY)

    def family(self, kind: int) -> int:
        """Family of a kind."""
        return self._families[kind]

    def _among_equals(self, kind: int, feature: Feature) -> bool:
        return self._families[kind] in feature[2]

    def _row(self, draft: Draft, number: int, wanted: Iterable[Feature]) -> Row:
        kind, counts = draft.kind[number], draft.counts[number]
        return frozenset((feature, self._clipped(kind, feature, counts[feature])) for feature in wanted)

    def initial_row(self, draft: Draft, number: int) -> Row:
        """Counts of an object's static and initial atoms."""
        return self._row(draft, number, (f for f in draft.counts[number] if f[0] < self.relations.goal))

    def coarse_row(self, draft: Draft, number: int) -> Row:
        """The same, but of static atoms only which are there."""
        static = self.relations.static
        return frozenset((f, 1 if static[f[0]] else count) for f, count in self.initial_row(draft, number))

    def goal_row(self, draft: Draft, number: int, *, with_static: bool = False) -> Row:
        """Counts of an object's goal atoms, on request with its static atoms."""
        relations = self.relations
        wanted = (
            feature
            for feature in draft.counts[number]
            if feature[0] >= relations.goal or (with_static and relations.static[feature[0]])
        )
        return self._row(draft, number, wanted)

    def initial_fits(self, draft: Draft, number: int) -> bool:
        """Whether the row of initial atoms was seen."""
        return self.initial_row(draft, number) in self._initial[draft.kind[number]]

    def coarse_fits(self, draft: Draft, number: int) -> bool:
        """Whether the row was seen, apart from the numbers of static atoms."""
        return self.coarse_row(draft, number) in self._coarse[draft.kind[number]]

    def goal_fits(self, draft: Draft, number: int) -> bool:
        """Whether the row of goal atoms was seen."""
        return self.goal_row(draft, number) in self._goal[draft.kind[number]]

    def patterned_goal_fits(self, draft: Draft, number: int) -> bool:
        """Whether the row of goal atoms was seen for an object with these static atoms (no truck ends on a footpath),
        and with these atoms about it alone (a sample is wanted from where one is)."""
        kind = draft.kind[number]
        return (
            self.goal_row(draft, number, with_static=True) in self._wanted[kind]
            and unary_relations(draft, number) in self._unary[kind]
        )

    def missing(self, draft: Draft, number: int) -> list[Feature]:
        """Features that every object of the kind has, but this one lacks."""
        return sorted(self._always.get(draft.kind[number], set()) - set(draft.counts[number]))

    def is_functional(self, kind: int, feature: Feature) -> bool:
        """Whether an object of the kind has at most one atom with this feature."""
        return self._most.get((kind, feature), 0) == 1

    def is_scale(self, kind: int) -> bool:
        """Whether objects of the kind are nothing but a chain of numbers: fluent atoms about them are only of relations
        that keep their number of atoms."""
        return bool(self.links(kind)) and all(
            self.relations.static[feature[0]] or feature[0] in self.totals for own, feature in self._most if own == kind
        )

    def links(self, kind: int) -> list[int]:
        """Static relations by which objects of a kind form chains."""
        family = self._families[kind]
        return [
            relation
            for relation in self.acyclic
            if self.relations.static[relation]
            and all(self.is_functional(kind, (relation, position, (family,))) for position in (0, 1))
        ]

    def state_fits(self, draft: Draft) -> bool:
        """Whether the rows of all initial atoms were seen."""
        return all(self.initial_fits(draft, number) for number in range(len(draft)))

    def whole_goal_fits(self, draft: Draft) -> bool:
        """Whether the rows of all goal atoms were seen."""
        return all(self.goal_fits(draft, number) for number in range(len(draft)))

    # -- a change ----------------------------------------------------------------------------------------------------

    def fits(self, draft: Draft, mark: int, new: Sequence[int], *, stretched: bool = False) -> bool:
        """Whether the draft breaks no rule by its changes since the mark. Rows of a `stretched` lattice may have
        other numbers of static atoms."""
        added, removed = draft.changes(mark)
        touched = dict.fromkeys([*new, *(number for atom in (*added, *removed) for number in atom[1:])])
        for relation in self.totals:
            if draft.total[relation] != self.totals[relation]:
                return False
        for number in touched:
            if not (self.coarse_fits(draft, number) if stretched else self.initial_fits(draft, number)):
                return False
            if not (self.goal_fits if stretched else self.patterned_goal_fits)(draft, number):
                return False
            if not self._bounded(draft, number):
                return False
        if not all(self._determined(draft, atom) for atom in added):
            return False
        if not stretched and not self._pairs_fit(draft, added, new):
            return False
        if any(has_cycle(draft, relation, number) for relation in self.acyclic for number in new):
            return False
        if stretched:
            return True
        for number in touched:
            for key, signature in self._triangles_of(draft, number):
                if signature not in self._triangles.get(key, ()):
                    return False
        return True

    def _bounded(self, draft: Draft, number: int) -> bool:
        kind = draft.kind[number]
        return all(
            count <= self._bound.get((kind, feature), count) and count == self._exact.get((kind, feature), count)
            for feature, count in draft.counts[number].items()
        )

    def _determined(self, draft: Draft, atom: Atom) -> bool:
        for positions in self._dependencies.get(atom[0], ()):
            own = [atom[1 + i] for i in positions]
            for other in draft.of[own[0]]:
                if other[0] == atom[0] and other != atom and [other[1 + i] for i in positions] == own:
                    return False
        return True

    def _pairs_fit(self, draft: Draft, added: Sequence[Atom], new: Sequence[int]) -> bool:
        static = self.relations.static
        pairs = {
            (min(x, y), max(x, y)) for atom in added if static[atom[0]] for x, y in combinations(atom[1:], 2) if x != y
        }
        for first, second, signature in signatures_of(draft, pairs):
            if signature not in self._signatures.get((first, second), ()):
                return False
        for x in new:
            for other in self.complete.get(draft.kind[x], ()):
                for y in draft.objects_of(other):
                    if y != x and (min(x, y), max(x, y)) not in pairs:
                        return False
        return True

    def signatures(self, first: int, second: int) -> list[Signature]:
        """What was seen between two objects of two kinds, the lower kind first."""
        return sorted(self._signatures.get((min(first, second), max(first, second)), ()))

    def _triangles_of(self, draft: Draft, number: int) -> Iterator[tuple[tuple[int, Feature, Feature], object]]:
        kind = draft.kind[number]
        # An object may have thousands of atoms, and none of these relations.
        functional = {feature[0] for feature in draft.counts[number] if self.is_functional(kind, feature)}
        if not functional:
            return
        sides = []
        for atom in draft.of[number]:
            if atom[0] in functional and 3 <= len(atom) <= 4:
                for own, feature in draft.features(atom):
                    if own == number and self.is_functional(kind, feature):
                        sides += [(feature, i, other) for i, other in enumerate(atom[1:]) if other != number]
            if len(sides) >= MOST_TRIANGLE_ATOMS:
                break
        sides.sort()
        for (one, _, y), (two, _, p) in combinations(sides, 2):
            yield (kind, one, two), "same" if y == p else connection_of(draft, y, p)

    # -- two atoms away ----------------------------------------------------------------------------------------------

    def reach_lacking(self, draft: Draft, number: int) -> list[int]:
        """Kinds of objects two atoms away of which an object has too few."""
        return [kind for kind, (least, _) in self._reach_of(draft, number) if self._near(draft, number, kind) < least]

    def reach_exceeded(self, draft: Draft, number: int) -> bool:
        """Whether an object has too many objects of some kind two atoms away."""
        return any(self._near(draft, number, kind) > most for kind, (_, most) in self._reach_of(draft, number))

    def _reach_of(self, draft: Draft, number: int) -> list[tuple[int, tuple[int, int]]]:
        return self._reach.get(draft.kind[number], [])

    def _near(self, draft: Draft, number: int, kind: int) -> int:
        return min(len(self.near(draft, number).get(kind, ())), MANY)

    def near(self, draft: Draft, number: int) -> dict[int, dict[int, int]]:
        """By kind, the objects two functional atoms away, each with the object in between."""
        found: dict[int, dict[int, int]] = defaultdict(dict)
        for _, between in self.owned(draft, number):
            for _, far in self.owned(draft, between):
                if far != number:
                    found[draft.kind[far]][far] = between
        return found

    def owned(self, draft: Draft, number: int) -> Iterator[tuple[Atom, int]]:
        """Objects that have only one atom of a binary relation, and have it with this object; with this atom."""
        goal = self.relations.goal
        for atom in draft.of[number]:
            if len(atom) == 3 and atom[0] < goal and atom[1] != atom[2]:
                position = atom.index(number, 1)
                other = atom[3 - position]
                feature = (atom[0], 2 - position, (draft.family[number],))
                if self.is_functional(draft.kind[other], feature):
                    yield atom, other


def _reach(rules: Rules, drafts: Sequence[Draft]) -> dict[int, list[tuple[int, tuple[int, int]]]]:
    """Least and largest numbers of objects two atoms away, by kinds; only what every object has."""
    ranges: dict[tuple[int, int], tuple[int, int]] = {}
    seen: dict[int, int] = defaultdict(int)
    have: dict[tuple[int, int], int] = defaultdict(int)
    for draft in drafts:
        for number, kind in enumerate(draft.kind):
            seen[kind] += 1
            for far, objects in rules.near(draft, number).items():
                count = min(len(objects), MANY)
                least, most = ranges.get((kind, far), (count, count))
                ranges[kind, far] = min(least, count), max(most, count)
                have[kind, far] += 1
    found: dict[int, list[tuple[int, tuple[int, int]]]] = defaultdict(list)
    for (kind, far), (least, most) in sorted(ranges.items()):
        if have[kind, far] == seen[kind]:
            found[kind].append((far, (least, most)))
    return dict(found)
