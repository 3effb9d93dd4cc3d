"""Regularities that are found in fast ways: the same as found in slow ones."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples
from tests.learn.small import small_tasks

from saltus.grow.draft import Draft, Relations
from saltus.grow.regularities import signature_of, signatures_of


@pytest.mark.parametrize("name", ["rovers", "spanner", "depots", "satellite"])
@given(data=st.data())
@settings(max_examples=examples(25))
def test_signatures_of_many_pairs(name: str, data: st.DataObject) -> None:
    (task,) = small_tasks(name, 1)
    draft = Draft(Relations(task), task)
    all_pairs = list(combinations(range(len(draft)), 2))
    pairs = data.draw(st.sets(st.sampled_from(all_pairs), max_size=60))
    found = sorted(signatures_of(draft, pairs))
    assert found == sorted(signature_of(draft, x, y) for x, y in pairs)
