"""Padded layouts: real entries stay, padding belongs to the last graph, buckets are reused; no GPU is needed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.conftest import examples
from tests.model.random_graphs import RandomBatch, random_batch

from saltus.model import Layout, make_layout
from saltus.model.padding import (
    Buckets,
    LayoutArrays,
    LayoutSize,
    device_cutter,
    empty_layout,
    fill_layout,
    fill_padded,
    grouped_relations,
    host_cutter,
    measuring_cutter,
    padded_layout,
    spans_of,
)
from saltus.model.values import MOST_BUCKETS

pytestmark = pytest.mark.kernel

ARITIES = (1, 2, 2, 3, 1, 3)
ARRAY = np.array(ARITIES, np.int32)
RELATIONS = ((1, (0, 4)), (2, (1, 2)), (3, (3, 5)))


def padded(layout: Layout, like: Layout) -> Layout:
    """A layout padded to the bucket of another one."""
    size = LayoutSize.of(like, like.graph_count).enlarged()
    measure = measuring_cutter()
    LayoutArrays.cut(size, RELATIONS, measure)
    memory = torch.full((measure.used,), 77, dtype=torch.uint8)
    fill_layout(LayoutArrays.cut(size, RELATIONS, host_cutter(memory.numpy())), layout)
    return padded_layout(size, RELATIONS, LayoutArrays.cut(size, RELATIONS, device_cutter(memory)))


def test_relations_are_grouped_by_arity() -> None:
    assert grouped_relations(ARITIES) == RELATIONS
    layout = make_layout(random_batch(3, ARITIES, "ad", atoms=70), ARITIES)
    assert tuple((group.arity, group.relations) for group in layout.groups) == RELATIONS


def test_real_entries_stay_and_padding_belongs_to_the_last_graph() -> None:
    layout = make_layout(random_batch(3, ARITIES, "ad", atoms=70), ARITIES)
    wide = padded(layout, layout)
    nodes, graphs = layout.node_count, layout.graph_count
    assert torch.equal(wide.slot_offset[: nodes + 1], layout.slot_offset)
    assert (wide.slot_offset[nodes:] == layout.slot_count).all()  # no messages to padding
    for name, offsets in (("object", "object_offset"), ("candidate", "graph_candidate")):
        members, owners = getattr(layout, f"{name}_node"), getattr(layout, f"{name}_graph")
        assert torch.equal(getattr(wide, f"{name}_node")[: len(members)], members)
        assert (getattr(wide, f"{name}_node")[len(members) :] == wide.node_count - 1).all()
        assert torch.equal(getattr(wide, f"{name}_graph")[: len(members)], owners)
        assert (getattr(wide, f"{name}_graph")[len(members) :] == wide.graph_count - 1).all()
        offset = getattr(wide, offsets)
        assert torch.equal(offset[: graphs + 1], getattr(layout, offsets))
        assert int(offset[-1]) == len(getattr(wide, f"{name}_node"))
    assert wide.node_count > nodes
    for group, real in zip(wide.groups, layout.groups, strict=True):
        assert torch.equal(group.index[: len(real.index)], real.index)
        assert torch.equal(group.position[: len(real.position)], real.position)
        for part in ("tiles", "pieces"):
            tiles, wanted = getattr(group, part), getattr(real, part)
            assert torch.equal(tiles[: len(wanted)], wanted)
            assert (tiles[len(wanted) :] == 0).all()  # from row 0 to row 0
        assert torch.equal(group.piece_offset[:-1], real.piece_offset[:-1])
        assert int(group.piece_offset[-1]) == len(group.pieces)


def test_a_layout_of_nothing_but_padding() -> None:
    layout = make_layout(random_batch(3, ARITIES, "ad", atoms=70), ARITIES)
    empty = padded(empty_layout(RELATIONS), layout)
    assert (empty.slot_offset == 0).all()
    assert all((group.tiles == 0).all() for group in empty.groups)
    assert (empty.candidate_graph == empty.graph_count - 1).all()
    assert (empty.candidate_node == empty.node_count - 1).all()
    assert (empty.object_offset[:-1] == 0).all()
    assert int(empty.object_offset[-1]) == len(empty.object_node)
    for group in empty.groups:
        assert group.piece_offset.tolist() == [0, 0, len(group.pieces)]


def blocks(size: LayoutSize, batch: RandomBatch | None) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A block of memory that the kernel filled with a batch, and one that the twin filled."""
    measure = measuring_cutter()
    spans = spans_of(LayoutArrays.cut(size, RELATIONS, measure))
    fast, slow = (np.full(measure.used, 77, np.uint8) for _ in range(2))
    fill_padded(fast, spans, batch, ARRAY)
    layout = make_layout(batch, ARITIES) if batch is not None else empty_layout(RELATIONS)
    fill_layout(LayoutArrays.cut(size, RELATIONS, host_cutter(slow)), layout)
    return fast, slow


