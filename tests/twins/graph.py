"""Twin of the kernel's assembly: the paper's formulas on Python lists. Both give the same batches, atom by atom.

For the root's state s, a candidate s' and the goal g, the parts of the encodings (`encodings.py`) are

    R^s        P(o) for atoms of s;  P_GT(o) for those of g that are in s, P_GF(o) for those that are not;
               static atoms and types
    delta      P+(o) for atoms of s' that are not in s, P-(o) for atoms of s that are not in s';
               P+_G and P-_G for those of them that are in g
    primed     R^s' over primed relations, without static atoms and types
    actions    A:schema(n, o) for the action from s to s'; n is the candidate's node
    tree       E(n, m) for an edge of the tree between two candidates, SD(n, d) for the depth of a candidate,
               D(d, e) for depths d < e that occur

and `ENCODINGS` in `encodings.py` says which of them an encoding has. A candidate that has a graph of its own is
described there: by R^s and its parts, or, where the root has a graph, by R^s' alone. Otherwise there is one graph: R^s
and the parts of all candidates, in which the node of s' is the first argument of its delta.

The root has no node, so an edge from the root gives no atom. The order of atoms within a relation is fixed: state,
static and goal atoms by code; types by object; deltas by node, then code; E, SD and A:schema by node; D by its first
depth, then its second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from saltus.errors import SaltusError
from saltus.graph.batch import GraphBatch
from saltus.graph.dump import RelationalGraph
from saltus.graph.encodings import Candidate, EncodingSpec
from saltus.graph.query import Query, resolve
from saltus.graph.vocabulary import (
    EDGE,
    LEVEL,
    ORDER,
    PRIME,
    SCHEMA_PREFIX,
    TYPE_PREFIX,
    Vocabulary,
    has_world,
)
from saltus.lookahead import LookaheadTree
from saltus.task import Goal, State, Task


@dataclass
class Draft(RelationalGraph):
    """A graph that is being made."""

    depths: list[int] = field(default_factory=list)
    """Depths that the depth nodes stand for, ascending."""

    def add_node(self, kind: str, name: str) -> int:
        """Adds a node and returns its number."""
        self.node_kinds.append(kind)
        self.node_names.append(name)
        return len(self.node_kinds) - 1

    def add(self, relation: str, *nodes: int) -> None:
        """Adds an atom."""
        self.atoms[relation].append(nodes)


# -- graphs ----------------------------------------------------------------------------------------------------------


def encode(query: Query, vocabulary: Vocabulary, spec: EncodingSpec) -> list[Draft]:
    """Graphs of a query: one for all candidates, or one per candidate, after the root's if the root has one."""
    tree, goal = resolve(query, spec)
    vocabulary.check_equal(Vocabulary.of(tree.task.domain, spec))
    parts = spec.parts
    if parts.is_joint:
        graph = _state_graph(tree, tree.root, goal, vocabulary, spec)
        _add_candidates(graph, tree, goal, spec)
        return [graph]
    if parts.has_root_graph:
        return [_state_graph(tree, tree.state_of(node), goal, vocabulary, spec) for node in range(len(tree))]
    graphs = [_state_graph(tree, tree.root, goal, vocabulary, spec) for _ in range(1, len(tree))]
    for node, graph in enumerate(graphs, start=1):
        if parts.primed:
            _add_state(graph, tree.task, tree.state_of(node), goal, PRIME, spec)
        if parts.delta:
            _add_delta(graph, tree, node, goal, (), spec)
    return graphs


def _state_graph(tree: LookaheadTree, state: State, goal: Goal, vocabulary: Vocabulary, spec: EncodingSpec) -> Draft:
    """R^s, over the nodes of the objects and the world."""
    task = tree.task
    graph = Draft({relation.name: [] for relation in vocabulary})
    for name in task.objects:
        graph.add_node("object", name)
    if has_world(task.domain, spec):
        graph.add_node("world", "<world>")
    for name, rows in zip(task.predicates, task.static_atoms, strict=True):
        for row in rows.tolist():
            if row:
                graph.add(name, *row)
            elif has_world(task.domain, spec):
                graph.add(name, len(task.objects))
    for number, entry in enumerate(task.domain.types):
        for node in np.flatnonzero(task.is_a[task.object_type, number]).tolist():
            graph.add(TYPE_PREFIX + entry.name, node)
    _add_state(graph, task, state, goal, "", spec)
    return graph


def _add_state(graph: Draft, task: Task, state: State, goal: Goal, prime: str, spec: EncodingSpec) -> None:
    for _, name, arguments in _atoms(graph, task, state):
        graph.add(name + prime, *arguments)
    for codes, sign in ((goal.positive, "_G"), (goal.negative, "_NG")):
        for code, name, arguments in _atoms(graph, task, codes.tolist()):
            graph.add(name + prime + sign + ("T" if code in state else "F"), *arguments)


