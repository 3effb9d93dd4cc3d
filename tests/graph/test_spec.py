"""Encodings and vocabularies: what is refused, what survives JSON, what they depend on."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from tests.random_tasks import random_tasks
from tests.tasks import domain_of, rich_task, task_of
from tests.twins import graph as twin
from tests.twins.graph import encode

from saltus.errors import ConfigurationError, InputError
from saltus.graph import ENCODINGS, NULLARY, EncodingSpec, Query, Relation, Vocabulary, assemble
from saltus.graph.vocabulary import fluent_predicates, has_world
from saltus.lookahead import TreeSpec, lookahead
from saltus.task import Goal, Task

pytestmark = pytest.mark.kernel

SPECS = [
    EncodingSpec(kind, nullary=nullary, negative_goals=flag)
    for kind in ENCODINGS
    for nullary in NULLARY
    for flag in (False, True)
]
SPECS += [
    EncodingSpec(depth_nodes=False),
    EncodingSpec(tree_atoms=False),
    EncodingSpec("ad", False, False),
]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "delta"}, "kind is 'delta', expected one of ad, aa, ext, int, id"),
        ({"nullary": "keep"}, "nullary is 'keep', expected one of world, drop"),
        *(({"kind": kind, "depth_nodes": False}, f"depth_nodes .* {kind}") for kind in ENCODINGS if kind != "ad"),
        *(({"kind": kind, "tree_atoms": False}, f"tree_atoms .* {kind}") for kind in ENCODINGS if kind != "ad"),
    ],
)
def test_senseless_specs_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        EncodingSpec(**values)  # type: ignore[arg-type]


@given(random_tasks())
@settings(max_examples=30)
def test_fluent_as_in_the_task(task: Task) -> None:
    names = {entry.name for entry, fluent in zip(task.domain.predicates, task.fluent, strict=True) if fluent}
    assert fluent_predicates(task.domain) == names


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_vocabulary_survives_json(spec: EncodingSpec) -> None:
    vocabulary = Vocabulary.of(rich_task().domain, spec)
    again = Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json())))
    assert again == vocabulary
    assert again.relations == vocabulary.relations
    assert hash(again) == hash(vocabulary)
    assert len({relation.name for relation in vocabulary}) == len(vocabulary)
    assert [vocabulary.number[relation.name] for relation in vocabulary] == list(range(len(vocabulary)))


@pytest.mark.parametrize("value", [None, {}, [1], [["p"]], [["p", 0]], [["p", True]], [[1, 1]], [["p", 1, 2]], ["p1"]])
def test_other_json_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="vocabulary"):
        Vocabulary.from_json(value)


def test_vocabulary_does_not_depend_on_the_problem() -> None:
    """A policy file's vocabulary serves problems without the constants, types or goals that others have."""
    domain = domain_of(
        "(define (domain d) (:types a b) (:predicates (p ?x) (q) (r ?x ?y - a))"
        " (:action f :parameters (?x) :precondition (q) :effect (p ?x)))"
    )
    tasks = [
        task_of(domain, "(define (problem one) (:domain d) (:objects x - a) (:init (q)) (:goal (p x)))"),
        task_of(
            domain,
            "(define (problem two) (:domain d) (:objects x y - a z - (either a b)) (:init (r x y)) (:goal (and)))",
        ),
    ]
    for kind in ENCODINGS:
        spec = EncodingSpec(kind)
        vocabulary = Vocabulary.of(domain, spec)
        search = TreeSpec(kind=spec.default_lookahead)
        queries: list[Query] = [(lookahead(task, spec=search), None) for task in tasks]
        batch = assemble(queries, vocabulary, spec)
        assert batch.query_count == 2
        assert len(batch.relation_offset) == len(vocabulary) + 1


