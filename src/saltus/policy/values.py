"""Stage `policy`: values that have a meaning and that nobody sets, each with its reason.

How policies play is set in `PlaySpec`, and limits of planning in `Limits`.
"""

from __future__ import annotations

# -- rollouts ---------------------------------------------------------------------------------------------------------

PATIENCE = 100
"""Jumps without a new best that every rollout may make."""

PATIENCE_PER_OBJECT = 2
"""Jumps in addition for each object of the problem.

One wrong jump can undo most goals, and then a rollout that will succeed makes no new best until it has reached them all
again: up to a jump or so per object. Measured (`benchmarks/patience.py --seconds 15`) on training problems and
generated ones up to ten times larger: 117 solved rollouts of the ten bundled policies, and 12 that were cut off. The
worst is a stretch of 32 jumps (blocksworld, 65 objects: one jump undoes 32 of 67 goals), where the rule allows 230. An
earlier sample had 19 (satellite, 38 objects), where it allows 176. Test problems were not used.
"""

MARGIN = 0.5
"""What a value must gain to count, in the unit of the policy's Q-values: half a typical jump."""

IN_DOUBT = 50
"""Jumps without a new best after which others play next to the rollout. Rollouts that succeed by themselves hardly ever
make as many (`PATIENCE_PER_OBJECT`)."""

TEMPERATURES = (0.1, 0.3)
"""Of the draws of further rollouts, in turns: jumps whose values differ by less than a tenth of a jump are about as
likely as each other, or by less than a third of one."""

# -- candidates ------------------------------------------------------------------------------------------------------

MAX_DEAD_ENDS = 100
"""Most dead ends that one decision may find; the next candidate is taken untested. A test takes tenths of a second on
the largest problems (the first some seconds, to ground the actions), and policies trained with dead ends rank few of
them first."""

MAX_POSTPONED = 50
"""Most candidates that one decision may put off; the next one is taken untested. A test takes up to a tenth of a second
on the largest problems."""

# -- goals one by one ------------------------------------------------------------------------------------------------

MOST_JUMPS = 60
"""Jumps within which the goals in sight must be reached."""

MOST_IN_VAIN = 3
"""How much more often a way may have been in vain than not before it is no longer tried."""

GOAL_SHARE = 5
"""What part of the work of a search by relaxed plans one goal may take while goals are reached one by one."""

# -- search around the policy ----------------------------------------------------------------------------------------

WEIGHTS = (10.0, 1.0)
"""Weights of the Q-values in the queues, which take turns."""

CACHED_NODES = 500_000
"""Most nodes of all trees that are kept for their next candidates; atoms of their roots count, too."""

KEPT_EVERY = 64
"""Every so many jumps, a search node keeps its whole state; the others keep what has changed."""

# -- limits and figures -----------------------------------------------------------------------------------------------

MOST_NUMBER = 1e100
"""Limits of planning and numbers of records are smaller, so that they can be added up and drawn."""