def _add_delta(
    graph: Draft, tree: LookaheadTree, node: int, goal: Goal, anchor: tuple[int, ...], spec: EncodingSpec
) -> None:
    positive, negative = set(goal.positive.tolist()), set(goal.negative.tolist())
    for codes, sign in ((tree.added_of(node), "+"), (tree.deleted_of(node), "-")):
        for code, name, arguments in _atoms(graph, tree.task, codes.tolist()):
            graph.add(name + sign, *anchor, *arguments)
            if code in positive:
                graph.add(name + sign + "_G", *anchor, *arguments)
            if code in negative:
                graph.add(name + sign + "_NG", *anchor, *arguments)


def _add_candidates(graph: Draft, tree: LookaheadTree, goal: Goal, spec: EncodingSpec) -> None:
    """Adds a node per candidate, and what the encoding says about it."""
    parts = spec.parts
    node_of: dict[int, int] = {}
    for node in range(1, len(tree)):
        action = tree.action_of(node)
        name = f"state:{node}" if parts.candidate is Candidate.STATE_NODE else tree.task.action_name(action)
        node_of[node] = graph.add_node(parts.candidate.value, name)
        if parts.actions:
            relation = SCHEMA_PREFIX + tree.task.schemas[action.schema].name
            graph.add(relation, node_of[node], *action.arguments)
        if parts.delta:
            _add_delta(graph, tree, node, goal, (node_of[node],), spec)
    if parts.tree:
        _add_tree(graph, tree, node_of, spec)


def _add_tree(graph: Draft, tree: LookaheadTree, node_of: dict[int, int], spec: EncodingSpec) -> None:
    """Adds edges and depths, unless the vocabulary is without them."""
    for node, number in node_of.items():
        parent = int(tree.parent[node])
        if parent != 0 and EDGE in graph.atoms:
            graph.add(EDGE, node_of[parent], number)
    if ORDER in graph.atoms:
        levels = tree.depth.tolist()
        graph.depths = sorted(set(levels[1:]))
        node_at = {depth: graph.add_node("depth", f"depth:{depth}") for depth in graph.depths}
        for depth, deeper in combinations(graph.depths, 2):
            graph.add(ORDER, node_at[depth], node_at[deeper])
        for node, number in node_of.items():
            graph.add(LEVEL, number, node_at[levels[node]])


def _atoms(graph: Draft, task: Task, codes: Iterable[int]) -> Iterator[tuple[int, str, tuple[int, ...]]]:
    """Code, predicate and argument nodes of atoms. An atom without arguments is about the world node, or left out.

    Derived goal atoms are left out, too: their predicates belong to the problem and have no relation.
    """
    for code in codes:
        predicate, *arguments = task.decode(code)
        nodes = tuple(arguments) or tuple(graph.nodes_of("world"))
        if nodes and predicate < len(task.domain.predicates):
            yield code, task.predicates[predicate], nodes


# -- batches ---------------------------------------------------------------------------------------------------------


def batch(queries: Sequence[Query], vocabulary: Vocabulary, spec: EncodingSpec) -> GraphBatch:
    """Batch of the queries' graphs, as `saltus.graph.assemble` builds it."""
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
    most = 2**31 - 1  # both are numbered in 32 bits
    if first_node[-1] > most or len(arguments) > most:
        raise SaltusError(f"a batch of graphs has more than {most:,} nodes or arguments; use fewer queries")
    sizes = [len(tuples) for tuples in rows.values()]
    arities = [relation.arity for relation in vocabulary]
    candidates = list(_candidates(queries, of_query, first_node.tolist(), spec))
    columns = np.array(candidates, np.int32).reshape(-1, 3).T
    depths = [
        (int(first_node[i]) + node, i, depth)
        for i, graph in enumerate(graphs)
        for node, depth in zip(graph.nodes_of("depth"), graph.depths, strict=True)
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
        slot_position=np.argsort(np.argsort(arguments, kind="stable")).astype(np.int32),
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
    queries: Sequence[Query], of_query: list[list[Draft]], first_node: list[int], spec: EncodingSpec
) -> Iterator[tuple[int, int, int]]:
    """`(node, graph, graph of the root's state)` of each candidate, query by query."""
    number = 0
    for (tree, _), graphs in zip(queries, of_query, strict=True):
        if spec.is_joint:
            for node in graphs[0].nodes_of("state", "action"):
                yield first_node[number] + node, number, number
        else:
            has_root_graph = spec.parts.has_root_graph
            own = number + int(has_root_graph)
            for graph in range(own, own + len(tree) - 1):
                yield -1, graph, number if has_root_graph else graph
        number += len(graphs)
