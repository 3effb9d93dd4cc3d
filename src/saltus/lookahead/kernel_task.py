"""Stage `lookahead`: the kernel's copy of a task, made once and kept with it.

The kernel reads one flat program of integers: number of types; domains (count, then each as count and objects), the
last one of all objects; schemas (count, then each as parameter domains, precondition, effects), an effect being its own
variables' domains, its condition, its adds and its deletes. A list is its length and its entries; a literal is
predicate, sign, and a list of terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from saltus import _kernel
from saltus.task import Literal, Task

_ATTRIBUTE = "_kernel_task"
_DOMAINS = "_kernel_domains"


def kernel_task(task: Task) -> _kernel.Task:
    """The kernel's copy of the task."""
    found: _kernel.Task | None = task.__dict__.get(_ATTRIBUTE)
    if found is None:
        found = _build(task)
        task.__dict__[_ATTRIBUTE] = found
    return found


def type_domains(task: Task) -> dict[tuple[int, ...], int]:
    """Numbers of the kernel's domains by the types whose objects they hold; `()` is the domain of all objects."""
    kernel_task(task)
    known: dict[tuple[int, ...], int] = task.__dict__[_DOMAINS]
    return known


def literal_program(literals: Iterable[Literal]) -> list[int]:
    """Literals without their count, as the kernel reads them."""
    program: list[int] = []
    for literal in literals:
        program += [literal.predicate, int(literal.positive), len(literal.terms), *literal.terms]
    return program


def _build(task: Task) -> _kernel.Task:
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
    task.__dict__[_DOMAINS] = {**domain_number, (): len(domain_number)}
    rows = [atoms.ravel() for atoms in task.static_atoms]
    starts = np.cumsum([0, *(len(flat) for flat in rows)])[: len(rows)]
    sizes = [len(atoms) for atoms in task.static_atoms]
    return _kernel.Task(
        np.array(program, np.int32),
        task.object_type,
        task.arity,
        task.fluent.astype(np.uint8),
        task.code_offset,
        np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32),
        np.stack([starts, np.array(sizes, np.int64)], axis=1).ravel().astype(np.int64),
    )


def _listed(values: Iterable[int]) -> list[int]:
    entries = list(values)
    return [len(entries), *entries]


def _literals(literals: Sequence[Literal]) -> list[int]:
    return [len(literals), *literal_program(literals)]
