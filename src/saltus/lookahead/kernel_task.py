"""Stage `lookahead`: the kernel's copy of a task, made once per task.

The kernel reads one flat program of integers. A list is its length followed by its entries:

    program    number of types, list of domains, list of schemas
    domain     list of objects; the last domain holds all objects
    schema     list of the parameters' domains, precondition, list of effects
    effect     list of the domains of its own variables, condition, adds, deletes
    condition  list of literals, as are precondition, adds and deletes
    literal    predicate, sign, list of terms
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from saltus import _kernel
from saltus.task import Literal, Task
from saltus.task.cache import PerObject


class _Copy(NamedTuple):
    task: _kernel.Task
    domains: dict[tuple[int, ...], int]


def kernel_task(task: Task) -> _kernel.Task:
    """The kernel's copy of the task."""
    return _COPIES.of(task).task


def type_domains(task: Task) -> dict[tuple[int, ...], int]:
    """Numbers of the kernel's domains by the types whose objects they hold; `()` is the domain of all objects."""
    return _COPIES.of(task).domains


def literal_program(literals: Iterable[Literal]) -> list[int]:
    """Literals, without their number, as the kernel reads them."""
    program: list[int] = []
    for literal in literals:
        program += [literal.predicate, int(literal.positive), len(literal.terms), *literal.terms]
    return program


def _build(task: Task) -> _Copy:
    domain_number: dict[tuple[int, ...], int] = {}
    for schema in task.schemas:
        for types in (*schema.parameters, *(entry for effect in schema.effects for entry in effect.variables)):
            domain_number.setdefault(types, len(domain_number))
    for number in range(len(task.types)):
        domain_number.setdefault((number,), len(domain_number))
    program = [len(task.types), len(domain_number) + 1]
    for types in domain_number:
        program += _listed(task.objects_of(types).tolist())
    program += _listed(range(len(task.objects)))
    program.append(len(task.schemas))
    for schema in task.schemas:
        program += _listed([domain_number[types] for types in schema.parameters])
        program += _literals(schema.precondition)
        program.append(len(schema.effects))
        for effect in schema.effects:
            program += _listed([domain_number[types] for types in effect.variables])
            for literals in (effect.condition, effect.adds, effect.deletes):
                program += _literals(literals)
    rows = [atoms.ravel() for atoms in task.static_atoms]
    starts = np.cumsum([0, *(len(flat) for flat in rows)])[: len(rows)]
    sizes = [len(atoms) for atoms in task.static_atoms]
    copy = _kernel.Task(
        np.array(program, np.int32),
        task.object_type,
        task.arity,
        task.fluent.astype(np.uint8),
        task.code_offset,
        np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32),
        np.stack([starts, np.array(sizes, np.int64)], axis=1).ravel().astype(np.int64),
    )
    return _Copy(copy, {**domain_number, (): len(domain_number)})


_COPIES = PerObject(_build)


def _listed(values: Iterable[int]) -> list[int]:
    entries = list(values)
    return [len(entries), *entries]


def _literals(literals: Sequence[Literal]) -> list[int]:
    return [len(literals), *literal_program(literals)]
