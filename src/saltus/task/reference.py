"""Twins of the kernel's applicability and successor functions and of its axioms: the definitions on Python sets.

`applicable` yields actions in contract order, on which lookahead trees depend: schemas in domain order, bindings in
lexicographic order of the objects.
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


def applicable(task: Task, state: State) -> Iterator[Action]:
    """Applicable actions in contract order."""
    atoms = frozenset(state)
    for number, schema in enumerate(task.schemas):
        for binding in bindings(task, atoms, schema.parameters, schema.precondition, nested=schema.nested):
            yield Action(number, binding)


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


def changes(task: Task, atoms: frozenset[int], action: Action) -> tuple[set[int], set[int]]:
    """Atoms added and deleted by an applicable action; an atom that is both added and deleted counts as added.

    Derived atoms that become true or false count as added or deleted.
    """
    adds: set[int] = set()
    deletes: set[int] = set()
    for effect in task.schemas[action.schema].effects:
        for binding in bindings(task, atoms, effect.variables, effect.condition, action.arguments, effect.nested):
            for literals, codes in ((effect.adds, adds), (effect.deletes, deletes)):
                for literal in literals:
                    arguments = [binding[term] if term >= 0 else ~term for term in literal.terms]
                    codes.add(task.encode(literal.predicate, arguments))
    deletes -= adds
    if task.axioms:
        before = {code for code in atoms if task.decode(code)[0] in task.derived}
        after = derived_atoms(task, (atoms - deletes) | adds)
        adds |= after - before
        deletes |= before - after
    return adds, deletes


def derived_atoms(task: Task, atoms: frozenset[int]) -> set[int]:
    """Derived atoms that follow from the other atoms: the least fixed point of the axioms, stratum by stratum."""
    known = {code for code in atoms if task.decode(code)[0] not in task.derived}
    others = set(known)
    for stratum in sorted({axiom.stratum for axiom in task.axioms}):
        before = -1
        while len(known) > before:
            before = len(known)
            now = frozenset(known)
            for axiom in task.axioms:
                if axiom.stratum == stratum:
                    arity = int(task.arity[axiom.predicate])
                    found = bindings(task, now, axiom.variables, axiom.condition, nested=axiom.nested)
                    known.update(task.encode(axiom.predicate, binding[:arity]) for binding in found)
    return known - others


def successor(task: Task, state: State, action: Action) -> State:
    """State after an applicable action."""
    atoms = frozenset(state)
    adds, deletes = changes(task, atoms, action)
    return State((atoms - deletes) | adds)
