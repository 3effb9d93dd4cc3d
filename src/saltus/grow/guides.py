"""Stage `grow`: guides of a search: predicates whose atoms count like goals.

Counting goals says nothing about what must be collected before the first goal is reached. Where there is no way back
(tools along a one-way road), a search by goals never recovers. The atoms of one more predicate, counted for or against,
often say enough: tools that are carried, cards that still lie on others. Which predicate it is, is found by trying all
of them on given problems, once, with trees of one step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saltus.lookahead import LookaheadTree, TreeSpec
from saltus.policy.policies import Yardstick

SPEC = TreeSpec(kind="flat", free_moves=True)
"""Trees of a guided search: the successors of a state, so that nothing is passed by."""


@dataclass(frozen=True)
class Guide:
    """A predicate whose atoms count like goals."""

    predicate: int
    sign: int
    """1: atoms are wanted; -1: they are in the way."""


class GuidedPolicy(Yardstick):
    """Prefers the state with the most satisfied goal literals and atoms of a guide; ties are broken at random."""

    def __init__(self, rng: np.random.Generator, guide: Guide) -> None:
        super().__init__(rng, SPEC)
        self.guide = guide

    def values(self, tree: LookaheadTree) -> NDArray[np.float32]:
        """The number of satisfied goal literals, plus or minus that of the guide's atoms, plus a random fraction."""
        wanted = self.guide.sign * atom_counts(tree, self.guide.predicate)[1:]
        return (tree.goals[1:] + wanted + 0.5 * self.rng.random(len(tree) - 1)).astype(np.float32)


def atom_counts(tree: LookaheadTree, predicate: int) -> NDArray[np.int64]:
    """Number of atoms of a fluent predicate in every state of a tree."""
    first, end = tree.task.code_offset[predicate : predicate + 2]

    def per_node(codes: NDArray[np.int64], offset: NDArray[np.int64]) -> NDArray[np.int64]:
        running = np.concatenate(([0], np.cumsum((first <= codes) & (codes < end))))
        return running[offset[1:]] - running[offset[:-1]]

    root = np.count_nonzero((first <= tree.root.codes) & (tree.root.codes < end))
    return root + per_node(tree.added, tree.added_offset) - per_node(tree.deleted, tree.deleted_offset)
