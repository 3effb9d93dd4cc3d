"""Stage `learn`: values that have a meaning and that nobody sets, each with its reason. What is set is in `config.py`.

Those of contests alone are where contests are.
"""

from __future__ import annotations

# -- exploration -----------------------------------------------------------------------------------------------------

ROLLOUTS = 4
"""Trajectories per episode, each on a training problem drawn at random (the paper)."""

TEMPERATURE_END = 0.1
"""Temperature of the exploration at the end of its linear schedule (the authors' script)."""

TEMPERATURE_EPISODES = 1000
"""Length of that schedule (the paper); after that the end value holds."""

FIRST_SHARE = 0.1
"""Share of the problems, the smallest ones, that a curriculum begins with."""

GAIN = 0.05
"""How much more of the problems is known after an episode in which all rollouts reach the goal, before `ENOUGH` is
taken off."""

ENOUGH = 0.25
"""Share of rollouts that reach the goal with which the known problems stay the same."""

SEARCH_DECISIONS = 100
"""Most decisions of a search where a rollout failed: a policy that hardly helps a search must not hold up training."""

# -- hindsight -------------------------------------------------------------------------------------------------------

HINDSIGHT_ATOMS = 10
"""Largest number of atoms in a lifted sub-goal (the authors' script), where goals are long."""

HINDSIGHT_VARIANTS = 2
"""Lifted sub-goals kept per number of atoms (the authors' script)."""

HINDSIGHT_TRAJECTORIES = 100
"""Largest number of relabelled trajectories per episode (the authors' script)."""

GROUNDING_STEPS = 2_000
"""Largest number of steps of the search for a grounding of a sub-goal."""

# -- replay ----------------------------------------------------------------------------------------------------------

ALPHA = 0.6
"""Exponent of the priorities (the authors' script; the usual value); 0 would draw uniformly."""

BETA = 0.4
"""Exponent of the importance weights at the start (likewise); it grows linearly to 1."""

BETA_SAMPLES = 100_000
"""Samples drawn until that exponent is 1 (likewise), about as many as 100 episodes draw."""

LEAST_PRIORITY = 1e-3
"""Added to each priority, so that every transition can be drawn."""

# -- targets and gradient steps --------------------------------------------------------------------------------------

DISCOUNT = 0.999
"""Discount factor per jump (the paper)."""

MELLOWMAX = 10.0
"""Sharpness of mellowmax, the value of a state from the Q-values of its tree (the authors' script)."""

COST_PER_JUMP = 0.5
"""What every jump costs in addition to its actions or action costs, where the mean jump costs 1: without it, many short
jumps are as good as one long jump, and jumps of free actions are free."""

LEARNING_RATE_END = 1e-5
"""Learning rate at the end of its linear schedule (the paper)."""

AVERAGE_START = 9.0
"""At first, an average of weights is mostly over the last of so many equal parts of the steps so far."""

# -- validation ------------------------------------------------------------------------------------------------------

VALIDATION_JUMPS = 50
"""Limit on the jumps of a validation rollout; two more are allowed per object and per goal."""

VALIDATION_SHARE = 0.2
"""Largest share of the time that validations by time may take, and of the time limit of a run that is kept free for its
last one."""

# Departure: the paper says nothing about when it validates; slow runs would show nothing for hours.
VALIDATE_SECONDS = 60.0
"""Seconds after which a validation takes place even if none is due by episodes. It never changes the weights, but since
its checkpoint can become the policy, which one does may depend on the speed of the machine."""

VALIDATION_PROBLEMS = 24
"""Most validation problems that are used, spread over their sizes: most of the time would be spent on more. No more are
held out where no folder says which."""

LARGER_FROM = 0.9
"""Share of the validation problems that must be solved before the larger ones are tried, which take the most time."""

PART = 0.1
"""Part of the time of a contest that each of these may take: growing problems before it, and a validation; problems not
solved by then count as unsolved. As much is kept free for the final."""

# -- problems --------------------------------------------------------------------------------------------------------

HELD_OUT_SHARE = 4
"""One in so many problems is held out, the largest ones."""

TIMES = 4.0
"""Size of grown larger problems, in multiples of the largest given ones."""

FAR_OBJECTS = 300
"""Largest number of objects of those that are far larger, so that validations do not take too long."""

MOST_OBJECTS = 1000
"""Largest number of objects of the problems of finals."""

# -- memory ----------------------------------------------------------------------------------------------------------

KEPT_NODES = 600
"""Both trees of a transition are kept with it if they have at most this many nodes together."""

KEPT_SLOTS = 8192
"""Graphs of a tree are kept with it if they have at most this many argument slots, which take 8 bytes each."""

# Departure: preparing batches takes longer than learning from them. Without it, priorities are always current.
PREFETCH = 4
"""Batches prepared in advance while the network learns; priorities lag behind by as many steps."""

AHEAD_THREADS = 4
"""With fewer threads, trees are only made for transitions that are drawn."""

# -- on the way --------------------------------------------------------------------------------------------------------

CHECKPOINT_EVERY = 10
"""Episodes between saves of the whole run, from which it can be resumed, and between lines about episodes where there
is no terminal; the first ones are after the first episode."""
