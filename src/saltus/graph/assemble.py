"""Stage `graph`: the fast path. One kernel call builds the graphs of a whole batch of queries on several threads.

Twin: `tests/twins/graph.py`. Cost: two passes over the trees' differences, and one copy of the static atoms per graph.
Queries that go into several batches are encoded once (`encode_queries`); joining what came of it costs a copy.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from saltus import _kernel
from saltus.errors import ConfigurationError, SaltusError
from saltus.graph.batch import GraphBatch
from saltus.graph.encodings import EncodingSpec
from saltus.graph.query import Query, resolve
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
from saltus.pddl import Domain, Predicate
from saltus.task import Task
from saltus.task.cache import PerObject
from saltus.task.kernel_task import kernel_task

QueryGraphs: TypeAlias = _kernel.QueryGraphs
"""Graphs of one query, in the kernel's memory."""

_STATE_SUFFIXES = ("", *GOAL_SUFFIXES, *NEGATED_GOAL_SUFFIXES)
ROLES = (
    *_STATE_SUFFIXES,
    *(PRIME + suffix for suffix in _STATE_SUFFIXES),
    *DELTA_SUFFIXES,
    *NEGATED_DELTA_SUFFIXES,
)
"""Suffixes of a predicate's relations, in the order of the kernel's `Role`."""


@dataclass(eq=False)
class _Tables:
    """A vocabulary as the kernel reads it. Domains with equal `numbers` may share a batch."""

    vocabulary: Vocabulary
    equal: Vocabulary
    """The latest one that was found equal to it, so that the next batch need not compare them again."""
    numbers: tuple[bytes, ...]
    kernel: _kernel.RelationTables


def assemble(
    queries: Sequence[Query], vocabulary: Vocabulary, spec: EncodingSpec, *, threads: int | None = None
) -> GraphBatch:
    """Batch of the graphs of at least one query. The number of threads (default: one per core) does not change it."""
    return join(encode_queries(queries, vocabulary, spec, threads=threads), vocabulary)


def encode_queries(
    queries: Sequence[Query], vocabulary: Vocabulary, spec: EncodingSpec, *, threads: int | None = None
) -> list[QueryGraphs]:
    """Graphs of each query, to be joined to batches."""
    if not queries:
        return []
    kernel, rows = _kernel_queries(queries, vocabulary, spec)
    try:
        return _kernel.encode_queries(kernel, rows, threads or os.cpu_count() or 1)
    except OverflowError as error:
        raise _too_large(error) from error


def join(encoded: Sequence[QueryGraphs], vocabulary: Vocabulary) -> GraphBatch:
    """Batch of the graphs of at least one query of this vocabulary: what `assemble` makes of the queries."""
    try:
        arrays = _kernel.join_batches(list(encoded))
    except OverflowError as error:
        raise _too_large(error) from error
    return _batch_of(arrays, vocabulary, len(encoded))


def _batch_of(arrays: tuple[Any, ...], vocabulary: Vocabulary, queries: int) -> GraphBatch:
    graph_offset, object_count = arrays[:2]
    return GraphBatch(vocabulary, int(graph_offset[-1]), len(object_count), queries, *arrays)


def _too_large(error: OverflowError) -> SaltusError:
    return SaltusError(f"a batch of graphs has more than 2^31 - 1 {error}; use fewer queries")


def _kernel_queries(
    queries: Sequence[Query], vocabulary: Vocabulary, spec: EncodingSpec
) -> tuple[_kernel.RelationTables, list[tuple[object, ...]]]:
    """Tables and queries as the kernel reads them; there is at least one query."""
    tables: _Tables | None = None
    rows: list[tuple[object, ...]] = []
    for query in queries:
        tree, goal = resolve(query, spec)
        own = _tables_of(tree.task.domain, spec)
        if own is not tables:
            if own.equal is not vocabulary:
                vocabulary.check_equal(own.vocabulary)
                own.equal = vocabulary
            if tables is not None and own.numbers != tables.numbers:
                raise ConfigurationError("graphs of different domains cannot share a batch")
            tables = own
        rows.append(
            (
                _GRAPH_TASKS.of(tree.task),
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
    assert tables is not None
    return tables.kernel, rows


def _no_tables(domain: Domain) -> dict[EncodingSpec, _Tables]:
    return {}


_TABLES = PerObject(_no_tables)


def _tables_of(domain: Domain, spec: EncodingSpec) -> _Tables:
    """Tables of an encoding of a domain, built once."""
    known = _TABLES.of(domain)
    found = known.get(spec)
    if found is None:
        found = known[spec] = _build_tables(domain, Vocabulary.of(domain, spec), spec)
    return found


def _build_tables(domain: Domain, vocabulary: Vocabulary, spec: EncodingSpec) -> _Tables:
    """Numbers of the relations by role."""
    number = vocabulary.number
    fluent = fluent_predicates(domain)
    names: tuple[list[str], list[str], list[str]] = (
        [_relation_name(entry, role, fluent, spec) for role in ROLES for entry in domain.predicates],
        [TYPE_PREFIX + entry.name for entry in domain.types],
        [SCHEMA_PREFIX + entry.name for entry in domain.schemas],
    )
    tables = [np.array([number.get(name, -1) for name in entries], np.int32) for entries in names]
    kernel = _kernel.RelationTables(
        is_joint=spec.parts.is_joint,
        has_root_graph=spec.parts.has_root_graph,
        delta=spec.parts.delta,
        primed=spec.parts.primed,
        actions=spec.parts.actions,
        tree=spec.parts.tree,
        world=has_world(domain, spec),
        arity=np.array([relation.arity for relation in vocabulary], np.int32),
        relation=tables[0],
        of_type=tables[1],
        of_schema=tables[2],
        edge=number.get(EDGE, -1),
        order=number.get(ORDER, -1),
        level=number.get(LEVEL, -1),
    )
    return _Tables(vocabulary, vocabulary, tuple(table.tobytes() for table in tables), kernel)


def _relation_name(predicate: Predicate, role: str, fluent: frozenset[str], spec: EncodingSpec) -> str:
    """Name of the predicate's relation in a role, empty where the encoding has none.

    Looking the name up in the vocabulary is not enough: `p` in the role `-` is named like a predicate `p-` in no role.
    """
    dropped = not predicate.parameters and spec.nullary == "drop"
    delta = role in (*DELTA_SUFFIXES, *NEGATED_DELTA_SUFFIXES)
    foreign = (delta and not spec.parts.delta) or (role.startswith(PRIME) and not spec.parts.primed)
    return "" if dropped or foreign or (role and predicate.name not in fluent) else predicate.name + role


def _build_graph_task(task: Task) -> _kernel.GraphTask:
    """The kernel's copy of the task, with the objects of every declared type."""
    belongs = task.is_a[task.object_type, : len(task.domain.types)].T  # [types, objects]
    offset = np.cumsum([0, *belongs.sum(axis=1)], dtype=np.int64)
    return _kernel.GraphTask(kernel_task(task), offset, np.nonzero(belongs)[1].astype(np.int32))


_GRAPH_TASKS = PerObject(_build_graph_task)
