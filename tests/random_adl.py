"""Random small tasks with formulas and derived predicates: `or`, `imply`, `not`, `exists` and `forall`, nested, in
preconditions, effects, axioms and goals. Axioms are stratified and often recursive.

`Evaluator` says what such a task means: it reads the text by itself and evaluates formulas by their definition, with
quantifiers over all objects and axioms applied until nothing changes. It shares no code with the library.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.random_tasks import _Writer
from tests.tasks import task_of

from saltus.task import Task

Atom = tuple[str, ...]
Bound = dict[str, str]


def random_adl_texts(seed: int, max_objects: int = 4) -> tuple[str, str]:
    """Domain and problem of a seed."""
    return _AdlWriter(random.Random(seed)).texts(max_objects)


def random_adl_task(seed: int, max_objects: int = 4) -> Task:
    """The task of a seed."""
    return task_of(*random_adl_texts(seed, max_objects))


class _AdlWriter(_Writer):
    """Writes formulas where its base class writes conjunctions of literals."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng, conditional=True)
        self.basic = list(self.predicates)
        self.strata: list[list[tuple[str, list[str]]]] = []
        for stratum in range(rng.choice([0, 1, 2])):
            names = [f"d{stratum}{i}" for i in range(rng.choice([1, 1, 2]))]
            self.strata.append([(name, ["object"] * rng.choice([0, 1, 1, 2])) for name in names])
        self.predicates += [entry for names in self.strata for entry in names]
        self.fresh = 0

    def literals(self, terms: list[tuple[str, str]], most: int, negated: float) -> list[str]:
        """Literals of predicates that may be effects or initial atoms."""
        known, self.predicates = self.predicates, self.basic
        found = super().literals(terms, most, negated)
        self.predicates = known
        return found

    def condition(self, terms: list[tuple[str, str]], most: int) -> str:
        simple = super().condition(terms, most)
        return f"{simple[:-1]} {self.formula(terms, self.rng.randint(0, 3))})" if self.rng.random() < 0.7 else simple

    def formula(self, terms: list[tuple[str, str]], depth: int, allowed: Any = None, positive: bool = True) -> str:
        """A formula; `allowed(positive)` lists the predicates that may stand under an even or odd number of nots."""
        rng = self.rng
        kind = rng.choice(["not", "and", "or", "imply", "exists", "forall", "atom"]) if depth else "atom"
        if kind == "atom":
            if terms and rng.random() < 0.15:
                return f"(= {rng.choice(terms)[0]} {rng.choice(terms)[0]})"
            known, self.predicates = self.predicates, allowed(positive) if allowed else self.predicates
            found = self.literal(terms)
            self.predicates = known
            return found or "(and)"
        if kind == "not":
            return f"(not {self.formula(terms, depth - 1, allowed, not positive)})"
        if kind == "imply":
            premise = self.formula(terms, depth - 1, allowed, not positive)
            return f"(imply {premise} {self.formula(terms, depth - 1, allowed, positive)})"
        if kind in ("and", "or"):
            parts = [self.formula(terms, depth - 1, allowed, positive) for _ in range(rng.choice([0, 1, 2, 2, 2, 3]))]
            return f"({' '.join([kind, *parts])})"
        variables = []
        for _ in range(rng.choice([1, 1, 2])):
            self.fresh += 1
            variables.append((f"?q{self.fresh}", self.kind()))
        typed = " ".join(f"{name} - {own}" for name, own in variables)
        return f"({kind} ({typed}) {self.formula([*terms, *variables], depth - 1, allowed, positive)})"

    def axioms(self) -> Iterator[str]:
        lower = list(self.basic)
        for names in self.strata:
            known = list(lower)
            for name, kinds in names:
                for _ in range(self.rng.choice([1, 2])):
                    variables = [(f"?v{i}", self.kind()) for i in range(len(kinds))]
                    typed = " ".join([name, *(f"{variable} - {own}" for variable, own in variables)])
                    body = self.formula(
                        [*variables, *self.constants],
                        self.rng.randint(1, 3),
                        lambda positive, own=known, same=names: [*own, *same] if positive else own,
                    )
                    yield f"(:derived ({typed}) {body})"
            lower += names

    def texts(self, max_objects: int) -> tuple[str, str]:
        known, self.predicates = self.predicates, self.basic  # of initial atoms
        actions, self.action = self.action, lambda number: f"<{number}>"  # type: ignore[method-assign]
        domain, problem = super().texts(max_objects)
        self.predicates, self.action = known, actions  # type: ignore[method-assign]
        declared = " ".join(
            f"({' '.join([name, *(f'?v{i} - {kind}' for i, kind in enumerate(kinds))])})"
            for names in self.strata
            for name, kinds in names
        )
        domain = domain.replace("(:predicates ", f"(:predicates {declared} ")
        for number in range(5):
            domain = domain.replace(f"<{number}>", self.action(number))
        domain = f"{domain[:-1]}\n{' '.join(self.axioms())})"
        goals = [self.formula(self.constants, self.rng.randint(1, 3)) for _ in range(self.rng.choice([0, 1, 2]))]
        return domain, problem.replace("(:goal (and ", f"(:goal (and {' '.join(goals)} ")


