"""Stage `graph`: the fast path. One kernel call for the graphs of a whole batch of queries, on several threads.

Twin: `batch` in `reference.py`. Cost: two walks over the trees' differences and one copy of the static atoms a graph.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saltus import _kernel
from saltus.errors import ConfigurationError, SaltusError
from saltus.graph.batch import GraphBatch
from saltus.graph.query import Query, goal_of
from saltus.graph.spec import ENCODINGS, EncodingSpec
from saltus.graph.vocabulary import (
    DELTA_SUFFIXES,
    EDGE,
    GOAL_SUFFIXES,
    LEVEL,
    NEGATED_DELTA_SUFFIXES,
    NEGATED_GOAL_SUFFIXES,
    ORDER,
    PRIME,
    SCHEMA_PREFIX,
    TYPE_PREFIX,
    Vocabulary,
    fluent_predicates,
    has_world,
)
from saltus.lookahead.kernel_task import kernel_task
from saltus.pddl import Domain, Predicate
from saltus.task import Task

_STATE_SUFFIXES = ("", *GOAL_SUFFIXES, *NEGATED_GOAL_SUFFIXES)
ROLES = (
    *_STATE_SUFFIXES,
    *(PRIME + suffix for suffix in _STATE_SUFFIXES),
    *DELTA_SUFFIXES,
    *NEGATED_DELTA_SUFFIXES,
)
"""Suffixes of a predicate's relations in the order of the kernel's `Role`."""

_ATTRIBUTE = "_graph_layouts"
_TASK_ATTRIBUTE = "_graph_task"


@dataclass(frozen=True)
class _Layout:
    """The vocabulary as the kernel reads it; domains with equal `tables` may share a batch."""

    vocabulary: Vocabulary
    tables: tuple[bytes, ...]
    kernel: _kernel.RelationTables


def assemble(
    queries: Sequence[Query], vocabulary: Vocabulary, spec: EncodingSpec, *, threads: int | None = None
) -> GraphBatch:
    """Batch of the queries' graphs; it does not depend on the number of threads (default: one a core)."""
    layout: _Layout | None = None
    rows: list[tuple[object, ...]] = []
    for query in queries:
        tree, goal = query[0], goal_of(query, spec)
        own = _layout(tree.task.domain, spec)
        if own is not layout:
            vocabulary.check_equal(own.vocabulary)
            if layout is not None and own.tables != layout.tables:
                raise ConfigurationError("graphs of different domains cannot share a batch")
            layout = own
        rows.append(
            (
                _graph_task(tree.task),
                tree.root.codes,
                goal.positive,
                goal.negative,
                tree.parent,
                tree.depth,
                tree.schema,
                tree.argument_offset,
                tree.argument,
                tree.added_offset,
                tree.added,
                tree.deleted_offset,
                tree.deleted,
            )
        )
    kernel = layout.kernel if layout is not None else _build_layout(None, vocabulary, spec).kernel
    try:
        arrays = _kernel.assemble_graphs(kernel, rows, threads or os.cpu_count() or 1)
    except OverflowError as error:
        raise SaltusError(f"batch of graphs has more than 2^31 - 1 {error}; use fewer queries") from error
    graph_offset, object_count = arrays[:2]
    return GraphBatch(vocabulary, int(graph_offset[-1]), len(object_count), len(rows), *arrays)


def _layout(domain: Domain, spec: EncodingSpec) -> _Layout:
    """Layout of an encoding of a domain, made once and kept with the domain."""
    known: dict[EncodingSpec, _Layout] = domain.__dict__.setdefault(_ATTRIBUTE, {})
    found = known.get(spec)
    if found is None:
        found = known[spec] = _build_layout(domain, Vocabulary.of(domain, spec), spec)
    return found


def _build_layout(domain: Domain | None, vocabulary: Vocabulary, spec: EncodingSpec) -> _Layout:
    """Numbers of the relations by role; without a domain, those of a batch without queries."""
    number = vocabulary.number
    names: tuple[list[str], list[str], list[str]] = ([], [], [])
    if domain is not None:
        fluent = fluent_predicates(domain)
        names = (
            [_relation_name(entry, role, fluent, spec) for role in ROLES for entry in domain.predicates],
            [TYPE_PREFIX + entry.name for entry in domain.types],
            [SCHEMA_PREFIX + entry.name for entry in domain.schemas],
        )
    tables = [np.array([number.get(name, -1) for name in entries], np.int32) for entries in names]
    kernel = _kernel.RelationTables(
        encoding=ENCODINGS[spec.kind],
        world=domain is not None and has_world(domain, spec),
        arity=np.array([relation.arity for relation in vocabulary], np.int32),
        relation=tables[0],
        of_type=tables[1],
        of_schema=tables[2],
        edge=number.get(EDGE, -1),
        order=number.get(ORDER, -1),
        level=number.get(LEVEL, -1),
    )
    return _Layout(vocabulary, tuple(table.tobytes() for table in tables), kernel)


def _relation_name(predicate: Predicate, role: str, fluent: frozenset[str], spec: EncodingSpec) -> str:
    """Name of the predicate's relation in a role, empty where it has none by rule; `p` and `-` make the name of a
    predicate `p-`, which is another matter."""
    dropped = not predicate.parameters and spec.nullary == "drop"
    delta = role in (*DELTA_SUFFIXES, *NEGATED_DELTA_SUFFIXES)
    foreign = (delta and spec.kind not in ("ad", "id")) or (role.startswith(PRIME) and spec.kind != "int")
    return "" if dropped or foreign or (role and predicate.name not in fluent) else predicate.name + role


def _graph_task(task: Task) -> _kernel.GraphTask:
    """The kernel's copy of the task with the objects of every declared type, made once and kept with the task."""
    found: _kernel.GraphTask | None = task.__dict__.get(_TASK_ATTRIBUTE)
    if found is None:
        belongs = task.is_a[task.object_type, : len(task.domain.types)].T  # [types, objects]
        offset = np.cumsum([0, *belongs.sum(axis=1)], dtype=np.int64)
        found = _kernel.GraphTask(kernel_task(task), offset, np.nonzero(belongs)[1].astype(np.int32))
        task.__dict__[_TASK_ATTRIBUTE] = found
    return found
