"""Malformed inputs, each with the message and the position that the reader must give.

A case is a domain text and a problem text, the good ones below with one flaw put in. `wrong` names the file that is
wrong; the position is that of the marker `@`, which is taken out before reading, or line and column 1 without one.
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
    """A domain file with nothing of the good one."""
    return _case("domain", name, message, text, PddlError)


def problem_text(name: str, text: str | bytes, message: str) -> Case:
    """A problem file with nothing of the good one."""
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
    domain_text("empty file", b"", "empty file, found 'end of file', expected '(define …)'"),
    domain_text("only blanks", b" \n\t\r\n", "empty file, found 'end of file', expected '(define …)'"),
    problem_text("only comments", b"; nothing\n; here", "empty file, found 'end of file', expected '(define …)'"),
    problem_text(
        "binary garbage",
        b"@\x7fELF\x02\x01\x01\x00\x00\xff\xfe",
        "character that is no part of PDDL, found '\\x7fELF\\x02\\x01\\x01\\x00\\x00��', "
        "expected a name or a parenthesis",
    ),
    in_problem(
        "NUL",
        "(at box north)",
        "(at @\0box north)",
        "character that is no part of PDDL, found '\\x00box', expected a name or a parenthesis",
    ),
    in_problem(
        "name that is not ASCII",
        "(at box north)",
        "(at b@öx north)",
        "character that is no part of PDDL, found 'öx', expected a name or a parenthesis",
    ),
    in_domain(
        "quoted name",
        "(domain depot)",
        '(domain @"depot")',
        "character that is no part of PDDL, found '\"depot\"', expected a name or a parenthesis",
    ),
    in_problem(
        "missing parenthesis",
        "(define (problem one)",
        "@(define (problem one",
        "parenthesis is never closed, found '(define (problem one…', expected ')' before the end of the file",
    ),
    domain_text(
        "extra parenthesis at the end",
        DOMAIN + "@)",
        "extra closing parenthesis, found ')', expected the end of the file",
    ),
    in_domain(
        "extra parenthesis inside",
        "(:constants home - place)\n  (:pred",
        "(:constants home - place))\n  @(:pred",
        "second expression after the end of the definition, found '(:predicates (at ?t - thing ?p - place)…', "
        "expected the end of the file",
    ),
    problem_text(
        "word before", "@hello (define)", "text outside of all parentheses, found 'hello', expected '(define …)'"
    ),
    problem_text(
        "word after", PROBLEM + "@done", "text outside of all parentheses, found 'done', expected '(define …)'"
    ),
    problem_text(
        "second definition",
        PROBLEM + "@(define (problem two))",
        "second expression after the end of the definition, found '(define (problem two))', "
        "expected the end of the file",
    ),
    problem_text(
        "deep nesting",
        "(" * 200 + "@(" + ")" * 201,
        "parentheses nested deeper than 200, found '()', expected a PDDL definition",
    ),
    problem_text("no define", "(@defin (problem one))", "definition expected, found 'defin', expected 'define'"),
    problem_text("empty list", "(@)", "definition expected, found ')', expected 'define'"),
)

HEADS_AND_SECTIONS = (
    problem_text("nothing defined", "(define@)", "problem has no name, found ')', expected '(problem NAME)'"),
    domain_text(
        "problem given as domain",
        PROBLEM.replace("(problem", "@(problem"),
        "this is no domain file, found '(problem one)', expected '(domain NAME)'",
    ),
    problem_text(
        "domain given as problem",
        DOMAIN.replace("(domain", "@(domain"),
        "this is no problem file, found '(domain depot)', expected '(problem NAME)'",
    ),
    in_domain(
        "two names",
        "(domain depot)",
        "@(domain depot two)",
        "domain has no single name, found '(domain depot two)', expected '(domain NAME)'",
    ),
    in_domain(
        "variable as name", "(domain depot)", "(domain @?depot)", "name expected, found '?depot', expected a name"
    ),
    in_problem(
        "wrong domain name",
        "(:domain depot)",
        "(:domain @depots)",
        "problem is for domain 'depots', the domain file (domain.pddl) defines 'depot'",
    ),
    in_problem(
        "domain section without name",
        "(:domain depot)",
        "@(:domain)",
        "':domain' takes one name, found '(:domain)', expected '(:domain NAME)'",
    ),
    in_problem("unknown section", "(:objects", "(@:object", "unknown section ':object'; did you mean ':objects'?"),
    in_domain("section of the other file", "(:constants home - place)", "(@:init)", "unknown section ':init'"),
    in_domain(
        "word between sections",
        "(:constants home - place)",
        "@home",
        "word between sections, found 'home', expected a section such as '(:init …)'",
    ),
    in_domain(
        "empty section",
        "(:constants home - place)",
        "@()",
        "empty section, found '()', expected a section such as '(:init …)'",
    ),
    in_domain(
        "list as section keyword",
        "(:constants home - place)",
        "(@(x))",
        "word expected, found '(x)', expected a section keyword",
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
        "word expected, found '(:typing)', expected a requirement such as ':strips'",
    ),
)

DECLARATIONS = (
    in_domain("unknown supertype", "truck - thing", "truck - @thnig", "unknown type 'thnig'; did you mean 'thing'?"),
    in_domain("duplicate type", "place - object crate", "place - object @place crate", "duplicate type 'place'"),
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
        "type is missing after '-', found '-', expected a type",
    ),
    in_domain(
        "hyphen without name",
        "(:constants home - place)",
        "(:constants @- place)",
        "type without an object, found '-', expected an object before '-'",
    ),
    in_domain(
        "two hyphens",
        "(:constants home - place)",
        "(:constants home - @- place)",
        "name expected, found '-', expected a type",
    ),
    in_problem(
        "hyphen without blank", "north - place", "north @-place", "name expected, found '-place', expected an object"
    ),
    in_problem(
        "either without types",
        "north - place",
        "north - @(either)",
        "type expected, found '(either)', expected a type name or '(either …)'",
    ),
    in_problem(
        "list that is no either",
        "north - place",
        "north - @(both place crate)",
        "type expected, found '(both place crate)', expected a type name or '(either …)'",
    ),
    in_problem(
        "either of lists",
        "north - place",
        "north - (either @(place))",
        "word expected, found '(place)', expected a type",
    ),
    in_problem("unknown type of object", "box - crate", "box - @crat", "unknown type 'crat'; did you mean 'crate'?"),
    in_problem("unknown type in either", "box - crate", "box - (either crate @box)", "unknown type 'box'"),
    in_problem("duplicate object", "box - crate", "box @north - crate", "duplicate object 'north'"),
    in_problem("object like a constant", "box - crate", "box @HOME - crate", "duplicate object 'home'"),
    in_domain(
        "duplicate constant",
        "(:constants home - place)",
        "(:constants home - place @home - place)",
        "duplicate object 'home'",
    ),
    in_problem("variable as object", "box - crate", "@?box - crate", "name expected, found '?box', expected an object"),
    in_problem("list as object", "box - crate", "@(box) - crate", "word expected, found '(box)', expected an object"),
    in_domain("duplicate predicate", "(closed ?p - place)", "(@at ?p - place)", "duplicate predicate 'at'"),
    in_domain(
        "predicate without list",
        "(closed ?p - place)",
        "@closed",
        "list expected, found 'closed', expected a predicate such as '(p ?x)'",
    ),
    in_domain(
        "empty predicate", "(closed ?p - place)", "@()", "empty list, found '()', expected a predicate such as '(p ?x)'"
    ),
    in_domain(
        "declared equality",
        "(closed ?p - place)",
        "(@= ?p ?q)",
        "'=' is built in and cannot be declared, found '=', expected another name",
    ),
    in_domain(
        "predicate called not",
        "(closed ?p - place)",
        "(@not ?p)",
        "'not' is a word of the language, found 'not', expected another name",
    ),
    in_domain(
        "duplicate variable in predicate", "(closed ?p - place)", "(closed ?p @?p - place)", "duplicate variable '?p'"
    ),
    in_domain(
        "name as parameter",
        "(closed ?p - place)",
        "(closed @p - place)",
        "variable expected, found 'p', expected a variable such as '?x'",
    ),
    in_domain(
        "variable without name",
        "(closed ?p - place)",
        "(closed @? - place)",
        "variable expected, found '?', expected a variable such as '?x'",
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
        "list expected, found 'total-cost', expected a function such as '(total-cost)'",
    ),
    in_domain(
        "list as function type",
        "(total-cost) - number",
        "(total-cost) - @(either number)",
        "word expected, found '(either number)', expected 'number'",
    ),
    in_domain(
        "function type missing at the end",
        "?b - place) - number)",
        "?b - place) @-)",
        "type is missing after '-', found '-', expected 'number'",
    ),
    in_domain(
        "total cost with argument",
        "(total-cost) - number",
        "@(total-cost ?p - place) - number",
        "'total-cost' takes no arguments, found '(total-cost ?p - place)', expected '(total-cost)'",
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
        "name expected, found ':effect', expected an action name",
    ),
    in_domain(
        "action with nothing",
        "(:action load\n",
        "@(:action)(:action load\n",
        "action has no name, found '(:action)', expected '(:action NAME …)'",
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
        "':effect' has no value, found ':effect', expected a list after it",
    ),
    in_domain(
        "list where a part is expected",
        ":precondition",
        "@(and) :precondition",
        "word expected, found '(and)', expected ':parameters', ':precondition' or ':effect'",
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
        "'?p' is of type place, argument '?t' of 'at' takes thing",
    ),
    in_domain(
        "wrong type in effect", EFFECT, "(and (in @?t ?t))", "'?t' is of type truck, argument '?c' of 'in' takes crate"
    ),
    in_domain(
        "wider type in effect",
        EFFECT,
        "(forall (?x - thing) (in @?x ?t))",
        "'?x' is of type thing, argument '?c' of 'in' takes crate",
    ),
    in_domain("object as unknown constant", PRECONDITION, "(at ?c @hom)", "unknown object 'hom'; did you mean 'home'?"),
    in_domain("word as condition", PRECONDITION, "@closed", "list expected, found 'closed', expected a condition"),
    in_domain("list as predicate", PRECONDITION, "(@(at) ?c ?p)", "word expected, found '(at)', expected a predicate"),
    in_domain(
        "list as term", PRECONDITION, "(at @(?c) ?p)", "word expected, found '(?c)', expected a variable or an object"
    ),
    in_domain(
        "not with two atoms",
        PRECONDITION,
        "@(not (at ?c ?p) (at ?t ?p))",
        "'not' takes one atom, found '(not (at ?c ?p) (at ?t ?p))', expected '(not (p …))'",
    ),
    in_domain(
        "not with nothing", EFFECT, "(and @(not))", "'not' takes one atom, found '(not)', expected '(not (p …))'"
    ),
    in_domain(
        "equality of three",
        PRECONDITION,
        "@(= ?c ?t ?p)",
        "'=' takes two terms, found '(= ?c ?t ?p)', expected '(= a b)'",
    ),
    in_domain(
        "effect on equality",
        EFFECT,
        "(and @(= ?c ?c))",
        "equality cannot be an effect, found '(= ?c ?c)', expected a predicate",
    ),
    in_domain(
        "effect on inequality",
        EFFECT,
        "(and (not @(= ?c ?t)))",
        "equality cannot be an effect, found '(= ?c ?t)', expected a predicate",
    ),
    in_domain("word as effect", EFFECT, "@in", "list expected, found 'in', expected an effect"),
    in_domain(
        "when with one part",
        EFFECT,
        "@(when (in ?c ?t))",
        "'when' takes a condition and an effect, found '(when (in ?c ?t))', expected '(when (p) (q))'",
    ),
    in_domain(
        "forall without body",
        EFFECT,
        "@(forall (?x - place))",
        "'forall' takes variables and a body, found '(forall (?x - place))', expected '(forall (?x - t) …)'",
    ),
    in_domain(
        "forall without variables",
        PRECONDITION,
        "(forall @() (at ?c ?p))",
        "'forall' without variables, found '()', expected a variable such as '?x'",
    ),
    in_domain(
        "forall that hides a parameter", PRECONDITION, "(forall (@?c - crate) (at ?c ?p))", "duplicate variable '?c'"
    ),
    in_domain(
        "increase of nothing",
        EFFECT,
        "@(increase (total-cost))",
        "'increase' takes a function and a value, found '(increase (total-cost))', "
        "expected '(increase (total-cost) 1)'",
    ),
    in_domain(
        "negative cost",
        EFFECT,
        "(increase (total-cost) @-1)",
        "number expected, found '-1', expected a non-negative number",
    ),
    in_domain(
        "bad number",
        EFFECT,
        "(increase (total-cost) @1.2.3)",
        "number expected, found '1.2.3', expected a non-negative number",
    ),
    in_domain(
        "number with exponent",
        EFFECT,
        "(increase (total-cost) @1e3)",
        "number expected, found '1e3', expected a non-negative number",
    ),
    in_domain(
        "number too large",
        EFFECT,
        "(increase (total-cost) @" + "9" * 400 + ")",
        f"number is too large, found '{'9' * 39}…', expected less than 1.8e308",
    ),
    domain_text(
        "undeclared total cost",
        DOMAIN.replace("(total-cost) - number", "").replace("(total-cost) 1", "@(total-cost) 1"),
        "function 'total-cost' is not declared, found '(total-cost)', expected it under ':functions'",
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
        "'?t' is of type truck, argument '?b' of 'distance' takes place",
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
        "'north' is of type place, argument '?t' of 'at' takes thing",
    ),
    in_problem(
        "uncertain type in init",
        "box - crate lorry - truck)\n  (:init",
        "box - crate lorry - truck both - (either crate place))\n  (:init (at @both north)",
        "'both' is of type crate or place, argument '?t' of 'at' takes thing",
    ),
    in_problem("variable in init", "(at box north)", "(at @?x north)", "unbound variable '?x'"),
    in_problem("word in init", "(at box north)", "@box", "atom expected, found 'box', expected a list such as '(p a)'"),
    in_problem(
        "empty list in init", "(at box north)", "@()", "empty list, found '()', expected an atom such as '(p …)'"
    ),
    in_problem(
        "list of lists in init",
        "(at box north)",
        "(@(at box north))",
        "word expected, found '(at box north)', expected a predicate",
    ),
    in_problem(
        "list as argument in init",
        "(at box north)",
        "(at box @(north))",
        "word expected, found '(north)', expected a variable or an object",
    ),
    in_problem(
        "and in init",
        "(:init",
        "(:init @(and)",
        "':init' lists atoms, without 'and', found '(and)', expected an atom such as '(p a)'",
    ),
    in_problem(
        "equality in init",
        "(:init",
        "(:init @(= box box)",
        "'=' in ':init' takes a function and a number, found '(= box box)', expected '(= (f a) 1)'",
    ),
    in_problem(
        "not of two in init",
        "(:init",
        "(:init @(not (at box home) (at box home))",
        "'not' takes one atom, found '(not (at box home) (at box home))', expected '(not (p a))'",
    ),
    in_problem(
        "true and false", "(:init", "(:init @(not (at box north))", "atom (at box north) is listed as true and as false"
    ),
    in_problem(
        "inequality in init",
        "(:init",
        "(:init (not @(= box lorry))",
        "equality cannot be an initial atom, found '(= box lorry)', expected a predicate",
    ),
    in_problem(
        "bad value", "home) 3)", "home) @three)", "number expected, found 'three', expected a non-negative number"
    ),
    in_problem(
        "list as value", "home) 3)", "home) @(3))", "number expected, found '(3)', expected a non-negative number"
    ),
    in_problem(
        "value given twice",
        "home) 3)",
        "home) 3) @(= (distance north home) 4)",
        "duplicate value of (distance north home)",
    ),
    in_problem(
        "goal of two",
        "(:goal (and (in box lorry)))",
        "@(:goal (in box lorry) (at box home))",
        "':goal' takes one condition, found '(:goal (in box lorry) (at box home))', expected '(:goal (and …))'",
    ),
    in_problem(
        "goal of nothing",
        "(:goal (and (in box lorry)))",
        "@(:goal)",
        "':goal' takes one condition, found '(:goal)', expected '(:goal (and …))'",
    ),
    in_problem("word as goal", GOAL, "@done", "list expected, found 'done', expected a condition"),
    in_problem("unknown predicate in goal", GOAL, "(@inn box lorry)", "unknown predicate 'inn'; did you mean 'in'?"),
    in_problem("unknown object in goal", GOAL, "(in @boxx lorry)", "unknown object 'boxx'; did you mean 'box'?"),
    in_problem("arity in goal", GOAL, "(not (@in box))", "predicate 'in' takes 2 arguments, found 1"),
    in_problem(
        "wrong type in goal", GOAL, "(in @lorry lorry)", "'lorry' is of type truck, argument '?c' of 'in' takes crate"
    ),
    in_problem("variable in goal", GOAL, "(in @?x lorry)", "unbound variable '?x'"),
    in_problem(
        "metric without direction",
        METRIC,
        "@(:metric (total-cost))",
        "':metric' takes a direction and an expression, found '(:metric (total-cost))', "
        "expected '(:metric minimize (total-cost))'",
    ),
    in_problem(
        "metric with bad direction",
        METRIC,
        "(:metric @minimise (total-cost))",
        "direction expected, found 'minimise', expected 'minimize'",
    ),
    in_problem(
        "metric that is no list",
        METRIC,
        "(:metric minimize @total-cost)",
        "list expected, found 'total-cost', expected '(:metric minimize (total-cost))'",
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
        "derived predicate",
        "  (:action load",
        "  @(:derived (closed ?p) (at ?c ?p))\n  (:action load",
        "derived predicate",
    ),
    refused_domain(
        "constraints", "  (:action load", "  @(:constraints (and))\n  (:action load", "section ':constraints'"
    ),
    refused_domain("process", "  (:action load", "  @(:process rain)\n  (:action load", "process"),
    refused_domain(
        "either as supertype", "crate truck - thing", "crate truck - (either @thing place)", "'either' as a supertype"
    ),
    refused_domain("disjunction", PRECONDITION, "(and @(or (at ?c ?p) (at ?t ?p)))", "disjunction 'or'"),
    refused_domain("exists", PRECONDITION, "@(exists (?x - place) (at ?c ?x))", "existential quantifier 'exists'"),
    refused_domain("imply", PRECONDITION, "@(imply (at ?c ?p) (at ?t ?p))", "implication 'imply'"),
    refused_domain("negated conjunction", PRECONDITION, "(not @(and (at ?c ?p)))", "negation of 'and'"),
    refused_domain("negated exists", PRECONDITION, "(not @(exists (?x) (closed ?x)))", "negation of 'exists'"),
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
        "conditional cost", EFFECT, "(when (at ?c ?p) @(increase (total-cost) 1))", "'increase' inside of 'when'"
    ),
    refused_domain(
        "universal cost", EFFECT, "(forall (?x - place) @(increase (total-cost) 1))", "'increase' inside of 'forall'"
    ),
    refused_domain(
        "when in when", EFFECT, "(when (at ?c ?p) @(when (at ?t ?p) (in ?c ?t)))", "'when' inside of 'when'"
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
    refused_problem("disjunctive goal", GOAL, "(and @(or (in box lorry) (at box home)))", "disjunction 'or'"),
    refused_problem("existential goal", GOAL, "@(exists (?t - truck) (in box ?t))", "existential quantifier 'exists'"),
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
