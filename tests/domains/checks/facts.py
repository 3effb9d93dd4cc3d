"""What rules of well-formedness look at: objects by kind, atoms by pattern, graphs.

A *kind* is the name of a type, or of a unary predicate where objects have no types (`airport`); `object` is everything,
and `object!` everything declared as nothing more special. Several names, `truck|airplane`, mean any of them. A
*pattern* is text like `on x _`: a predicate and its terms, where `x` is the object looked at, `_` is anything, `_hoist`
is anything of that kind, and any other word is an object's name.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from enum import StrEnum

from saltus.task import Task

Atom = tuple[str, ...]
"""Names of the objects of an atom."""
Graph = Mapping[str, set[str]]
"""Successors of every object; an object without an entry has none."""


class Where(StrEnum):
    """The set of atoms that a rule is about."""

    INIT = "init"
    GOAL = "goal"


class Facts:
    """Objects and atoms of a problem by name."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._atoms: dict[tuple[Where, str], set[Atom]] = {
            (where, entry.name): set() for where in Where for entry in task.domain.predicates
        }
        for number, rows in enumerate(task.static_atoms):
            name = task.domain.predicates[number].name
            self._atoms[Where.INIT, name].update(tuple(task.objects[i] for i in row) for row in rows.tolist())
        for where, codes in ((Where.INIT, task.initial_state), (Where.GOAL, task.goal.positive.tolist())):
            for code in codes:
                predicate, *arguments = task.decode(code)
                atom = tuple(task.objects[i] for i in arguments)
                self._atoms[where, task.domain.predicates[predicate].name].add(atom)
        self._kinds: dict[str, frozenset[str]] = {}
        self._counts: dict[tuple[Where, str], Counter[str]] = {}

    def atoms(self, predicate: str, where: Where = Where.INIT) -> set[Atom]:
        """Atoms of a predicate."""
        return self._atoms[where, predicate]

    def kind(self, name: str) -> frozenset[str]:
        """Objects of a kind."""
        if name not in self._kinds:
            self._kinds[name] = frozenset().union(*(self._one_kind(part) for part in name.split("|")))
        return self._kinds[name]

    def _one_kind(self, name: str) -> frozenset[str]:
        task = self.task
        exact = name.endswith("!")
        if name.rstrip("!") in task.types:
            number = task.types.index(name.rstrip("!"))
            fits = task.object_type == number if exact else task.is_a[task.object_type, number]
            return frozenset(one for one, of_kind in zip(task.objects, fits.tolist(), strict=True) if of_kind)
        return frozenset(atom[0] for atom in self.atoms(name))

    def count(self, pattern: str, where: Where = Where.INIT) -> Counter[str]:
        """Number of atoms that match a pattern, by the object in the place of `x`; "" if there is no `x`."""
        if (where, pattern) not in self._counts:
            predicate, *terms = pattern.split()
            x = terms.index("x") if "x" in terms else None
            wanted = [self._fits(term) for term in terms]
            self._counts[where, pattern] = Counter(
                "" if x is None else atom[x]
                for atom in self.atoms(predicate, where)
                if all(names is None or name in names for name, names in zip(atom, wanted, strict=True))
            )
        return self._counts[where, pattern]

    def _fits(self, term: str) -> frozenset[str] | None:
        """Objects that a term of a pattern stands for; None for all."""
        if term in ("x", "_"):
            return None
        return self.kind(term[1:]) if term.startswith("_") else frozenset([term])

    def find(self, pattern: str, where: Where = Where.INIT) -> frozenset[str]:
        """Objects in the place of `x` in the atoms that match a pattern."""
        return frozenset(self.count(pattern, where))

    def image(self, predicate: str, where: Where = Where.INIT) -> dict[str, str]:
        """Second object by first object of a binary predicate that is a function; one of them where it is not."""
        return dict(sorted((atom[0], atom[1]) for atom in self.atoms(predicate, where)))

    def graph(self, *predicates: str, where: Where = Where.INIT) -> dict[str, set[str]]:
        """Successors by the first two arguments of some predicates."""
        return graph_of((atom[0], atom[1]) for name in predicates for atom in self.atoms(name, where))


def graph_of(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Successors of every object that has any."""
    graph: defaultdict[str, set[str]] = defaultdict(set)
    for one, other in pairs:
        graph[one].add(other)
    return dict(graph)


def reached(graph: Graph, starts: Iterable[str]) -> set[str]:
    """Objects reached from some others, including these."""
    seen = set(starts)
    queue = deque(seen)
    while queue:
        for other in graph.get(queue.popleft(), ()):
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return seen


def chain(graph: Graph, objects: frozenset[str]) -> list[str] | None:
    """All objects, each followed by its only successor; None if the graph is not one chain."""
    after = {one: next(iter(others)) for one, others in graph.items() if len(others) == 1}
    firsts = objects - set(after.values())
    if len(after) != len(graph) or len(firsts) != 1 or len(after) != len(objects) - 1:
        return None
    here = next(iter(firsts))
    line = [here]
    while here in after and len(line) <= len(objects):
        here = after[here]
        line.append(here)
    return line if set(line) == objects and len(line) == len(objects) else None
