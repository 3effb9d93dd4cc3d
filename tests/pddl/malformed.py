"""Malformed inputs, each with the message and the position that the reader must report.

A case is a domain text and a problem text: the good texts below with one flaw added. `wrong` names the file with the
flaw. The marker `@` stands at the expected position and is removed before reading; without a marker, line 1 and
column 1 are expected.
"""

from __future__ import annotations

from dataclasses import dataclass

from saltus.errors import InputError, PddlError, UnsupportedError

DOMAIN = """\
(define (domain depot)
  (:requirements :strips :typing :action-costs)
  (:types place - object crate truck - thing thing - object)
  (:constants home - place)
  (:predicates (at ?t - thing ?p - place) (in ?c - crate ?t - truck) (closed ?p - place))
  (:functions (total-cost) - number (distance ?a ?b - place) - number)
  (:action load
    :parameters (?c - crate ?t - truck ?p - place)
    :precondition (and (at ?c ?p) (at ?t ?p))
    :effect (and (in ?c ?t) (not (at ?c ?p)) (increase (total-cost) 1)))
)
"""

PROBLEM = """\
(define (problem one)
  (:domain depot)
  (:objects north - place box - crate lorry - truck)
  (:init (at box north) (at lorry north) (= (distance north home) 3))
  (:goal (and (in box lorry)))
  (:metric minimize (total-cost))
)
"""


@dataclass(frozen=True)
class Case:
    """One malformed input; `message` is the whole message after the position."""

    name: str
    message: str
    domain: bytes
    problem: bytes
    line: int
    column: int
    wrong: str
    error: type[InputError]


