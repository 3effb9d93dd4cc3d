"""Stage `task`: the lifted task as integers.

Objects, types, predicates and schemas are numbered in the order of the domain and problem files, constants before
objects. Nothing is grounded: terms of a schema's literals are parameter numbers (>= 0) or ~object (< 0). Static
predicates, which no effect mentions, store their atoms in one sorted array each; atoms of fluent predicates are codes.
Derived predicates are fluent: a state holds the derived atoms that follow from its other atoms. Conjuncts of the goal
that are no literals become derived atoms, whose predicates follow those of the domain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltus.errors import InputError, SaltusError, suggestion
from saltus.pddl import Domain, Problem
from saltus.task.cache import PerObject
from saltus.task.state import Goal, State

EQUALITY = -1
"""Predicate number of equality literals."""


class Action(NamedTuple):
    """A ground action: a schema number and object numbers."""

    schema: int
    arguments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A lifted literal. Terms >= 0 are parameters, terms < 0 are ~object."""

    predicate: int
    terms: tuple[int, ...]
    positive: bool = True


@dataclass(frozen=True, slots=True)
class Exists:
    """A nested condition: some binding of `variables` makes all literals and nested conditions true; or none does, if
    it is not `positive`.

    The variables, listed by their types, are numbered after those around the condition.
    """

    variables: tuple[tuple[int, ...], ...]
    literals: tuple[Literal, ...]
    nested: tuple[Exists, ...] = ()
    positive: bool = True


