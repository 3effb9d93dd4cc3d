"""Stage `task`: derived atoms by name, for the judge of plans.

Takes a domain, objects and a set of atoms; gives the derived atoms, the least fixed point of the user's axioms stratum
by stratum. Shares nothing with the kernel or with the integer task. Conditions are solved as they are written: parts
whose variables are bound are tested, positive atoms bind variables to what is true, and what is left is tried with all
objects of its type.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import product

from saltus.pddl import Condition, Domain, Exists, ForAll, Literal, Or, TypedName
from saltus.pddl.axioms import strata
from saltus.pddl.structures import EQUALS

Atom = tuple[str, ...]
Bound = Mapping[str, str]
Part = Literal | ForAll | Exists | Or


class AtomIndex:
    """Atoms by predicate, and by predicate and one argument."""

    def __init__(self, atoms: set[Atom]) -> None:
        self.all: set[Atom] = set()
        self._by_predicate: dict[str, list[Atom]] = defaultdict(list)
        self._by_argument: dict[tuple[str, int, str], list[Atom]] = defaultdict(list)
        for atom in atoms:
            self.add(atom)

    def add(self, atom: Atom) -> None:
        """Adds an atom that is not there."""
        self.all.add(atom)
        self._by_predicate[atom[0]].append(atom)
        for i, name in enumerate(atom[1:]):
            self._by_argument[atom[0], i, name].append(atom)

    def candidates(self, literal: Literal, bound: Bound) -> list[Atom]:
        """Atoms that may match a literal, as a list of its own: atoms may be added while it is used."""
        best = self._by_predicate[literal.predicate]
        for i, term in enumerate(literal.terms):
            name = bound.get(term, term)
            if name[0] != "?" and len(found := self._by_argument[literal.predicate, i, name]) < len(best):
                best = found
        return list(best)


class Solver:
    """Bindings under which conditions hold in a set of atoms."""

    def __init__(self, domain: Domain, types: Mapping[str, tuple[str, ...]]) -> None:
        self.domain = domain
        self.types = types
        self._members: dict[tuple[str, ...], list[str]] = {}
        self._free: dict[int, tuple[Part, frozenset[str]]] = {}

    def members(self, types: tuple[str, ...]) -> list[str]:
        """Objects of some type."""
        if types not in self._members:
            fitting = [name for name, own in self.types.items() if self.domain.fits(own, types)]
            self._members[types] = fitting
        return self._members[types]

    def derived(self, atoms: set[Atom]) -> set[Atom]:
        """Derived atoms that follow from the atoms."""
        index = AtomIndex(atoms)
        for names in strata(self.domain.axioms):
            axioms = [axiom for axiom in self.domain.axioms if axiom.predicate in names]
            grows = True
            while grows:
                grows = False
                for axiom in axioms:
                    variables = [entry.name for entry in axiom.parameters]
                    heads = {
                        (axiom.predicate, *(bound[name] for name in variables))
                        for bound in self.solutions(axiom.parameters, axiom.condition, {}, index)
                    }
                    for atom in heads - index.all:
                        index.add(atom)
                        grows = True
        return index.all - atoms

    def holds(self, condition: Condition, bound: Bound, index: AtomIndex) -> bool:
        """Whether a condition whose free variables are bound is true."""
        return all(self._part_holds(part, bound, index) for part in condition)

    def _part_holds(self, part: Part, bound: Bound, index: AtomIndex) -> bool:
        if isinstance(part, Literal):
            names = [bound.get(term, term) for term in part.terms]
            true = names[0] == names[1] if part.predicate == EQUALS else (part.predicate, *names) in index.all
            return true == part.positive
        if isinstance(part, Or):
            return any(self.holds(inner, bound, index) for inner in part.parts)
        if isinstance(part, Exists):
            return any(True for _ in self.solutions(part.variables, part.body, bound, index))
        return all(self.holds(part.body, inner, index) for inner in self.bindings(part.variables, bound))

    def bindings(self, variables: tuple[TypedName, ...], bound: Bound) -> Iterator[Bound]:
        """`bound` extended by every choice of objects for the variables."""
        for values in product(*(self.members(entry.types) for entry in variables)):
            yield {**bound, **{entry.name: value for entry, value in zip(variables, values, strict=True)}}

    def solutions(
        self, variables: tuple[TypedName, ...], condition: Condition, bound: Bound, index: AtomIndex
    ) -> Iterator[Bound]:
        """Bindings that extend `bound` by objects for the variables and make the condition true, some repeatedly."""
        open_ = {entry.name: entry.types for entry in variables}
        outer = {name: value for name, value in bound.items() if name not in open_}
        yield from self._solve(open_, condition, outer, index)

    def _solve(
        self, types: Mapping[str, tuple[str, ...]], condition: Condition, bound: Bound, index: AtomIndex
    ) -> Iterator[Bound]:
        """Bindings of all names in `types`; `condition` is what remains to be made true."""
        rest: list[Part] = []
        for part in condition:
            if any(name in types and name not in bound for name in self.free(part)):
                rest.append(part)
            elif not self._part_holds(part, bound, index):
                return
        if not rest:
            open_ = tuple(TypedName(name, own) for name, own in types.items() if name not in bound)
            yield from self.bindings(open_, bound)
            return
        chosen = min(rest, key=lambda part: self._cost(part, bound, index))
        others = tuple(part for part in rest if part is not chosen)
        if isinstance(chosen, Literal) and chosen.positive and chosen.predicate != EQUALS:
            for atom in index.candidates(chosen, bound):
                inner = self._unified(types, chosen, atom, bound)
                if inner is not None:
                    yield from self._solve(types, others, inner, index)
            return
        if isinstance(chosen, Or):
            for alternative in chosen.parts:
                yield from self._solve(types, (*alternative, *others), bound, index)
            return
        if isinstance(chosen, Exists):
            own = {entry.name: entry.types for entry in chosen.variables}
            around = {name: value for name, value in bound.items() if name not in own}
            asked = {name: types[name] for name in self.free(chosen) if name in types and name not in bound}
            for found in self._solve({**asked, **own}, chosen.body, around, index):
                fresh = {name: found[name] for name in asked}
                yield from self._solve(types, others, {**bound, **fresh}, index)
            return
        name = next(name for name in sorted(self.free(chosen)) if name in types and name not in bound)
        for value in self.members(types[name]):
            yield from self._solve(types, tuple(rest), {**bound, name: value}, index)

    def _cost(self, part: Part, bound: Bound, index: AtomIndex) -> tuple[int, int]:
        """What is solved first: atoms with few candidates, then quantifiers and alternatives, then everything else."""
        if isinstance(part, Literal) and part.positive and part.predicate != EQUALS:
            return 0, len(index.candidates(part, bound))
        if isinstance(part, Literal) and part.positive:
            return 1, 0
        return (2, 0) if isinstance(part, Exists | Or) else (3, 0)

    def _unified(
        self, types: Mapping[str, tuple[str, ...]], literal: Literal, atom: Atom, bound: Bound
    ) -> Bound | None:
        """`bound` with a literal's variables bound to an atom's arguments; None if they do not fit."""
        found = dict(bound)
        for term, name in zip(literal.terms, atom[1:], strict=True):
            if term[0] == "?" and term not in found:
                if not self.domain.fits(self.types[name], types[term]):
                    return None
                found[term] = name
            elif found.get(term, term) != name:
                return None
        return found

    def free(self, part: Part) -> frozenset[str]:
        """Free variables of a part."""
        known = self._free.get(id(part))
        if known is None:
            known = self._free[id(part)] = (part, _free_variables(part))  # the part is kept, so its id stays its own
        return known[1]


def _free_variables(part: Part) -> frozenset[str]:
    if isinstance(part, Literal):
        return frozenset(term for term in part.terms if term[0] == "?")
    if isinstance(part, Or):
        return frozenset(name for inner in part.parts for entry in inner for name in _free_variables(entry))
    own = {entry.name for entry in part.variables}
    return frozenset(name for entry in part.body for name in _free_variables(entry)) - own
