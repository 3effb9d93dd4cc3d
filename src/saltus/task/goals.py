"""Stage `task`: the goal as a conjunction of literals and derived atoms.

Universal quantifiers on top are expanded over the objects, and static literals are decided. A conjunct that is still
no conjunction of literals becomes an atom of a derived predicate of its own, whose arguments are the variables of the
quantifiers around it. So the number of reached goals still counts conjuncts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, product
from math import prod
from typing import NoReturn

from saltus.errors import UnsupportedError
from saltus.pddl import Axiom, Condition, Domain, Exists, ForAll, Literal, Or, Problem, TypedName
from saltus.pddl.axioms import literals_of
from saltus.pddl.structures import EQUALS

MAX_EXPANSION = 1_000_000
"""Largest number of literals that a universal precondition or goal may expand to."""

Part = Literal | ForAll | Exists | Or
Truth = bool | Condition
"""What a ground condition comes down to: a constant, or a condition with fluent literals."""


def refuse_expansion(problem: Problem) -> NoReturn:
    """Raises the error for a quantifier over too many objects."""
    limit = f"'forall' that expands to more than {MAX_EXPANSION:,} literals"
    raise UnsupportedError(f"{problem.file}: {limit}")


@dataclass
class GoalParts:
    """Ground literals that must hold, and the axioms of the predicates that are not the domain's."""

    literals: list[Literal] = field(default_factory=list)
    axioms: list[Axiom] = field(default_factory=list)
    impossible: bool = False


def goal_parts(
    domain: Domain, problem: Problem, fluent: frozenset[str], objects: Callable[[tuple[str, ...]], list[str]]
) -> GoalParts:
    """Parts of the problem's goal; `objects` lists the objects of a type, `fluent` the predicates that may change."""
    return _Expansion(domain, problem, fluent, objects).run()


class _Expansion:
    def __init__(
        self, domain: Domain, problem: Problem, fluent: frozenset[str], objects: Callable[[tuple[str, ...]], list[str]]
    ) -> None:
        self.problem = problem
        self.fluent = fluent
        self.objects = objects
        self.names = {entry.name for entry in domain.predicates}
        formulas = tuple(part for part in problem.goal if not isinstance(part, Literal))
        mentioned = {literal.predicate for literal in literals_of(formulas)} - fluent - {EQUALS}
        self.static = {atom for atom in problem.initial_atoms(domain) if atom[0] in mentioned} if mentioned else set()
        self.parts = GoalParts()

    def run(self) -> GoalParts:
        for part in self.problem.goal:
            if isinstance(part, Literal):
                self.parts.literals.append(part)
            else:
                self._add(part, ())
        return self.parts

    def _add(self, part: Part, variables: tuple[TypedName, ...]) -> None:
        """Adds what a conjunct below universal quantifiers comes down to, for each binding of their variables."""
        domains = [self.objects(entry.types) for entry in variables]
        if prod(len(entry) for entry in domains) > MAX_EXPANSION:
            refuse_expansion(self.problem)
        if isinstance(part, ForAll):
            for inner in part.body or (Or(((),)),):
                self._add(inner, variables + part.variables)
            return
        derived: str | None = None
        names = [entry.name for entry in variables]
        for values in product(*domains):
            truth = self._part(part, dict(zip(names, values, strict=True)))
            if truth is False:
                self.parts.impossible = True
            elif truth is not True and all(isinstance(entry, Literal) for entry in truth):
                self.parts.literals += [entry for entry in truth if isinstance(entry, Literal)]
            elif truth is not True:
                derived = derived or self._new_name()
                self.parts.literals.append(Literal(derived, values))
            if len(self.parts.literals) > MAX_EXPANSION:
                refuse_expansion(self.problem)
        if derived:
            self.parts.axioms.append(Axiom(derived, variables, (part,)))

    def _new_name(self) -> str:
        name = next(name for i in count(len(self.parts.axioms) + 1) if (name := f"goal:{i}") not in self.names)
        self.names.add(name)
        return name

    def _conjunction(self, condition: Condition, bound: Mapping[str, str]) -> Truth:
        """What a conjunction comes down to under a binding of some variables."""
        kept: list[Part] = []
        for part in condition:
            truth = self._part(part, bound)
            if truth is False:
                return False
            kept += () if truth is True else truth
        return tuple(kept) or True

    def _part(self, part: Part, bound: Mapping[str, str]) -> Truth:
        if isinstance(part, Literal):
            return self._literal(part, bound)
        if isinstance(part, Or):
            found = [self._conjunction(inner, bound) for inner in part.parts]
            if any(truth is True for truth in found):
                return True
            kept = tuple(truth for truth in found if not isinstance(truth, bool))
            return (kept[0] if len(kept) == 1 else (Or(kept, part.offset),)) if kept else False
        truth = self._conjunction(part.body, bound)
        has_objects = all(self.objects(entry.types) for entry in part.variables)
        if isinstance(truth, bool):
            return truth and has_objects if isinstance(part, Exists) else truth or not has_objects
        return (replace(part, body=truth),)

    def _literal(self, literal: Literal, bound: Mapping[str, str]) -> Truth:
        terms = tuple(bound.get(term, term) for term in literal.terms)
        if literal.predicate in self.fluent or any(term[0] == "?" for term in terms):
            return (Literal(literal.predicate, terms, literal.positive, literal.offset),)
        if literal.predicate == EQUALS:
            return (terms[0] == terms[1]) == literal.positive
        return ((literal.predicate, *terms) in self.static) == literal.positive
