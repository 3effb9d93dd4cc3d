"""Stage `task`: the kernel's copy of a task, made once per task.

The kernel is given tuples, lists of tuples, and arrays:

    domain     list of objects; the last domain holds all objects
    schema     list of the parameters' domains, precondition, list of effects
    effect     list of the domains of its own variables, condition, adds, deletes
    condition  list of literals, as are precondition, adds and deletes
    literal    predicate, sign, terms
    nested     sign, number of shared variables, list of the domains of all its variables, condition
    axiom      stratum, predicate, list of the variables' domains, condition

Nested condition number i stands in a condition as a negative literal of the predicate -2 - i, whose terms are the
variables that it shares with its surroundings. They are its own first variables. It may hold earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from saltus import _kernel
from saltus.task.cache import PerObject
from saltus.task.state import State
from saltus.task.task import Exists, Literal, Task


class _Copy(NamedTuple):
    task: _kernel.Task
    domains: dict[tuple[int, ...], int]


def kernel_task(task: Task) -> _kernel.Task:
    """The kernel's copy of the task."""
    return _COPIES.of(task).task


def type_domains(task: Task) -> dict[tuple[int, ...], int]:
    """Numbers of the kernel's domains by the types whose objects they hold; `()` is the domain of all objects."""
    return _COPIES.of(task).domains


def derive(task: Task, state: State) -> State:
    """The state with the derived atoms that follow from its other atoms; derived atoms that it holds are dropped."""
    return State(_kernel.derive(kernel_task(task), state.codes))


Entry: TypeAlias = tuple[int, bool, tuple[int, ...]]
"""A literal as the kernel reads it: predicate, sign, terms."""


def entries(literals: Iterable[Literal]) -> list[Entry]:
    """Literals as the kernel reads them."""
    return [(literal.predicate, literal.positive, literal.terms) for literal in literals]


class _Conditions:
    """Conditions as the kernel reads them; collects the nested ones."""

    def __init__(self, domain_number: dict[tuple[int, ...], int]) -> None:
        self.domain_number = domain_number
        self.everything = len(domain_number)
        self.nested: list[tuple[bool, int, list[int], list[Entry]]] = []

    def domains(self, types: Iterable[tuple[int, ...]]) -> list[int]:
        return [self.domain_number[entry] for entry in types]

    def condition(self, literals: Sequence[Literal], nested: Sequence[Exists], count: int) -> list[Entry]:
        """A condition over `count` variables."""
        return entries([*literals, *(self._reference(entry, count) for entry in nested)])

    def _reference(self, condition: Exists, count: int) -> Literal:
        """The literal that stands for a nested condition below `count` variables; their predicates are -2, -3, …"""
        shared = sorted(variable for variable in _variables(condition) if variable < count)
        number = {variable: i for i, variable in enumerate(shared)}
        number |= {count + i: len(shared) + i for i in range(len(condition.variables))}
        total = len(number)
        inner = [self._reference(entry, count + len(condition.variables)) for entry in condition.nested]
        literals = [
            Literal(entry.predicate, tuple(number[t] if t >= 0 else t for t in entry.terms), entry.positive)
            for entry in (*condition.literals, *inner)
        ]
        domains = [self.everything] * len(shared) + self.domains(condition.variables)
        assert len(domains) == total
        self.nested.append((condition.positive, len(shared), domains, entries(literals)))
        return Literal(-1 - len(self.nested), tuple(shared), False)


def _variables(condition: Exists) -> set[int]:
    """Numbers of all variables mentioned in a nested condition."""
    own = {term for literal in condition.literals for term in literal.terms if term >= 0}
    return own.union(*(_variables(entry) for entry in condition.nested))


def _all_types(task: Task) -> Iterator[tuple[int, ...]]:
    """Types of all variables of the task."""
    for schema in task.schemas:
        yield from schema.parameters
        for effect in schema.effects:
            yield from effect.variables
    for axiom in task.axioms:
        yield from axiom.variables
    for entry in task.nested_conditions():
        yield from entry.variables


def _build(task: Task) -> _Copy:
    domain_number: dict[tuple[int, ...], int] = {}
    for types in (*_all_types(task), *((number,) for number in range(len(task.types)))):
        domain_number.setdefault(types, len(domain_number))
    parts = _Conditions(domain_number)
    schemas = []
    for schema in task.schemas:
        count = len(schema.parameters)
        precondition = parts.condition(schema.precondition, schema.nested, count)
        effects = [
            (
                parts.domains(effect.variables),
                parts.condition(effect.condition, effect.nested, count + len(effect.variables)),
                entries(effect.adds),
                entries(effect.deletes),
            )
            for effect in schema.effects
        ]
        schemas.append((parts.domains(schema.parameters), precondition, effects))
    axioms = [
        (
            axiom.stratum,
            axiom.predicate,
            parts.domains(axiom.variables),
            parts.condition(axiom.condition, axiom.nested, len(axiom.variables)),
        )
        for axiom in task.axioms
    ]
    domains = [task.objects_of(types).tolist() for types in domain_number]
    rows = [atoms.ravel() for atoms in task.static_atoms]
    starts = np.cumsum([0, *(len(flat) for flat in rows)])[: len(rows)]
    sizes = [len(atoms) for atoms in task.static_atoms]
    copy = _kernel.Task(
        len(task.types),
        [*domains, list(range(len(task.objects)))],
        parts.nested,
        schemas,
        axioms,
        task.object_type,
        task.arity,
        task.fluent.astype(np.uint8),
        task.code_offset,
        np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32),
        np.stack([starts, np.array(sizes, np.int64)], axis=1).ravel().astype(np.int64),
    )
    return _Copy(copy, {**domain_number, (): len(domain_number)})


_COPIES = PerObject(_build)