@given(
    st.tuples(st.integers(0, 2**32), st.integers(0, 2**32)),
    st.sampled_from(["ad", "ext", "int"]),
    st.integers(1, 6),
    st.sampled_from([3, 20, 1200]),
    st.integers(0, 2),
)
@settings(max_examples=examples(100), deadline=None)
def test_the_kernel_writes_the_bytes_of_the_twin(
    seeds: tuple[int, int], encoding: str, graphs: int, atoms: int, room: int
) -> None:
    """In a block of the batch's own size and in larger ones, with empty relations and relations of several pieces."""
    batch, other = (random_batch(seed, ARITIES, encoding, graphs=graphs, atoms=atoms) for seed in seeds)
    layout = make_layout(batch, ARITIES)
    size = LayoutSize.of_batch(batch, ARRAY, batch.graph_count)
    assert size == LayoutSize.of(layout, batch.graph_count)
    for _ in range(room):
        size = size.enlarged(keep_graphs=bool(seeds[0] % 2))
    for entry in (batch, other, None):
        if LayoutSize.of_batch(entry, ARRAY, 0).fits(size):
            fast, slow = blocks(size, entry)
            assert np.array_equal(fast, slow)  # what lies between arrays included
        else:
            with pytest.raises(ValueError, match=r"too small|no node"):
                blocks(size, entry)


def test_the_size_of_a_batch_without_graphs() -> None:
    assert LayoutSize.of_batch(None, ARRAY, 5) == LayoutSize.of(empty_layout(RELATIONS), 5)


def test_arrays_outside_of_the_block_are_refused() -> None:
    batch = random_batch(3, ARITIES, "ad", atoms=70)
    measure = measuring_cutter()
    size = LayoutSize.of_batch(batch, ARRAY, batch.graph_count)
    spans = spans_of(LayoutArrays.cut(size, RELATIONS, measure))
    memory = np.zeros(measure.used, np.uint8)
    fill_padded(memory, spans, batch, ARRAY)
    shifted = spans + np.array([1, 0])
    negative = spans - np.array([16 * len(memory), 0])
    for block, wrong, message in (
        (memory[:-16], spans, "outside"),
        (memory, negative, "outside"),
        (memory, shifted, "outside|aligned"),
        (memory, spans[:-1], "too few"),
        (memory, np.concatenate([spans, spans[:1]]), "too many"),
    ):
        with pytest.raises(ValueError, match=message):
            fill_padded(block, np.ascontiguousarray(wrong), batch, ARRAY)
    with pytest.raises(ValueError, match="arguments do not fit"):
        fill_padded(memory, spans, batch, ARRAY[::-1].copy())
    with pytest.raises(ValueError, match="slot positions"):
        fill_padded(memory, spans, replace(batch, slot_position=batch.slot_position[1:]), ARRAY)


def test_arrays_are_aligned_and_do_not_overlap() -> None:
    entries = ((np.int32, (3,)), (np.float32, (2, 2)), (np.bool_, (5,)), (np.int64, (1,)))
    measure = measuring_cutter()
    starts = []
    for kind, shape in entries:
        starts.append(measure.used)
        measure.take(kind, *shape)
    assert starts == [0, 16, 32, 48]
    memory = torch.zeros(measure.used, dtype=torch.uint8)
    host, device = host_cutter(memory.numpy()), device_cutter(memory)
    tensors = []
    for number, (kind, shape) in enumerate(entries, start=1):
        host.take(kind, *shape)[...] = number
        tensors.append(device.take(kind, *shape))
        assert tuple(tensors[-1].shape) == shape
    assert host.used == device.used == measure.used == 64
    assert tensors[0].tolist() == [1, 1, 1]
    assert tensors[1].tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert tensors[2].tolist() == [True] * 5
    assert tensors[3].tolist() == [4]


def test_sizes_of_layouts() -> None:
    layout = make_layout(random_batch(3, ARITIES, "ad", atoms=70), ARITIES)
    size = LayoutSize.of(layout, 5)
    assert (size.nodes, size.slots, size.graphs) == (layout.node_count + 1, layout.slot_count, 5)
    assert [group.rows for group in size.groups] == [len(group.index) for group in layout.groups]
    wide, kept = size.enlarged(), size.enlarged(keep_graphs=True)
    assert wide.graphs > 5
    assert kept == wide._replace(graphs=5)
    assert size.fits(wide)
    assert size.fits(size)
    assert not wide.fits(size)
    for name in ("nodes", "slots", "graphs", "objects", "candidates", "depths"):
        assert not size.fits(size._replace(**{name: getattr(size, name) - 1}))
    for name in ("rows", "tiles", "pieces"):
        group = size.groups[1]._replace(**{name: getattr(size.groups[1], name) - 1})
        assert not size.fits(size._replace(groups=(size.groups[0], group, size.groups[2])))
    nothing = LayoutSize.of(empty_layout(RELATIONS), 5)
    assert (nothing.nodes, nothing.slots, nothing.graphs, len(nothing.groups)) == (1, 0, 5, 3)
    assert nothing.fits(size)


@dataclass(frozen=True)
class Slots:
    """A size of nothing but messages."""

    slots: int

    def fits(self, bucket: Slots) -> bool:
        """Whether there are no more than the bucket's."""
        return self.slots <= bucket.slots


def test_the_smallest_bucket_that_fits_is_used_and_the_oldest_makes_room() -> None:
    buckets: Buckets[Slots, None] = Buckets()
    small, large = buckets.add(Slots(100), 0), buckets.add(Slots(1000), 0)
    assert buckets.find(Slots(90)) is small
    assert buckets.find(Slots(900)) is large
    assert buckets.find(Slots(110)) is None  # the large one would be a waste
    assert buckets.find(Slots(2000)) is None
    for i in range(MOST_BUCKETS):
        buckets.add(Slots(10_000 + i), 0)
    assert len(buckets) == MOST_BUCKETS
    assert buckets.find(Slots(90)) is not small  # forgotten; and now waste is accepted
    assert buckets.find(Slots(90)) is not None
