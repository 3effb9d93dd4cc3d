"""Legal but unusual texts are accepted, with the right meaning."""

from __future__ import annotations

import pytest
from tests.pddl.malformed import DOMAIN, PROBLEM
from tests.tasks import assert_same_task, domain_of, task_of

from saltus.errors import PddlError
from saltus.pddl import Effect, ForAll, Literal, NumericTerm, Source, Type, parse_domain, parse_problem
from saltus.task import Task


def changed(*, domain: tuple[str, str] | None = None, problem: tuple[str, str] | None = None) -> Task:
    """Task of the good texts with one replacement in each."""
    texts = []
    for text, change in ((DOMAIN, domain), (PROBLEM, problem)):
        assert change is None or text.count(change[0]) == 1
        texts.append(text.replace(*change) if change else text)
    return task_of(*texts)


def good() -> Task:
    return task_of(DOMAIN, PROBLEM)


def read_bytes(domain: bytes, problem: bytes) -> Task:
    from saltus.task import build_task

    parsed = parse_domain(Source.from_bytes(domain))
    return build_task(parsed, parse_problem(Source.from_bytes(problem), parsed))


@pytest.mark.parametrize(
    "rewrite",
    [
        pytest.param(lambda text: text.upper(), id="upper case"),
        pytest.param(lambda text: text.title(), id="mixed case"),
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(lambda text: "\ufeff" + text, id="byte order mark"),
        pytest.param(lambda text: text.replace("\n", " "), id="one line"),
        pytest.param(lambda text: text.replace(" ", "\t\f\v\n"), id="odd blanks"),
        pytest.param(lambda text: text.replace("(", " ( ").replace(")", " ) "), id="blanks around parentheses"),
        pytest.param(lambda text: text.replace("\n", " ; ünïcode (((\n"), id="comment on every line"),
        pytest.param(lambda text: text.replace(" ", ";)\n"), id="comment between all words"),
        pytest.param(lambda text: "; head\n" + text + "; no newline at the end", id="comments outside"),
    ],
)
def test_layout_and_case_do_not_matter(rewrite) -> None:
    task = read_bytes(rewrite(DOMAIN).encode(), rewrite(PROBLEM).encode())
    assert_same_task(task, good())


def test_position_after_a_byte_order_mark_counts_characters() -> None:
    with pytest.raises(PddlError, match=r"^<text>:1:2: not a PDDL definition"):
        parse_domain(Source.from_bytes("\ufeff(defin)".encode()))


def test_no_requirements_means_strips() -> None:
    assert domain_of("(define (domain d) (:predicates))").requirements == (":strips",)


def test_smallest_problem() -> None:
    task = task_of("(define (domain d) (:predicates))", "(define (problem p) (:domain d) (:init) (:goal (and)))")
    assert task.objects == ()
    assert task.goal.holds(task.initial_state)
    assert (task.object_count, task.atom_count) == (0, 0)


def test_sections_in_odd_order() -> None:
    lines = DOMAIN.splitlines()
    head, sections, action = lines[0], lines[1:6], lines[6:10]
    reordered = "\n".join([head, *action, *reversed(sections), ")"])
    inner = PROBLEM.splitlines()
    assert_same_task(task_of(reordered, "\n".join([inner[0], *reversed(inner[1:6]), ")"])), good())


def test_declared_object_changes_nothing() -> None:
    assert_same_task(changed(domain=("(:types place - object", "(:types object place - object")), good())
    assert_same_task(changed(domain=("(:types place - object", "(:types object - object place - object")), good())


def test_supertypes_come_first_whatever_the_order_of_the_text() -> None:
    domain = domain_of("(define (domain d) (:types c - b b - a a) (:predicates))")
    assert domain.types == (Type("object", None), Type("a", "object"), Type("b", "a"), Type("c", "b"))
    assert domain.ancestors("c") == {"object", "a", "b", "c"}


def test_either_of_an_object_is_known_to_be_one_of_both() -> None:
    task = changed(problem=("box - crate", "box - crate both - (either crate truck)"))
    kinds = dict(zip(task.objects, task.object_type.tolist(), strict=True))
    row = task.is_a[kinds["both"]]
    sure = {name for name, true in zip(task.types, row.tolist(), strict=True) if true}
    assert sure == {"object", "thing", "crate or truck"}


