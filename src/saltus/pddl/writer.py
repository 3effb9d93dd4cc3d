"""Stage `pddl`: from structures back to text. Reading the text gives the same structures again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from saltus.pddl.structures import (
    OBJECT,
    Axiom,
    Condition,
    Cost,
    Domain,
    Effect,
    Exists,
    ForAll,
    Literal,
    Or,
    Problem,
    Schema,
    TypedName,
)


def write_domain(domain: Domain) -> str:
    """PDDL text of a domain."""
    lines = [f"(define (domain {domain.name})", f"  (:requirements {' '.join(domain.requirements)})"]
    declared = [entry for entry in domain.types if entry.name != OBJECT]
    if declared:
        lines += ["  (:types", *(f"    {entry.name} - {type_text(entry.parents)}" for entry in declared), "  )"]
    if domain.constants:
        lines += ["  (:constants", *(f"    {_typed(entry)}" for entry in domain.constants), "  )"]
    lines += ["  (:predicates", *(f"    ({_signature(p.name, p.parameters)})" for p in domain.predicates), "  )"]
    if domain.functions:
        functions = (f"    ({_signature(f.name, f.parameters)}) - number" for f in domain.functions)
        lines += ["  (:functions", *functions, "  )"]
    lines += [_axiom(axiom) for axiom in domain.axioms]
    for schema in domain.schemas:
        lines += _schema(schema)
    return "\n".join([*lines, ")", ""])


def write_problem(domain: Domain, problem: Problem) -> str:
    """PDDL text of a problem."""
    lines = [f"(define (problem {problem.name})", f"  (:domain {problem.domain_name})"]
    if problem.requirements:
        lines.append(f"  (:requirements {' '.join(problem.requirements)})")
    lines += ["  (:objects", *(f"    {_typed(entry)}" for entry in problem.objects), "  )", "  (:init"]
    lines += [f"    ({' '.join(atom)})" for atom in problem.initial_atoms(domain)]
    lines += [f"    (= ({' '.join(key)}) {_number(value)})" for key, value in problem.values.items()]
    lines += ["  )", f"  (:goal {_condition(problem.goal)})"]
    if problem.minimize_cost:
        lines.append("  (:metric minimize (total-cost))")
    return "\n".join([*lines, ")", ""])


def type_text(types: Sequence[str]) -> str:
    """PDDL text of a type, or of alternatives: `block`, `(either block table)`."""
    return types[0] if len(types) == 1 else f"(either {' '.join(types)})"


def _typed(entry: TypedName) -> str:
    return f"{entry.name} - {type_text(entry.types)}"


def _signature(name: str, parameters: Iterable[TypedName]) -> str:
    return " ".join([name, *(_typed(entry) for entry in parameters)])


def _literal(literal: Literal) -> str:
    text = f"({' '.join((literal.predicate, *literal.terms))})"
    return text if literal.positive else f"(not {text})"


def _condition(condition: Condition) -> str:
    return f"(and {' '.join(part_text(part) for part in condition)})" if condition else "(and)"


def part_text(part: Literal | ForAll | Exists | Or) -> str:
    """PDDL text of one part of a condition."""
    if isinstance(part, Literal):
        return _literal(part)
    if isinstance(part, Or):
        return f"({' '.join(['or', *(_condition(inner) for inner in part.parts)])})"
    word = "forall" if isinstance(part, ForAll) else "exists"
    return f"({word} ({' '.join(_typed(v) for v in part.variables)}) {_condition(part.body)})"


def _axiom(axiom: Axiom) -> str:
    return f"  (:derived ({_signature(axiom.predicate, axiom.parameters)}) {_condition(axiom.condition)})"


def _effect(effect: Effect) -> str:
    text = f"(and {' '.join(_literal(literal) for literal in effect.literals)})"
    if effect.condition:
        text = f"(when {_condition(effect.condition)} {text})"
    if effect.variables:
        text = f"(forall ({' '.join(_typed(v) for v in effect.variables)}) {text})"
    return text


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else format(Decimal(repr(value)), "f")  # PDDL has no exponents


def _cost(cost: Cost) -> str:
    text = _number(cost) if isinstance(cost, float) else f"({' '.join((cost.function, *cost.terms))})"
    return f"(increase (total-cost) {text})"


def _schema(schema: Schema) -> list[str]:
    plain = [_literal(literal) for e in schema.effects if not e.variables and not e.condition for literal in e.literals]
    others = [_effect(effect) for effect in schema.effects if effect.variables or effect.condition]
    effects = [*plain, *others, *(_cost(cost) for cost in schema.costs)]
    return [
        f"  (:action {schema.name}",
        f"    :parameters ({' '.join(_typed(entry) for entry in schema.parameters)})",
        f"    :precondition {_condition(schema.precondition)}",
        f"    :effect (and {' '.join(effects)})",
        "  )",
    ]
