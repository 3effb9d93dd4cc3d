"""Twin of the kernel's assembly: the paper's formulas on Python lists, atom for atom the same batches.

    R^s    = P(o) in s,  P_GT(o) in g and s,  P_GF(o) in g but not s,  static atoms, types
    ext    = R^s, and R^s' for every s'                           graphs of their own
    int    = R^s, and R^s' over primed relations                  a graph for every s'
    id     = R^s, and the delta of s' without a state node        a graph for every s'
    aa     = R^s, and A:schema(o_a, o) for every action           one graph
    ad     = R^s, and the deltas of all s', E, D, SD              one graph
    delta  = P+(o_s', o) in s' but not s,  P-(o_s', o) in s but not s',  P+_G, P-_G those of them in g

The root has no node, so an edge from the root gives no atom. Order of atoms, in every relation: state, static and goal
atoms by code; types by object; deltas by node, then code; E, SD, A:schema by node; D by its two depths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from saltus.errors import SaltusError
from saltus.graph.batch import GraphBatch
from saltus.graph.query import Query, goal_of
from saltus.graph.spec import EncodingSpec
from saltus.graph.vocabulary import EDGE, LEVEL, ORDER, PRIME, SCHEMA_PREFIX, TYPE_PREFIX, Vocabulary, has_world
from saltus.lookahead import LookaheadTree
from saltus.task import Goal, State, Task

MAX_INDEX = 2**31 - 1
"""Most nodes and argument slots of a batch; both are numbered in 32 bits."""


@dataclass
class RelationalGraph:
    """A graph: nodes by number, each with a kind (object, world, state, action, depth) and a name; atoms by relation.

    Every relation of the vocabulary is a key, also those without atoms.
    """

    atoms: dict[str, list[tuple[int, ...]]]
    node_kinds: list[str] = field(default_factory=list)
    node_names: list[str] = field(default_factory=list)

    def add_node(self, kind: str, name: str) -> int:
        """Number of a new node."""
        self.node_kinds.append(kind)
        self.node_names.append(name)
        return len(self.node_kinds) - 1

    def add(self, relation: str, *nodes: int) -> None:
        """Adds an atom."""
        self.atoms[relation].append(nodes)

    def nodes_of(self, *kinds: str) -> list[int]:
        """Nodes of these kinds, ascending."""
        return [node for node, kind in enumerate(self.node_kinds) if kind in kinds]


# -- graphs ----------------------------------------------------------------------------------------------------------


def encode(query: Query, vocabulary: Vocabulary, spec: EncodingSpec) -> list[RelationalGraph]:
    """Graphs of a query: one for ad and aa, one for every candidate for int and id, the root's first for ext."""
    tree, goal = query[0], goal_of(query, spec)
    vocabulary.check_equal(Vocabulary.of(tree.task.domain, spec))
    candidates = range(1, len(tree))
    if spec.kind == "ext":
        return [_state_graph(tree, tree.state_of(node), goal, vocabulary, spec) for node in range(len(tree))]
    if spec.kind in ("int", "id"):
        graphs = [_state_graph(tree, tree.root, goal, vocabulary, spec) for _ in candidates]
        for node, graph in zip(candidates, graphs, strict=True):
            if spec.kind == "int":
                _add_state(graph, tree.task, tree.state_of(node), goal, PRIME)
            else:
                _add_delta(graph, tree, node, goal, ())
        return graphs
    graph = _state_graph(tree, tree.root, goal, vocabulary, spec)
    if spec.kind == "aa":
        _add_actions(graph, tree)
    else:
        _add_tree(graph, tree, goal)
    return [graph]


def _state_graph(
    tree: LookaheadTree, state: State, goal: Goal, vocabulary: Vocabulary, spec: EncodingSpec
) -> RelationalGraph:
    """R^s with statics and types, over the objects and the world."""
    task = tree.task
    graph = RelationalGraph({relation.name: [] for relation in vocabulary})
    for name in task.objects:
        graph.add_node("object", name)
    if has_world(task.domain, spec):
        graph.add_node("world", "<world>")
    for predicate, rows in enumerate(task.static_atoms):
        name = task.domain.predicates[predicate].name
        for row in rows.tolist():
            if row:
                graph.add(name, *row)
            elif has_world(task.domain, spec):
                graph.add(name, len(task.objects))
    for number, entry in enumerate(task.domain.types):
        for node in np.flatnonzero(task.is_a[task.object_type, number]).tolist():
            graph.add(TYPE_PREFIX + entry.name, node)
    _add_state(graph, task, state, goal, "")
    return graph


def _add_state(graph: RelationalGraph, task: Task, state: State, goal: Goal, prime: str) -> None:
    for _, name, arguments in _atoms(graph, task, state):
        graph.add(name + prime, *arguments)
    for codes, sign in ((goal.positive, "_G"), (goal.negative, "_NG")):
        for code, name, arguments in _atoms(graph, task, codes.tolist()):
            graph.add(name + prime + sign + ("T" if code in state else "F"), *arguments)


def _add_delta(graph: RelationalGraph, tree: LookaheadTree, node: int, goal: Goal, anchor: tuple[int, ...]) -> None:
    positive, negative = set(goal.positive.tolist()), set(goal.negative.tolist())
    for codes, sign in ((tree.added_of(node), "+"), (tree.deleted_of(node), "-")):
        for code, name, arguments in _atoms(graph, tree.task, codes.tolist()):
            graph.add(name + sign, *anchor, *arguments)
            if code in positive:
                graph.add(name + sign + "_G", *anchor, *arguments)
            if code in negative:
                graph.add(name + sign + "_NG", *anchor, *arguments)


