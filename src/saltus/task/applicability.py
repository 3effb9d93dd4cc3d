"""Stage `task`: which actions are applicable, by the definition, on Python sets.

Tidying asks it where what an action needs and changes depends on the state, which the kernel's tidying does not know.
`lookahead/actions.py` has the kernel's functions, which are fast; their twins in the tests are built on this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from saltus.task.state import State
from saltus.task.task import EQUALITY, Action, Exists, Literal, Task


def holds(task: Task, atoms: frozenset[int], literal: Literal, binding: Sequence[int]) -> bool:
    """Whether a literal is true under a binding of all its terms."""
    arguments = [binding[term] if term >= 0 else ~term for term in literal.terms]
    if literal.predicate == EQUALITY:
        return (arguments[0] == arguments[1]) == literal.positive
    known = atoms if task.fluent[literal.predicate] else task.static_codes
    return (task.encode(literal.predicate, arguments) in known) == literal.positive


def nested_holds(task: Task, atoms: frozenset[int], condition: Exists, binding: tuple[int, ...]) -> bool:
    """Whether a nested condition is true under a binding of all variables around it."""
    found = bindings(task, atoms, condition.variables, condition.literals, binding, condition.nested)
    return any(True for _ in found) == condition.positive


def bindings(
    task: Task,
    atoms: frozenset[int],
    types: Sequence[tuple[int, ...]],
    condition: Sequence[Literal],
    prefix: tuple[int, ...] = (),
    nested: Sequence[Exists] = (),
) -> Iterator[tuple[int, ...]]:
    """Bindings, ascending, that extend `prefix` by one object per entry of `types` and make the condition true."""
    total = len(prefix) + len(types)
    ready: list[list[Literal]] = [[] for _ in range(total + 1)]
    for literal in condition:
        ready[max((term + 1 for term in literal.terms if term >= 0), default=0)].append(literal)
    domains = [task.objects_of(entry).tolist() for entry in types]

    def extend(binding: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if not all(holds(task, atoms, literal, binding) for literal in ready[len(binding)]):
            return
        if len(binding) == total:
            if all(nested_holds(task, atoms, entry, binding) for entry in nested):
                yield binding
            return
        for number in domains[len(binding) - len(prefix)]:
            yield from extend((*binding, number))

    if all(holds(task, atoms, literal, prefix) for step in ready[: len(prefix)] for literal in step):
        yield from extend(prefix)


def is_applicable(task: Task, state: State, action: Action) -> bool:
    """Whether the arguments of an action have the right types and its precondition holds."""
    schema = task.schemas[action.schema]
    typed = all(
        number in task.objects_of(types) for types, number in zip(schema.parameters, action.arguments, strict=True)
    )
    atoms = frozenset(state)
    return (
        typed
        and all(holds(task, atoms, literal, action.arguments) for literal in schema.precondition)
        and all(nested_holds(task, atoms, entry, action.arguments) for entry in schema.nested)
    )
