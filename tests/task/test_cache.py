"""Values kept per object: made once, told apart by identity, freed with their owner, shared by threads."""

from __future__ import annotations

import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields

from tests.tasks import rich_task

from saltus.graph import EncodingSpec, Vocabulary, assemble
from saltus.graph.assemble import _GRAPH_TASKS, _TABLES
from saltus.lookahead import is_dead_end, lookahead
from saltus.lookahead.actions import _GROUNDED, _NEGATED, _PROOFS
from saltus.lookahead.values import FEW_ATOMS
from saltus.task.cache import PerObject
from saltus.task.kernel_task import _COPIES
from saltus.task.task import _OBJECT_NUMBER, _PREDICATE_NUMBER, _SCHEMA_NUMBER, _STATIC_CODES


@dataclass(frozen=True)
class Owner:
    """Equal owners have equal names."""

    name: str


def test_values_are_made_once_per_object() -> None:
    made: list[str] = []

    def make(owner: Owner) -> list[str]:
        made.append(owner.name)
        return [owner.name]

    cache = PerObject(make)
    one, equal = Owner("a"), Owner("a")
    assert cache.of(one) is cache.of(one)
    assert cache.of(equal) is not cache.of(one)
    assert made == ["a", "a"]
    assert len(cache) == 2
    del equal
    gc.collect()
    assert len(cache) == 1
    assert cache.of(one) == ["a"]
    assert made == ["a", "a"]


def test_a_new_object_in_the_place_of_an_old_one_has_a_value_of_its_own() -> None:
    cache = PerObject(lambda owner: owner.name)
    for number in range(200):  # memory, and with it the identity, is used again
        assert cache.of(Owner(str(number))) == str(number)
    assert len(cache) == 0


def test_threads_share_a_value() -> None:
    cache: PerObject[Owner, object] = PerObject(lambda owner: object())
    owners = [Owner(str(number)) for number in range(50)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(cache.of, owners * 40))
    assert len({id(value) for value in found}) == len(owners) == len(cache)


def test_tasks_and_domains_keep_their_fields_alone_and_are_freed() -> None:
    caches = (
        _STATIC_CODES,
        _PREDICATE_NUMBER,
        _OBJECT_NUMBER,
        _SCHEMA_NUMBER,
        _COPIES,
        _GROUNDED,
        _NEGATED,
        _PROOFS,
        _GRAPH_TASKS,
        _TABLES,
    )
    gc.collect()
    before = [len(cache) for cache in caches]
    task = rich_task()
    task.predicate_number, task.object_number, task.schema_number, task.static_codes  # noqa: B018 (computed here)
    known = set(task.__dict__), set(task.domain.__dict__)
    spec = EncodingSpec(negative_goals=True)
    assemble([(lookahead(task), None)], Vocabulary.of(task.domain, spec), spec)
    is_dead_end(task, task.initial_state, task.goal)
    is_dead_end(task, task.initial_state, task.goal, ground_atoms=FEW_ATOMS - 1)
    is_dead_end(task, task.initial_state, task.goal, ground_atoms=-1)
    assert [len(cache) for cache in caches] == [count + 1 for count in before]
    assert (set(task.__dict__), set(task.domain.__dict__)) == known
    assert set(pickle.loads(pickle.dumps(task)).__dict__) == {entry.name for entry in fields(task)}
    reference = weakref.ref(task)
    del task
    gc.collect()
    assert reference() is None
    assert [len(cache) for cache in caches] == before
