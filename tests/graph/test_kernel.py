"""The kernel's assembly against its twin: every array of the batch equal; and what must not change a graph."""

from __future__ import annotations

import random
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import IPC_DOMAINS, ROOT, examples
from tests.random_adl import random_adl_task
from tests.random_tasks import random_tasks
from tests.tasks import rich_task, task_of
from tests.twins import graph as twin
from tests.twins import lookahead as slow_lookahead
from tests.twins.graph import encode

from saltus.errors import SaltusError
from saltus.graph import (
    ENCODINGS,
    NULLARY,
    EncodingSpec,
    GraphBatch,
    Query,
    Vocabulary,
    assemble,
    encode_queries,
    join,
)
from saltus.graph.dump import named_graphs
from saltus.lookahead import LookaheadTree, PlaySpec, TreeSpec, lookahead, random_action, successor_state
from saltus.lookahead.spec import KINDS
from saltus.task import Goal, State, Task, load

pytestmark = pytest.mark.kernel


def assert_same(fast: GraphBatch, slow: GraphBatch) -> None:
    """Equal in every array, type and figure."""
    for entry in fields(GraphBatch):
        one, other = getattr(fast, entry.name), getattr(slow, entry.name)
        if isinstance(other, np.ndarray):
            assert one.dtype == other.dtype, entry.name
            assert one.flags.c_contiguous
            assert one.tolist() == other.tolist(), entry.name
        else:
            assert one == other, entry.name


def check(queries: list[Query], spec: EncodingSpec, domain_task: Task) -> None:
    """Kernel equals twin with one thread and with several."""
    vocabulary = Vocabulary.of(domain_task.domain, spec)
    slow = twin.batch(queries, vocabulary, spec)
    for threads in (1, 3):
        assert_same(assemble(queries, vocabulary, spec, threads=threads), slow)
        encoded = encode_queries(queries, vocabulary, spec, threads=threads)
        assert_same(join(encoded, vocabulary), slow)


@st.composite
def specs(draw: st.DrawFn) -> EncodingSpec:
    """Any encoding that is not refused and takes negated goals."""
    kind = draw(st.sampled_from(sorted(ENCODINGS)))
    switches = [draw(st.booleans()) if ENCODINGS[kind].tree else True for _ in range(2)]
    return EncodingSpec(kind, *switches, nullary=draw(st.sampled_from(NULLARY)), negative_goals=True)


def random_goal(task: Task, rng: random.Random) -> Goal:
    """A goal of fluent atoms that is not the task's own; some true, some false, some negated."""
    fluent = [p for p in range(len(task.arity)) if task.fluent[p] and (task.objects or not task.arity[p])]
    atoms = [
        task.encode(predicate, [rng.randrange(len(task.objects)) for _ in range(int(task.arity[predicate]))])
        for predicate in rng.choices(fluent, k=6)
    ]
    codes = [*atoms, *rng.sample(list(task.initial_state), min(2, len(task.initial_state)))]
    return Goal(codes[::2], codes[1::2])


def random_queries(task: Task, spec: EncodingSpec, rng: random.Random, count: int) -> list[Query]:
    """Trees from states along a random walk, by kernel and twin, with random kinds and goals."""
    state = task.initial_state
    queries: list[Query] = []
    for number in range(count):
        kind = "flat" if spec.parts.needs_flat_lookahead else rng.choice(sorted(KINDS))
        limit = rng.choice([1, 5, 40])
        search = TreeSpec(kind=kind, expand_root_successors=rng.random() < 0.5)
        make = slow_lookahead.lookahead if number % 2 else lookahead
        tree = make(task, state, search, play=PlaySpec(max_nodes=limit))
        queries.append((tree, random_goal(task, rng) if rng.random() < 0.5 else None))
        action = random_action(task, state, rng)
        state = successor_state(task, state, action) if action is not None else state
    return queries


@given(random_tasks(), specs(), st.integers(0, 2**32))
@settings(max_examples=examples(200))
def test_random_tasks(task: Task, spec: EncodingSpec, seed: int) -> None:
    """Equal batches of several queries, with all encodings, ablations and kinds of lookahead."""
    check(random_queries(task, spec, random.Random(seed), 3), spec, task)


@given(st.integers(0, 2**32), specs(), st.integers(0, 2**32))
@settings(max_examples=examples(60))
def test_tasks_with_formulas(number: int, spec: EncodingSpec, seed: int) -> None:
    """Derived atoms are encoded like others; derived goal atoms have no relation."""
    task = random_adl_task(number)
    check(random_queries(task, spec, random.Random(seed), 3), spec, task)


@given(st.integers(0, 2**32), specs())
@settings(max_examples=examples(20))
def test_every_feature_of_the_language(seed: int, spec: EncodingSpec) -> None:
    """Constants, `either`, static and nullary predicates, conditional effects, negated goals."""
    task = rich_task()
    check(random_queries(task, spec, random.Random(seed), 3), spec, task)