def test_either_of_one_type_is_that_type() -> None:
    assert_same_task(changed(problem=("box - crate", "box - (either crate)")), good())
    assert_same_task(changed(problem=("box - crate", "box - (either crate crate)")), good())


def test_either_in_a_parameter_admits_both() -> None:
    domain = domain_of("(define (domain d) (:types a b c) (:predicates (p ?x - (either a b))))")
    assert domain.predicates[0].parameters[0].types == ("a", "b")
    init = "(define (problem q) (:domain d) (:objects o - {}) (:init (p o)) (:goal (and)))"
    for kind in ("a", "b", "(either a b)", "(either b a)"):
        assert len(task_of(domain, init.format(kind)).problem.init_predicate) == 1
    with pytest.raises(PddlError, match="'o' has type c, but argument '\\?x' of 'p' must have type a or b"):
        task_of(domain, init.format("c"))


def test_constants_come_before_objects_and_can_be_used_anywhere() -> None:
    task = changed(
        domain=("(at ?t ?p))", "(at ?t home))"),
        problem=("(at box north) (at lorry north)", "(at box HOME) (closed home)"),
    )
    assert task.objects == ("home", "north", "box", "lorry")
    assert list(task.problem.initial_atoms(task.domain)) == [("at", "box", "home"), ("closed", "home")]
    assert task.domain.schemas[0].precondition[1] == Literal("at", ("?t", "home"))


def test_type_and_predicate_may_share_a_name() -> None:
    assert domain_of("(define (domain d) (:types at) (:predicates (at ?x - at)))").predicates[0].name == "at"


@pytest.mark.parametrize("empty", ["(and)", "()", "(and (and) (and (and)))"])
def test_empty_conditions(empty: str) -> None:
    task = changed(domain=("(and (at ?c ?p) (at ?t ?p))", empty), problem=("(and (in box lorry))", empty))
    assert task.schemas[0].precondition == ()
    assert task.goal.holds(task.initial_state)


def test_nested_and_is_flattened() -> None:
    task = changed(domain=("(and (at ?c ?p) (at ?t ?p))", "(and (and (at ?c ?p)) (and (and (at ?t ?p)) (and)))"))
    assert_same_task(task, good())


def test_effects_without_and_and_nested() -> None:
    effects = "(and (in ?c ?t) (not (at ?c ?p)) (increase (total-cost) 1))"
    nested = "(and (and (in ?c ?t)) () (and (and (not (at ?c ?p)) (and)) (increase (total-cost) 1)))"
    assert_same_task(changed(domain=(effects, nested)), good())
    single = changed(domain=(effects, "(in ?c ?t)")).domain.schemas[0]
    assert single.effects == (Effect((), (), (Literal("in", ("?c", "?t")),)),)


@pytest.mark.parametrize("empty", ["(and)", "()"])
def test_empty_effects(empty: str) -> None:
    effects = "(and (in ?c ?t) (not (at ?c ?p)) (increase (total-cost) 1))"
    for text in (empty, f"(forall (?x - place) {empty})"):
        assert changed(domain=(effects, text)).domain.schemas[0].effects == ()


def test_when_without_condition_is_a_plain_effect() -> None:
    effects = "(and (in ?c ?t) (not (at ?c ?p)) (increase (total-cost) 1))"
    when = "(and (in ?c ?t) (when () (not (at ?c ?p))) (increase (total-cost) 1))"
    assert_same_task(changed(domain=(effects, when)), good())


def test_action_without_parameters_and_precondition() -> None:
    schema = domain_of("(define (domain d) (:predicates (p)) (:action a :effect (p)))").schemas[0]
    assert (schema.parameters, schema.precondition) == ((), ())


def test_repeated_initial_atoms_give_a_warning_each() -> None:
    task = changed(problem=("(at box north)", "(at box north) (at BOX north)"))
    assert task.problem.warnings == ("problem.pddl:4:25: atom (at BOX north) is repeated",)
    assert task.initial_state == good().initial_state
    many = changed(problem=("(at box north)", "(at box north) " * 14))
    assert len(many.problem.warnings) == 11
    assert many.problem.warnings[-1] == "problem.pddl: 3 more repeated atoms"


