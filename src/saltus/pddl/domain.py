"""Stage `pddl`, part 5: the domain file.

Takes a `Source`; gives a checked `Domain`. Sections may come in any order; each may appear once.
"""

from __future__ import annotations

from dataclasses import replace

from saltus.errors import PddlError, UnsupportedError, suggestion
from saltus.pddl.axioms import check_stratified, parse_axiom
from saltus.pddl.conditions import TOTAL_COST, Scope, parse_condition, parse_effects, parse_variables, resolve_types
from saltus.pddl.expressions import (
    Expression,
    Group,
    Word,
    as_group,
    as_word,
    build,
    fail,
    name_of,
    top_level,
    unknown,
    words_and_types,
)
from saltus.pddl.source import MAX_NESTING, Source
from saltus.pddl.structures import EQUALS, OBJECT, Domain, Function, Predicate, Schema, Type, TypedName

SUPPORTED_REQUIREMENTS = frozenset(
    {
        ":strips",
        ":typing",
        ":equality",
        ":negative-preconditions",
        ":universal-preconditions",
        ":quantified-preconditions",
        ":conditional-effects",
        ":action-costs",
        ":adl",
        ":derived-predicates",
        ":disjunctive-preconditions",
        ":existential-preconditions",
    }
)

UNSUPPORTED_REQUIREMENTS = frozenset(
    {
        ":constraints",
        ":continuous-effects",
        ":duration-inequalities",
        ":durative-actions",
        ":fluents",
        ":goal-utilities",
        ":multi-agent",
        ":non-deterministic",
        ":numeric-fluents",
        ":object-fluents",
        ":preferences",
        ":probabilistic-effects",
        ":rewards",
        ":time",
        ":timed-initial-literals",
    }
)

REFUSED_SECTIONS = {
    ":durative-action": "durative action",
    ":constraints": "section ':constraints'",
    ":process": "process",
    ":event": "event",
    ":axiom": "axiom",
}

RESERVED = frozenset({"and", "forall", "increase", "not", "when"})
"""Names that no predicate can have: conditions and effects give these words another meaning."""

SECTIONS = (":requirements", ":types", ":constants", ":predicates", ":functions", ":derived", ":action")

REPEATED = (":derived", ":action")
"""Sections that may appear any number of times."""

Sections = dict[str, Group]


def parse_domain(source: Source) -> Domain:
    """The checked domain in a source; a flaw raises a `PddlError` or `UnsupportedError` with its position.

    Flaws that other planners accept become `warnings` of the domain, unless the source is strict.
    """
    name, sections, repeated = _split(source)
    requirements = parse_requirements(source, sections.get(":requirements"))
    domain = Domain(name, requirements, _parse_types(source, sections.get(":types")), (), (), (), (), file=source.name)
    domain = replace(domain, constants=parse_objects(source, domain, sections.get(":constants"), {}))
    predicates = _parse_predicates(source, domain, sections.get(":predicates"))
    functions = _parse_functions(source, domain, sections.get(":functions"))
    domain = replace(domain, predicates=tuple(predicates.values()), functions=tuple(functions.values()))
    terms = {entry.name: entry.types for entry in domain.constants}
    scope = Scope(source, domain, predicates, functions, terms)
    axioms = tuple(parse_axiom(scope, group) for group in repeated[":derived"])
    check_stratified(scope, axioms)
    scope = replace(scope, derived=frozenset(axiom.predicate for axiom in axioms))
    schemas: dict[str, Schema] = {}
    for group in repeated[":action"]:
        schema = _parse_action(scope, group)
        if schema.name in schemas:
            raise PddlError(f"duplicate action {schema.name!r}", source.position(group.offset))
        schemas[schema.name] = schema
    return replace(domain, schemas=tuple(schemas.values()), axioms=axioms, warnings=tuple(source.warnings))


def parse_head(source: Source, kind: str) -> tuple[str, list[tuple[int, int]]]:
    """The name in `(domain x)` or `(problem x)`, and the token ranges of the sections that follow."""
    ranges = top_level(source)
    example = f"'({kind} NAME)'"
    if not ranges:
        fail(source, int(source.offset[-1]), f"{kind} has no name", example)
    head = build(source, *ranges[0])
    if head.head() != kind:
        fail(source, head.offset, f"not a {kind} file", example)
    if len(head.items) != 2:
        fail(source, head.offset, f"{kind} must have exactly one name", example)
    return name_of(source, head.items[1], f"a {kind} name").text, ranges[1:]