@pytest.mark.parametrize("kind", sorted(ENCODINGS))
@pytest.mark.parametrize("domain", IPC_DOMAINS)
def test_ipc_easy(ipc: Path, domain: str, kind: str) -> None:
    """Equal batches over small problems of all ten IPC domains, several problems in one batch."""
    folder = ipc / domain
    tasks = [load(folder / "domain.pddl", folder / "training" / "easy" / f"{name}.pddl") for name in ("p02", "p08")]
    for nullary in NULLARY:
        spec = EncodingSpec(kind, nullary=nullary)
        search = TreeSpec(kind=spec.default_lookahead)
        limits = PlaySpec(max_nodes=200 if spec.is_joint else 20)
        check([(lookahead(task, spec=search, play=limits), None) for task in tasks], spec, tasks[0])


@pytest.mark.parametrize("kind", sorted(ENCODINGS))
def test_large_batches_use_threads(kind: str) -> None:
    """Enough work for several threads gives what one gives."""
    task = load(ROOT / "examples/blocksworld/domain.pddl", ROOT / "examples/blocksworld/p100.pddl")
    spec = EncodingSpec(kind)
    vocabulary = Vocabulary.of(task.domain, spec)
    search = TreeSpec(kind=spec.default_lookahead)
    limits = PlaySpec(max_nodes=400)
    queries: list[Query] = [(lookahead(task, spec=search, play=limits), None)] * {"aa": 500, "ad": 30}.get(kind, 3)
    one = assemble(queries, vocabulary, spec, threads=1)
    assert len(one.arguments) > 200_000
    assert_same(assemble(queries, vocabulary, spec, threads=4), one)
    assert_same(assemble(queries, vocabulary, spec), one)
    assert_same(join(encode_queries(queries, vocabulary, spec, threads=4), vocabulary), one)
    assert np.array_equal(np.argsort(one.slot_position), np.argsort(one.arguments, kind="stable"))


def test_only_graphs_of_one_vocabulary_are_joined() -> None:
    task = rich_task()
    made = []
    for kind in ("ad", "ext"):
        spec = EncodingSpec(kind, negative_goals=True)
        vocabulary = Vocabulary.of(task.domain, spec)
        made += encode_queries(random_queries(task, spec, random.Random(5), 1), vocabulary, spec)
    for entries in (made, []):
        with pytest.raises(ValueError, match=r"different domains|no batch"):
            join(entries, vocabulary)


@pytest.mark.parametrize("kind", sorted(ENCODINGS))
def test_batching_is_the_union(kind: str) -> None:
    """A batch holds the atoms of its queries' own batches, shifted by the nodes before."""
    task = rich_task()
    spec = EncodingSpec(kind, negative_goals=True)
    vocabulary = Vocabulary.of(task.domain, spec)
    queries = random_queries(task, spec, random.Random(5), 4)
    whole = assemble(queries, vocabulary, spec)
    parts = [assemble([query], vocabulary, spec) for query in queries]
    shifts = np.cumsum([0, *(part.node_count for part in parts)])
    for relation in range(len(vocabulary)):
        expected = [part.atoms(relation) + shift for part, shift in zip(parts, shifts[:-1], strict=True)]
        assert np.array_equal(whole.atoms(relation), np.concatenate(expected))


@pytest.mark.parametrize("kind", sorted(ENCODINGS))
def test_codes_beyond_32_bits(kind: str) -> None:
    """Five arguments over a hundred objects: the last atom has a number near ten to the tenth."""
    names = [f"o{i}" for i in range(100)]
    task = task_of(
        "(define (domain d) (:predicates (p ?a ?b ?c ?d ?e) (q ?a))"
        " (:action f :parameters (?a ?b ?c ?d ?e) :precondition (p ?a ?b ?c ?d ?e)"
        " :effect (and (p ?e ?d ?c ?b ?a) (not (p ?a ?b ?c ?d ?e)))))",
        f"(define (problem x) (:domain d) (:objects {' '.join(names)})"
        " (:init (p o99 o98 o97 o0 o1) (p o0 o0 o3 o2 o1) (p o43 o1 o2 o3 o99) (q o99)) (:goal (p o99 o98 o97 o0 o1)))",
    )
    assert int(task.initial_state.codes[-1]) > 2**33
    spec = EncodingSpec(kind)
    search = TreeSpec(kind="flat" if kind == "aa" else "iw")
    check([(lookahead(task, spec=search), None), (lookahead(task, spec=search), Goal([]))], spec, task)


def permuted(tree: LookaheadTree, order: list[int]) -> LookaheadTree:
    """The same tree over a task whose object number i is object `order[i]` of the tree's."""
    task = tree.task
    new = {old: i for i, old in enumerate(order)}

    def code(old: int) -> int:
        predicate, *arguments = task.decode(old)
        return task.encode(predicate, [new[i] for i in arguments])

    def codes(part: np.ndarray) -> list[int]:
        return sorted(code(old) for old in part.tolist())

    static = []
    for rows in task.static_atoms:
        moved = sorted(tuple(new[i] for i in row) for row in rows.tolist())
        static.append(np.array(moved, np.int32).reshape(rows.shape))
    other = replace(
        task,
        objects=tuple(task.objects[i] for i in order),
        object_type=task.object_type[order],
        static_atoms=tuple(static),
        initial_state=State(codes(task.initial_state.codes)),
        goal=Goal(codes(task.goal.positive), codes(task.goal.negative)),
    )
    nodes = range(len(tree))
    return replace(
        tree,
        task=other,
        root=State(codes(tree.root.codes)),
        goal=other.goal,
        argument=np.array([new[i] for i in tree.argument.tolist()], np.int32),
        added=np.array([c for node in nodes for c in codes(tree.added_of(node))], np.int64),
        deleted=np.array([c for node in nodes for c in codes(tree.deleted_of(node))], np.int64),
    )


