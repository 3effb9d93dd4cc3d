"""Stage `grow`: values that have a meaning and that nobody sets, each with its reason.

Sizes, and the ways to them, are in `grower.py`; limits count work, never time.
"""

from __future__ import annotations

# -- what given problems have in common --------------------------------------------------------------------------------

MANY = 2
"""Larger counts are not told apart."""

FEW_PAIRS = 3
"""Pairs of two kinds from which on a relation that all of them have counts as complete."""

MOST_TRIANGLE_ATOMS = 12
"""Objects with more functional atoms have only the first ones checked for triangles."""

FEWEST_CELLS = 4
"""Lattices have at least so many cells."""

# -- objects and costs -------------------------------------------------------------------------------------------------

MOST_TOGETHER = 40
"""Largest number of objects that are copied together."""

MOST_LISTED = 200_000
"""Most ground actions that are looked at."""

# -- searches for plans ------------------------------------------------------------------------------------------------

MOST_WORK = 40_000_000
"""Most nodes of all trees of a search, times the objects of the task: about a second."""

MOST_DECISIONS = 2000
"""Most decisions of a search."""

GUIDE_DECISIONS = 300
"""Most decisions of a search that tries a guide on a given problem."""

DEAD_END_WORK = 200_000
"""Steps and atoms of the test for goals that cannot be reached even if nothing is deleted."""