def test_negated_initial_atom_changes_nothing() -> None:
    task = changed(problem=("(:init", "(:init (not (at box home)) (not (at box home))"))
    assert_same_task(task, good())


def test_repeated_goal_atoms_count_once() -> None:
    assert_same_task(changed(problem=("(and (in box lorry))", "(and (in box lorry) (in BOX lorry))")), good())


def test_negative_goal() -> None:
    task = changed(problem=("(and (in box lorry))", "(and (not (at box north)))"))
    assert [task.atom_name(code) for code in task.goal.negative] == ["(at box north)"]
    assert not task.goal.holds(task.initial_state)


def test_universal_goal_is_expanded_over_the_objects() -> None:
    task = changed(problem=("(and (in box lorry))", "(forall (?c - crate ?t - thing) (not (at ?c home)))"))
    assert [task.atom_name(code) for code in task.goal.negative] == ["(at box home)"]
    (part,) = task.problem.goal
    assert isinstance(part, ForAll)
    assert [variable.name for variable in part.variables] == ["?c", "?t"]


def test_equality_in_goal_is_decided_at_once() -> None:
    assert not changed(problem=("(and (in box lorry))", "(not (= box lorry))")).goal.impossible
    assert changed(problem=("(and (in box lorry))", "(= box lorry)")).goal.impossible


def test_sibling_quantifiers_may_share_a_variable() -> None:
    both = "(and (forall (?x - place) (not (closed ?x))) (forall (?x - crate) (in ?x lorry)))"
    task = changed(problem=("(and (in box lorry))", both))
    assert [task.atom_name(code) for code in task.goal.positive] == ["(in box lorry)"]


def test_universal_precondition_is_expanded() -> None:
    task = changed(domain=("(and (at ?c ?p) (at ?t ?p))", "(forall (?x - place) (not (at ?c ?x)))"))
    at = task.predicate_number["at"]
    assert [(literal.predicate, literal.terms, literal.positive) for literal in task.schemas[0].precondition] == [
        (at, (0, ~0), False),
        (at, (0, ~1), False),
    ]


def test_conditional_and_universal_effects_stay_lifted() -> None:
    effect = "(forall (?x - place) (when (closed ?x) (and (at ?c ?x) (not (at ?t ?x)))))"
    task = changed(domain=("(and (in ?c ?t) (not (at ?c ?p)) (increase (total-cost) 1))", effect))
    (effect,) = task.schemas[0].effects
    assert task.schemas[0].is_conditional
    assert [task.types[number] for (number,) in effect.variables] == ["place"]
    assert [literal.terms for literal in (*effect.condition, *effect.adds, *effect.deletes)] == [(3,), (0, 3), (1, 3)]


def test_costs() -> None:
    task = changed(
        domain=("(increase (total-cost) 1)", "(increase (total-cost) 1.5) (increase (total-cost) (distance ?p home))")
    )
    assert task.domain.schemas[0].costs == (1.5, NumericTerm("distance", ("?p", "home")))
    assert task.problem.values == {("distance", "north", "home"): 3.0}
    assert task.action_cost(task.action("(load box lorry north)")) == 4.5
    free = changed(problem=("(:metric minimize (total-cost))", ""))
    assert not free.has_costs
    assert free.action_cost(free.action("(load box lorry north)")) == 1.0


@pytest.mark.parametrize(("text", "value"), [("0", 0.0), ("007", 7.0), ("2.50", 2.5), (".5", 0.5), ("3.", 3.0)])
def test_numbers(text: str, value: float) -> None:
    assert changed(problem=("home) 3)", f"home) {text})")).problem.values[("distance", "north", "home")] == value


def test_functions_without_type_are_numbers() -> None:
    assert_same_task(changed(domain=("(total-cost) - number (d", "(total-cost) (d")), good())


def test_length_section_is_ignored() -> None:
    assert_same_task(changed(problem=("(:metric", "(:length (:serial 3)) (:metric")), good())
