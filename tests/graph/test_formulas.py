"""The graphs of a tree of four states, written out by hand from the paper's formulas, for every encoding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.tasks import task_of
from tests.twins.graph import encode

from saltus.graph import EncodingSpec, Vocabulary, assemble
from saltus.graph.dump import RelationalGraph, named_graphs
from saltus.lookahead import LookaheadTree, TreeSpec, lookahead
from saltus.task import Goal, Task

pytestmark = pytest.mark.kernel

DOMAIN = """\
(define (domain lamp)
  (:types place - object)
  (:predicates (link ?x ?y - place) (at ?x - place) (seen ?x ?y - place) (lit))
  (:action move :parameters (?x ?y - place) :precondition (and (at ?x) (link ?x ?y))
    :effect (and (at ?y) (not (at ?x)) (seen ?x ?y)))
  (:action douse :parameters () :precondition (lit) :effect (not (lit))))
"""
PROBLEM = """\
(define (problem four) (:domain lamp) (:objects a b c - place)
  (:init (link a b) (link b c) (at a) (lit))
  (:goal (and (at c) (lit) (seen b c))))
"""
# s0 = {at a, lit};  s1 = move a b: {at b, seen a b, lit};  s2 = douse: {at a};
# s3 = move b c after s1: {at c, seen a b, seen b c, lit}.

Atoms = dict[str, set[str]]

STATIC: Atoms = {"link": {"a b", "b c"}, "type:object": {"a", "b", "c"}, "type:place": {"a", "b", "c"}}
S0: Atoms = {
    "at": {"a"},
    "lit": {"<world>"},
    "at_GF": {"c"},
    "lit_GT": {"<world>"},
    "seen_GF": {"b c"},
}
S1: Atoms = {
    "at": {"b"},
    "seen": {"a b"},
    "lit": {"<world>"},
    "at_GF": {"c"},
    "lit_GT": {"<world>"},
    "seen_GF": {"b c"},
}
S2: Atoms = {"at": {"a"}, "at_GF": {"c"}, "lit_GF": {"<world>"}, "seen_GF": {"b c"}}
S3: Atoms = {
    "at": {"c"},
    "seen": {"a b", "b c"},
    "lit": {"<world>"},
    "at_GT": {"c"},
    "lit_GT": {"<world>"},
    "seen_GT": {"b c"},
}
DELTAS: Atoms = {
    "at+": {"state:1 b", "state:3 c"},
    "at-": {"state:1 a", "state:3 a"},
    "at+_G": {"state:3 c"},
    "seen+": {"state:1 a b", "state:3 a b", "state:3 b c"},
    "seen+_G": {"state:3 b c"},
    "lit-": {"state:2 <world>"},
    "lit-_G": {"state:2 <world>"},
}
EDGES: Atoms = {"E": {"state:1 state:3"}}
DEPTHS: Atoms = {
    "D": {"depth:1 depth:2"},
    "SD": {"state:1 depth:1", "state:2 depth:1", "state:3 depth:2"},
}
ACTIONS: Atoms = {"A:move": {"(move a b) a b"}, "A:douse": {"(douse)"}}


def primed(state: Atoms) -> Atoms:
    """Relations `P'…` for `P…`."""
    return {name.replace("_", "'_", 1) if "_" in name else f"{name}'": atoms for name, atoms in state.items()}


GRAPHS: dict[str, list[Atoms]] = {
    "ad": [STATIC | S0 | DELTAS | EDGES | DEPTHS],
    "aa": [STATIC | S0 | ACTIONS],
    "ext": [STATIC | S0, STATIC | S1, STATIC | S2, STATIC | S3],
    "int": [STATIC | S0 | primed(S1), STATIC | S0 | primed(S2), STATIC | S0 | primed(S3)],
    "id": [
        STATIC | S0 | {"at+": {"b"}, "at-": {"a"}, "seen+": {"a b"}},
        STATIC | S0 | {"lit-": {"<world>"}, "lit-_G": {"<world>"}},
        STATIC | S0 | {"at+": {"c"}, "at-": {"a"}, "at+_G": {"c"}, "seen+": {"a b", "b c"}, "seen+_G": {"b c"}},
    ],
}
VOCABULARIES = {
    "ad": "at+ at- at+_G at-_G seen+ seen- seen+_G seen-_G lit+ lit- lit+_G lit-_G E D SD",
    "aa": "A:move A:douse",
    "ext": "",
    "int": "at' at'_GT at'_GF seen' seen'_GT seen'_GF lit' lit'_GT lit'_GF",
    "id": "at+ at- at+_G at-_G seen+ seen- seen+_G seen-_G lit+ lit- lit+_G lit-_G",
}


@pytest.fixture(scope="module")
def task() -> Task:
    """The task of the example."""
    return task_of(DOMAIN, PROBLEM)


def tree_of(task: Task, spec: EncodingSpec) -> LookaheadTree:
    """The tree of four states, or the flat one that aa needs."""
    return lookahead(task, spec=TreeSpec(kind=spec.default_lookahead))


def named(graph: RelationalGraph) -> Atoms:
    """Atoms by the names of their nodes; no relation has one twice."""
    for atoms in graph.atoms.values():
        assert len(set(atoms)) == len(atoms)
    found = {
        name: {" ".join(graph.node_names[i] for i in atom) for atom in atoms} for name, atoms in graph.atoms.items()
    }
    return {name: atoms for name, atoms in found.items() if atoms}


def check(task: Task, spec: EncodingSpec, expected: list[Atoms], goal: Goal | None = None) -> None:
    """Twin and kernel both give the expected graphs."""
    tree = tree_of(task, spec)
    for graphs_of in (encode, named_graphs):
        assert [named(graph) for graph in graphs_of((tree, goal), Vocabulary.of(task.domain, spec), spec)] == expected


def test_the_tree(task: Task) -> None:
    tree = tree_of(task, EncodingSpec())
    assert tree.parent.tolist() == [-1, 0, 0, 1]
    assert [task.action_name(tree.action_of(node)) for node in (1, 2, 3)] == ["(move a b)", "(douse)", "(move b c)"]


@pytest.mark.parametrize("kind", sorted(GRAPHS))
def test_relation_sets(task: Task, kind: str) -> None:
    check(task, EncodingSpec(kind), GRAPHS[kind])


@pytest.mark.parametrize(("depth_nodes", "tree_atoms"), [(False, True), (True, False), (False, False)])
def test_ablations_of_ad(task: Task, depth_nodes: bool, tree_atoms: bool) -> None:
    expected = STATIC | S0 | DELTAS | (DEPTHS if depth_nodes else {}) | (EDGES if tree_atoms else {})
    check(task, EncodingSpec(depth_nodes=depth_nodes, tree_atoms=tree_atoms), [expected])


def test_ad_over_a_flat_lookahead(task: Task) -> None:
    """The same formulas with depth 1 only; edges from the root give no atom."""
    spec = EncodingSpec()
    tree = lookahead(task, spec=TreeSpec(kind="flat"))
    deltas: Atoms = {
        "at+": {"state:1 b"},
        "at-": {"state:1 a"},
        "seen+": {"state:1 a b"},
        "lit-": {"state:2 <world>"},
        "lit-_G": {"state:2 <world>"},
        "SD": {"state:1 depth:1", "state:2 depth:1"},
    }
    for graphs_of in (encode, named_graphs):
        (graph,) = graphs_of((tree, None), Vocabulary.of(task.domain, spec), spec)
        assert named(graph) == STATIC | S0 | deltas


@pytest.mark.parametrize("kind", sorted(GRAPHS))
def test_dropped_nullary_atoms(task: Task, kind: str) -> None:
    """Without the world node, what is about it is gone and nothing else."""
    expected = [
        {
            name: atoms
            for name, atoms in graph.items()
            if not name.startswith("lit") and atoms  # every relation of `lit` is about the world
        }
        for graph in GRAPHS[kind]
    ]
    check(task, EncodingSpec(kind, nullary="drop"), expected)


NEGATIVE: dict[str, list[Atoms]] = {
    "ad": [
        {
            "at_NGT": {"a"},
            "seen_NGF": {"a b"},
            "at-_NG": {"state:1 a", "state:3 a"},
            "seen+_NG": {"state:1 a b", "state:3 a b"},
        }
    ],
    "aa": [{"at_NGT": {"a"}, "seen_NGF": {"a b"}}],
    "ext": [
        {"at_NGT": {"a"}, "seen_NGF": {"a b"}},
        {"at_NGF": {"a"}, "seen_NGT": {"a b"}},
        {"at_NGT": {"a"}, "seen_NGF": {"a b"}},
        {"at_NGF": {"a"}, "seen_NGT": {"a b"}},
    ],
    "int": [
        {"at_NGT": {"a"}, "seen_NGF": {"a b"}, "at'_NGF": {"a"}, "seen'_NGT": {"a b"}},
        {"at_NGT": {"a"}, "seen_NGF": {"a b"}, "at'_NGT": {"a"}, "seen'_NGF": {"a b"}},
        {"at_NGT": {"a"}, "seen_NGF": {"a b"}, "at'_NGF": {"a"}, "seen'_NGT": {"a b"}},
    ],
    "id": [
        {"at_NGT": {"a"}, "seen_NGF": {"a b"}, "at-_NG": {"a"}, "seen+_NG": {"a b"}},
        {"at_NGT": {"a"}, "seen_NGF": {"a b"}},
        {"at_NGT": {"a"}, "seen_NGF": {"a b"}, "at-_NG": {"a"}, "seen+_NG": {"a b"}},
    ],
}


@pytest.mark.parametrize("kind", sorted(GRAPHS))
def test_negated_goals(task: Task, kind: str) -> None:
    """With (not (at a)) and (not (seen a b)) besides: atoms for them and otherwise what there was before."""
    goal = Goal(task.goal.positive, [task.atom("at a"), task.atom("seen a b")])
    expected = [graph | more for graph, more in zip(GRAPHS[kind], NEGATIVE[kind], strict=True)]
    check(task, EncodingSpec(kind, negative_goals=True), expected, goal)


def test_relabelled_goal(task: Task) -> None:
    """Another goal than the tree's own changes the goal relations of root and deltas only."""
    goal = Goal([task.atom("at b"), task.atom("at a")])
    rest = {name: atoms for name, atoms in GRAPHS["ad"][0].items() if "_G" not in name}
    goals: Atoms = {
        "at_GT": {"a"},
        "at_GF": {"b"},
        "at+_G": {"state:1 b"},
        "at-_G": {"state:1 a", "state:3 a"},
    }
    check(task, EncodingSpec(), [rest | goals], goal)


