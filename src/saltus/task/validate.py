"""Stage `task`: the judge of plans.

Takes a task and a plan, replays the plan on sets of names taken from the parsed domain and problem, and says at which
step which condition fails. It deliberately shares nothing with the kernel or with the integer task, so a mistake there
cannot hide here. Formulas are evaluated as the domain and the problem state them; derived atoms are computed in states
where a condition asks for one. Cost: the length of the plan times the size of a precondition, with quantifiers over all
objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from saltus.pddl import Condition, Domain, Exists, ForAll, Literal, Or, Problem, Schema
from saltus.pddl.structures import EQUALS
from saltus.pddl.writer import part_text
from saltus.task.derivation import Atom, Solver
from saltus.task.plan import Plan
from saltus.task.task import Task


@dataclass(frozen=True)
class Verdict:
    """Verdict on a plan. `step` is the number (from 1) of the failing action, None if only the goal is missed."""

    valid: bool
    length: int
    cost: float
    unit_cost: bool
    reason: str = ""
    step: int | None = None

    def __bool__(self) -> bool:
        return self.valid


def validate(task: Task, plan: Plan) -> Verdict:
    """Verdict on the plan. An invalid plan gives a verdict with a reason, never an exception."""
    return _Judge(task.domain, task.problem).judge(plan)


class _Judge:
    def __init__(self, domain: Domain, problem: Problem) -> None:
        self.domain = domain
        self.problem = problem
        self.types = {entry.name: entry.types for entry in (*domain.constants, *problem.objects)}
        self.schemas = {schema.name: schema for schema in domain.schemas}
        self.solver = Solver(domain, self.types)
        self.derived: set[Atom] | None = None  # in the state at hand, once a condition asks for a derived atom

    def judge(self, plan: Plan) -> Verdict:
        atoms: set[Atom] = set(self.problem.initial_atoms(self.domain))
        unit = not self.problem.minimize_cost
        cost = 0.0

        def invalid(reason: str, step: int | None) -> Verdict:
            return Verdict(False, len(plan), cost, unit, reason, step)

        for step, action in enumerate(plan.steps, start=1):
            name, *arguments = action or ("",)
            text = f"({' '.join((name, *arguments))})"
            schema = self.schemas.get(name)
            if schema is None:
                return invalid(f"step {step} {text}: unknown action {name!r}", step)
            flaw = self._arguments_flaw(schema, arguments)
            if flaw:
                return invalid(f"step {step} {text}: {flaw}", step)
            bound = {entry.name: value for entry, value in zip(schema.parameters, arguments, strict=True)}
            failing = next(self._failing(schema.precondition, bound, atoms), None)
            if failing is not None:
                return invalid(f"step {step} {text}: precondition {failing} does not hold", step)
            flaw, price = (None, 1.0) if unit else self._price(schema, bound)
            if flaw:
                return invalid(f"step {step} {text}: {flaw}", step)
            cost += price
            self._apply(schema, bound, atoms)
        missing = list(self._failing(self.problem.goal, {}, atoms))
        if missing:
            shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            return invalid(f"goal is not reached: {shown} missing", None)
        return Verdict(True, len(plan), cost, unit)

    def _arguments_flaw(self, schema: Schema, arguments: list[str]) -> str | None:
        if len(arguments) != len(schema.parameters):
            return f"takes {len(schema.parameters)} arguments, found {len(arguments)}"
        for entry, value in zip(schema.parameters, arguments, strict=True):
            if value not in self.types:
                return f"unknown object {value!r}"
            if not self.domain.fits(self.types[value], entry.types):
                return f"{value!r} is of type {' or '.join(self.types[value])}, not {' or '.join(entry.types)}"
        return None

    def _failing(self, condition: Condition, bound: Mapping[str, str], atoms: set[Atom]) -> Iterator[str]:
        """False parts of the condition, as text."""
        for part in condition:
            if isinstance(part, ForAll):
                for inner in self.solver.bindings(part.variables, bound):
                    yield from self._failing(part.body, inner, atoms)
            elif not self._part_holds(part, bound, atoms):
                yield part_text(_bound_part(part, bound))

    def _holds(self, condition: Condition, bound: Mapping[str, str], atoms: set[Atom]) -> bool:
        return all(self._part_holds(part, bound, atoms) for part in condition)

    def _part_holds(self, part: Literal | ForAll | Exists | Or, bound: Mapping[str, str], atoms: set[Atom]) -> bool:
        if isinstance(part, Literal):
            return self._is_true(_ground(part, bound), atoms) == part.positive
        if isinstance(part, Or):
            return any(self._holds(inner, bound, atoms) for inner in part.parts)
        found = (self._holds(part.body, inner, atoms) for inner in self.solver.bindings(part.variables, bound))
        return any(found) if isinstance(part, Exists) else all(found)

    def _is_true(self, atom: Atom, atoms: set[Atom]) -> bool:
        if atom[0] == EQUALS:
            return atom[1] == atom[2]
        if atom[0] not in self.domain.derived:
            return atom in atoms
        if self.derived is None:
            self.derived = self.solver.derived(atoms)
        return atom in self.derived

    def _apply(self, schema: Schema, bound: Mapping[str, str], atoms: set[Atom]) -> None:
        added: set[Atom] = set()
        deleted: set[Atom] = set()
        for effect in schema.effects:
            for inner in self.solver.bindings(effect.variables, bound):
                if self._holds(effect.condition, inner, atoms):
                    for literal in effect.literals:
                        (added if literal.positive else deleted).add(_ground(literal, inner))
        atoms -= deleted
        atoms |= added
        self.derived = None

    def _price(self, schema: Schema, bound: Mapping[str, str]) -> tuple[str | None, float]:
        total = 0.0
        for cost in schema.costs:
            if isinstance(cost, float):
                total += cost
                continue
            key = (cost.function, *(bound.get(term, term) for term in cost.terms))
            if key not in self.problem.values:
                return f"no cost for ({' '.join(key)})", 0.0
            total += self.problem.values[key]
        return None, total


def _ground(literal: Literal, bound: Mapping[str, str]) -> Atom:
    return (literal.predicate, *(bound.get(term, term) for term in literal.terms))


def _bound_part(part: Literal | ForAll | Exists | Or, bound: Mapping[str, str]) -> Literal | ForAll | Exists | Or:
    """The part with objects in place of variables."""
    if isinstance(part, Literal):
        return replace(part, terms=_ground(part, bound)[1:])
    if isinstance(part, Or):
        return replace(part, parts=tuple(tuple(_bound_part(entry, bound) for entry in inner) for inner in part.parts))
    return replace(part, body=tuple(_bound_part(entry, bound) for entry in part.body))
