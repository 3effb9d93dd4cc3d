"""Stage `graph`: graphs as text, as plain values for JSON, and as Graphviz input; meant for people and small graphs.

The graphs are those that the kernel assembles for the network, with names for their nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from saltus.graph.assemble import assemble
from saltus.graph.encodings import Candidate, EncodingSpec
from saltus.graph.query import Query, resolve
from saltus.graph.vocabulary import Vocabulary, has_world
from saltus.lookahead import LookaheadTree

STYLES = {
    "object": 'shape=ellipse style=filled fillcolor="#dbe9f6"',
    "world": 'shape=doublecircle style=filled fillcolor="#eeeeee"',
    "state": 'shape=box style="filled,rounded" fillcolor="#fde0c5"',
    "action": 'shape=box style="filled,rounded" fillcolor="#d9f0d3"',
    "depth": 'shape=diamond style=filled fillcolor="#e7d4e8"',
}
"""Graphviz attributes of each kind of node."""


@dataclass
class RelationalGraph:
    """A graph: numbered nodes, each with a kind (object, world, state, action, depth) and a name; atoms by relation.

    Every relation of the vocabulary is a key of `atoms`, including those without atoms.
    """

    atoms: dict[str, list[tuple[int, ...]]]
    node_kinds: list[str] = field(default_factory=list)
    node_names: list[str] = field(default_factory=list)

    def nodes_of(self, *kinds: str) -> list[int]:
        """Nodes of these kinds, ascending."""
        return [node for node, kind in enumerate(self.node_kinds) if kind in kinds]


def named_graphs(query: Query, vocabulary: Vocabulary, spec: EncodingSpec) -> list[RelationalGraph]:
    """Graphs of a query: one for all candidates, or one per candidate, after the root's if the root has one."""
    batch = assemble([query], vocabulary, spec)
    tree, _ = resolve(query, spec)
    nodes = [("object", name) for name in tree.task.objects]
    if has_world(tree.task.domain, spec):
        nodes.append(("world", "<world>"))
    if spec.is_joint:
        kind = spec.parts.candidate
        for node in range(1, len(tree)):
            name = f"state:{node}" if kind is Candidate.STATE_NODE else tree.task.action_name(tree.action_of(node))
            nodes.append((kind.value, name))
        nodes += [("depth", f"depth:{depth}") for depth in batch.depth_value.tolist()]
    kinds, names = [kind for kind, _ in nodes], [name for _, name in nodes]
    graphs = [RelationalGraph({}, kinds, names) for _ in range(batch.graph_count)]
    for number, relation in enumerate(vocabulary):
        rows = batch.atoms(number)  # [atoms, arity], graph by graph
        graph_of = np.searchsorted(batch.graph_offset, rows[:, 0], side="right") - 1
        ends = np.searchsorted(graph_of, np.arange(batch.graph_count), side="right")
        rows = rows - batch.graph_offset[graph_of, None]
        for graph, own in zip(graphs, np.split(rows, ends)[:-1], strict=True):
            graph.atoms[relation.name] = [tuple(atom) for atom in own.tolist()]
    return graphs


def size(graphs: Sequence[RelationalGraph]) -> int:
    """Number of nodes and atoms of all graphs."""
    return sum(len(graph.node_kinds) + sum(map(len, graph.atoms.values())) for graph in graphs)


def titles(tree: LookaheadTree, spec: EncodingSpec, graphs: Sequence[RelationalGraph]) -> list[str]:
    """What each graph of a query is about."""
    if spec.is_joint:
        return ["all candidates"]
    first = 0 if spec.parts.has_root_graph else 1
    return [step(tree, first + number) for number in range(len(graphs))]


def step(tree: LookaheadTree, node: int) -> str:
    """How a node of the tree is reached."""
    if node == 0:
        return "the root"
    parent = int(tree.parent[node])
    after = "the root" if parent == 0 else f"state:{parent}"
    return f"state:{node}, {tree.task.action_name(tree.action_of(node))} after {after}"


def to_text(tree: LookaheadTree, spec: EncodingSpec, graphs: Sequence[RelationalGraph]) -> str:
    """Nodes by kind and atoms by relation, one relation per line; relations without atoms are listed last."""
    lines: list[str] = []
    for number, (title, graph) in enumerate(zip(titles(tree, spec, graphs), graphs, strict=True), start=1):
        atoms = sum(map(len, graph.atoms.values()))
        lines.append(f"graph {number} of {len(graphs)}: {title}; {len(graph.node_kinds):,} nodes, {atoms:,} atoms")
        lines.append("nodes")
        for kind in dict.fromkeys(graph.node_kinds):
            names = [graph.node_names[node] for node in graph.nodes_of(kind)]
            lines.append(f"  {kind} ({len(names):,}): {', '.join(names)}")
        lines.append("atoms")
        for name, tuples in graph.atoms.items():
            if tuples:
                shown = (" ".join(graph.node_names[node] for node in nodes) for nodes in tuples)
                lines.append(f"  {name} ({len(tuples):,}): {', '.join(shown)}")
        empty = [name for name, tuples in graph.atoms.items() if not tuples]
        lines += [f"without atoms: {', '.join(empty)}"] if empty else []
        lines.append("")
    if spec.parts.candidate is Candidate.STATE_NODE:  # their names say nothing about the actions
        lines += ["states", *(f"  {step(tree, node)}" for node in range(1, len(tree)))]
    return "\n".join(lines).rstrip("\n") + "\n"


def to_values(tree: LookaheadTree, spec: EncodingSpec, graphs: Sequence[RelationalGraph]) -> list[dict[str, object]]:
    """Graphs as plain values: title, nodes with kind and name, atoms as node numbers by relation."""
    return [
        {
            "title": title,
            "nodes": [
                {"kind": kind, "name": name} for kind, name in zip(graph.node_kinds, graph.node_names, strict=True)
            ],
            "atoms": {name: [list(nodes) for nodes in tuples] for name, tuples in graph.atoms.items()},
        }
        for title, graph in zip(titles(tree, spec, graphs), graphs, strict=True)
    ]


def to_dot(tree: LookaheadTree, spec: EncodingSpec, graphs: Sequence[RelationalGraph]) -> str:
    """Graphviz input. Unary atoms are part of the node's label, binary ones are edges, and wider ones are text with a
    numbered edge to each of their nodes."""
    lines = ["digraph {", "  node [fontname=Helvetica fontsize=11]", "  edge [fontname=Helvetica fontsize=9]"]
    for number, (title, graph) in enumerate(zip(titles(tree, spec, graphs), graphs, strict=True)):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(title)}"]
        unary: list[list[str]] = [[] for _ in graph.node_kinds]
        edges: list[str] = []
        for name, tuples in graph.atoms.items():
            for position, nodes in enumerate(tuples):
                ends = [f"g{number}n{node}" for node in nodes]
                if len(nodes) == 1:
                    unary[nodes[0]].append(name)
                elif len(nodes) == 2:
                    edges.append(f"    {ends[0]} -> {ends[1]} [label={_quoted(name)}]")
                else:
                    point = _quoted(f"g{number} {name} {position}")
                    edges.append(f"    {point} [shape=plaintext label={_quoted(name)}]")
                    edges += [f"    {point} -> {end} [label={i} dir=none]" for i, end in enumerate(ends, start=1)]
        for node, (kind, name) in enumerate(zip(graph.node_kinds, graph.node_names, strict=True)):
            label = _quoted("\n".join((name, *unary[node])))
            lines.append(f"    g{number}n{node} [label={label} {STYLES[kind]}]")
        lines += [*edges, "  }"]
    return "\n".join((*lines, "}")) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