@dataclass(frozen=True, slots=True)
class Effect:
    """Atoms added and deleted for each binding of `variables` whose `condition` holds before the action.

    The variables are numbered after the schema's parameters. `nested` is part of the condition.
    """

    variables: tuple[tuple[int, ...], ...]
    condition: tuple[Literal, ...]
    adds: tuple[Literal, ...]
    deletes: tuple[Literal, ...]
    nested: tuple[Exists, ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """An action schema. `parameters` lists the admissible types of each parameter; `nested` is part of the
    precondition."""

    name: str
    parameters: tuple[tuple[int, ...], ...]
    precondition: tuple[Literal, ...]
    effects: tuple[Effect, ...]
    nested: tuple[Exists, ...] = ()

    @property
    def is_conditional(self) -> bool:
        """Whether an effect has a condition or variables of its own."""
        return any(effect.variables or effect.condition or effect.nested for effect in self.effects)


@dataclass(frozen=True, slots=True)
class Axiom:
    """A rule that makes an atom true. Its first variables are the atom's arguments, in order.

    Axioms of one stratum depend on each other at most positively; they are computed after all lower strata.
    """

    predicate: int
    variables: tuple[tuple[int, ...], ...]
    condition: tuple[Literal, ...]
    nested: tuple[Exists, ...]
    stratum: int


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """A problem ready to be searched; the numbering is described at the top of the module."""

    domain: Domain
    problem: Problem
    objects: tuple[str, ...]
    types: tuple[str, ...]
    """Declared types in domain order, followed by one entry per `(either …)` that is the type of some object."""
    is_a: NDArray[np.bool_]
    """[types, types]: whether everything of the first type is of the second type."""
    object_type: NDArray[np.int32]
    predicates: tuple[str, ...]
    """Predicates of the domain, followed by those of derived goal atoms."""
    arity: NDArray[np.int32]
    fluent: NDArray[np.bool_]
    code_offset: NDArray[np.int64]
    """[predicates + 1]: first code of each predicate, and the number of all codes."""
    static_atoms: tuple[NDArray[np.int32], ...]
    """One sorted [atoms, arity] array per predicate; empty for fluent predicates."""
    schemas: tuple[Schema, ...]
    axioms: tuple[Axiom, ...]
    """By stratum, lowest first."""
    initial_state: State
    goal: Goal

    def __repr__(self) -> str:
        return f"<Task {self.name!r} of the domain {self.domain.name!r}>"

    @property
    def name(self) -> str:
        """Name of the problem."""
        return self.problem.name

    # -- atoms -------------------------------------------------------------------------------------------------------

    def encode(self, predicate: int, arguments: Iterable[int]) -> int:
        """Code of a ground atom. Codes of one predicate are ordered like the argument tuples."""
        code = 0
        for number in arguments:
            code = code * len(self.objects) + number
        return int(self.code_offset[predicate]) + code

    def ground(self, literal: Literal, binding: Sequence[int]) -> int:
        """Code of a literal's atom with objects for its variables."""
        return self.encode(literal.predicate, (binding[term] if term >= 0 else ~term for term in literal.terms))

    def decode(self, code: int) -> tuple[int, ...]:
        """`(predicate, argument, …)` of a code."""
        predicate = int(np.searchsorted(self.code_offset, code, side="right")) - 1
        rest = code - int(self.code_offset[predicate])
        arguments: list[int] = []
        for _ in range(int(self.arity[predicate])):
            rest, number = divmod(rest, len(self.objects))
            arguments.append(number)
        return (predicate, *reversed(arguments))

    def atom_name(self, code: int) -> str:
        """Readable atom, such as `(on b1 b2)`."""
        predicate, *arguments = self.decode(code)
        return f"({' '.join((self.predicates[predicate], *(self.objects[i] for i in arguments)))})"

    def atom(self, text: str) -> int:
        """Code of a readable atom, `(on b1 b2)` or `on b1 b2`; unknown names raise an `InputError`."""
        name, *arguments = text.strip().strip("()").lower().split() or [""]
        if name not in self.predicate_number:
            raise InputError(f"unknown predicate {name!r}{suggestion(name, self.predicate_number)}")
        predicate = self.predicate_number[name]
        for argument in arguments:
            if argument not in self.object_number:
                raise InputError(f"unknown object {argument!r}{suggestion(argument, self.object_number)}")
        if len(arguments) != self.arity[predicate]:
            raise InputError(f"predicate {name!r} takes {self.arity[predicate]} arguments, found {len(arguments)}")
        return self.encode(predicate, (self.object_number[argument] for argument in arguments))

    def state(self, atoms: Iterable[str]) -> State:
        """State with these readable fluent atoms, and the derived atoms that follow from them."""
        codes = [self.atom(text) for text in atoms]
        for code in codes:
            if not self.fluent[self.decode(code)[0]]:
                raise InputError(f"{self.atom_name(code)} is static and cannot be part of a state")
        return self.completed(codes)

    def completed(self, codes: Iterable[int]) -> State:
        """State with these fluent atoms and the derived atoms that follow; derived ones among `codes` are dropped."""
        state = State(codes)
        if not self.axioms:
            return state
        from saltus.task.kernel_task import derive  # needs this module

        return derive(self, state)

    @property
    def derived(self) -> frozenset[int]:
        """Numbers of the derived predicates."""
        return frozenset(axiom.predicate for axiom in self.axioms) | frozenset(
            self.predicate_number[name] for name in self.domain.derived
        )

    @property
    def has_derived_goals(self) -> bool:
        """Whether a conjunct of the goal is no literal of the domain, but a derived atom that stands for a formula."""
        return len(self.predicates) > len(self.domain.predicates)

    @property
    def uses_adl(self) -> bool:
        """Whether some condition is more than a conjunction of literals, or a predicate is derived."""
        return bool(self.axioms) or next(self.nested_conditions(), None) is not None

    def nested_conditions(self) -> Iterator[Exists]:
        """All nested conditions of schemas, effects and axioms, at any depth."""
        waiting: list[Exists] = []
        for schema in self.schemas:
            waiting += schema.nested
            for effect in schema.effects:
                waiting += effect.nested
        for axiom in self.axioms:
            waiting += axiom.nested
        while waiting:
            entry = waiting.pop()
            yield entry
            waiting += entry.nested

    def make_goal(self, positive: Iterable[int], negative: Iterable[int] = ()) -> Goal:
        """Goal from codes. Static literals are decided here: true ones are dropped, a false one makes it impossible."""
        impossible = False
        wanted: list[int] = []
        unwanted: list[int] = []
        for codes, kept, sign in ((list(positive), wanted, True), (list(negative), unwanted, False)):
            predicates = np.searchsorted(self.code_offset, codes, side="right") - 1
            for code, is_fluent in zip(codes, self.fluent[predicates].tolist(), strict=True):
                if is_fluent:
                    kept.append(code)
                else:
                    impossible |= (code in self.static_codes) != sign
        return Goal(wanted, unwanted, impossible)

    @property
    def static_codes(self) -> frozenset[int]:
        """Codes of all static atoms; needed by the slow twins and by goals with static atoms only."""
        return _STATIC_CODES.of(self)

    @property
    def predicate_number(self) -> dict[str, int]:
        """Number of each predicate by name."""
        return _PREDICATE_NUMBER.of(self)

    @property
    def object_number(self) -> dict[str, int]:
        """Number of each object by name."""
        return _OBJECT_NUMBER.of(self)

    @property
    def schema_number(self) -> dict[str, int]:
        """Number of each schema by name."""
        return _SCHEMA_NUMBER.of(self)

    def objects_of(self, types: tuple[int, ...]) -> NDArray[np.int32]:
        """Objects of at least one of the types, ascending."""
        return np.flatnonzero(self.is_a[self.object_type][:, list(types)].any(axis=1)).astype(np.int32)

    # -- actions -----------------------------------------------------------------------------------------------------

    def action_name(self, action: Action) -> str:
        """Readable action, such as `(stack b1 b2)`."""
        return f"({' '.join((self.schemas[action.schema].name, *(self.objects[i] for i in action.arguments)))})"

    def action(self, text: str) -> Action:
        """Action of a readable name; unknown names and a wrong number of arguments raise an `InputError`."""
        name, *arguments = text.strip().strip("()").lower().split() or [""]
        if name not in self.schema_number:
            raise InputError(f"unknown action {name!r}{suggestion(name, self.schema_number)}")
        for argument in arguments:
            if argument not in self.object_number:
                raise InputError(f"unknown object {argument!r}{suggestion(argument, self.object_number)}")
        schema = self.schema_number[name]
        arity = len(self.schemas[schema].parameters)
        if len(arguments) != arity:
            raise InputError(f"action {name!r} takes {arity} arguments, found {len(arguments)}")
        return Action(schema, tuple(self.object_number[argument] for argument in arguments))

    @property
    def has_costs(self) -> bool:
        """Whether the problem minimises the total cost rather than the number of actions."""
        return self.problem.minimize_cost

    def action_cost(self, action: Action) -> float:
        """Cost of an action; 1 unless the problem minimises the total cost."""
        if not self.has_costs:
            return 1.0
        schema = self.domain.schemas[action.schema]
        bound = {p.name: self.objects[i] for p, i in zip(schema.parameters, action.arguments, strict=True)}
        total = 0.0
        for cost in schema.costs:
            if isinstance(cost, float):
                total += cost
                continue
            key = (cost.function, *(bound.get(term, term) for term in cost.terms))
            if key not in self.problem.values:
                raise SaltusError(f"{self.problem.file}: no value for ({' '.join(key)})")
            total += self.problem.values[key]
        return total

    # -- sizes -------------------------------------------------------------------------------------------------------

    @property
    def object_count(self) -> int:
        """Number of objects, including constants, as the paper counts them."""
        return len(self.objects)

    @property
    def atom_count(self) -> int:
        """Number of atoms as the paper counts them: initial atoms, one per object and each of its types (including
        `object`), and one `(= o o)` per object if the domain requires equality."""
        declared = len(self.domain.types)
        type_atoms = int(self.is_a[self.object_type, :declared].sum())
        equalities = self.object_count if ":equality" in self.domain.requirements else 0
        return len(self.problem.init_predicate) + type_atoms + equalities


def _static_codes(task: Task) -> frozenset[int]:
    codes: set[int] = set()
    for predicate, rows in enumerate(task.static_atoms):
        radix = len(task.objects) ** np.arange(rows.shape[1] - 1, -1, -1, dtype=np.int64)
        codes.update((int(task.code_offset[predicate]) + rows.astype(np.int64) @ radix).tolist())
    return frozenset(codes)


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: i for i, name in enumerate(names)}


_STATIC_CODES = PerObject(_static_codes)
_PREDICATE_NUMBER = PerObject[Task, dict[str, int]](lambda task: _numbered(task.predicates))
_OBJECT_NUMBER = PerObject[Task, dict[str, int]](lambda task: _numbered(task.objects))
_SCHEMA_NUMBER = PerObject[Task, dict[str, int]](lambda task: _numbered(entry.name for entry in task.schemas))
