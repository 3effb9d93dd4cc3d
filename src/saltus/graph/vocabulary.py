"""Stage `graph`: the relations of an encoding of a domain, in a fixed order.

Takes a domain and an `EncodingSpec`, never a problem: a policy learned on some problems can read all others of the
domain. The parts of the encoding (`encodings.py`) say which relations there are:

    always     P for every predicate; P_GT, P_GF (goal atom true, false) if P is fluent; type:T for every declared type
    actions    A:schema for every schema; the candidate's node is the first argument
    delta      P+, P-, P+_G, P-_G for every fluent P; where candidates are nodes, the node is the first argument
    primed     P', P'_GT, P'_GF for every fluent P
    tree       E, D, SD

With negative goals there are also P_NGT, P_NGF (atom of a negated goal literal true, false), P'_NGT, P'_NGF, P+_NG and
P-_NG.

Departure: the paper's `int` duplicates the whole predicate set for the successor. Static predicates and types are the
same in both states, and their copies would carry the same atoms twice; so only fluent predicates have a primed copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from saltus.errors import ConfigurationError, InputError
from saltus.graph.encodings import EncodingSpec
from saltus.pddl import Domain

GOAL_SUFFIXES = ("_GT", "_GF")
NEGATED_GOAL_SUFFIXES = ("_NGT", "_NGF")
DELTA_SUFFIXES = ("+", "-", "+_G", "-_G")
NEGATED_DELTA_SUFFIXES = ("+_NG", "-_NG")
PRIME = "'"
TYPE_PREFIX = "type:"
SCHEMA_PREFIX = "A:"
EDGE, ORDER, LEVEL = "E", "D", "SD"
"""Relations of tree edges, of the order of depth nodes (every pair), and of the depth of a state."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation. `arity` includes the state or action node, and the world node."""

    name: str
    arity: int


@dataclass(frozen=True)
class Vocabulary:
    """Relations in order. Vocabularies with the same relations in the same order are equal."""

    relations: tuple[Relation, ...]

    def __post_init__(self) -> None:
        if len(self.number) < len(self.relations):
            counts = Counter(relation.name for relation in self.relations)
            twice = next(name for name, count in counts.items() if count > 1)
            raise ConfigurationError(
                f"vocabulary: two relations are named {twice!r}; rename a predicate, type or action"
            )

    @classmethod
    def of(cls, domain: Domain, spec: EncodingSpec) -> Vocabulary:
        """Vocabulary of an encoding of a domain."""
        return cls(tuple(_relations(domain, spec)))

    def __len__(self) -> int:
        return len(self.relations)

    def __iter__(self) -> Iterator[Relation]:
        return iter(self.relations)

    @cached_property
    def number(self) -> dict[str, int]:
        """Number of each relation by name."""
        return {relation.name: i for i, relation in enumerate(self.relations)}

    def to_json(self) -> list[list[str | int]]:
        """`[name, arity]` of each relation, in order."""
        return [[relation.name, relation.arity] for relation in self.relations]

    @classmethod
    def from_json(cls, value: object) -> Vocabulary:
        """Vocabulary written by `to_json`; anything else raises an `InputError`."""
        if not isinstance(value, list):
            raise InputError("vocabulary: expected a list of [name, arity]")
        relations: list[Relation] = []
        for entry in value:
            match entry:
                case [str(name), int(arity)] if arity > 0 and not isinstance(arity, bool):
                    relations.append(Relation(name, arity))
                case _:
                    raise InputError("vocabulary: bad relation", found=repr(entry), expected="[name, arity]")
        return cls(tuple(relations))

    def check_equal(self, wanted: Vocabulary) -> None:
        """Raises a `ConfigurationError` that names the differences if this is not the wanted vocabulary."""
        if self == wanted:
            return
        own, other = ({f"{r.name}/{r.arity}" for r in v.relations} for v in (self, wanted))
        parts = [
            f"{word} {', '.join(sorted(names)[:5])}{' and more' if len(names) > 5 else ''}"
            for word, names in (("lacks", other - own), ("also has", own - other))
            if names
        ]
        difference = " and ".join(parts) or "has the same relations in another order"
        raise ConfigurationError(f"vocabulary does not match domain and encoding: it {difference}")


def fluent_predicates(domain: Domain) -> frozenset[str]:
    """Names of the predicates mentioned by some effect, and of derived ones."""
    return domain.derived | frozenset(
        literal.predicate for schema in domain.schemas for effect in schema.effects for literal in effect.literals
    )


def has_world(domain: Domain, spec: EncodingSpec) -> bool:
    """Whether graphs have a world node: some predicate has no arguments, and its atoms are kept."""
    return spec.nullary == "world" and any(not predicate.parameters for predicate in domain.predicates)


def goal_suffixes(spec: EncodingSpec) -> tuple[str, ...]:
    """Suffixes of the goal relations of a fluent predicate."""
    return GOAL_SUFFIXES + (NEGATED_GOAL_SUFFIXES if spec.negative_goals else ())


def delta_suffixes(spec: EncodingSpec) -> tuple[str, ...]:
    """Suffixes of the difference relations of a fluent predicate."""
    return DELTA_SUFFIXES + (NEGATED_DELTA_SUFFIXES if spec.negative_goals else ())


def _relations(domain: Domain, spec: EncodingSpec) -> Iterator[Relation]:
    parts = spec.parts
    fluent = fluent_predicates(domain)
    kept = [predicate for predicate in domain.predicates if predicate.parameters or spec.nullary == "world"]
    arity = {predicate.name: max(1, len(predicate.parameters)) for predicate in kept}  # the world node is one argument
    for name in arity:
        yield Relation(name, arity[name])
        if name in fluent:
            yield from (Relation(name + suffix, arity[name]) for suffix in goal_suffixes(spec))
    for entry in domain.types:
        yield Relation(TYPE_PREFIX + entry.name, 1)
    if parts.actions:
        for schema in domain.schemas:
            yield Relation(SCHEMA_PREFIX + schema.name, 1 + len(schema.parameters))
    for name in arity:
        if name in fluent and parts.delta:
            anchor = int(parts.is_joint)  # the candidate's node
            yield from (Relation(name + suffix, anchor + arity[name]) for suffix in delta_suffixes(spec))
        if name in fluent and parts.primed:
            yield from (Relation(name + PRIME + suffix, arity[name]) for suffix in ("", *goal_suffixes(spec)))
    if parts.tree and spec.tree_atoms:
        yield Relation(EDGE, 2)
    if parts.tree and spec.depth_nodes:
        yield Relation(ORDER, 2)
        yield Relation(LEVEL, 2)
