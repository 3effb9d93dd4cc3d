"""Twins of the kernel's applicability and successor functions and of its axioms: the definitions on Python sets.

`applicable` yields actions in contract order, on which lookahead trees depend: schemas in domain order, bindings in
lexicographic order of the objects.
"""

from __future__ import annotations

from collections.abc import Iterator

from saltus.task import Action, State, Task
from saltus.task.applicability import bindings


def applicable(task: Task, state: State) -> Iterator[Action]:
    """Applicable actions in contract order."""
    atoms = frozenset(state)
    for number, schema in enumerate(task.schemas):
        for binding in bindings(task, atoms, schema.parameters, schema.precondition, nested=schema.nested):
            yield Action(number, binding)


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
