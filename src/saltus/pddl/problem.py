"""Stage `pddl`, part 6: the problem file.

Takes a `Source` and its `Domain`; gives a checked `Problem`. The initial atoms make up more than nine tenths of a large
file and are never turned into expressions: the kernel reads and checks them straight from the tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NoReturn, Protocol

import numpy as np

from saltus import _kernel
from saltus.errors import PddlError
from saltus.pddl.conditions import (
    TOTAL_COST,
    Scope,
    negated_atom,
    parse_condition,
    parse_literal,
    parse_number,
    parse_numeric_term,
)
from saltus.pddl.domain import parse_head, parse_objects, parse_requirements, section_name
from saltus.pddl.expressions import Group, Word, as_group, as_word, build, children, fail, name_of, unsupported
from saltus.pddl.source import Source
from saltus.pddl.structures import EQUALS, Condition, Domain, Exists, ForAll, Literal, Or, Problem, TypedName

if TYPE_CHECKING:
    from numpy.typing import NDArray

SECTIONS = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric", ":length")
REFUSED_SECTIONS = {":constraints": "section ':constraints'"}
METRIC = "'(:metric minimize (total-cost))'"


class AtomReader(Protocol):
    """Signature shared by the kernel's `read_atoms` and its twin in `tests/twins/reader.py`."""

    def __call__(
        self,
        token: NDArray[np.int32],
        begin: int,
        end: int,
        predicate_of_symbol: NDArray[np.int32],
        object_of_symbol: NDArray[np.int32],
        arity: NDArray[np.int32],
        first_slot: NDArray[np.int32],
        allowed: NDArray[np.uint8],
        object_type: NDArray[np.int32],
        types: int,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], int]: ...


def parse_problem(source: Source, domain: Domain, read_atoms: AtomReader = _kernel.read_atoms) -> Problem:
    """The checked problem in a source; a flaw raises a `PddlError` or `UnsupportedError` with its position.

    Flaws that other planners accept become `warnings`, after those of the domain, unless the source is strict.
    """
    name, ranges = parse_head(source, "problem")
    sections: dict[str, Group] = {}
    places = {":init": (0, 0), ":goal": (0, 0)}
    for begin, end in ranges:
        word = source.symbols[source.token[begin + 1]] if source.token[begin + 1] >= 0 else ""
        if word in places:  # may be huge: stays in tokens
            group = Group((Word(word, int(source.offset[begin + 1])),), int(source.offset[begin]))
        else:
            group = build(source, begin, end)
        key = section_name(source, group, SECTIONS, REFUSED_SECTIONS)
        if key in sections:
            raise PddlError(f"duplicate section {key!r}", source.position(group.offset))
        sections[key] = group
        if key in places:
            places[key] = begin, end
    for key in (":domain", ":init", ":goal"):
        if key not in sections:
            raise PddlError(f"section {key!r} is missing", source.position(0))
    _check_domain_name(source, sections[":domain"], domain)
    requirements = parse_requirements(source, sections[":requirements"]) if ":requirements" in sections else ()
    constants = {entry.name: entry for entry in domain.constants}
    objects = parse_objects(source, domain, sections.pop(":objects", None), constants)  # frees the words
    everything = (*domain.constants, *objects)
    scope = Scope(
        source,
        domain,
        {entry.name: entry for entry in domain.predicates},
        {entry.name: entry for entry in domain.functions},
        {entry.name: entry.types for entry in everything},
    )
    predicate, argument, special, warnings = _read_init(scope, everything, places[":init"], read_atoms)
    values, negated = _read_values(scope, special)
    problem = Problem(
        name=name,
        domain_name=domain.name,
        requirements=requirements,
        objects=objects,
        init_predicate=predicate,
        init_argument=argument,
        values=values,
        goal=_read_goal(scope, places[":goal"][0]),
        minimize_cost=_read_metric(scope, sections.get(":metric")),
        warnings=(*domain.warnings, *source.warnings, *warnings),
        file=source.name,
    )
    _check_negated(scope, problem, negated)
    return problem