def _change(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{old!r} must occur once"
    return text.replace(old, new)


def _case(wrong: str, name: str, message: str, text: str | bytes, error: type[InputError]) -> Case:
    content = text if isinstance(text, bytes) else text.encode()
    assert content.count(b"@") <= 1
    before = content.partition(b"@")[0] if b"@" in content else b""
    line = before.count(b"\n") + 1
    column = len(before) - (before.rfind(b"\n") + 1) + 1
    content = content.replace(b"@", b"")
    files = {"domain": DOMAIN.encode(), "problem": PROBLEM.encode(), wrong: content}
    return Case(name, message, files["domain"], files["problem"], line, column, wrong, error)


def in_domain(name: str, old: str, new: str, message: str, error: type[InputError] = PddlError) -> Case:
    """The good domain with `old` replaced by `new`."""
    return _case("domain", name, message, _change(DOMAIN, old, new), error)


def in_problem(name: str, old: str, new: str, message: str, error: type[InputError] = PddlError) -> Case:
    """The good problem with `old` replaced by `new`."""
    return _case("problem", name, message, _change(PROBLEM, old, new), error)


def domain_text(name: str, text: str | bytes, message: str) -> Case:
    """A domain file that shares nothing with the good one."""
    return _case("domain", name, message, text, PddlError)


def problem_text(name: str, text: str | bytes, message: str) -> Case:
    """A problem file that shares nothing with the good one."""
    return _case("problem", name, message, text, PddlError)


def refused_domain(name: str, old: str, new: str, feature: str) -> Case:
    """Well-formed PDDL in the domain that is not supported."""
    return in_domain(name, old, new, f"{feature} is not supported", UnsupportedError)


def refused_problem(name: str, old: str, new: str, feature: str) -> Case:
    """Well-formed PDDL in the problem that is not supported."""
    return in_problem(name, old, new, f"{feature} is not supported", UnsupportedError)


PRECONDITION = "(and (at ?c ?p) (at ?t ?p))"
EFFECT = "(and (in ?c ?t) (not (at ?c ?p)) (increase (total-cost) 1))"
INIT = "(at box north) (at lorry north) (= (distance north home) 3)"
GOAL = "(and (in box lorry))"
METRIC = "(:metric minimize (total-cost))"

TEXT = (
    domain_text("empty file", b"", "empty file: expected '(define …)'"),
    domain_text("only blanks", b" \n\t\r\n", "empty file: expected '(define …)'"),
    problem_text("only comments", b"; nothing\n; here", "empty file: expected '(define …)'"),
    problem_text(
        "binary garbage",
        b"@\x7fELF\x02\x01\x01\x00\x00\xff\xfe",
        "illegal character: expected a name or a parenthesis, found '\\x7fELF\\x02\\x01\\x01\\x00\\x00��'",
    ),
    in_problem(
        "NUL",
        "(at box north)",
        "(at @\0box north)",
        "illegal character: expected a name or a parenthesis, found '\\x00box'",
    ),
    in_problem(
        "name that is not ASCII",
        "(at box north)",
        "(at b@öx north)",
        "illegal character: expected a name or a parenthesis, found 'öx'",
    ),
    in_domain(
        "quoted name",
        "(domain depot)",
        '(domain @"depot")',
        "illegal character: expected a name or a parenthesis, found '\"depot\"'",
    ),
    in_problem(
        "missing parenthesis",
        "(define (problem one)",
        "@(define (problem one",
        "parenthesis is never closed: expected ')' before the end of the file, found '(define (problem one…'",
    ),
    domain_text(
        "extra parenthesis at the end",
        DOMAIN + "@)",
        "extra closing parenthesis: expected the end of the file, found ')'",
    ),
    in_domain(
        "extra parenthesis inside",
        "(:constants home - place)\n  (:pred",
        "(:constants home - place))\n  @(:pred",
        "second expression after the definition: expected the end of the file, "
        "found '(:predicates (at ?t - thing ?p - place)…'",
    ),
    problem_text("word before", "@hello (define)", "text outside the definition: expected '(define …)', found 'hello'"),
    problem_text("word after", PROBLEM + "@done", "text outside the definition: expected '(define …)', found 'done'"),
    problem_text(
        "second definition",
        PROBLEM + "@(define (problem two))",
        "second expression after the definition: expected the end of the file, found '(define (problem two))'",
    ),
    problem_text(
        "deep nesting",
        "(" * 200 + "@(" + ")" * 201,
        "parentheses nested more than 200 deep: expected a PDDL definition, found '()'",
    ),
    problem_text("no define", "(@defin (problem one))", "not a PDDL definition: expected 'define', found 'defin'"),
    problem_text("empty list", "(@)", "not a PDDL definition: expected 'define', found ')'"),
)

HEADS_AND_SECTIONS = (
    problem_text("nothing defined", "(define@)", "problem has no name: expected '(problem NAME)', found ')'"),
    domain_text(
        "problem given as domain",
        PROBLEM.replace("(problem", "@(problem"),
        "not a domain file: expected '(domain NAME)', found '(problem one)'",
    ),
    problem_text(
        "domain given as problem",
        DOMAIN.replace("(domain", "@(domain"),
        "not a problem file: expected '(problem NAME)', found '(domain depot)'",
    ),
    in_domain(
        "two names",
        "(domain depot)",
        "@(domain depot two)",
        "domain must have exactly one name: expected '(domain NAME)', found '(domain depot two)'",
    ),
    in_domain(
        "variable as name", "(domain depot)", "(domain @?depot)", "not a name: expected a domain name, found '?depot'"
    ),
    in_problem(
        "wrong domain name",
        "(:domain depot)",
        "(:domain @depots)",
        "problem is for domain 'depots', but the domain file (domain.pddl) defines 'depot'",
    ),
    in_problem(
        "domain section without name",
        "(:domain depot)",
        "@(:domain)",
        "':domain' takes one name: expected '(:domain NAME)', found '(:domain)'",
    ),
    in_problem("unknown section", "(:objects", "(@:object", "unknown section ':object'; did you mean ':objects'?"),
    in_domain("section of the other file", "(:constants home - place)", "(@:init)", "unknown section ':init'"),
    in_domain(
        "word between sections",
        "(:constants home - place)",
        "@home",
        "word between sections: expected a section such as '(:init …)', found 'home'",
    ),
    in_domain(
        "empty section",
        "(:constants home - place)",
        "@()",
        "empty section: expected a section such as '(:init …)', found '()'",
    ),
    in_domain(
        "list as section keyword",
        "(:constants home - place)",
        "(@(x))",
        "not a word: expected a section keyword, found '(x)'",
    ),
    in_domain(
        "duplicate section",
        "(:constants home - place)",
        "(:constants home - place) @(:constants)",
        "duplicate section ':constants'",
    ),
    in_problem("duplicate init", "(:goal", "@(:init) (:goal", "duplicate section ':init'"),
    in_problem("duplicate goal", "(:metric", "@(:goal (and)) (:metric", "duplicate section ':goal'"),
    domain_text("missing predicates", "(define (domain depot))", "section ':predicates' is missing"),
    problem_text("missing domain", "(define (problem one) (:init) (:goal (and)))", "section ':domain' is missing"),
    problem_text("missing init", "(define (problem one) (:domain depot) (:goal (and)))", "section ':init' is missing"),
    in_problem("missing goal", "(:goal (and (in box lorry)))", "", "section ':goal' is missing"),
    in_domain("unknown requirement", ":typing", "@:typnig", "unknown requirement ':typnig'; did you mean ':typing'?"),
    in_domain(
        "requirement without colon", ":typing", "@typing", "unknown requirement 'typing'; did you mean ':typing'?"
    ),
    in_domain(
        "list as requirement",
        ":typing",
        "@(:typing)",
        "not a word: expected a requirement such as ':strips', found '(:typing)'",
    ),
)

DECLARATIONS = (
    in_domain(
        "cyclic types",
        "crate truck - thing thing - object)",
        "@crate truck - thing thing - crate)",
        "type 'crate' is its own supertype",
    ),
    in_domain("type of its own", "place - object crate", "@place - place crate", "type 'place' is its own supertype"),
    in_domain(
        "supertype of object", "place - object crate", "place @object - place crate", "'object' cannot have a supertype"
    ),
    in_domain(
        "hyphen without type",
        "(:constants home - place)",
        "(:constants home @-)",
        "type is missing after '-': expected a type, found '-'",
    ),
    in_domain(
        "two hyphens",
        "(:constants home - place)",
        "(:constants home - @- place)",
        "not a name: expected a type, found '-'",
    ),
    in_problem(
        "hyphen without blank", "north - place", "north @-place", "not a name: expected an object, found '-place'"
    ),
    in_problem(
        "either without types",
        "north - place",
        "north - @(either)",
        "not a type: expected a type name or '(either …)', found '(either)'",
    ),
    in_problem(
        "list that is no either",
        "north - place",
        "north - @(both place crate)",
        "not a type: expected a type name or '(either …)', found '(both place crate)'",
    ),
    in_problem(
        "either of lists",
        "north - place",
        "north - (either @(place))",
        "not a word: expected a type, found '(place)'",
    ),
    in_problem("unknown type of object", "box - crate", "box - @crat", "unknown type 'crat'; did you mean 'crate'?"),
    in_problem("unknown type in either", "box - crate", "box - (either crate @box)", "unknown type 'box'"),
    in_problem("duplicate object", "box - crate", "box @north - crate", "duplicate object 'north'"),
    in_problem("object like a constant", "box - crate", "box @HOME - crate", "duplicate object 'home'"),
    in_problem("variable as object", "box - crate", "@?box - crate", "not a name: expected an object, found '?box'"),
    in_problem("list as object", "box - crate", "@(box) - crate", "not a word: expected an object, found '(box)'"),
    in_domain("duplicate predicate", "(closed ?p - place)", "(@at ?p - place)", "duplicate predicate 'at'"),
    in_domain(
        "predicate without list",
        "(closed ?p - place)",
        "@closed",
        "not a list: expected a predicate such as '(p ?x)', found 'closed'",
    ),
    in_domain(
        "empty predicate", "(closed ?p - place)", "@()", "empty list: expected a predicate such as '(p ?x)', found '()'"
    ),
    in_domain(
        "declared equality",
        "(closed ?p - place)",
        "(@= ?p ?q)",
        "'=' is built in and cannot be declared: expected another name, found '='",
    ),
    in_domain(
        "predicate called not",
        "(closed ?p - place)",
        "(@not ?p)",
        "'not' is a reserved word: expected another name, found 'not'",
    ),
    in_domain(
        "name as parameter",
        "(closed ?p - place)",
        "(closed @p - place)",
        "not a variable: expected a variable such as '?x', found 'p'",
    ),
    in_domain(
        "variable without name",
        "(closed ?p - place)",
        "(closed @? - place)",
        "not a variable: expected a variable such as '?x', found '?'",
    ),
    in_domain(
        "duplicate function",
        "(total-cost) - number",
        "(total-cost) - number (@total-cost) - number",
        "duplicate function 'total-cost'",
    ),
    in_domain(
        "function without list",
        "(total-cost) - number",
        "@total-cost - number",
        "not a list: expected a function such as '(total-cost)', found 'total-cost'",
    ),
    in_domain(
        "list as function type",
        "(total-cost) - number",
        "(total-cost) - @(either number)",
        "not a word: expected 'number', found '(either number)'",
    ),
    in_domain(
        "function type missing at the end",
        "?b - place) - number)",
        "?b - place) @-)",
        "type is missing after '-': expected 'number', found '-'",
    ),
    in_domain(
        "total cost with argument",
        "(total-cost) - number",
        "@(total-cost ?p - place) - number",
        "'total-cost' takes no arguments: expected '(total-cost)', found '(total-cost ?p - place)'",
    ),
)

ACTIONS = (
    in_domain(
        "duplicate action",
        "  (:action load",
        "  (:action load :effect (and))\n  @(:action load",
        "duplicate action 'load'",
    ),
    in_domain(
        "action without name",
        "(:action load\n",
        "(:action @:effect (and))(:action load\n",
        "not a name: expected an action name, found ':effect'",
    ),
    in_domain(
        "action with nothing",
        "(:action load\n",
        "@(:action)(:action load\n",
        "action has no name: expected '(:action NAME …)', found '(:action)'",
    ),
    in_domain(
        "action without effect",
        "(:action load\n",
        "@(:action idle :parameters ())(:action load\n",
        "action 'idle' has no ':effect'",
    ),
    in_domain(
        "unknown part",
        ":precondition",
        "@:preconditions",
        "unknown part ':preconditions' of action 'load'; did you mean ':precondition'?",
    ),
    in_domain(
        "duplicate part",
        ":precondition",
        ":precondition () @:precondition",
        "duplicate ':precondition' in action 'load'",
    ),
    in_domain(
        "part without value",
        "(:action load\n",
        "(:action idle @:effect)(:action load\n",
        "':effect' has no value: expected a list after it, found ':effect'",
    ),
    in_domain(
        "list where a part is expected",
        ":precondition",
        "@(and) :precondition",
        "not a word: expected ':parameters', ':precondition' or ':effect', found '(and)'",
    ),
    in_domain(
        "duplicate parameter", "?t - truck ?p - place)\n", "?t - truck @?c - place)\n", "duplicate variable '?c'"
    ),
    in_domain(
        "unknown type of parameter",
        "?t - truck ?p - place)\n",
        "?t - @trucks ?p - place)\n",
        "unknown type 'trucks'; did you mean 'truck'?",
    ),
    in_domain("unbound variable", PRECONDITION, "(and (at ?c @?place) (at ?t ?p))", "unbound variable '?place'"),
    in_domain(
        "unbound variable, close",
        PRECONDITION,
        "(and (at ?c ?p) (at @?tt ?p))",
        "unbound variable '?tt'; did you mean '?t'?",
    ),
    in_domain("unknown predicate", PRECONDITION, "(@att ?c ?p)", "unknown predicate 'att'; did you mean 'at'?"),
    in_domain("arity", PRECONDITION, "(@at ?c)", "predicate 'at' takes 2 arguments, found 1"),
    in_domain(
        "wrong type in precondition",
        PRECONDITION,
        "(at @?p ?p)",
        "'?p' has type place, but argument '?t' of 'at' must have type thing",
    ),
    in_domain(
        "wrong type in effect",
        EFFECT,
        "(and (in @?t ?t))",
        "'?t' has type truck, but argument '?c' of 'in' must have type crate",
    ),
    in_domain(
        "wider type in effect",
        EFFECT,
        "(forall (?x - thing) (in @?x ?t))",
        "'?x' has type thing, but argument '?c' of 'in' must have type crate",
    ),
    in_domain("object as unknown constant", PRECONDITION, "(at ?c @hom)", "unknown object 'hom'; did you mean 'home'?"),
    in_domain("word as condition", PRECONDITION, "@closed", "not a list: expected a condition, found 'closed'"),
    in_domain("list as predicate", PRECONDITION, "(@(at) ?c ?p)", "not a word: expected a predicate, found '(at)'"),
    in_domain(
        "list as term", PRECONDITION, "(at @(?c) ?p)", "not a word: expected a variable or an object, found '(?c)'"
    ),
    in_domain(
        "not with two atoms",
        PRECONDITION,
        "@(not (at ?c ?p) (at ?t ?p))",
        "'not' takes one condition: expected '(not (p …))', found '(not (at ?c ?p) (at ?t ?p))'",
    ),
    in_domain(
        "not with nothing", EFFECT, "(and @(not))", "'not' takes one atom: expected '(not (p …))', found '(not)'"
    ),
    in_domain(
        "equality of three",
        PRECONDITION,
        "@(= ?c ?t ?p)",
        "'=' takes two terms: expected '(= a b)', found '(= ?c ?t ?p)'",
    ),
    in_domain(
        "effect on equality",
        EFFECT,
        "(and @(= ?c ?c))",
        "equality cannot be an effect: expected a predicate, found '(= ?c ?c)'",
    ),
    in_domain(
        "effect on inequality",
        EFFECT,
        "(and (not @(= ?c ?t)))",
        "equality cannot be an effect: expected a predicate, found '(= ?c ?t)'",
    ),
    in_domain("word as effect", EFFECT, "@in", "not a list: expected an effect, found 'in'"),
    in_domain(
        "when with one part",
        EFFECT,
        "@(when (in ?c ?t))",
        "'when' takes a condition and an effect: expected '(when (p) (q))', found '(when (in ?c ?t))'",
    ),
    in_domain(
        "forall without body",
        EFFECT,
        "@(forall (?x - place))",
        "'forall' takes variables and a body: expected '(forall (?x - t) …)', found '(forall (?x - place))'",
    ),
    in_domain(
        "forall without variables",
        PRECONDITION,
        "(forall @() (at ?c ?p))",
        "'forall' has no variables: expected a variable such as '?x', found '()'",
    ),
    in_domain(
        "forall that hides a parameter", PRECONDITION, "(forall (@?c - crate) (at ?c ?p))", "duplicate variable '?c'"
    ),
    in_domain(
        "exists without body",
        PRECONDITION,
        "@(exists (?x - place))",
        "'exists' takes variables and a body: expected '(exists (?x - t) …)', found '(exists (?x - place))'",
    ),
    in_domain(
        "exists without variables",
        PRECONDITION,
        "(or (exists @() (at ?c ?p)))",
        "'exists' has no variables: expected a variable such as '?x', found '()'",
    ),
    in_domain(
        "variable outside its exists",
        PRECONDITION,
        "(or (exists (?x - place) (at ?c ?x)) (at ?c @?x))",
        "unbound variable '?x'",
    ),
    in_domain(
        "imply with one condition",
        PRECONDITION,
        "@(imply (at ?c ?p))",
        "'imply' takes two conditions: expected '(imply (p …) (q …))', found '(imply (at ?c ?p))'",
    ),
    in_domain(
        "word in a disjunction",
        PRECONDITION,
        "(or @closed (at ?c ?p))",
        "not a list: expected a condition, found 'closed'",
    ),
    in_domain(
        "derived without condition",
        "  (:action load",
        "  @(:derived (closed ?p))\n  (:action load",
        "':derived' takes a predicate with variables and a condition: expected '(:derived (p ?x) …)', "
        "found '(:derived (closed ?p))'",
    ),
    in_domain(
        "derived unknown predicate",
        "  (:action load",
        "  (:derived (@close ?p) (at home ?p))\n  (:action load",
        "unknown predicate 'close'; did you mean 'closed'?",
    ),
    in_domain(
        "derived with another arity",
        "  (:action load",
        "  (:derived (@closed ?p ?q) (and))\n  (:action load",
        "predicate 'closed' takes 1 argument, found 2",
    ),
    in_domain(
        "derived with another type",
        "  (:action load",
        "  (:derived (closed @?p - truck) (and))\n  (:action load",
        "'?p' has type truck, but argument '?p' of 'closed' must have type place",
    ),
    in_domain(
        "derived for an object",
        "  (:action load",
        "  (:derived (closed @home) (and))\n  (:action load",
        "not a variable: expected a variable such as '?x', found 'home'",
    ),
    in_domain(
        "derived from its own negation",
        "  (:action load",
        "  (:derived (closed ?p) (exists (?q - place) (not @(closed ?q))))\n  (:action load",
        "derived predicate 'closed' depends on its own negation",
    ),
    in_domain(
        "derived from its own negation in an antecedent",
        "  (:action load",
        "  (:derived (closed ?p) (forall (?c - crate ?t - truck) (imply @(in ?c ?t) (at ?c ?p))))\n"
        "  (:derived (in ?c ?t) (exists (?p - place) (closed ?p)))\n  (:action load",
        "derived predicate 'closed' depends on its own negation",
    ),
    in_domain(
        "effect on a derived predicate",
        EFFECT,
        "(and (not @(closed ?p))))\n  (:derived (closed ?p - place) (and)",
        "derived predicate 'closed' cannot be an effect: expected another predicate, found '(closed ?p)'",
    ),
    in_domain(
        "increase of nothing",
        EFFECT,
        "@(increase (total-cost))",
        "'increase' takes a function and a value: expected '(increase (total-cost) 1)', "
        "found '(increase (total-cost))'",
    ),
    in_domain(
        "negative cost",
        EFFECT,
        "(increase (total-cost) @-1)",
        "invalid number: expected a non-negative decimal number, found '-1'",
    ),
    in_domain(
        "bad number",
        EFFECT,
        "(increase (total-cost) @1.2.3)",
        "invalid number: expected a non-negative decimal number, found '1.2.3'",
    ),
    in_domain(
        "number with exponent",
        EFFECT,
        "(increase (total-cost) @1e3)",
        "invalid number: expected a non-negative decimal number, found '1e3'",
    ),
    in_domain(
        "number too large",
        EFFECT,
        "(increase (total-cost) @" + "9" * 400 + ")",
        f"number is too large: expected a number below 1.8e308, found '{'9' * 39}…'",
    ),
    domain_text(
        "undeclared total cost",
        DOMAIN.replace("(total-cost) - number", "").replace("(total-cost) 1", "@(total-cost) 1"),
        "function 'total-cost' is not declared: expected a declaration under ':functions', found '(total-cost)'",
    ),
    in_domain(
        "unknown function",
        EFFECT,
        "(increase (total-cost) (@distanc ?p ?p))",
        "unknown function 'distanc'; did you mean 'distance'?",
    ),
    in_domain(
        "arity of a function",
        EFFECT,
        "(increase (total-cost) @(distance ?p))",
        "function 'distance' takes 2 arguments, found 1",
    ),
    in_domain(
        "wrong type in a function",
        EFFECT,
        "(increase (total-cost) (distance ?p @?t))",
        "'?t' has type truck, but argument '?b' of 'distance' must have type place",
    ),
)

PROBLEMS = (
    in_problem(
        "unknown predicate in init", "(at box north)", "(@att box north)", "unknown predicate 'att'; did you mean 'at'?"
    ),
    in_problem(
        "unknown object in init", "(at box north)", "(at box @nort)", "unknown object 'nort'; did you mean 'north'?"
    ),
    in_problem("arity in init", "(at box north)", "(@at box)", "predicate 'at' takes 2 arguments, found 1"),
    in_problem(
        "wrong type in init",
        "(at box north)",
        "(at @north north)",
        "'north' has type place, but argument '?t' of 'at' must have type thing",
    ),
    in_problem(
        "uncertain type in init",
        "box - crate lorry - truck)\n  (:init",
        "box - crate lorry - truck both - (either crate place))\n  (:init (at @both north)",
        "'both' has type crate or place, but argument '?t' of 'at' must have type thing",
    ),
    in_problem("variable in init", "(at box north)", "(at @?x north)", "unbound variable '?x'"),
    in_problem("word in init", "(at box north)", "@box", "not an atom: expected a list such as '(p a)', found 'box'"),
    in_problem(
        "empty list in init", "(at box north)", "@()", "empty list: expected an atom such as '(p …)', found '()'"
    ),
    in_problem(
        "list of lists in init",
        "(at box north)",
        "(@(at box north))",
        "not a word: expected a predicate, found '(at box north)'",
    ),
    in_problem(
        "list as argument in init",
        "(at box north)",
        "(at box @(north))",
        "not a word: expected a variable or an object, found '(north)'",
    ),
    in_problem(
        "and in init",
        "(:init",
        "(:init @(and)",
        "'and' is not allowed in ':init': expected an atom such as '(p a)', found '(and)'",
    ),
    in_problem(
        "equality in init",
        "(:init",
        "(:init @(= box box)",
        "'=' in ':init' takes a function and a number: expected '(= (f a) 1)', found '(= box box)'",
    ),
    in_problem(
        "not of two in init",
        "(:init",
        "(:init @(not (at box home) (at box home))",
        "'not' takes one atom: expected '(not (p …))', found '(not (at box home) (at box home))'",
    ),
    in_problem(
        "true and false",
        "(:init",
        "(:init @(not (at box north))",
        "atom (at box north) is listed both as true and as false",
    ),
    in_problem(
        "inequality in init",
        "(:init",
        "(:init (not @(= box lorry))",
        "equality cannot be an initial atom: expected a predicate, found '(= box lorry)'",
    ),
    in_problem(
        "bad value",
        "home) 3)",
        "home) @three)",
        "invalid number: expected a non-negative decimal number, found 'three'",
    ),
    in_problem(
        "list as value",
        "home) 3)",
        "home) @(3))",
        "invalid number: expected a non-negative decimal number, found '(3)'",
    ),
    in_problem(
        "value given twice",
        "home) 3)",
        "home) 3) @(= (distance north home) 4)",
        "duplicate value for (distance north home)",
    ),
    in_problem(
        "goal of two",
        "(:goal (and (in box lorry)))",
        "@(:goal (in box lorry) (at box home))",
        "':goal' takes one condition: expected '(:goal (and …))', found '(:goal (in box lorry) (at box home))'",
    ),
    in_problem(
        "goal of nothing",
        "(:goal (and (in box lorry)))",
        "@(:goal)",
        "':goal' takes one condition: expected '(:goal (and …))', found '(:goal)'",
    ),
    in_problem("word as goal", GOAL, "@done", "not a list: expected a condition, found 'done'"),
    in_problem("unknown predicate in goal", GOAL, "(@inn box lorry)", "unknown predicate 'inn'; did you mean 'in'?"),
    in_problem("unknown object in goal", GOAL, "(in @boxx lorry)", "unknown object 'boxx'; did you mean 'box'?"),
    in_problem("arity in goal", GOAL, "(not (@in box))", "predicate 'in' takes 2 arguments, found 1"),
    in_problem(
        "wrong type in goal",
        GOAL,
        "(in @lorry lorry)",
        "'lorry' has type truck, but argument '?c' of 'in' must have type crate",
    ),
    in_problem("variable in goal", GOAL, "(in @?x lorry)", "unbound variable '?x'"),
    in_problem(
        "metric without direction",
        METRIC,
        "@(:metric (total-cost))",
        "':metric' takes a direction and an expression: expected '(:metric minimize (total-cost))', "
        "found '(:metric (total-cost))'",
    ),
    in_problem(
        "metric with bad direction",
        METRIC,
        "(:metric @minimise (total-cost))",
        "unknown direction: expected 'minimize', found 'minimise'",
    ),
    in_problem(
        "metric that is no list",
        METRIC,
        "(:metric minimize @total-cost)",
        "not a list: expected '(:metric minimize (total-cost))', found 'total-cost'",
    ),
)

UNSUPPORTED = (
    refused_domain("numeric fluents", ":typing", "@:numeric-fluents", "requirement ':numeric-fluents'"),
    refused_domain("fluents", ":typing", "@:fluents", "requirement ':fluents'"),
    refused_domain("preferences required", ":typing", "@:preferences", "requirement ':preferences'"),
    refused_domain(
        "durative action", "  (:action load", "  @(:durative-action fly)\n  (:action load", "durative action"
    ),
    refused_domain(
        "constraints", "  (:action load", "  @(:constraints (and))\n  (:action load", "section ':constraints'"
    ),
    refused_domain("process", "  (:action load", "  @(:process rain)\n  (:action load", "process"),
    refused_domain("numeric condition", PRECONDITION, "@(>= (distance ?p ?p) 3)", "numeric condition '>='"),
    refused_domain("assign", EFFECT, "@(assign (distance ?p ?p) 3)", "numeric effect 'assign'"),
    refused_domain("decrease", EFFECT, "(and @(decrease (total-cost) 3))", "numeric effect 'decrease'"),
    refused_domain(
        "increase of another function", EFFECT, "(increase @(distance ?p ?p) 3)", "numeric fluent (distance ?p ?p)"
    ),
    refused_domain("arithmetic", EFFECT, "(increase (total-cost) @(+ 1 2))", "arithmetic '+'"),
    refused_domain(
        "cost of the cost", EFFECT, "(increase (total-cost) @(total-cost))", "cost that depends on 'total-cost'"
    ),
    refused_domain(
        "conditional cost", EFFECT, "(when (at ?c ?p) @(increase (total-cost) 1))", "'increase' inside 'when'"
    ),
    refused_domain(
        "universal cost", EFFECT, "(forall (?x - place) @(increase (total-cost) 1))", "'increase' inside 'forall'"
    ),
    refused_domain("probabilistic effect", EFFECT, "@(probabilistic 0.5 (in ?c ?t))", "probabilistic effect"),
    refused_domain(
        "non-deterministic effect", EFFECT, "@(oneof (in ?c ?t) (at ?c ?p))", "non-deterministic effect 'oneof'"
    ),
    refused_domain(
        "object fluent", "(total-cost) - number", "(total-cost) - number (where ?c) - @place", "function type 'place'"
    ),
    refused_problem("timed initial literal", "(:init", "(:init @(at 5 (closed north))", "timed initial literal"),
    refused_problem("preference in goal", GOAL, "@(preference p1 (in box lorry))", "preference"),
    refused_problem(
        "trajectory constraints",
        GOAL + ")",
        GOAL + ") @(:constraints (always (at box north)))",
        "section ':constraints'",
    ),
    refused_problem(
        "other metric", METRIC, "@(:metric minimize (+ 1 (total-cost)))", "metric (:metric minimize (+ 1 (total-cost)))"
    ),
    refused_problem("maximize", METRIC, "@(:metric maximize (total-cost))", "metric (:metric maximize (total-cost))"),
)

CASES = (*TEXT, *HEADS_AND_SECTIONS, *DECLARATIONS, *ACTIONS, *PROBLEMS, *UNSUPPORTED)

FLAWS = (
    in_domain(
        "unknown supertype", "place - object", "place - @obejct", "unknown type 'obejct'; did you mean 'object'?"
    ),
    in_domain("unknown supertype of all", "thing - object)", "thing - @item)", "unknown type 'item'"),
    in_domain("duplicate type", "place - object crate", "place - object @place crate", "duplicate type 'place'"),
    in_domain("second supertype", "thing - object)", "thing - object @crate - place)", "duplicate type 'crate'"),
    in_domain(
        "several supertypes",
        "crate truck - thing",
        "crate truck - thing home-place - (either @thing place)",
        "type 'home-place' has several supertypes",
    ),
    in_domain(
        "type without a constant", "home - place)", "home - place @- crate)", "type without an object before '-'"
    ),
    in_problem(
        "type without an object", "north - place", "@- truck north - place", "type without an object before '-'"
    ),
    in_domain("repeated constant", "home - place)", "home @home - place)", "duplicate object 'home'"),
    in_problem("repeated object", "north - place", "north @north - place", "duplicate object 'north'"),
    in_problem("constant as an object", "north - place", "north @home - place", "duplicate object 'home'"),
    in_domain(
        "variable twice in a predicate",
        "(closed ?p - place)",
        "(closed ?p - place) (far ?p @?p - place)",
        "duplicate variable '?p'",
    ),
    in_domain("variable twice in a function", "?a ?b - place", "?a @?a - place", "duplicate variable '?a'"),
    in_domain("no space in a condition", "(at ?t ?p))", "(@at?t ?p))", "no space before '?' in 'at?t'"),
    in_domain("no spaces in an effect", "(in ?c ?t)", "(@in?c?t)", "no space before '?' in 'in?c?t'"),
    in_problem("repeated atom", "(at box north)", "(at box north) @(at box north)", "atom (at box north) is repeated"),
)
"""Flaws that are warnings, or errors if the reader is strict."""