@pytest.mark.parametrize("kind", sorted(VOCABULARIES))
def test_vocabulary(task: Task, kind: str) -> None:
    first = "link at at_GT at_GF seen seen_GT seen_GF lit lit_GT lit_GF type:object type:place"
    vocabulary = Vocabulary.of(task.domain, EncodingSpec(kind))
    assert [relation.name for relation in vocabulary] == [*first.split(), *VOCABULARIES[kind].split()]
    arity = {relation.name: relation.arity for relation in vocabulary}
    anchor = int(kind == "ad")
    assert (arity["link"], arity["at_GT"], arity["lit_GF"], arity["type:place"]) == (2, 1, 1, 1)
    assert (arity.get("lit-", 1 + anchor), arity.get("seen+_G", 2 + anchor)) == (1 + anchor, 2 + anchor)
    assert (arity.get("A:move", 3), arity.get("A:douse", 1)) == (3, 1)
    assert (arity.get("seen'_GT", 2), arity.get("E", 2), arity.get("D", 2), arity.get("SD", 2)) == (2, 2, 2, 2)


def test_vocabulary_of_ablations(task: Task) -> None:
    names = [relation.name for relation in Vocabulary.of(task.domain, EncodingSpec())]
    for gone, change in ((["E"], {"tree_atoms": False}), (["D", "SD"], {"depth_nodes": False})):
        fewer = Vocabulary.of(task.domain, replace(EncodingSpec(), **change))
        assert [relation.name for relation in fewer] == [name for name in names if name not in gone]
    dropped = Vocabulary.of(task.domain, EncodingSpec(nullary="drop"))
    assert [relation.name for relation in dropped] == [name for name in names if not name.startswith("lit")]