def _split(source: Source) -> tuple[str, Sections, dict[str, list[Group]]]:
    name, ranges = parse_head(source, "domain")
    sections: Sections = {}
    repeated: dict[str, list[Group]] = {key: [] for key in REPEATED}
    for begin, end in ranges:
        group = build(source, begin, end)
        key = section_name(source, group, SECTIONS, REFUSED_SECTIONS)
        if key in repeated:
            repeated[key].append(group)
        elif key in sections:
            raise PddlError(f"duplicate section {key!r}", source.position(group.offset))
        else:
            sections[key] = group
    if ":predicates" not in sections:
        raise PddlError("section ':predicates' is missing", source.position(0))
    return name, sections, repeated


def section_name(source: Source, group: Group, known: tuple[str, ...], refused: dict[str, str]) -> str:
    """The keyword that opens a section; an unknown or unsupported keyword is an error."""
    if not group.items:
        fail(source, group.offset, "empty section", "a section such as '(:init …)'")
    word = as_word(source, group.items[0], "a section keyword")
    if word.text in refused:
        raise UnsupportedError(refused[word.text], source.position(group.offset))
    if word.text not in known:
        unknown(source, word, "section", list(known))
    return word.text


def parse_requirements(source: Source, group: Group | None) -> tuple[str, ...]:
    """Requirement flags, `:strips` if there are none; an unknown or unsupported flag is an error."""
    if group is None:
        return (":strips",)
    for item in group.items[1:]:
        word = as_word(source, item, "a requirement such as ':strips'")
        if word.text in UNSUPPORTED_REQUIREMENTS:
            raise UnsupportedError(f"requirement {word.text!r}", source.position(word.offset))
        if word.text not in SUPPORTED_REQUIREMENTS:
            known = sorted(SUPPORTED_REQUIREMENTS | UNSUPPORTED_REQUIREMENTS)
            unknown(source, word, "requirement", known)
    return tuple(dict.fromkeys(item.text for item in group.items[1:] if isinstance(item, Word)))


def _parse_types(source: Source, group: Group | None) -> tuple[Type, ...]:
    """The declared types: `object` first, every supertype before its subtypes."""
    declared = _declared_types(source, group)
    if len(declared) > 4096:  # the table of subtypes is quadratic in their number
        raise UnsupportedError("a domain with more than 4,096 types", source.position(group.offset if group else 0))
    ordered = {OBJECT: Type(OBJECT, None)}
    depths = {OBJECT: 0}
    for first in declared:
        stack = [first]
        path: set[str] = set()  # types whose supertypes are being looked at
        while stack:
            name = stack[-1]
            if name in ordered:
                stack.pop()
                continue
            word, parents = declared[name]
            path.add(name)
            missing = [parent for parent in parents if parent not in ordered]
            for parent in missing:
                if parent in path:
                    offset = declared[parent][0].offset
                    raise PddlError(f"type {parent!r} is its own supertype", source.position(offset))
            if missing:
                stack.append(missing[0])
                continue
            ordered[name] = Type(name, parents[0], word.offset, tuple(parents[1:]))
            depths[name] = 1 + max(depths[parent] for parent in parents)
            if depths[name] > MAX_NESTING:
                raise UnsupportedError(
                    f"a type hierarchy of more than {MAX_NESTING} levels", source.position(word.offset)
                )
            path.discard(name)
    return tuple(ordered.values())


def _declared_types(source: Source, group: Group | None) -> dict[str, tuple[Word, list[str]]]:
    """Types without `object`, each with its supertypes, at least one; those without a declaration come last."""
    declared: dict[str, tuple[Word, list[str]]] = {}
    mentioned: dict[str, Word] = {}
    for word, parents in words_and_types(source, group.items[1:] if group else (), variables=False, what="a type"):
        if word.text == OBJECT:
            if any(parent.text != OBJECT for parent in parents):
                raise PddlError("'object' cannot have a supertype", source.position(word.offset))
            continue
        if word.text in declared:
            source.warn(word.offset, f"duplicate type {word.text!r}")
        if len(parents) > 1:
            source.warn(parents[0].offset, f"type {word.text!r} has several supertypes")
        known = declared.setdefault(word.text, (word, []))[1]
        known += [parent.text for parent in parents if parent.text not in (OBJECT, *known)]
        mentioned |= {parent.text: parent for parent in parents if parent.text not in mentioned}
    for name, word in mentioned.items():
        if name != OBJECT and name not in declared:
            source.warn(word.offset, f"unknown type {name!r}{suggestion(name, [OBJECT, *declared])}")
            declared[name] = (word, [])
    return {name: (word, parents or [OBJECT]) for name, (word, parents) in declared.items()}


