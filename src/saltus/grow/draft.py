"""Stage `grow`: a problem that can be changed: objects and atoms as integers, with undo.

A relation is a predicate in the initial state, a numeric function, a predicate in the goal, or a predicate that must be
false in the goal; all four share one numbering (`Relations`), so that whatever is counted, copied or checked is written
once. An atom is `(relation, object, …)`. Objects are numbered as in a task: constants first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from saltus.pddl import Problem
from saltus.pddl.structures import OBJECT, Literal, TypedName
from saltus.task import State, Task, build_task

Atom = tuple[int, ...]
"""`(relation, object, …)`."""

Feature = tuple[int, int, tuple[int, ...]]
"""What an object has to do with an atom: relation, position of the object, families of the other arguments."""

KindKey = tuple[tuple[str, ...], frozenset[int]] | str
"""Types of an object and the static unary predicates that are true of it; the name of a constant."""


class Relations:
    """Numbers of the relations of a domain, and of the kinds of objects that its problems have."""

    def __init__(self, task: Task) -> None:
        self.domain = task.domain
        predicates = len(task.arity)
        functions = len(task.domain.functions)
        self.predicates = predicates
        self.goal = predicates + functions
        """First relation of the goal: `goal + p` says that predicate p must be true."""
        self.negated = self.goal + predicates
        """First negated relation: `negated + p` says that predicate p must be false."""
        arity = [int(number) for number in task.arity]
        self.arity = [*arity, *(len(entry.parameters) for entry in task.domain.functions), *arity, *arity]
        static = [not bool(entry) for entry in task.fluent]
        self.static = [*static, *[True] * functions, *[False] * (2 * predicates)]
        self.function_number = {entry.name: predicates + i for i, entry in enumerate(task.domain.functions)}
        self._kinds: dict[KindKey, int] = {}

    def is_goal(self, relation: int) -> bool:
        """Whether the relation belongs to the goal."""
        return relation >= self.goal

    def is_function(self, relation: int) -> bool:
        """Whether the relation is a numeric function."""
        return self.predicates <= relation < self.goal

    def is_initial_fluent(self, relation: int) -> bool:
        """Whether the relation is a fluent predicate in the initial state."""
        return relation < self.goal and not self.static[relation]

    def kind(self, key: KindKey) -> int:
        """Number of a kind."""
        return self._kinds.setdefault(key, len(self._kinds))

    def is_constant(self, kind: int) -> bool:
        """Whether the kind is a constant of the domain."""
        return isinstance(list(self._kinds)[kind], str)

    def family(self, key: KindKey) -> int:
        """Number of the kind that stands for all kinds of one declared type; the kind itself where no type is declared.

        Neighbours are told apart by families: what a waypoint is like does not depend on the rovers' equipment.
        """
        if isinstance(key, str) or key[0] == (OBJECT,):
            return self.kind(key)
        return self.kind((key[0], frozenset()))


class Draft:
    """A problem in the making. Changes are undone back to a mark."""

    def __init__(self, relations: Relations, task: Task) -> None:
        self.relations = relations
        self.task = task
        """The given task it comes from: requirements and metric are taken from there."""
        entries = (*task.domain.constants, *task.problem.objects)
        self.constants = len(task.domain.constants)
        self.names = [entry.name for entry in entries]
        self.types = [entry.types for entry in entries]
        self.atoms: dict[Atom, float] = {}
        """Atoms with the values of functions; 0 for all others."""
        unary: list[set[int]] = [set() for _ in entries]
        found = list(_atoms_of(relations, task))
        for atom, _ in found:
            if len(atom) == 2 and atom[0] < relations.predicates and relations.static[atom[0]]:
                unary[atom[1]].add(atom[0])
        keys: list[KindKey] = [
            name if number < self.constants else (types, frozenset(unary[number]))
            for number, (name, types) in enumerate(zip(self.names, self.types, strict=True))
        ]
        self.kind = [relations.kind(key) for key in keys]
        self.family = [relations.family(key) for key in keys]
        self.of: list[dict[Atom, None]] = [{} for _ in entries]
        """Atoms of each object."""
        self.counts: list[dict[Feature, int]] = [{} for _ in entries]
        """Number of atoms of each object by feature."""
        self.total = [0] * len(relations.arity)
        """Number of atoms of each relation."""
        self._journal: list[tuple[Atom | None, float, bool]] = []
        for atom, value in found:
            self.add(atom, value)
        self._journal.clear()

    def __len__(self) -> int:
        return len(self.names)

    def copy(self) -> Draft:
        """A draft of its own with the same content."""
        other = object.__new__(Draft)
        other.relations, other.task, other.constants = self.relations, self.task, self.constants
        other.names, other.types = list(self.names), list(self.types)
        other.kind, other.family = list(self.kind), list(self.family)
        other.atoms = dict(self.atoms)
        other.of = [dict(entry) for entry in self.of]
        other.counts = [dict(entry) for entry in self.counts]
        other.total = list(self.total)
        other._journal = []
        return other

    # -- changes -----------------------------------------------------------------------------------------------------

    def features(self, atom: Atom) -> list[tuple[int, Feature]]:
        """Each argument of an atom with its feature."""
        families = tuple([self.family[number] for number in atom[1:]])
        return [(number, (atom[0], i, families[:i] + families[i + 1 :])) for i, number in enumerate(atom[1:])]

    def add(self, atom: Atom, value: float = 0.0) -> None:
        """Adds an atom, which must be new."""
        self.atoms[atom] = value
        self._count(atom, 1)
        self._journal.append((atom, value, True))

    def remove(self, atom: Atom) -> None:
        """Removes an atom."""
        value = self.atoms.pop(atom)
        self._count(atom, -1)
        self._journal.append((atom, value, False))

    def _count(self, atom: Atom, sign: int) -> None:
        self.total[atom[0]] += sign
        for number, feature in self.features(atom):
            counts = self.counts[number]
            counts[feature] = counts.get(feature, 0) + sign
            if not counts[feature]:
                del counts[feature]
            if sign > 0:
                self.of[number][atom] = None
            else:
                self.of[number].pop(atom, None)

    def add_object(self, like: int) -> int:
        """Number of a new object of the same kind as another, without atoms."""
        return self.add_foreign(self, like)

    def add_foreign(self, other: Draft, like: int) -> int:
        """Number of a new object of the same kind as one of another draft, without atoms."""
        self.names.append(self._fresh_name(other.names[like]))
        self.types.append(other.types[like])
        self.kind.append(other.kind[like])
        self.family.append(other.family[like])
        self.of.append({})
        self.counts.append({})
        self._journal.append((None, 0.0, True))
        return len(self.names) - 1

    def _fresh_name(self, like: str) -> str:
        stem = re.sub(r"\d+$", "", like)
        known = set(self.names)
        number = sum(name.startswith(stem) for name in self.names) + 1
        while f"{stem}{number}" in known:
            number += 1
        return f"{stem}{number}"

    def mark(self) -> int:
        """A moment to which `undo` can return."""
        return len(self._journal)

    def undo(self, mark: int) -> None:
        """Takes back every change since the mark."""
        while len(self._journal) > mark:
            atom, value, added = self._journal.pop()
            if atom is None:
                for entries in (self.names, self.types, self.kind, self.family, self.of, self.counts):
                    entries.pop()
            elif added:
                del self.atoms[atom]
                self._count(atom, -1)
            else:
                self.atoms[atom] = value
                self._count(atom, 1)

    def changes(self, mark: int) -> tuple[list[Atom], list[Atom]]:
        """Atoms added and atoms removed since the mark."""
        entries = [(atom, added) for atom, _, added in self._journal[mark:] if atom is not None]
        return (
            list(dict.fromkeys(atom for atom, added in entries if added and atom in self.atoms)),
            list(dict.fromkeys(atom for atom, added in entries if not added and atom not in self.atoms)),
        )

    def set_initial(self, task: Task, state: State) -> None:
        """Makes a state of the task, whose objects must be this draft's, the initial state."""
        relations = self.relations
        for atom in [atom for atom in self.atoms if relations.is_initial_fluent(atom[0])]:
            self.remove(atom)
        for atom in map(task.decode, state):
            if atom[0] not in task.derived:
                self.add(atom)

    def set_goal(self, atoms: Iterable[Atom]) -> None:
        """Replaces the goal."""
        for atom in [atom for atom in self.atoms if self.relations.is_goal(atom[0])]:
            self.remove(atom)
        for atom in atoms:
            self.add(atom)

    # -- results -----------------------------------------------------------------------------------------------------

    def objects_of(self, kind: int) -> list[int]:
        """Objects of a kind, ascending."""
        return [number for number, entry in enumerate(self.kind) if entry == kind]

    def goal_atoms(self) -> list[Atom]:
        """Atoms of the goal."""
        return [atom for atom in self.atoms if self.relations.is_goal(atom[0])]

    def to_task(self, name: str) -> Task:
        """The finished task."""
        relations, given = self.relations, self.task.problem
        initial = [atom for atom in self.atoms if atom[0] < relations.predicates]
        values = {
            (self.task.domain.functions[atom[0] - relations.predicates].name, *(self.names[i] for i in atom[1:])): value
            for atom, value in self.atoms.items()
            if relations.is_function(atom[0])
        }
        entries = zip(self.names[self.constants :], self.types[self.constants :], strict=True)
        problem = Problem(
            name=name,
            domain_name=given.domain_name,
            requirements=given.requirements,
            objects=tuple(TypedName(own, types) for own, types in entries),
            init_predicate=np.array([atom[0] for atom in initial], np.int32),
            init_argument=np.array([number for atom in initial for number in atom[1:]], np.int32),
            values=values,
            goal=tuple(self._literal(atom) for atom in self.goal_atoms()),
            minimize_cost=given.minimize_cost,
            file=f"<{name}>",
        )
        return build_task(self.task.domain, problem)

    def _literal(self, atom: Atom) -> Literal:
        relations = self.relations
        positive = atom[0] < relations.negated
        predicate = atom[0] - (relations.goal if positive else relations.negated)
        return Literal(self.task.domain.predicates[predicate].name, tuple(self.names[i] for i in atom[1:]), positive)


def _atoms_of(relations: Relations, task: Task) -> Iterable[tuple[Atom, float]]:
    """Atoms of a task with their values, each once."""
    numbers = task.object_number
    predicate = task.predicate_number
    initial = dict.fromkeys(
        (predicate[name], *(numbers[entry] for entry in names))
        for name, *names in task.problem.initial_atoms(task.domain)
    )
    for atom in initial:
        yield atom, 0.0
    for (name, *names), value in task.problem.values.items():
        yield (relations.function_number[name], *(numbers[entry] for entry in names)), value
    for first, codes in ((relations.goal, task.goal.positive), (relations.negated, task.goal.negative)):
        for code in codes.tolist():
            predicate_, *arguments = task.decode(code)
            yield (first + predicate_, *arguments), 0.0


def substituted(atom: Atom, mapping: dict[int, int]) -> Atom:
    """The atom with objects replaced; those that the mapping lacks stay."""
    return (atom[0], *[mapping.get(number, number) for number in atom[1:]])
