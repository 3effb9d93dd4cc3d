"""Stage `pddl`, part 4: axioms of derived predicates.

Takes `(:derived …)` groups; gives checked `Axiom`s, and the order in which derived predicates can be computed. Axioms
must be stratified: no derived predicate may depend on its own negation. Recursion without negation is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from saltus.errors import PddlError
from saltus.pddl.conditions import Scope, parse_condition, parse_variables, wrong_arity, wrong_type
from saltus.pddl.expressions import Group, as_group, fail, name_of, unknown
from saltus.pddl.structures import Axiom, Condition, Literal, Or

EXAMPLE = "'(:derived (p ?x) …)'"


def parse_axiom(scope: Scope, group: Group) -> Axiom:
    """The axiom in a `(:derived …)` group."""
    source = scope.source
    if len(group.items) != 3:
        fail(source, group.offset, "':derived' takes a predicate with variables and a condition", EXAMPLE)
    head = as_group(source, group.items[1], "a predicate such as '(p ?x)'")
    if not head.items:
        fail(source, head.offset, "empty list", "a predicate such as '(p ?x)'")
    name = name_of(source, head.items[0], "a predicate")
    predicate = scope.predicates.get(name.text)
    if predicate is None:
        unknown(source, name, "predicate", list(scope.predicates))
    parameters = parse_variables(source, scope.domain, head.items[1:])
    if len(parameters) != len(predicate.parameters):
        wrong_arity(source, name.offset, predicate, len(parameters))
    for own, declared in zip(parameters, predicate.parameters, strict=True):
        if not scope.domain.overlaps(own.types, declared.types):
            wrong_type(source, own.offset, own.name, own.types, declared, predicate)
    condition = parse_condition(scope.with_variables(parameters), group.items[2])
    return Axiom(predicate.name, parameters, condition, group.offset)


def check_stratified(scope: Scope, axioms: Sequence[Axiom]) -> None:
    """Raises an error if a derived predicate depends on its own negation."""
    together = {name: number for number, names in enumerate(strata(axioms)) for name in names}
    for axiom in axioms:
        for literal in literals_of(axiom.condition):
            if not literal.positive and together.get(literal.predicate) == together[axiom.predicate]:
                raise PddlError(
                    f"derived predicate {axiom.predicate!r} depends on its own negation",
                    scope.source.position(literal.offset),
                )


def strata(axioms: Sequence[Axiom]) -> list[tuple[str, ...]]:
    """Derived predicates in groups that depend on each other; a group depends on itself and on earlier groups only."""
    needs: dict[str, dict[str, None]] = {axiom.predicate: {} for axiom in axioms}
    for axiom in axioms:
        known = (literal.predicate for literal in literals_of(axiom.condition) if literal.predicate in needs)
        needs[axiom.predicate].update(dict.fromkeys(known))
    users: dict[str, dict[str, None]] = {name: {} for name in needs}
    for name, used in needs.items():
        for other in used:
            users[other][name] = None
    # Kosaraju's algorithm: it finds groups that need others before those others.
    finished = list(_finished(needs, list(needs), set()))
    found: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for name in reversed(finished):
        if name not in seen:
            found.append(tuple(sorted(_finished(users, [name], seen))))
    return found[::-1]


def _finished(edges: Mapping[str, Mapping[str, None]], starts: Sequence[str], seen: set[str]) -> Iterator[str]:
    """Names in the order in which a depth-first search leaves them; those in `seen`, which grows, are left out."""
    for start in starts:
        if start in seen:
            continue
        seen.add(start)
        stack = [(start, iter(edges[start]))]
        while stack:
            name, rest = stack[-1]
            following = next((other for other in rest if other not in seen), None)
            if following is None:
                stack.pop()
                yield name
            else:
                seen.add(following)
                stack.append((following, iter(edges[following])))


def literals_of(condition: Condition) -> Iterator[Literal]:
    """All literals of a condition, at any depth."""
    for part in condition:
        if isinstance(part, Literal):
            yield part
        elif isinstance(part, Or):
            for inner in part.parts:
                yield from literals_of(inner)
        else:
            yield from literals_of(part.body)