def parse_objects(
    source: Source, domain: Domain, group: Group | None, taken: dict[str, TypedName]
) -> tuple[TypedName, ...]:
    """Typed objects of a section; a name that is already in use for another type is an error."""
    result: dict[str, TypedName] = {}
    checked: dict[tuple[Word, ...], tuple[str, ...]] = {}
    entries = words_and_types(source, group.items[1:] if group else (), variables=False, what="an object")
    for word, words in entries:
        if words not in checked:
            checked[words] = resolve_types(source, domain, words)
        if word.text in result or word.text in taken:
            same = (result.get(word.text) or taken[word.text]).types == checked[words]
            if not same:
                raise PddlError(f"duplicate object {word.text!r}", source.position(word.offset))
            source.warn(word.offset, f"duplicate object {word.text!r}")
            continue
        result[word.text] = TypedName(word.text, checked[words], word.offset)
    return tuple(result.values())


def _parse_predicates(source: Source, domain: Domain, group: Group | None) -> dict[str, Predicate]:
    result: dict[str, Predicate] = {}
    for item in group.items[1:] if group else ():
        name, parameters = _declaration(source, domain, item, "a predicate such as '(p ?x)'")
        if name.text == EQUALS:
            fail(source, name.offset, "'=' is built in and cannot be declared", "another name")
        if name.text in RESERVED:
            fail(source, name.offset, f"{name.text!r} is a reserved word", "another name")
        if name.text in result:
            raise PddlError(f"duplicate predicate {name.text!r}", source.position(name.offset))
        result[name.text] = Predicate(name.text, parameters, name.offset)
    return result


def _parse_functions(source: Source, domain: Domain, group: Group | None) -> dict[str, Function]:
    result: dict[str, Function] = {}
    items = group.items[1:] if group else ()
    i = 0
    while i < len(items):
        name, parameters = _declaration(source, domain, items[i], "a function such as '(total-cost)'")
        if name.text in result:
            raise PddlError(f"duplicate function {name.text!r}", source.position(name.offset))
        if name.text == TOTAL_COST and parameters:
            fail(source, items[i].offset, "'total-cost' takes no arguments", "'(total-cost)'")
        result[name.text] = Function(name.text, parameters, name.offset)
        i += 1
        hyphen = items[i] if i < len(items) else None
        if isinstance(hyphen, Word) and hyphen.text == "-":
            if i + 1 >= len(items):
                fail(source, hyphen.offset, "type is missing after '-'", "'number'")
            kind = as_word(source, items[i + 1], "'number'")
            if kind.text != "number":
                raise UnsupportedError(f"function type {kind.text!r}", source.position(kind.offset))
            i += 2
    return result


def _declaration(source: Source, domain: Domain, item: Expression, expected: str) -> tuple[Word, tuple[TypedName, ...]]:
    group = as_group(source, item, expected)
    if not group.items:
        fail(source, group.offset, "empty list", expected)
    name = name_of(source, group.items[0], expected)
    return name, parse_variables(source, domain, group.items[1:], declaration=True)


def _parse_action(scope: Scope, group: Group) -> Schema:
    source = scope.source
    if len(group.items) < 2:
        fail(source, group.offset, "action has no name", "'(:action NAME …)'")
    name = name_of(source, group.items[1], "an action name")
    fields: dict[str, Expression] = {}
    rest = group.items[2:]
    for i in range(0, len(rest), 2):
        key = as_word(source, rest[i], "':parameters', ':precondition' or ':effect'")
        if key.text not in (":parameters", ":precondition", ":effect"):
            hint = suggestion(key.text, [":parameters", ":precondition", ":effect"])
            raise PddlError(f"unknown part {key.text!r} of action {name.text!r}{hint}", source.position(key.offset))
        if key.text in fields:
            raise PddlError(f"duplicate {key.text!r} in action {name.text!r}", source.position(key.offset))
        if i + 1 >= len(rest):
            fail(source, key.offset, f"{key.text!r} has no value", "a list after it")
        fields[key.text] = rest[i + 1]
    if ":effect" not in fields:
        raise PddlError(f"action {name.text!r} has no ':effect'", source.position(group.offset))
    declared = as_group(source, fields[":parameters"], "a list of variables") if ":parameters" in fields else None
    parameters = parse_variables(source, scope.domain, declared.items if declared else ())
    inner = scope.with_variables(parameters)
    condition = parse_condition(inner, fields[":precondition"]) if ":precondition" in fields else ()
    effects, costs = parse_effects(inner, fields[":effect"])
    return Schema(name.text, parameters, condition, effects, costs, name.offset)
