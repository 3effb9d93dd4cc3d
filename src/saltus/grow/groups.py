"""Stage `grow`: objects that belong together, to be copied as one: a product with its parts and their parts.

A part belongs to the object that it is tied to by a static atom of which every object of its kind has at most one.
Links of a chain belong to nobody.
"""

from __future__ import annotations

from collections.abc import Iterator

from saltus.grow.draft import Draft
from saltus.grow.rules import Rules


def group_of(draft: Draft, rules: Rules, number: int) -> list[int]:
    """The object's group: the whole that it is a part of, then everything that belongs to it, directly or not.

    The whole is of the same family: products are parts of products. A location is not taken for its city.
    """
    whole = number
    climbed = {number}
    while above := [owner for owner in _owners(draft, rules, whole) if owner not in climbed]:
        whole = above[0]
        climbed.add(whole)
    group = {whole: None}
    stack = [whole]
    while stack:
        for part in _parts(draft, rules, stack.pop()):
            if part not in group:
                group[part] = None
                stack.append(part)
    return list(group)


def _parts(draft: Draft, rules: Rules, number: int) -> Iterator[int]:
    """Objects that belong to this one."""
    for atom in draft.of[number]:
        if draft.relations.static[atom[0]] and len(atom) > 2:
            features = draft.features(atom)
            own = [rules.is_functional(draft.kind[number], feature) for one, feature in features if one == number]
            for part, feature in features:
                if part != number and part >= draft.constants and rules.is_functional(draft.kind[part], feature):
                    is_link = draft.family[part] == draft.family[number] and all(own)
                    if not is_link:
                        yield part


def _owners(draft: Draft, rules: Rules, number: int) -> Iterator[int]:
    """Objects of the same family that this one belongs to."""
    for atom in draft.of[number]:
        if draft.relations.static[atom[0]]:
            for owner in atom[1:]:
                same = owner != number and draft.family[owner] == draft.family[number]
                if same and number in _parts(draft, rules, owner):
                    yield owner
