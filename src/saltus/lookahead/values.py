"""Stage `lookahead`: values that have a meaning and that nobody sets, each with its reason.

How trees are made is set in `TreeSpec` and `PlaySpec`.
"""

from __future__ import annotations

# -- dead ends ---------------------------------------------------------------------------------------------------------

DEAD_END_WORK = 20_000_000
"""Largest number of atoms in all ground actions: the largest problems of the IPC 2023 have 12 million, which take
120 MB; 20 million different ones would take a gigabyte. Where actions cannot be grounded, joins take at most as many
steps: some tenths of a second, seldom seconds."""

FEW_ATOMS = 200_000
"""Tasks with at most this many atoms in all ground actions are grounded at once, in a few hundredths of a second."""

PROOF_ATOMS = 2_000_000
"""Largest number of atoms in what joins have found and is kept for later states: some 100 MB."""

# -- actions and costs -------------------------------------------------------------------------------------------------

NO_LIMIT = 2**62
"""Actions that are listed or counted where no limit is given: more than any machine can hold."""

SAMPLED_NODES = 200
"""Nodes per tree, evenly spread, whose costs are averaged."""
