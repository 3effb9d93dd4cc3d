"""Random small tasks for property tests: types, constants, nullary to ternary predicates, negative preconditions,
equality, conditional and universal effects.

Built by a seeded generator rather than drawn piece by piece: hypothesis prefers small draws, and tasks made of small
draws have trees of one node. Written as PDDL text, so that the reader is part of what is tested.
"""

from __future__ import annotations

import random
import re
from itertools import islice, product

from hypothesis import strategies as st
from tests.twins.actions import applicable, successor

from saltus.pddl import Source, parse_domain, parse_problem
from saltus.task import Task, build_task

TYPES = ("t0", "t1", "t2")
Term = tuple[str, str]


def random_tasks(*, conditional: bool = True, max_objects: int = 6) -> st.SearchStrategy[Task]:
    """Tasks by seed; well-formed, seldom solvable, mostly with trees of tens of nodes and several levels."""
    return st.integers(0, 2**32 - 1).map(lambda seed: random_task(seed, conditional, max_objects))


def random_task(seed: int, conditional: bool = True, max_objects: int = 6) -> Task:
    """The task of a seed: of up to thirty, the first in which something can be done, and something new after it."""
    rng = random.Random(seed)
    for _ in range(30):
        texts = _Writer(rng, conditional).texts(max_objects)
        domain = parse_domain(Source.from_bytes(texts[0].encode(), "domain"))
        task = build_task(domain, parse_problem(Source.from_bytes(texts[1].encode(), "problem"), domain))
        if _is_lively(task):
            break
    return task


def _is_lively(task: Task) -> bool:
    """Whether a few actions can be done, and two steps further on others that could not be done before."""
    state = task.initial_state
    known = set(islice(applicable(task, state), 100))
    if not 2 <= len(known) < 100:
        return False
    for _ in range(2):
        for action in sorted(islice(applicable(task, state), 6)):
            after = successor(task, state, action)
            fresh = set(islice(applicable(task, after), 100)) - known
            if fresh:
                break
        else:
            return False
        state = after
        known |= fresh
    return True


class _Writer:
    def __init__(self, rng: random.Random, conditional: bool) -> None:
        self.rng = rng
        self.conditional = conditional
        self.parents = {"t0": "object", "t1": rng.choice(["object", "t0"]), "t2": "object"}
        arities = [rng.choice([0, 1, 1, 2, 2, 2, 3]) for _ in range(rng.randint(3, 5))]
        self.predicates = [
            (f"p{i}", [rng.choice(["object", "object", "object", "t0"]) for _ in range(n)])
            for i, n in enumerate(arities)
        ]
        self.constants: list[Term] = [("c0", rng.choice(TYPES))] if rng.random() < 0.3 else []

    def is_a(self, kind: str, wanted: str) -> bool:
        while kind not in (wanted, "object"):
            kind = self.parents[kind]
        return kind == wanted

    def kind(self) -> str:
        return self.rng.choice(["object", "object", "t0", "t0", "t1", "t2"])

    def literal(self, terms: list[Term]) -> str | None:
        name, wanted = self.rng.choice(self.predicates)
        fitting = [[term for term, own in terms if self.is_a(own, kind)] for kind in wanted]
        if not all(fitting):
            return None
        return f"({' '.join([name, *(self.rng.choice(options) for options in fitting)])})"

    def literals(self, terms: list[Term], most: int, negated: float) -> list[str]:
        parts = [self.literal(terms) for _ in range(self.rng.randint(1, most))]
        return [f"(not {part})" if self.rng.random() < negated else part for part in parts if part is not None]

    def condition(self, terms: list[Term], most: int) -> str:
        parts = self.literals(terms, most, 0.25)
        if len(terms) > 1 and self.rng.random() < 0.15:
            pair = f"(= {self.rng.choice(terms)[0]} {self.rng.choice(terms)[0]})"
            parts.append(pair if self.rng.random() < 0.3 else f"(not {pair})")
        return f"(and {' '.join(parts)})"

    def effect(self, terms: list[Term], most: int) -> str:
        return f"(and {' '.join(self.literals(terms, most, 0.4))})"

    def action(self, number: int) -> str:
        parameters = [(f"?x{i}", self.kind()) for i in range(self.rng.choice([0, 1, 2, 2, 3, 3]))]
        terms = [*parameters, *self.constants]
        parts = self.literals(terms, 4, 0.3)
        if self.conditional and self.rng.random() < 0.2:
            parts.append(f"(when {self.condition(terms, 2)} {self.effect(terms, 2)})")
        if self.conditional and self.rng.random() < 0.15:
            inner = [*terms, ("?y", self.kind())]
            parts.append(f"(forall (?y - {inner[-1][1]}) (when {self.condition(inner, 2)} {self.effect(inner, 2)}))")
        typed = " ".join(f"{name} - {kind}" for name, kind in parameters)
        condition = self.condition(terms, 2)
        for entry in parameters:  # most parameters stand under a positive literal
            if f"{entry[0]}" not in condition and self.rng.random() < 0.7:
                condition = f"{condition[:-1]} {self.literal([entry]) or ''})"
        return f"(:action a{number} :parameters ({typed}) :precondition {condition}\n  :effect (and {' '.join(parts)}))"

    def texts(self, max_objects: int) -> tuple[str, str]:
        rng = self.rng
        actions = [self.action(number) for number in range(rng.randint(3, 5))]
        objects = [(f"o{i}", self.kind()) for i in range(rng.randint(2, max_objects))]
        everything = [*self.constants, *objects]
        init = []
        for name, wanted in self.predicates:
            share = rng.choice([0.02, 0.1, 0.2, 0.5])
            for entry in product(everything, repeat=len(wanted)):
                if all(self.is_a(kind, want) for (_, kind), want in zip(entry, wanted, strict=True)):
                    init += [f"({' '.join([name, *(term for term, _ in entry)])})"] if rng.random() < share else []
        goal = [*self.literals(everything, 3, 0.0), *self.literals(everything, 1, 1.0)]
        for number in range(rng.choice([0, 0, 1, 2])):  # objects that only their names tell from another one
            name, kind = rng.choice(objects)
            if not any(f" {name} " in f"{atom[:-1]} " for atom in goal):
                pattern = re.compile(rf"\b{name}\b")
                init += [pattern.sub(f"w{number}", atom) for atom in init if len(pattern.findall(atom)) == 1]
                init = [atom for atom in init if len(pattern.findall(atom)) != 2]
                objects.append((f"w{number}", kind))
        declared = " ".join(
            f"({' '.join([name, *(f'?v{i} - {kind}' for i, kind in enumerate(kinds))])})"
            for name, kinds in self.predicates
        )
        domain = (
            f"(define (domain random)\n(:types {' '.join(f'{name} - {self.parents[name]}' for name in TYPES)})\n"
            f"(:constants {' '.join(f'{name} - {kind}' for name, kind in self.constants)})\n"
            f"(:predicates {declared})\n" + "\n".join(actions) + ")"
        )
        problem = (
            f"(define (problem random) (:domain random)\n"
            f"(:objects {' '.join(f'{name} - {kind}' for name, kind in objects)})\n"
            f"(:init {' '.join(init)})\n(:goal (and {' '.join(goal)})))"
        )
        return domain, problem