@given(random_tasks(), specs(), st.randoms(use_true_random=False))
@settings(max_examples=examples(60))
def test_permuting_objects_permutes_the_graph(task: Task, spec: EncodingSpec, rng: random.Random) -> None:
    """Same candidates, same atoms, with the object nodes renumbered."""
    tree = lookahead(task, spec=TreeSpec(kind=spec.default_lookahead), play=PlaySpec(max_nodes=30))
    order = list(range(len(task.objects)))
    rng.shuffle(order)
    vocabulary = Vocabulary.of(task.domain, spec)
    one = assemble([(tree, None)], vocabulary, spec)
    other = assemble([(permuted(tree, order), None)], vocabulary, spec)
    image = np.arange(one.node_count)
    for first in one.graph_offset[:-1].tolist():
        image[first + np.array(order, int)] = first + np.arange(len(order))
    for relation in range(len(vocabulary)):
        moved = sorted(image[one.atoms(relation)].tolist())
        assert moved == sorted(other.atoms(relation).tolist())
    assert one.candidate_node.tolist() == other.candidate_node.tolist()


def test_trees_that_do_not_fit_are_refused() -> None:
    """The kernel checks what it is given rather than write elsewhere."""
    task = rich_task()
    spec = EncodingSpec(negative_goals=True)
    vocabulary = Vocabulary.of(task.domain, spec)
    tree = lookahead(task)
    too_large = int(task.code_offset[-1])
    for change in (
        {"added": np.full_like(tree.added, too_large)},
        {"deleted": np.full_like(tree.deleted, -1)},
        {"added_offset": tree.added_offset[:-1].copy()},
        {"deleted_offset": tree.deleted_offset[::-1].copy()},
        {"parent": np.full_like(tree.parent, len(tree))},
        {"depth": tree.depth + 1},
        {"depth": tree.depth[:-1].copy()},
    ):
        with pytest.raises(ValueError, match=r"codes|offsets|tree"):
            assemble([(replace(tree, **change), None)], vocabulary, spec)
    flat = lookahead(task, spec=TreeSpec(kind="flat"))
    actions = EncodingSpec("aa", negative_goals=True)
    for change in (
        {"schema": np.full_like(flat.schema, 99)},
        {"argument": np.full_like(flat.argument, len(task.objects))},
        {"argument_offset": np.zeros_like(flat.argument_offset)},
    ):
        with pytest.raises(ValueError, match=r"offsets|tree"):
            assemble([(replace(flat, **change), None)], Vocabulary.of(task.domain, actions), actions)


def test_too_large_a_batch_is_refused_before_it_is_built() -> None:
    """A chain of 70,000 states has 2.4 billion ordered pairs of depths, counted without listing them."""
    task = rich_task()
    spec = EncodingSpec(negative_goals=True)
    tree = lookahead(task)
    count = 70_000
    chain = replace(
        tree,
        parent=np.arange(-1, count - 1, dtype=np.int32),
        depth=np.arange(count, dtype=np.int32),
        length=np.arange(count, dtype=np.int32),
        schema=np.zeros(count, np.int32),
        added_offset=np.zeros(count + 1, np.int64),
        added=tree.added[:0],
        deleted_offset=np.zeros(count + 1, np.int64),
        deleted=tree.deleted[:0],
    )
    with pytest.raises(SaltusError, match="arguments; use fewer queries"):
        assemble([(chain, None)], Vocabulary.of(task.domain, spec), spec)
    fewer = replace(spec, depth_nodes=False)
    batch = assemble([(chain, None)], Vocabulary.of(task.domain, fewer), fewer)
    assert batch.node_count == len(task.objects) + 1 + count - 1


@given(random_tasks(), specs(), st.integers(0, 2**32))
@settings(max_examples=examples(20))
def test_graphs_with_names(task: Task, spec: EncodingSpec, seed: int) -> None:
    """The kernel's graphs as they are shown are the twin's: nodes, their names, and atoms in order."""
    vocabulary = Vocabulary.of(task.domain, spec)
    for query in random_queries(task, spec, random.Random(seed), 2):
        shown, drafts = named_graphs(query, vocabulary, spec), encode(query, vocabulary, spec)
        assert len(shown) == len(drafts)
        for graph, draft in zip(shown, drafts, strict=True):
            assert graph.atoms == draft.atoms
            assert (graph.node_kinds, graph.node_names) == (draft.node_kinds, draft.node_names)