def _add_actions(graph: RelationalGraph, tree: LookaheadTree) -> None:
    for node in range(1, len(tree)):
        action = tree.action_of(node)
        number = graph.add_node("action", tree.task.action_name(action))
        graph.add(SCHEMA_PREFIX + tree.task.schemas[action.schema].name, number, *action.arguments)


def _add_tree(graph: RelationalGraph, tree: LookaheadTree, goal: Goal) -> None:
    node_of = {node: graph.add_node("state", f"state:{node}") for node in range(1, len(tree))}
    for node, number in node_of.items():
        _add_delta(graph, tree, node, goal, (number,))
        parent = int(tree.parent[node])
        if parent != 0 and EDGE in graph.atoms:
            graph.add(EDGE, node_of[parent], number)
    if ORDER in graph.atoms:
        depths = range(1, int(tree.depth.max()) + 1)
        node_at = {depth: graph.add_node("depth", f"depth:{depth}") for depth in depths}
        for depth in depths:
            for deeper in range(depth + 1, depths.stop):
                graph.add(ORDER, node_at[depth], node_at[deeper])
        for node, number in node_of.items():
            graph.add(LEVEL, number, node_at[int(tree.depth[node])])


def _atoms(graph: RelationalGraph, task: Task, codes: Iterable[int]) -> Iterator[tuple[int, str, tuple[int, ...]]]:
    """Code, predicate and argument nodes of atoms; without arguments an atom is about the world, if there is one."""
    for code in codes:
        predicate, *arguments = task.decode(code)
        nodes = tuple(arguments) or tuple(graph.nodes_of("world"))
        if nodes:
            yield code, task.domain.predicates[predicate].name, nodes


# -- batches ---------------------------------------------------------------------------------------------------------


def batch(queries: Sequence[Query], vocabulary: Vocabulary, spec: EncodingSpec) -> GraphBatch:
    """Batch of the queries' graphs, as `saltus.graph.assemble` gives it."""
    of_query = [encode(query, vocabulary, spec) for query in queries]
    graphs = [graph for group in of_query for graph in group]
    first_node = np.cumsum([0, *(len(graph.node_kinds) for graph in graphs)])
    rows = {
        relation.name: [
            [int(first_node[i]) + node for node in nodes]
            for i, graph in enumerate(graphs)
            for nodes in graph.atoms[relation.name]
        ]
        for relation in vocabulary
    }
    arguments = np.array([node for tuples in rows.values() for nodes in tuples for node in nodes], np.int32)
    if first_node[-1] > MAX_INDEX or len(arguments) > MAX_INDEX:
        raise SaltusError(f"batch of graphs has more than {MAX_INDEX:,} nodes or arguments; use fewer queries")
    sizes = [len(tuples) for tuples in rows.values()]
    arities = [relation.arity for relation in vocabulary]
    candidates = list(_candidates(queries, of_query, first_node.tolist(), spec))
    columns = np.array(candidates, np.int32).reshape(-1, 3).T
    depths = [
        (int(first_node[i]) + node, i, depth)
        for i, graph in enumerate(graphs)
        for depth, node in enumerate(graph.nodes_of("depth"), start=1)
    ]
    return GraphBatch(
        vocabulary=vocabulary,
        node_count=int(first_node[-1]),
        graph_count=len(graphs),
        query_count=len(queries),
        graph_offset=first_node.astype(np.int32),
        object_count=np.array([len(graph.nodes_of("object", "world")) for graph in graphs], np.int32),
        relation_offset=np.cumsum([0, *sizes], dtype=np.int64),
        argument_offset=np.cumsum([0, *(n * arity for n, arity in zip(sizes, arities, strict=True))], dtype=np.int64),
        arguments=arguments,
        slot_order=np.argsort(arguments, kind="stable").astype(np.int32),
        slot_offset=np.cumsum([0, *np.bincount(arguments, minlength=first_node[-1])]).astype(np.int32),
        candidate_offset=np.cumsum([0, *(len(tree) - 1 for tree, _ in queries)], dtype=np.int64),
        candidate_node=np.ascontiguousarray(columns[0]),
        candidate_graph=np.ascontiguousarray(columns[1]),
        source_graph=np.ascontiguousarray(columns[2]),
        depth_node=np.array([node for node, _, _ in depths], np.int32),
        depth_graph=np.array([graph for _, graph, _ in depths], np.int32),
        depth_value=np.array([depth for _, _, depth in depths], np.int32),
    )


def _candidates(
    queries: Sequence[Query], of_query: list[list[RelationalGraph]], first_node: list[int], spec: EncodingSpec
) -> Iterator[tuple[int, int, int]]:
    """`(node, graph, graph of the root)` of every candidate, query by query."""
    number = 0
    for (tree, _), graphs in zip(queries, of_query, strict=True):
        if spec.is_joint:
            for node in graphs[0].nodes_of("state", "action"):
                yield first_node[number] + node, number, number
        else:
            own = number + int(spec.kind == "ext")
            for graph in range(own, own + len(tree) - 1):
                yield -1, graph, number if spec.kind == "ext" else graph
        number += len(graphs)