# -- what a task means -----------------------------------------------------------------------------------------------


def read(text: str) -> Any:
    """Nested lists of words."""
    stack: list[list[Any]] = [[]]
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            stack.append([])
        elif word == ")":
            entry = stack.pop()
            stack[-1].append(entry)
        else:
            stack[-1].append(word)
    return stack[0][0]


def typed(words: list[str]) -> list[tuple[str, str]]:
    """Names and types of a list `a b - t`."""
    found: list[tuple[str, str]] = []
    pending: list[str] = []
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "-":
            kind = words.pop(0)
            found += [(name, kind) for name in pending]
            pending = []
        else:
            pending.append(word)
    return found + [(name, "object") for name in pending]


class Evaluator:
    """Applicable actions, successors, derived atoms and the goal, straight from the text."""

    def __init__(self, domain: str, problem: str) -> None:
        sections, given = read(domain)[2:], {entry[0]: entry[1:] for entry in read(problem)[2:]}
        self.parents = dict(typed(next(entry for entry in sections if entry[0] == ":types")[1:]))
        constants = typed(next(entry for entry in sections if entry[0] == ":constants")[1:])
        self.kinds = dict([*constants, *typed(given[":objects"])])
        self.axioms = [(entry[1][0], typed(entry[1][1:]), entry[2]) for entry in sections if entry[0] == ":derived"]
        self.actions = {
            entry[1]: dict(zip(entry[2::2], entry[3::2], strict=True)) for entry in sections if entry[0] == ":action"
        }
        self.initial = frozenset(tuple(atom) for atom in given[":init"])
        self.goal = given[":goal"][0]

    def members(self, kind: str) -> list[str]:
        def is_a(own: str) -> bool:
            return own == kind or (own in self.parents and is_a(self.parents[own]))

        return [name for name, own in self.kinds.items() if kind == "object" or is_a(own)]

    def bindings(self, variables: list[tuple[str, str]]) -> Iterator[Bound]:
        for values in product(*(self.members(kind) for _, kind in variables)):
            yield {name: value for (name, _), value in zip(variables, values, strict=True)}

    def holds(self, formula: Any, atoms: frozenset[Atom], bound: Bound) -> bool:
        head, *rest = formula or ["and"]
        if head == "and":
            return all(self.holds(part, atoms, bound) for part in rest)
        if head == "or":
            return any(self.holds(part, atoms, bound) for part in rest)
        if head == "not":
            return not self.holds(rest[0], atoms, bound)
        if head == "imply":
            return not self.holds(rest[0], atoms, bound) or self.holds(rest[1], atoms, bound)
        if head in ("forall", "exists"):
            found = (self.holds(rest[1], atoms, {**bound, **own}) for own in self.bindings(typed(rest[0])))
            return all(found) if head == "forall" else any(found)
        names = [bound.get(term, term) for term in rest]
        return names[0] == names[1] if head == "=" else (head, *names) in atoms

    def completed(self, atoms: frozenset[Atom]) -> frozenset[Atom]:
        """Atoms with all derived ones. Predicates are named by their stratum: d0…, d1…"""
        for stratum in ("d0", "d1"):
            while True:
                found = {
                    (name, *(bound[variable] for variable, _ in variables))
                    for name, variables, body in self.axioms
                    if name.startswith(stratum)
                    for bound in self.bindings(variables)
                    if self.holds(body, atoms, bound)
                }
                if found <= atoms:
                    break
                atoms |= found
        return atoms

    def applicable(self, atoms: frozenset[Atom]) -> Iterator[Atom]:
        """Names of the applicable actions, in no particular order; `atoms` are completed."""
        for name, parts in self.actions.items():
            variables = typed(parts[":parameters"])
            for bound in self.bindings(variables):
                if self.holds(parts[":precondition"], atoms, bound):
                    yield (name, *(bound[variable] for variable, _ in variables))

    def successor(self, atoms: frozenset[Atom], action: Atom) -> frozenset[Atom]:
        """Completed atoms after an action."""
        parts = self.actions[action[0]]
        bound = {name: value for (name, _), value in zip(typed(parts[":parameters"]), action[1:], strict=True)}
        adds: set[Atom] = set()
        deletes: set[Atom] = set()

        def apply(effect: Any, inner: Bound) -> None:
            head = effect[0] if effect else "and"
            if head == "and":
                for part in effect[1:]:
                    apply(part, inner)
            elif head == "forall":
                for own in self.bindings(typed(effect[1])):
                    apply(effect[2], {**inner, **own})
            elif head == "when":
                if self.holds(effect[1], atoms, inner):
                    apply(effect[2], inner)
            else:
                literal = effect[1] if head == "not" else effect
                atom = (literal[0], *(inner.get(term, term) for term in literal[1:]))
                (deletes if head == "not" else adds).add(atom)

        apply(parts[":effect"], bound)
        derived = {name for name, _, _ in self.axioms}
        basic = {atom for atom in atoms if atom[0] not in derived}
        return self.completed(frozenset((basic - deletes) | adds))
