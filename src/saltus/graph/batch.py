"""Stage `graph`: many graphs as one, in flat arrays that suit the model.

All graphs of all queries form one graph, with nodes numbered graph by graph. Atoms are ordered by relation, and within
a relation by graph. An argument slot is an index into `arguments`; `slot_position` sorts the slots by the node they
hold, so that the messages to a node are adjacent and can be reduced without atomics.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from saltus.graph.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class GraphBatch:
    """Union of the graphs of some queries. All arrays are contiguous."""

    vocabulary: Vocabulary = field(repr=False)
    node_count: int
    graph_count: int
    query_count: int
    graph_offset: NDArray[np.int32] = field(repr=False)
    """[graphs + 1]: first node of every graph."""
    object_count: NDArray[np.int32] = field(repr=False)
    """[graphs]: number of objects, the world node included; they are the first nodes of the graph."""
    relation_offset: NDArray[np.int64] = field(repr=False)
    """[relations + 1]: first atom of every relation."""
    argument_offset: NDArray[np.int64] = field(repr=False)
    """[relations + 1]: first argument of every relation."""
    arguments: NDArray[np.int32] = field(repr=False)
    """[slots]: nodes, one row of the relation's arity per atom."""
    slot_position: NDArray[np.int32] = field(repr=False)
    """[slots]: place of every slot among all slots sorted by node, those of one node in their own order."""
    slot_offset: NDArray[np.int32] = field(repr=False)
    """[nodes + 1]: place of the first slot of every node."""
    candidate_offset: NDArray[np.int64] = field(repr=False)
    """[queries + 1]: first candidate of every query; candidate i of a query is node i + 1 of its tree."""
    candidate_node: NDArray[np.int32] = field(repr=False)
    """[candidates]: its state or action node; -1 where candidates are graphs."""
    candidate_graph: NDArray[np.int32] = field(repr=False)
    """[candidates]: the graph that holds the candidate."""
    source_graph: NDArray[np.int32] = field(repr=False)
    """[candidates]: the graph with the root's state, which is the candidate's own unless the root has a graph."""
    depth_node: NDArray[np.int32] = field(repr=False)
    """[depth nodes]: the node."""
    depth_graph: NDArray[np.int32] = field(repr=False)
    """[depth nodes]: the graph of the node."""
    depth_value: NDArray[np.int32] = field(repr=False)
    """[depth nodes]: the depth that the node stands for; ascending within a graph, without gaps if it counts jumps."""

    def atoms(self, relation: int) -> NDArray[np.int32]:
        """Atoms of a relation, as a view."""
        flat = self.arguments[self.argument_offset[relation] : self.argument_offset[relation + 1]]
        return flat.reshape(-1, self.vocabulary.relations[relation].arity)  # [atoms, arity]

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        arrays = (getattr(self, entry.name) for entry in fields(self))
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
