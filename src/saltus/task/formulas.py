"""Stage `task`: conditions as conjunctions of literals and nested conditions.

What is not a literal becomes an `Exists`, plain or negated, which is tested once the variables that it shares with
its surroundings are bound:

    (or A B)                       no binding of no variables makes both `not A` and `not B` true
    (forall (?x) (imply P Q))      no binding of ?x makes `P` and `not Q` true
    (exists (?x) A)                some binding of ?x makes A true

So nothing is expanded or split: a static antecedent `P` is looked up by index, and an action keeps its one schema and
its parameters. Only the body of an axiom is split at disjunctions, since an atom may have several rules anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from saltus.errors import UnsupportedError
from saltus.pddl import Condition, ForAll, Or, TypedName
from saltus.pddl import Exists as NamedExists
from saltus.pddl import Literal as NamedLiteral
from saltus.task.task import Exists, Literal

MAX_VARIABLES = 64
"""Largest number of parameters of a schema plus variables of one of its effects or nested conditions; the kernel's
matcher recurses over them."""

Part = NamedLiteral | ForAll | NamedExists | Or
Conjunction = tuple[tuple[Literal, ...], tuple[Exists, ...]]
"""Literals and nested conditions."""


def negated(condition: Condition) -> Condition:
    """Negation of a conjunction, as a conjunction."""
    parts = [_negated_part(part) for part in condition]
    if len(parts) == 1:
        return parts[0]
    return (Or(tuple(parts)),) if all(parts) else ()


def _negated_part(part: Part) -> Condition:
    if isinstance(part, NamedLiteral):
        return (NamedLiteral(part.predicate, part.terms, not part.positive, part.offset),)
    if isinstance(part, Or):
        return tuple(entry for inner in part.parts for entry in negated(inner))
    other = NamedExists if isinstance(part, ForAll) else ForAll
    return (other(part.variables, negated(part.body), part.offset),)


def is_simple(part: Part) -> bool:
    """Whether a part is a literal or a universally quantified conjunction of simple parts."""
    return isinstance(part, NamedLiteral) or (isinstance(part, ForAll) and all(map(is_simple, part.body)))


def rules_of(condition: Condition) -> list[Condition]:
    """Conjunctions of which one must hold: the condition split at its disjunctions, also below `exists`."""
    rules: list[Condition] = [()]
    for part in condition:
        options: list[Condition] = [(part,)]
        if isinstance(part, Or):
            options = [rule for inner in part.parts for rule in rules_of(inner)]
        elif isinstance(part, NamedExists):
            options = [(NamedExists(part.variables, rule, part.offset),) for rule in rules_of(part.body)]
        if len(rules) * len(options) > 64:  # disjunctions beyond stay nested conditions
            options = [(part,)]
        rules = [rule + option for rule in rules for option in options]
    return rules


class Formulas:
    """Makes conditions of numbered literals; `literal` and `types` know the numbers of names."""

    def __init__(
        self,
        literal: Callable[[NamedLiteral, Mapping[str, int]], Literal],
        types: Callable[[tuple[str, ...]], tuple[int, ...]],
        file: str,
    ) -> None:
        self.literal = literal
        self.types = types
        self.file = file

    def conjunction(
        self,
        condition: Sequence[Part],
        slots: Mapping[str, int],
        count: int,
        own: list[tuple[int, ...]] | None = None,
        depth: int = 0,
    ) -> Conjunction:
        """Literals and nested conditions below the first `count` variables, of which `slots` names those in scope.

        With `own`, existential variables are appended to it, and their conditions join the conjunction.
        """
        literals: dict[Literal, None] = {}
        rest: list[tuple[Part, Mapping[str, int]]] = []
        waiting = [(part, slots) for part in reversed(condition)]
        while waiting:
            part, known = waiting.pop()
            if isinstance(part, NamedLiteral):
                literals[self.literal(part, known)] = None
            elif isinstance(part, NamedExists) and own is not None:
                inner = self._extended(known, part.variables, count + len(own))
                own.extend(self.types(entry.types) for entry in part.variables)
                waiting.extend((entry, inner) for entry in reversed(part.body))
            else:
                rest.append((part, known))
        total = count + len(own or ())
        if total > MAX_VARIABLES:
            raise UnsupportedError(f"{self.file}: a condition over {total:,} variables (more than {MAX_VARIABLES})")
        nested = [entry for part, known in rest for entry in self._nested(part, known, total, depth + 1)]
        return tuple(literals), tuple(nested)

    def _nested(self, part: Part, slots: Mapping[str, int], count: int, depth: int) -> list[Exists]:
        if depth > 32:  # the kernel's matcher recurses over them, too
            raise UnsupportedError(f"{self.file}: a condition with more than 32 levels")
        assert not isinstance(part, NamedLiteral)
        if isinstance(part, NamedExists):
            return [self._exists(part.variables, part.body, slots, count, depth, positive=True)]
        if isinstance(part, ForAll):
            return [
                self._exists(part.variables, _negated_part(entry), slots, count, depth, positive=False)
                for entry in part.body
            ]
        return [self._exists((), _negated_part(part), slots, count, depth, positive=False)]

    def _exists(
        self,
        variables: tuple[TypedName, ...],
        condition: Condition,
        slots: Mapping[str, int],
        count: int,
        depth: int,
        *,
        positive: bool,
    ) -> Exists:
        own = [self.types(entry.types) for entry in variables]
        inner = self._extended(slots, variables, count)
        literals, nested = self.conjunction(condition, inner, count, own, depth)
        return Exists(tuple(own), literals, nested, positive)

    def _extended(self, slots: Mapping[str, int], variables: Sequence[TypedName], first: int) -> Mapping[str, int]:
        return {**slots, **{entry.name: first + i for i, entry in enumerate(variables)}}
