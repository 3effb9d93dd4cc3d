"""Stage `task`: from `Domain` and `Problem` to `Task`.

Names become numbers. Universal preconditions and goals over literals are expanded over the objects; universal effects
stay lifted, and other formulas become nested conditions (`formulas.py`) or derived atoms (`goals.py`). Cost: one
sort of the initial atoms; everything else is linear in the size of the domain and the goal.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from saltus.errors import UnsupportedError
from saltus.pddl import Axiom as NamedAxiom
from saltus.pddl import Condition, Domain, ForAll, Problem, Source, parse_domain, parse_problem
from saltus.pddl import Literal as NamedLiteral
from saltus.pddl.axioms import strata
from saltus.pddl.structures import EQUALS
from saltus.task.formulas import MAX_VARIABLES, Conjunction, Formulas, is_simple, rules_of
from saltus.task.goals import MAX_EXPANSION, GoalParts, goal_parts, refuse_expansion
from saltus.task.state import Goal, State
from saltus.task.task import EQUALITY, Axiom, Effect, Literal, Schema, Task


def load(domain: str | os.PathLike[str] | Domain, problem: str | os.PathLike[str], *, strict: bool = False) -> Task:
    """Task of a domain (file, or already read) and a problem file; if `strict`, every flaw in a file is an error."""
    if not isinstance(domain, Domain):
        domain = parse_domain(Source.from_file(domain, strict=strict))
    return build_task(domain, parse_problem(Source.from_file(problem, strict=strict), domain))


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
        self.formulas = Formulas(self._literal, self._types, domain.file)
        declared = {entry.name: i for i, entry in enumerate(domain.types)}
        unions = dict.fromkeys(entry.types for entry in entries if len(entry.types) > 1)
        self.alternatives = [*((name,) for name in declared), *unions]
        self.type_number = {types: i for i, types in enumerate(self.alternatives)}
        self.declared = declared
        self.members: dict[tuple[str, ...], list[str]] = {}

    def task(self) -> Task:
        domain, problem = self.domain, self.problem
        self._check_sizes()
        changed = (e.literals for schema in domain.schemas for e in schema.effects)
        fluent_names = domain.derived | {literal.predicate for literals in changed for literal in literals}
        goal = goal_parts(domain, problem, fluent_names, self._objects)
        for axiom in goal.axioms:
            self.predicate_number[axiom.predicate] = len(self.predicate_number)
        declared = [len(entry.parameters) for entry in domain.predicates]
        arity = np.array([*declared, *(len(axiom.parameters) for axiom in goal.axioms)], np.int32)
        offsets = self._code_offsets(arity)
        schemas = tuple(self._schema(number) for number in range(len(domain.schemas)))
        fluent = np.array([name in fluent_names for name in self.predicate_number], bool)
        fluent[len(domain.predicates) :] = True
        static, initial = self._initial_atoms(arity, fluent, offsets)
        is_a = self._is_a()
        task = Task(
            domain=domain,
            problem=problem,
            objects=tuple(entry.name for entry in self.entries),
            types=tuple(" or ".join(types) for types in self.alternatives),
            is_a=is_a,
            object_type=np.array([self.type_number[entry.types] for entry in self.entries], np.int32),
            predicates=tuple(self.predicate_number),
            arity=arity,
            fluent=fluent,
            code_offset=offsets,
            static_atoms=static,
            schemas=schemas,
            axioms=self._axioms((*domain.axioms, *goal.axioms)),
            initial_state=State(initial),
            goal=Goal(()),
        )
        # Both need the finished task.
        object.__setattr__(task, "goal", self._goal(task, goal))
        object.__setattr__(task, "initial_state", task.completed(initial))
        return task

    def _check_sizes(self) -> None:
        file = self.domain.file
        for predicate in self.domain.predicates:
            if len(predicate.parameters) > 62:  # with two objects, more would not fit into a code
                raise UnsupportedError(
                    f"{file}: predicate {predicate.name!r} with {len(predicate.parameters):,} arguments (more than 62)"
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
            for parent in entry.parents:
                is_a[number] |= is_a[declared[parent]]
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
        for name, number in zip(self.predicate_number, arity.tolist(), strict=True):
            total += count**number
            if total >= 2**62:
                raise UnsupportedError(
                    f"{self.problem.file}: predicate {name!r} with {number:,} arguments over "
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
            condition, nested = self._condition(effect.condition, inner)
            effects.append(
                Effect(
                    tuple(self._types(entry.types) for entry in effect.variables),
                    condition,
                    tuple(literal for positive, literal in literals if positive),
                    tuple(literal for positive, literal in literals if not positive),
                    nested,
                )
            )
        precondition, nested = self._condition(source.precondition, slots)
        return Schema(
            source.name,
            tuple(self._types(entry.types) for entry in source.parameters),
            precondition,
            tuple(effects),
            nested,
        )

    def _condition(self, condition: Condition, slots: Mapping[str, int]) -> Conjunction:
        """Literals and nested conditions; universal quantifiers over literals are expanded."""
        simple = tuple(part for part in condition if is_simple(part))
        others = tuple(part for part in condition if not is_simple(part))
        return self.formulas.conjunction((*self._expand(simple), *others), slots, len(slots))

    def _axioms(self, named: Sequence[NamedAxiom]) -> tuple[Axiom, ...]:
        """Rules of all axioms, those of lower strata first."""
        stratum = {name: number for number, names in enumerate(strata(named)) for name in names}
        axioms: list[Axiom] = []
        for axiom in sorted(named, key=lambda entry: stratum[entry.predicate]):
            slots = {entry.name: i for i, entry in enumerate(axiom.parameters)}
            for rule in rules_of(axiom.condition):
                variables = [self._types(entry.types) for entry in axiom.parameters]
                own: list[tuple[int, ...]] = []
                condition, nested = self.formulas.conjunction(rule, slots, len(slots), own)
                axioms.append(
                    Axiom(
                        self.predicate_number[axiom.predicate],
                        (*variables, *own),
                        condition,
                        nested,
                        stratum[axiom.predicate],
                    )
                )
        return tuple(axioms)

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
                refuse_expansion(self.problem)
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
                    refuse_expansion(self.problem)
                for values in product(*objects):
                    yield from self._expansion(part.body, {**bound, **dict(zip(names, values, strict=True))}, inner)
            elif isinstance(part, NamedLiteral):
                terms = tuple(bound.get(term, term) for term in part.terms) if bound else part.terms
                yield NamedLiteral(part.predicate, terms, part.positive) if bound else part

    def _goal(self, task: Task, parts: GoalParts) -> Goal:
        positive: list[int] = []
        negative: list[int] = []
        impossible = parts.impossible
        for literal in parts.literals:
            arguments = [self.object_number[term] for term in literal.terms]
            if literal.predicate == EQUALS:
                impossible |= (arguments[0] == arguments[1]) != literal.positive
                continue
            code = task.encode(self.predicate_number[literal.predicate], arguments)
            (positive if literal.positive else negative).append(code)
        goal = task.make_goal(positive, negative)
        return Goal(goal.positive, goal.negative, goal.impossible or impossible)
