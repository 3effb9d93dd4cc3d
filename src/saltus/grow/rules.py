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

Row = frozenset[tuple[Feature, int]]
Signature = tuple[tuple[int, int, int], ...]
"""Static atoms that contain two objects: relation and positions of the first and the second object."""

MANY = 2
"""Larger counts are not told apart."""

FEW_PAIRS = 3
"""Pairs of two kinds from which on a relation that all of them have counts as complete."""

MOST_TRIANGLE_ATOMS = 12
"""Objects with more functional atoms have only the first ones checked for triangles."""


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
                self._unary[kind].add(_unary(draft, number))
                features = set(draft.counts[number])
                self._always[kind] = self._always.get(kind, features) & features
        self._bound = _bounds(relations, drafts)
        self._exact = _exact(drafts)
        self.totals = _totals(relations, drafts)
        """Relations that keep their number of atoms."""
        self._dependencies = _dependencies(relations, drafts)
        self._signatures, self.complete = _pairs(drafts)
        self.acyclic = _acyclic(relations, drafts)
        """Binary relations that never have a cycle."""
        self._triangles: dict[tuple[int, Feature, Feature], set[object]] = defaultdict(set)
        for draft in drafts:
            for number in range(len(draft)):
                for triangle, connection in self._triangles_of(draft, number):
                    self._triangles[triangle].add(connection)
        self._reach = _reach(self, drafts)
        self.varying -= {kind for kind in self.varying if self.is_scale(kind)}

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
            and _unary(draft, number) in self._unary[kind]
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
        family = self._families[kind]
        return all(
            self.relations.static[feature[0]] or feature[0] in self.totals for own, feature in self._most if own == kind
        ) and any(
            all(self.is_functional(kind, (relation, position, (family,))) for position in (0, 1))
            for relation in self.acyclic
            if self.relations.static[relation]
        )

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
        if any(_has_cycle(draft, relation, number) for relation in self.acyclic for number in new):
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
        for x, y in pairs:
            first, second, signature = signature_of(draft, x, y)
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
        sides = []
        for atom in draft.of[number]:
            if 3 <= len(atom) <= 4:
                for own, feature in draft.features(atom):
                    if own == number and self.is_functional(kind, feature):
                        sides += [(feature, other) for other in atom[1:] if other != number]
            if len(sides) >= MOST_TRIANGLE_ATOMS:
                break
        sides.sort()
        for (one, y), (two, p) in combinations(sides, 2):
            yield (kind, one, two), "same" if y == p else _connection(draft, y, p)

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
        for between in self._owned(draft, number):
            for far in self._owned(draft, between):
                if far != number:
                    found[draft.kind[far]][far] = between
        return found

    def _owned(self, draft: Draft, number: int) -> Iterator[int]:
        """Objects that have only one atom of a binary relation, and have it with this object."""
        goal = self.relations.goal
        for atom in draft.of[number]:
            if len(atom) == 3 and atom[0] < goal and atom[1] != atom[2]:
                position = atom.index(number, 1)
                other = atom[3 - position]
                feature = (atom[0], 2 - position, (draft.family[number],))
                if self.is_functional(draft.kind[other], feature):
                    yield other


# -- learning ----------------------------------------------------------------------------------------------------------


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
    forth = tuple(sorted(found))
    back = tuple(sorted((relation, second, first) for relation, first, second in found))
    if draft.kind[x] != draft.kind[y]:
        return (draft.kind[x], draft.kind[y], forth) if draft.kind[x] < draft.kind[y] else (
            draft.kind[y], draft.kind[x], back)  # fmt: skip
    return draft.kind[x], draft.kind[x], min(forth, back)


def _connection(draft: Draft, y: int, p: int) -> frozenset[tuple[int, int, int]]:
    """Initial and static atoms that contain both objects."""
    few, many = (y, p) if len(draft.of[y]) <= len(draft.of[p]) else (p, y)
    return frozenset(
        (atom[0], atom.index(y, 1), atom.index(p, 1))
        for atom in draft.of[few]
        if atom[0] < draft.relations.goal and many in atom[1:]
    )


def _unary(draft: Draft, number: int) -> frozenset[int]:
    """Relations of the atoms about an object alone, in the initial state and the goal."""
    return frozenset(feature[0] for feature in draft.counts[number] if not feature[2])


def _bounds(relations: Relations, drafts: Sequence[Draft]) -> dict[tuple[int, Feature], int]:
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


def _exact(drafts: Sequence[Draft]) -> dict[tuple[int, Feature], int]:
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
        if len(counts) == 1 and (count := min(counts)) >= MANY and objects[key] >= FEW_PAIRS
    }


def _totals(relations: Relations, drafts: Sequence[Draft]) -> dict[int, int]:
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


def _dependencies(relations: Relations, drafts: Sequence[Draft]) -> dict[int, list[tuple[int, ...]]]:
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


def _pairs(drafts: Sequence[Draft]) -> tuple[dict[tuple[int, int], set[Signature]], dict[int, list[int]]]:
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
        for x, y in sorted(pairs):
            first, second, signature = signature_of(draft, x, y)
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
        if FEW_PAIRS <= count == possible[first, second]:
            complete[first].append(second)
            if first != second:
                complete[second].append(first)
    return signatures, dict(complete)


def _acyclic(relations: Relations, drafts: Sequence[Draft]) -> list[int]:
    """Binary relations between objects of one kind that never have a cycle."""
    found = []
    for relation, arity in enumerate(relations.arity):
        if arity != 2:
            continue
        used = {draft.kind[x] for draft in drafts for r, *own in draft.atoms if r == relation for x in own[:1]}
        ends = {draft.kind[own[1]] for draft in drafts for r, *own in draft.atoms if r == relation}
        if used & ends and not any(
            _has_cycle(draft, relation, number) for draft in drafts for number in range(len(draft))
        ):
            found.append(relation)
    return found


def _has_cycle(draft: Draft, relation: int, start: int) -> bool:
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