def test_vocabulary_with_negated_goals(task: Task) -> None:
    names = [relation.name for relation in Vocabulary.of(task.domain, EncodingSpec("id", negative_goals=True))]
    assert names[1:6] == ["at", "at_GT", "at_GF", "at_NGT", "at_NGF"]
    assert names[-6:] == ["lit+", "lit-", "lit+_G", "lit-_G", "lit+_NG", "lit-_NG"]


def test_arrays_of_the_batch(task: Task) -> None:
    """Offsets, candidates, depth nodes and the order of the slots, by hand."""
    spec = EncodingSpec()
    vocabulary = Vocabulary.of(task.domain, spec)
    tree = tree_of(task, spec)
    batch = assemble([(tree, None), (tree, None)], vocabulary, spec)
    assert (batch.node_count, batch.graph_count, batch.query_count) == (18, 2, 2)  # a b c world, 3 states, 2 depths
    assert batch.graph_offset.tolist() == [0, 9, 18]
    assert batch.object_count.tolist() == [4, 4]
    assert batch.candidate_offset.tolist() == [0, 3, 6]
    assert batch.candidate_node.tolist() == [4, 5, 6, 13, 14, 15]
    assert batch.candidate_graph.tolist() == batch.source_graph.tolist() == [0, 0, 0, 1, 1, 1]
    assert batch.depth_node.tolist() == [7, 8, 16, 17]
    assert batch.depth_graph.tolist() == [0, 0, 1, 1]
    assert batch.depth_value.tolist() == [1, 2, 1, 2]
    assert batch.atoms(vocabulary.number["link"]).tolist() == [[0, 1], [1, 2], [9, 10], [10, 11]]
    assert batch.atoms(vocabulary.number["SD"]).tolist() == [[4, 7], [5, 7], [6, 8], [13, 16], [14, 16], [15, 17]]
    order = np.argsort(batch.slot_position)
    slots = [order[batch.slot_offset[v] : batch.slot_offset[v + 1]].tolist() for v in range(18)]
    for node, own in enumerate(slots):
        assert own == np.flatnonzero(batch.arguments == node).tolist()


def test_candidates_of_ext(task: Task) -> None:
    spec = EncodingSpec("ext")
    tree = tree_of(task, spec)
    batch = assemble([(tree, None), (tree, None)], Vocabulary.of(task.domain, spec), spec)
    assert batch.candidate_graph.tolist() == [1, 2, 3, 5, 6, 7]
    assert batch.source_graph.tolist() == [0, 0, 0, 4, 4, 4]
    assert batch.candidate_node.tolist() == [-1] * 6
    assert batch.depth_node.tolist() == []