def test_world_only_where_it_is_needed() -> None:
    """No nullary predicate, no world node; a static nullary predicate needs one, too."""
    for predicates, wanted in (("(p ?x)", False), ("(p ?x) (q)", True)):
        domain = domain_of(
            f"(define (domain d) (:predicates {predicates})"
            " (:action f :parameters (?x) :precondition (and) :effect (p ?x)))"
        )
        assert has_world(domain, EncodingSpec()) == wanted
        assert not has_world(domain, EncodingSpec(nullary="drop"))
        init = "(q)" if wanted else ""
        task = task_of(domain, f"(define (problem x) (:domain d) (:objects o) (:init {init}) (:goal (p o)))")
        spec = EncodingSpec()
        vocabulary = Vocabulary.of(domain, spec)
        batch = assemble([(lookahead(task), None)], vocabulary, spec)
        assert batch.object_count.tolist() == [1 + wanted]
        if wanted:
            assert batch.atoms(vocabulary.number["q"]).tolist() == [[1]]


def test_names_that_clash_are_refused() -> None:
    """`p` deleted and a predicate `p-` would have one name; encodings without deltas take them."""
    domain = domain_of(
        "(define (domain d) (:predicates (p ?x) (p- ?x ?y))"
        " (:action f :parameters (?x) :precondition (p ?x) :effect (not (p ?x))))"
    )
    with pytest.raises(ConfigurationError, match="two relations are named 'p-'"):
        Vocabulary.of(domain, EncodingSpec())
    task = task_of(domain, "(define (problem x) (:domain d) (:objects a b) (:init (p a) (p- a b)) (:goal (p b)))")
    spec = EncodingSpec("ext")
    vocabulary = Vocabulary.of(domain, spec)
    batch = assemble([(lookahead(task), None)], vocabulary, spec)
    assert batch.arguments.tolist() == twin.batch([(lookahead(task), None)], vocabulary, spec).arguments.tolist()


def test_negated_goals_are_refused_without_their_relations() -> None:
    task = rich_task()
    spec = EncodingSpec()
    vocabulary = Vocabulary.of(task.domain, spec)
    tree = lookahead(task)
    for run in (lambda query: encode(query, vocabulary, spec), lambda query: assemble([query], vocabulary, spec)):
        with pytest.raises(ConfigurationError, match=r"\(not \(dirty hall\)\); set negative_goals"):
            run((tree, None))
        run((tree, Goal(task.goal.positive)))  # a relabelled goal without them is taken


def test_actions_need_a_flat_lookahead() -> None:
    task = rich_task()
    spec = EncodingSpec("aa", negative_goals=True)
    vocabulary = Vocabulary.of(task.domain, spec)
    for run in (lambda query: encode(query, vocabulary, spec), lambda query: assemble([query], vocabulary, spec)):
        with pytest.raises(ConfigurationError, match=r"aa needs a flat lookahead, lookahead\.kind is aiw"):
            run((lookahead(task), None))


def test_foreign_vocabularies_are_refused_with_the_difference() -> None:
    task = rich_task()
    spec = EncodingSpec(negative_goals=True)
    tree = lookahead(task)
    vocabulary = Vocabulary.of(task.domain, spec)
    cases = {
        Vocabulary(vocabulary.relations[1:]): "it lacks at/2",
        Vocabulary((*vocabulary.relations, Relation("zz", 3))): "it also has zz/3",
        Vocabulary((Relation("at", 5), *vocabulary.relations[1:])): "it lacks at/2 and also has at/5",
        Vocabulary(vocabulary.relations[::-1]): "the same relations in another order",
    }
    for other, message in cases.items():
        for run in (encode, lambda query, other, spec: assemble([query], other, spec)):
            with pytest.raises(ConfigurationError, match=re.escape(message)):
                run((tree, None), other, spec)


def test_domains_do_not_mix() -> None:
    """Two domains may be alike but for a dropped predicate; their predicates still have different numbers."""
    action = "(:action f :parameters (?x) :precondition (and) :effect (p ?x))"
    tasks = [
        task_of(
            f"(define (domain d) (:predicates {predicates}) {action})",
            "(define (problem x) (:domain d) (:objects o) (:init) (:goal (p o)))",
        )
        for predicates in ("(p ?x)", "(q) (p ?x)")
    ]
    spec = EncodingSpec(nullary="drop")
    vocabulary = Vocabulary.of(tasks[0].domain, spec)
    assert vocabulary == Vocabulary.of(tasks[1].domain, spec)
    with pytest.raises(ConfigurationError, match="different domains"):
        assemble([(lookahead(task), None) for task in tasks], vocabulary, spec)
