"""Regularities that are found in fast ways: the same as found in slow ones."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples
from tests.learn.small import small_tasks

from saltus.grow.draft import Draft, Relations
from saltus.grow.regularities import connection_of, signature_of, signatures_of
from saltus.grow.rules import Rules
from saltus.grow.values import MOST_TRIANGLE_ATOMS


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


@pytest.mark.parametrize("name", ["rovers", "logistics", "depots", "satellite"])
def test_triangles_of_relations_that_an_object_may_have_once(name: str) -> None:
    """Going through all atoms of an object finds no others."""
    relations = Relations(small_tasks(name, 1)[0])
    drafts = [Draft(relations, task) for task in small_tasks(name, 4)]
    rules = Rules(relations, drafts)
    seen = 0
    for draft in drafts:
        for number in range(len(draft)):
            kind = draft.kind[number]
            sides = []
            for atom in draft.of[number]:
                if 3 <= len(atom) <= 4:
                    for own, feature in draft.features(atom):
                        if own == number and rules.is_functional(kind, feature):
                            sides += [(feature, i, other) for i, other in enumerate(atom[1:]) if other != number]
                if len(sides) >= MOST_TRIANGLE_ATOMS:
                    break
            pairs = combinations(sorted(sides), 2)
            expected = [
                ((kind, a, b), "same" if y == p else connection_of(draft, y, p)) for (a, _, y), (b, _, p) in pairs
            ]
            assert list(rules._triangles_of(draft, number)) == expected
            seen += len(expected)
    assert seen