def _check_domain_name(source: Source, group: Group, domain: Domain) -> None:
    if len(group.items) != 2:
        fail(source, group.offset, "':domain' takes one name", "'(:domain NAME)'")
    word = name_of(source, group.items[1], "a domain name")
    if word.text != domain.name:
        raise PddlError(
            f"problem is for domain {word.text!r}, but the domain file ({domain.file}) defines {domain.name!r}",
            source.position(word.offset),
        )


def _read_init(
    scope: Scope, objects: tuple[TypedName, ...], init: tuple[int, int], read_atoms: AtomReader
) -> tuple[NDArray[np.int32], NDArray[np.int32], Iterator[Group], list[str]]:
    """Flat initial atoms, the entries that are not atoms, and warnings about repeated atoms."""
    source, domain = scope.source, scope.domain
    number_of = {entry.name: i for i, entry in enumerate(domain.predicates)}
    object_number = {entry.name: i for i, entry in enumerate(objects)}
    combinations = {types: i for i, types in enumerate(dict.fromkeys(entry.types for entry in objects))}
    slots = [parameter for predicate in domain.predicates for parameter in predicate.parameters]
    allowed = np.zeros((len(slots), max(1, len(combinations))), np.uint8)
    for row, parameter in enumerate(slots):
        for types, column in combinations.items():
            allowed[row, column] = domain.fits(types, parameter.types)
    arity = np.array([len(entry.parameters) for entry in domain.predicates], np.int32)
    special_heads = {EQUALS, "not", "and"} - number_of.keys()
    # -1 is an unknown name; entries that begin with -2 are left to us
    of_symbol = [-2 if name in special_heads else number_of.get(name, -1) for name in source.symbols]
    predicate, argument, special, duplicate, refused = read_atoms(
        source.token,
        init[0] + 2,
        init[1],
        np.array(of_symbol, np.int32),
        np.array([object_number.get(name, -1) for name in source.symbols], np.int32),
        arity,
        (np.cumsum(arity) - arity).astype(np.int32),
        allowed.ravel(),
        np.array([combinations[entry.types] for entry in objects], np.int32),
        allowed.shape[1],
    )
    if refused >= 0:
        _explain(scope, refused)
    _check_derived(scope, predicate)
    if source.strict and len(duplicate):
        first = int(source.offset[duplicate[0]])
        source.warn(first, f"atom {source.excerpt(first)} is repeated")
    warnings = [
        f"{source.position(int(source.offset[i]))}: atom {source.excerpt(int(source.offset[i]))} is repeated"
        for i in duplicate[:10]
    ]
    if len(duplicate) > 10:
        warnings.append(f"{source.name}: {len(duplicate) - 10} more repeated atoms")
    groups = (
        build(source, int(i), ~int(source.token[i])) for i in special
    )  # built one at a time: there may be millions
    return predicate, argument, groups, warnings


def _check_derived(scope: Scope, predicate: NDArray[np.int32]) -> None:
    """Raises an error if a derived predicate has initial atoms: its atoms follow from the axioms."""
    for number, entry in enumerate(scope.domain.predicates):
        if entry.name in scope.domain.derived and (predicate == number).any():
            raise PddlError(f"{scope.source.name}: derived predicate {entry.name!r} cannot have initial atoms")


def _explain(scope: Scope, entry: int) -> NoReturn:
    """Raises the error for the initial atom at token `entry`: reads that one atom again, the slow way."""
    source = scope.source
    if source.token[entry] >= 0:
        fail(source, int(source.offset[entry]), "not an atom", "a list such as '(p a)'")
    group = build(source, entry, ~int(source.token[entry]))
    if group.head() == "at" and len(group.items) == 3 and isinstance(group.items[2], Group):
        time = as_word(source, group.items[1], "an object or a number")
        if time.text[0].isdigit():
            unsupported(source, group.offset, "timed initial literal")
    literal = parse_literal(scope, group, surely=True)
    raise AssertionError(f"the kernel refused a valid atom: {literal}")


