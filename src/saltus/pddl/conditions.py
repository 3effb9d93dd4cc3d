"""Stage `pddl`, part 3: conditions and effects, from expressions to checked literals.

Takes expressions and the names in scope; gives `Condition`, `Effect` and costs. The language is that of ADL: typing,
equality, `and`, `or`, `not`, `imply`, `forall` and `exists` in conditions, `forall` and `when` in effects, nested at
will. Conditions come out in negation normal form. Preferences and numbers other than action costs are refused; the
error names the construct.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isinf
from typing import NoReturn

from saltus.errors import PddlError, plural, suggestion
from saltus.pddl.expressions import (
    Expression,
    Group,
    Word,
    as_group,
    as_word,
    fail,
    unknown,
    unsupported,
    words_and_types,
)
from saltus.pddl.source import Source
from saltus.pddl.structures import (
    EQUALS,
    OBJECT,
    Condition,
    Cost,
    Domain,
    Effect,
    Exists,
    ForAll,
    Function,
    Literal,
    NumericTerm,
    Or,
    Predicate,
    TypedName,
)

REFUSED_CONDITIONS = {
    "preference": "preference",
    ">": "numeric condition '>'",
    "<": "numeric condition '<'",
    ">=": "numeric condition '>='",
    "<=": "numeric condition '<='",
}

REFUSED_EFFECTS = {
    "assign": "numeric effect 'assign'",
    "scale-up": "numeric effect 'scale-up'",
    "scale-down": "numeric effect 'scale-down'",
    "decrease": "numeric effect 'decrease'",
    "or": "disjunctive effect",
    "oneof": "non-deterministic effect 'oneof'",
    "probabilistic": "probabilistic effect",
}

TOTAL_COST = "total-cost"


@dataclass(frozen=True)
class Scope:
    """The names that a condition may use; `terms` maps variables and objects to their types.

    No effect may change a predicate in `derived`.
    """

    source: Source
    domain: Domain
    predicates: Mapping[str, Predicate]
    functions: Mapping[str, Function]
    terms: Mapping[str, tuple[str, ...]]
    derived: frozenset[str] = frozenset()

    def with_variables(self, variables: tuple[TypedName, ...]) -> Scope:
        """The scope inside a quantifier over `variables`."""
        return replace(self, terms={**self.terms, **{entry.name: entry.types for entry in variables}})


def resolve_types(source: Source, domain: Domain, words: tuple[Word, ...]) -> tuple[str, ...]:
    """Names of the declared types that `words` refer to; no word means `object`."""
    known = [entry.name for entry in domain.types]
    for word in words:
        if word.text not in known:
            unknown(source, word, "type", known)
    return tuple(dict.fromkeys(word.text for word in words)) or (OBJECT,)


def parse_variables(
    source: Source,
    domain: Domain,
    items: tuple[Expression, ...],
    taken: Mapping[str, object] | None = None,
    *,
    declaration: bool = False,
) -> tuple[TypedName, ...]:
    """Typed variables of a parameter list; repeating a name or hiding an outer variable is an error.

    In a declaration, where names mean nothing, repeating one is a mere flaw.
    """
    result: list[TypedName] = []
    known = set(taken or ())
    for word, types in words_and_types(source, items, variables=True, what="a variable"):
        if word.text in known and not declaration:
            raise PddlError(f"duplicate variable {word.text!r}", source.position(word.offset))
        if word.text in known:
            source.warn(word.offset, f"duplicate variable {word.text!r}")
        known.add(word.text)
        result.append(TypedName(word.text, resolve_types(source, domain, types), word.offset))
    return tuple(result)


def parse_condition(scope: Scope, item: Expression, *, positive: bool = True) -> Condition:
    """The condition, or its negation unless `positive`, as a conjunction; nested conjunctions are flattened."""
    source = scope.source
    group = as_group(source, item, "a condition")
    head = group.head()
    if not group.items:  # "()" is the empty conjunction
        return () if positive else (Or((), group.offset),)
    if head == "not":
        if len(group.items) != 2:
            fail(source, group.offset, "'not' takes one condition", "'(not (p …))'")
        return parse_condition(scope, as_group(source, group.items[1], "a condition"), positive=not positive)
    if head == "and":
        parts = [parse_condition(scope, inner, positive=positive) for inner in group.items[1:]]
        return _joined(parts) if positive else _disjunction(parts, group.offset)
    if head == "forall" or (head == "exists" and head not in scope.predicates):
        variables, body = _quantified(scope, group)
        inner = parse_condition(scope.with_variables(variables), body, positive=positive)
        kind = ForAll if (head == "forall") == positive else Exists
        return (kind(variables, inner, group.offset),)
    if head == "or" and head not in scope.predicates:
        parts = [parse_condition(scope, inner, positive=positive) for inner in group.items[1:]]
        return _disjunction(parts, group.offset) if positive else _joined(parts)
    if head == "imply" and head not in scope.predicates:
        if len(group.items) != 3:
            fail(source, group.offset, "'imply' takes two conditions", "'(imply (p …) (q …))'")
        premise = parse_condition(scope, group.items[1], positive=not positive)
        conclusion = parse_condition(scope, group.items[2], positive=positive)
        return _disjunction([premise, conclusion], group.offset) if positive else _joined([premise, conclusion])
    if head in REFUSED_CONDITIONS and head not in scope.predicates:
        unsupported(source, group.offset, REFUSED_CONDITIONS[head])
    literal = parse_literal(scope, group)
    return (literal,) if positive else (replace(literal, positive=False),)


def _joined(parts: list[Condition]) -> Condition:
    return tuple(entry for part in parts for entry in part)


def _disjunction(parts: list[Condition], offset: int) -> Condition:
    """The disjunction as a conjunction of one part; nested disjunctions are flattened, true ones have no part."""
    flat: list[Condition] = []
    for part in parts:
        if len(part) == 1 and isinstance(part[0], Or):
            flat.extend(part[0].parts)
        else:
            flat.append(part)
    if not all(flat):
        return ()
    return flat[0] if len(flat) == 1 else (Or(tuple(flat), offset),)


def negated_atom(source: Source, group: Group) -> Group:
    """The atom inside `(not …)`."""
    if len(group.items) != 2:
        fail(source, group.offset, "'not' takes one atom", "'(not (p …))'")
    return as_group(source, group.items[1], "an atom")


def _quantified(scope: Scope, group: Group) -> tuple[tuple[TypedName, ...], Expression]:
    if len(group.items) != 3:
        head = group.head()
        fail(scope.source, group.offset, f"'{head}' takes variables and a body", f"'({head} (?x - t) …)'")
    declared = as_group(scope.source, group.items[1], "a list of variables")
    variables = parse_variables(scope.source, scope.domain, declared.items, scope.terms)
    if not variables:
        fail(scope.source, declared.offset, f"'{group.head()}' has no variables", "a variable such as '?x'")
    return variables, group.items[2]


def parse_literal(scope: Scope, group: Group, *, surely: bool = False) -> Literal:
    """An atom whose predicate, arity, terms and types have been checked.

    With `surely`, every term must fit its parameter's type in all cases (effects, goals); a condition may use a
    variable of a wider type.
    """
    source = scope.source
    if not group.items:
        fail(source, group.offset, "empty list", "an atom such as '(p …)'")
    head = as_word(source, group.items[0], "a predicate")
    terms = tuple(as_word(source, item, "a variable or an object") for item in group.items[1:])
    for word in terms:
        if word.text not in scope.terms:
            _unknown_term(scope, word)
    names = tuple(word.text for word in terms)
    if head.text == EQUALS and EQUALS not in scope.predicates:
        if len(terms) != 2:
            fail(source, group.offset, "'=' takes two terms", "'(= a b)'")
        return Literal(EQUALS, names, True, group.offset)
    predicate = scope.predicates.get(head.text)
    if predicate is None:
        unknown(source, head, "predicate", list(scope.predicates))
    if len(terms) != len(predicate.parameters):
        wrong_arity(source, head.offset, predicate, len(terms))
    for word, parameter in zip(terms, predicate.parameters, strict=True):
        types = scope.terms[word.text]
        check = scope.domain.fits if surely or word.text[0] != "?" else scope.domain.overlaps
        if not check(types, parameter.types):
            wrong_type(source, word.offset, word.text, types, parameter, predicate)
    return Literal(predicate.name, names, True, group.offset)


def wrong_arity(source: Source, offset: int, declared: Predicate | Function, found: int) -> NoReturn:
    """Raises the error for a predicate or function with the wrong number of arguments."""
    kind = "predicate" if isinstance(declared, Predicate) else "function"
    takes = plural(len(declared.parameters), "argument")
    raise PddlError(f"{kind} {declared.name!r} takes {takes}, found {found}", source.position(offset))


def wrong_type(
    source: Source, offset: int, term: str, types: tuple[str, ...], parameter: TypedName, declared: Predicate | Function
) -> NoReturn:
    """Raises the error for an argument of the wrong type."""
    raise PddlError(
        f"{term!r} has type {' or '.join(types)}, but argument {parameter.name!r} of {declared.name!r} "
        f"must have type {' or '.join(parameter.types)}",
        source.position(offset),
    )


def _unknown_term(scope: Scope, word: Word) -> None:
    if word.text[0] == "?":
        known = [name for name in scope.terms if name[0] == "?"]
        hint = suggestion(word.text, known)
        raise PddlError(f"unbound variable {word.text!r}{hint}", scope.source.position(word.offset))
    unknown(scope.source, word, "object", [name for name in scope.terms if name[0] != "?"])


def parse_effects(scope: Scope, item: Expression) -> tuple[tuple[Effect, ...], tuple[Cost, ...]]:
    """Effects of an action and the summands of its cost; all unconditional literals form the first effect."""
    plain: list[Literal] = []
    others: list[Effect] = []
    costs: list[Cost] = []
    stack: list[Expression] = [item]
    while stack:
        group = as_group(scope.source, stack.pop(), "an effect")
        head = group.head()
        if not group.items:
            continue
        if head == "and":
            stack.extend(reversed(group.items[1:]))
        elif head == "increase":
            costs.append(_parse_cost(scope, group))
        elif head in ("when", "forall"):
            for effect in _nested_effects(scope, (), (), group):
                if effect.variables or effect.condition:
                    others.append(effect)
                else:
                    plain.extend(effect.literals)
        else:
            plain.append(_effect_literal(scope, group))
    first = (Effect((), (), tuple(plain)),) if plain else ()
    return (*first, *others), tuple(costs)


def _nested_effects(
    scope: Scope, variables: tuple[TypedName, ...], condition: Condition, item: Expression
) -> list[Effect]:
    """Effects under quantifiers and conditions: the literals below one `when` make up one effect."""
    group = as_group(scope.source, item, "an effect")
    head = group.head()
    if not group.items:
        return []
    if head == "forall":
        more, body = _quantified(scope, group)
        return _nested_effects(scope.with_variables(more), variables + more, condition, body)
    if head == "when":
        if len(group.items) != 3:
            fail(scope.source, group.offset, "'when' takes a condition and an effect", "'(when (p) (q))'")
        known = condition + parse_condition(scope, group.items[1])
        return _nested_effects(scope, variables, known, group.items[2])
    if head == "increase":
        unsupported(scope.source, group.offset, f"'increase' inside '{'when' if condition else 'forall'}'")
    if head != "and":
        return [Effect(variables, condition, (_effect_literal(scope, group),))]
    effects = [effect for inner in group.items[1:] for effect in _nested_effects(scope, variables, condition, inner)]
    if not condition:
        return effects
    here = [effect for effect in effects if effect.variables == variables and effect.condition == condition]
    literals = tuple(literal for effect in here for literal in effect.literals)
    joined = [Effect(variables, condition, literals)] if literals else []
    return joined + [effect for effect in effects if effect not in here]


def _effect_literal(scope: Scope, group: Group) -> Literal:
    head = group.head()
    positive = head != "not"
    inner = group
    if not positive:
        inner = negated_atom(scope.source, group)
        head = inner.head()
    if head in REFUSED_EFFECTS and head not in scope.predicates:
        unsupported(scope.source, inner.offset, REFUSED_EFFECTS[head])
    if head == EQUALS:
        fail(scope.source, inner.offset, "equality cannot be an effect", "a predicate")
    if head in scope.derived:
        fail(scope.source, inner.offset, f"derived predicate {head!r} cannot be an effect", "another predicate")
    return replace(parse_literal(scope, inner, surely=True), positive=positive, offset=group.offset)


def _parse_cost(scope: Scope, group: Group) -> Cost:
    source = scope.source
    if len(group.items) != 3:
        fail(source, group.offset, "'increase' takes a function and a value", "'(increase (total-cost) 1)'")
    target = as_group(source, group.items[1], "'(total-cost)'")
    if target.head() != TOTAL_COST or len(target.items) != 1:
        unsupported(source, target.offset, f"numeric fluent {source.excerpt(target.offset)}")
    if TOTAL_COST not in scope.functions:
        fail(source, target.offset, "function 'total-cost' is not declared", "a declaration under ':functions'")
    value = group.items[2]
    if isinstance(value, Word):
        return parse_number(source, value)
    return parse_numeric_term(scope, value)


def parse_number(source: Source, word: Word) -> float:
    """The value of a non-negative decimal number that fits in a double."""
    digits = word.text.replace(".", "", 1)
    if not (digits.isascii() and digits.isdigit()):
        fail(source, word.offset, "invalid number", "a non-negative decimal number")
    number = float(word.text)
    if isinf(number):
        fail(source, word.offset, "number is too large", "a number below 1.8e308")
    return number


def parse_numeric_term(scope: Scope, group: Group, *, constant: bool = False) -> NumericTerm:
    """A declared function applied to terms in scope; `total-cost` is allowed only if `constant` is set."""
    source = scope.source
    head = as_word(source, group.items[0], "a function") if group.items else None
    if head is None:
        fail(source, group.offset, "empty list", "a function")
    if head.text in ("+", "-", "*", "/"):
        unsupported(source, group.offset, f"arithmetic '{head.text}'")
    if head.text == TOTAL_COST and not constant:
        unsupported(source, group.offset, "cost that depends on 'total-cost'")
    function = scope.functions.get(head.text)
    if function is None:
        unknown(source, head, "function", list(scope.functions))
    terms = tuple(as_word(source, item, "a variable or an object") for item in group.items[1:])
    if len(terms) != len(function.parameters):
        wrong_arity(source, group.offset, function, len(terms))
    for word, parameter in zip(terms, function.parameters, strict=True):
        if word.text not in scope.terms:
            _unknown_term(scope, word)
        types = scope.terms[word.text]
        if not scope.domain.overlaps(types, parameter.types):
            wrong_type(source, word.offset, word.text, types, parameter, function)
    return NumericTerm(function.name, tuple(word.text for word in terms), group.offset)
