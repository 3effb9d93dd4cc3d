"""Stage `pddl`: the immutable structures that the reader returns: `Domain`, `Problem` and their parts.

Names are in lower case. `offset` is a byte offset into the source, for error messages; comparisons ignore it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OBJECT = "object"
"""Root of every type hierarchy, and the type of everything declared without one."""

EQUALS = "="
"""Predicate name of equality literals."""


def _offset() -> int:
    return field(default=-1, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Type:
    """A declared type with its supertype; `object` has none. Few types have `others` besides."""

    name: str
    parent: str | None
    offset: int = _offset()
    others: tuple[str, ...] = ()

    @property
    def parents(self) -> tuple[str, ...]:
        """All supertypes that the domain names."""
        return () if self.parent is None else (self.parent, *self.others)


@dataclass(frozen=True, slots=True)
class TypedName:
    """A variable, constant or object; several types mean `(either …)`: it has one of them, not known which."""

    name: str
    types: tuple[str, ...]
    offset: int = _offset()


@dataclass(frozen=True, slots=True)
class Predicate:
    """A declared predicate."""

    name: str
    parameters: tuple[TypedName, ...]
    offset: int = _offset()


@dataclass(frozen=True, slots=True)
class Function:
    """A declared numeric function; only `total-cost` and static costs are supported."""

    name: str
    parameters: tuple[TypedName, ...]
    offset: int = _offset()


@dataclass(frozen=True, slots=True)
class Literal:
    """A possibly negated atom over variables (`?x`) and objects; the predicate `=` stands for equality."""

    predicate: str
    terms: tuple[str, ...]
    positive: bool = True
    offset: int = _offset()


@dataclass(frozen=True, slots=True)
class ForAll:
    """A universally quantified conjunction."""

    variables: tuple[TypedName, ...]
    body: Condition
    offset: int = _offset()


@dataclass(frozen=True, slots=True)
class Exists:
    """An existentially quantified conjunction."""

    variables: tuple[TypedName, ...]
    body: Condition
    offset: int = _offset()


@dataclass(frozen=True, slots=True)
class Or:
    """A disjunction of conjunctions; without parts it is false."""

    parts: tuple[Condition, ...]
    offset: int = _offset()


Condition = tuple["Literal | ForAll | Exists | Or", ...]
"""A conjunction. Negation stands in literals only: the reader moves it inwards and rewrites implications."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Literals made true for every binding of `variables` whose `condition` holds before the action.

    An atom that one action both adds and deletes is added.
    """

    variables: tuple[TypedName, ...]
    condition: Condition
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class NumericTerm:
    """An application of a numeric function."""

    function: str
    terms: tuple[str, ...]
    offset: int = _offset()


Cost = float | NumericTerm
"""A summand of an action's cost."""


@dataclass(frozen=True, slots=True)
class Schema:
    """An action schema."""

    name: str
    parameters: tuple[TypedName, ...]
    precondition: Condition
    effects: tuple[Effect, ...]
    costs: tuple[Cost, ...] = ()
    offset: int = _offset()


@dataclass(frozen=True, slots=True)
class Axiom:
    """A rule for a derived predicate: in every state, the atom is true for each binding whose condition holds.

    An atom of a derived predicate is true only if some axiom says so.
    """

    predicate: str
    parameters: tuple[TypedName, ...]
    condition: Condition
    offset: int = _offset()


@dataclass(frozen=True)
class Domain:
    """A checked domain; `types` starts with `object` and lists every supertype before its subtypes."""

    name: str
    requirements: tuple[str, ...]
    types: tuple[Type, ...]
    constants: tuple[TypedName, ...]
    predicates: tuple[Predicate, ...]
    functions: tuple[Function, ...]
    schemas: tuple[Schema, ...]
    axioms: tuple[Axiom, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)
    file: str = field(default="<text>", compare=False)

    def ancestors(self, name: str) -> frozenset[str]:
        """The type itself and all its supertypes."""
        return self._ancestors[name]

    @cached_property
    def derived(self) -> frozenset[str]:
        """Names of the derived predicates: those with axioms."""
        return frozenset(axiom.predicate for axiom in self.axioms)

    def fits(self, types: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
        """Whether everything of the types `types` has one of the types `wanted`."""
        if types == wanted:  # nearly always, and a problem may ask a million times
            return True
        return all(any(want in self.ancestors(name) for want in wanted) for name in types)

    def overlaps(self, types: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
        """Whether something of the types `types` may have one of the types `wanted`."""
        return any(want in self.ancestors(name) or name in self.ancestors(want) for name in types for want in wanted)

    @cached_property
    def _ancestors(self) -> dict[str, frozenset[str]]:
        sets: dict[str, frozenset[str]] = {}
        for entry in self.types:  # supertypes first
            sets[entry.name] = frozenset({entry.name}).union(*(sets[parent] for parent in entry.parents))
        return sets


@dataclass(frozen=True, eq=False)
class Problem:
    """A checked problem.

    Initial atoms are flat: atom i has predicate number `init_predicate[i]` of the domain, and its arguments come next
    in `init_argument`, as indices into `constants + objects`.
    """

    name: str
    domain_name: str
    requirements: tuple[str, ...]
    objects: tuple[TypedName, ...]
    init_predicate: NDArray[np.int32] = field(repr=False)
    init_argument: NDArray[np.int32] = field(repr=False)
    values: dict[tuple[str, ...], float]
    goal: Condition
    minimize_cost: bool
    warnings: tuple[str, ...] = ()
    file: str = "<text>"

    def initial_atoms(self, domain: Domain) -> Iterator[tuple[str, ...]]:
        """Initial atoms as names, `(predicate, object, …)`, in the order of the text."""
        names = [entry.name for entry in (*domain.constants, *self.objects)]
        arity = [len(predicate.parameters) for predicate in domain.predicates]
        arguments = self.init_argument.tolist()
        start = 0
        for number in self.init_predicate.tolist():
            end = start + arity[number]
            yield (domain.predicates[number].name, *(names[i] for i in arguments[start:end]))
            start = end
