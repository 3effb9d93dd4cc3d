"""Stage `task`: from `Domain` and `Problem` to `Task`.

Names become numbers. Universal preconditions and goals are expanded over the objects; universal effects stay lifted.
Cost: one sort of the initial atoms; everything else is linear in the size of the domain and the goal.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from saltus.errors import UnsupportedError
from saltus.pddl import Condition, Domain, ForAll, Problem, Source, parse_domain, parse_problem
from saltus.pddl import Literal as NamedLiteral
from saltus.pddl.structures import EQUALS
from saltus.task.state import Goal, State
from saltus.task.task import EQUALITY, Effect, Literal, Schema, Task

MAX_EXPANSION = 1_000_000
"""Largest number of literals that a universal precondition or goal may expand to."""
MAX_ARITY = 62
"""Largest number of arguments of a predicate: with two objects, more would not fit into a code."""
MAX_VARIABLES = 64
"""Largest number of parameters of a schema plus variables of one of its effects; the kernel's matcher recurses over
them."""


def load(domain: str | os.PathLike[str] | Domain, problem: str | os.PathLike[str]) -> Task:
    """Task of a domain (file, or already read) and a problem file."""
    if not isinstance(domain, Domain):
        domain = parse_domain(Source.from_file(domain))
    return build_task(domain, parse_problem(Source.from_file(problem), domain))


def build_task(domain: Domain, problem: Problem) -> Task:
    """Task of a domain and one of its problems."""
    return _Compiler(domain, problem).task()


class _Compiler:
    """Numbers of the names, shared by the steps of the translation."""

    def __init__(self, domain: Domain, problem: Problem) -> None:
        self.domain = domain
        self.problem = problem
        entries = (*domain.constants, *problem.objects)
        self.entries = entries
        self.object_number = {entry.name: i for i, entry in enumerate(entries)}
        self.predicate_number = {entry.name: i for i, entry in enumerate(domain.predicates)}
        declared = {entry.name: i for i, entry in enumerate(domain.types)}
        unions = dict.fromkeys(entry.types for entry in entries if len(entry.types) > 1)
        self.alternatives = [*((name,) for name in declared), *unions]
        self.type_number = {types: i for i, types in enumerate(self.alternatives)}
        self.declared = declared
        self.members: dict[tuple[str, ...], list[str]] = {}

    def task(self) -> Task:
        domain, problem = self.domain, self.problem
        self._check_sizes()
        arity = np.array([len(entry.parameters) for entry in domain.predicates], np.int32)
        offsets = self._code_offsets(arity)
        schemas = tuple(self._schema(number) for number in range(len(domain.schemas)))
        fluent = np.zeros(len(arity), bool)
        for schema in schemas:
            for effect in schema.effects:
                fluent[[literal.predicate for literal in (*effect.adds, *effect.deletes)]] = True
        static, initial = self._initial_atoms(arity, fluent, offsets)
        is_a = self._is_a()
        task = Task(
            domain=domain,
            problem=problem,
            objects=tuple(entry.name for entry in self.entries),
            types=tuple(" or ".join(types) for types in self.alternatives),
            is_a=is_a,
            object_type=np.array([self.type_number[entry.types] for entry in self.entries], np.int32),
            arity=arity,
            fluent=fluent,
            code_offset=offsets,
            static_atoms=static,
            schemas=schemas,
            initial_state=State(initial),
            goal=Goal(()),
        )
        object.__setattr__(task, "goal", self._goal(task))  # needs the static atoms of the finished task
        return task

    def _check_sizes(self) -> None:
        file = self.domain.file
        for predicate in self.domain.predicates:
            if len(predicate.parameters) > MAX_ARITY:
                raise UnsupportedError(
                    f"{file}: predicate {predicate.name!r} with {len(predicate.parameters):,} arguments "
                    f"(more than {MAX_ARITY})"
                )
        for schema in self.domain.schemas:
            most = len(schema.parameters) + max((len(effect.variables) for effect in schema.effects), default=0)
            if most > MAX_VARIABLES:
                raise UnsupportedError(
                    f"{file}: action {schema.name!r} with {most:,} parameters and effect variables "
                    f"(more than {MAX_VARIABLES})"
                )

    def _is_a(self) -> NDArray[np.bool_]:
        """[types, types]: `Domain.fits` as a matrix, each row built from the supertype's row."""
        domain, declared = self.domain, self.declared
        is_a = np.eye(len(self.alternatives), dtype=bool)
        for number, entry in enumerate(domain.types):
            if entry.parent is not None:
                is_a[number] |= is_a[declared[entry.parent]]
        for number in range(len(declared), len(self.alternatives)):
            types = self.alternatives[number]
            is_a[number, : len(declared)] = is_a[[declared[name] for name in types], : len(declared)].all(axis=0)
        for number in range(len(declared), len(self.alternatives)):
            is_a[:, number] = [domain.fits(types, self.alternatives[number]) for types in self.alternatives]
        return is_a

    def _code_offsets(self, arity: NDArray[np.int32]) -> NDArray[np.int64]:
        total = 0
        offsets = [0]
        count = len(self.entries)
        for predicate, number in zip(self.domain.predicates, arity.tolist(), strict=True):
            total += count**number
            if total >= 2**62:
                raise UnsupportedError(
                    f"{self.problem.file}: predicate {predicate.name!r} with {number:,} arguments over "
                    f"{count:,} objects (more than 2^62 ground atoms)"
                )
            offsets.append(total)
        return np.array(offsets, np.int64)

    def _initial_atoms(
        self, arity: NDArray[np.int32], fluent: NDArray[np.bool_], offsets: NDArray[np.int64]
    ) -> tuple[tuple[NDArray[np.int32], ...], NDArray[np.int64]]:
        """Sorted static atoms of each predicate, and the codes of the fluent ones."""
        predicate = self.problem.init_predicate
        argument = self.problem.init_argument
        lengths = arity[predicate]
        starts = np.cumsum(lengths) - lengths
        static: list[NDArray[np.int32]] = []
        codes: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
        count = len(self.entries)
        for number, width in enumerate(arity.tolist()):
            first = starts[predicate == number]
            rows = argument[first[:, None] + np.arange(width)]  # [atoms, arity]
            radix = count ** np.arange(width - 1, -1, -1, dtype=np.int64)
            code = np.sort(rows.astype(np.int64) @ radix) if width else np.zeros(len(first), np.int64)
            if fluent[number]:
                codes.append(code + offsets[number])
                rows = rows[:0]
            elif width:
                rows = np.stack([code // unit % count for unit in radix], axis=1).astype(np.int32)
            rows.flags.writeable = False
            static.append(rows)
        return tuple(static), np.concatenate(codes)

    def _types(self, types: tuple[str, ...]) -> tuple[int, ...]:
        """Numbers of the types that fit `types`. These include unions: an object of `(either a b)` fits
        `(either a b c)` without being of type a, b or c."""
        numbers = [self.declared[name] for name in types]
        if len(types) > 1:
            first = len(self.declared)
            unions = enumerate(self.alternatives[first:], start=first)
            numbers += [number for number, union in unions if self.domain.fits(union, types)]
        return tuple(numbers)

    def _objects(self, types: tuple[str, ...]) -> list[str]:
        if types not in self.members:
            self.members[types] = [entry.name for entry in self.entries if self.domain.fits(entry.types, types)]
        return self.members[types]

    def _schema(self, number: int) -> Schema:
        source = self.domain.schemas[number]
        slots = {entry.name: i for i, entry in enumerate(source.parameters)}
        effects = []
        for effect in source.effects:
            inner = {**slots, **{entry.name: len(slots) + i for i, entry in enumerate(effect.variables)}}
            literals = [(literal.positive, self._literal(literal, inner)) for literal in effect.literals]
            effects.append(
                Effect(
                    tuple(self._types(entry.types) for entry in effect.variables),
                    self._conjunction(effect.condition, inner),
                    tuple(literal for positive, literal in literals if positive),
                    tuple(literal for positive, literal in literals if not positive),
                )
            )
        return Schema(
            source.name,
            tuple(self._types(entry.types) for entry in source.parameters),
            self._conjunction(source.precondition, slots),
            tuple(effects),
        )

    def _conjunction(self, condition: Condition, slots: Mapping[str, int]) -> tuple[Literal, ...]:
        return tuple(dict.fromkeys(self._literal(literal, slots) for literal in self._expand(condition)))

    def _literal(self, literal: NamedLiteral, slots: Mapping[str, int]) -> Literal:
        terms = tuple(slots[term] if term in slots else ~self.object_number[term] for term in literal.terms)
        predicate = EQUALITY if literal.predicate == EQUALS else self.predicate_number[literal.predicate]
        return Literal(predicate, terms, literal.positive)

    def _expand(self, condition: Condition) -> list[NamedLiteral]:
        """The condition without quantifiers: one copy of a `forall` body per binding of its variables."""
        literals: list[NamedLiteral] = []
        for literal in self._expansion(condition, {}, 1):
            literals.append(literal)
            if len(literals) > MAX_EXPANSION:
                self._refuse_expansion()
        return literals

    def _expansion(self, condition: Condition, bound: Mapping[str, str], copies: int) -> Iterator[NamedLiteral]:
        """Literals of the condition, which is one of `copies`, one per binding of the outer quantifiers.

        Too many copies are refused before they are made, even if the body has no literals.
        """
        for part in condition:
            if isinstance(part, ForAll):
                names = [entry.name for entry in part.variables]
                objects = [self._objects(entry.types) for entry in part.variables]
                inner = copies * prod(len(entry) for entry in objects)
                if inner > MAX_EXPANSION:
                    self._refuse_expansion()
                for values in product(*objects):
                    yield from self._expansion(part.body, {**bound, **dict(zip(names, values, strict=True))}, inner)
            else:
                terms = tuple(bound.get(term, term) for term in part.terms) if bound else part.terms
                yield NamedLiteral(part.predicate, terms, part.positive) if bound else part

    def _refuse_expansion(self) -> NoReturn:
        limit = f"'forall' that expands to more than {MAX_EXPANSION:,} literals"
        raise UnsupportedError(f"{self.problem.file}: {limit}")

    def _goal(self, task: Task) -> Goal:
        positive: list[int] = []
        negative: list[int] = []
        impossible = False
        for literal in self._expand(self.problem.goal):
            arguments = [self.object_number[term] for term in literal.terms]
            if literal.predicate == EQUALS:
                impossible |= (arguments[0] == arguments[1]) != literal.positive
                continue
            code = task.encode(self.predicate_number[literal.predicate], arguments)
            (positive if literal.positive else negative).append(code)
        goal = task.make_goal(positive, negative)
        return Goal(goal.positive, goal.negative, goal.impossible or impossible)
