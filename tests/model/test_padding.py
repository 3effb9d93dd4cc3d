"""Padded layouts: what is real stays, what is padding is owned by nobody, buckets are reused; no GPU is needed."""

from __future__ import annotations

import numpy as np
import torch
from tests.model.random_graphs import random_batch

from saltus.model import Layout, make_layout
from saltus.model.padding import (
    MOST_BUCKETS,
    Block,
    Buckets,
    enlarged,
    fill_layout,
    fits,
    layout_entries,
    layout_shape,
    padded_layout,
)

ARITIES = (1, 2, 2, 3, 1, 3)
BY_ARITY = (1, 2, 3)
RELATIONS = ((0, 4), (1, 2), (3, 5))


def padded(layout: Layout | None, like: Layout) -> Layout:
    """A layout, or none, padded to the bucket of another one."""
    shape = enlarged(layout_shape(like, like.graph_count))
    block = Block(layout_entries(shape, BY_ARITY, (2, 2, 2), ""))
    memory = torch.full((block.size,), 77, dtype=torch.uint8)
    fill_layout(layout, block.arrays(memory.numpy()), "")
    return padded_layout(shape, block.tensors(memory), BY_ARITY, RELATIONS, "")


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
    empty = padded(None, layout)
    assert (empty.slot_offset == 0).all()
    assert all((group.tiles == 0).all() for group in empty.groups)
    assert (empty.candidate_graph == empty.graph_count - 1).all()


def test_blocks_are_aligned_and_views_do_not_overlap() -> None:
    entries = {"a": (np.int32, (3,)), "b": (np.float32, (2, 2)), "c": (np.bool_, (5,)), "d": (np.int64, (1,))}
    block = Block(entries)
    memory = torch.zeros(block.size, dtype=torch.uint8)
    arrays, tensors = block.arrays(memory.numpy()), block.tensors(memory)
    for number, (name, (_, shape)) in enumerate(entries.items()):
        arrays[name][...] = number % 2 if name == "c" else number + 1
        assert block.places[name][0] % 16 == 0
        assert tuple(tensors[name].shape) == shape
    assert tensors["a"].tolist() == [1, 1, 1]
    assert tensors["b"].tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert tensors["d"].tolist() == [4]


def test_the_smallest_bucket_that_fits_is_used_and_the_oldest_makes_room() -> None:
    buckets = Buckets(sizes=("slots",))
    block = Block({})
    small, large = buckets.add({"slots": 100}, block), buckets.add({"slots": 1000}, block)
    assert buckets.find({"slots": 90}) is small
    assert buckets.find({"slots": 900}) is large
    assert buckets.find({"slots": 110}) is None  # the large one would be a waste
    assert buckets.find({"slots": 2000}) is None
    for i in range(MOST_BUCKETS):
        buckets.add({"slots": 10_000 + i}, block)
    assert len(buckets) == MOST_BUCKETS
    assert buckets.find({"slots": 90}) is not small  # forgotten; and now waste is accepted
    assert fits({"slots": 5}, {"slots": 5})
    assert not fits({"slots": 6}, {"slots": 5})