def _read_values(
    scope: Scope, special: Iterator[Group]
) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], int]]:
    """Values of numeric functions by `(function, object, …)`, and offsets of negated atoms by `(predicate, …)`."""
    source = scope.source
    values: dict[tuple[str, ...], float] = {}
    negated: dict[tuple[str, ...], int] = {}
    for group in special:
        if group.head() == "not":
            literal = parse_literal(scope, negated_atom(source, group), surely=True)
            if literal.predicate == EQUALS:
                fail(source, literal.offset, "equality cannot be an initial atom", "a predicate")
            negated.setdefault((literal.predicate, *literal.terms), group.offset)
            continue
        if group.head() == "and":
            fail(source, group.offset, "'and' is not allowed in ':init'", "an atom such as '(p a)'")
        if len(group.items) != 3 or isinstance(group.items[1], Word):
            fail(source, group.offset, "'=' in ':init' takes a function and a number", "'(= (f a) 1)'")
        term = parse_numeric_term(scope, group.items[1], constant=True)
        value = group.items[2]
        if isinstance(value, Group):
            fail(source, value.offset, "invalid number", "a non-negative decimal number")
        key = (term.function, *term.terms)
        if key in values:
            raise PddlError(f"duplicate value for {source.excerpt(term.offset)}", source.position(group.offset))
        values[key] = parse_number(source, value)
    return values, negated


def _check_negated(scope: Scope, problem: Problem, negated: dict[tuple[str, ...], int]) -> None:
    """Raises an error for an atom listed both as true and as false; a negated atom alone changes nothing."""
    if negated:
        for atom in problem.initial_atoms(scope.domain):
            if atom in negated:
                message = f"atom ({' '.join(atom)}) is listed both as true and as false"
                raise PddlError(message, scope.source.position(negated[atom]))


def _read_goal(scope: Scope, section: int) -> Condition:
    """The goal that begins at token `section`; a conjunction is read part by part, as there may be millions."""
    source = scope.source
    items = list(islice(children(source, section), 3))
    if len(items) != 2:
        fail(source, int(source.offset[section]), "':goal' takes one condition", "'(:goal (and …))'")
    whole = items[1]
    if source.token[whole] >= 0:
        fail(source, int(source.offset[whole]), "not a list", "a condition")
    first = int(source.token[whole + 1])
    if first < 0 or source.symbols[first] != "and":
        return tuple(dict.fromkeys(parse_condition(scope, build(source, whole, ~int(source.token[whole])))))
    condition: dict[Literal | ForAll | Exists | Or, None] = {}
    for i in islice(children(source, whole), 1, None):
        if source.token[i] >= 0:
            fail(source, int(source.offset[i]), "not a list", "a condition")
        condition.update(dict.fromkeys(parse_condition(scope, build(source, i, ~int(source.token[i])))))
    return tuple(condition)


def _read_metric(scope: Scope, group: Group | None) -> bool:
    """Whether the metric minimises the total cost; any other metric is an error."""
    if group is None:
        return False
    source = scope.source
    if len(group.items) != 3:
        fail(source, group.offset, "':metric' takes a direction and an expression", METRIC)
    direction = as_word(source, group.items[1], "'minimize'")
    if direction.text not in ("minimize", "maximize"):
        fail(source, direction.offset, "unknown direction", "'minimize'")
    target = as_group(source, group.items[2], METRIC)
    if direction.text == "maximize" or target.head() != TOTAL_COST or len(target.items) != 1:
        unsupported(source, group.offset, f"metric {source.excerpt(group.offset)}")
    if TOTAL_COST not in scope.functions:
        fail(
            source,
            target.offset,
            "function 'total-cost' is not declared",
            "a declaration under ':functions' of the domain",
        )
    return True
