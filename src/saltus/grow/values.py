"""Stage `grow`: values that have a meaning and that nobody sets, each with its reason.

Sizes, and the ways to them, are in `grower.py`; limits count work, never time.
"""

from __future__ import annotations

TRIES = 4
"""How often something is tried before it is judged: to make a problem of some size, to copy objects of one kind, to
make problems in one way; and how much more often one search must have been better than another that is left out."""

SAMPLED = 6
"""Given problems that are looked at more closely: walked in, searched, and asked for costs."""

# -- what given problems have in common --------------------------------------------------------------------------------

ENOUGH_GIVEN = 60
"""Given problems that are enough to learn from: rules are learned from no more, the largest ones. Where fewer are given
to learn a policy from, contests make as many similar ones; and lean versions are made of no more."""

MANY = 2
"""Larger counts are not told apart; and more cases than these make a rule of what is true of all of them."""

MOST_TRIANGLE_ATOMS = 12
"""Objects with more functional atoms have only the first ones checked for triangles."""

# -- objects and costs -------------------------------------------------------------------------------------------------

MOST_TOGETHER = 40
"""Largest number of objects that are copied together."""

MOST_ACTIONS = 60_000
"""Most ground actions of a problem that are looked at."""

# -- searches for plans ------------------------------------------------------------------------------------------------

MOST_WORK = 40_000_000
"""Most nodes of all trees of a search, times the objects of the task: about a second."""

MOST_DECISIONS = 2000
"""Most decisions of a search."""

DEAD_END_WORK = 200_000
"""Steps and atoms of the test for goals that cannot be reached even if nothing is deleted."""
