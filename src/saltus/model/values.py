"""Stage `model`: the numbers of networks and policy files that nobody sets, each with its reason."""

SHARPNESS = 12.0
"""Factor inside the log-sum-exp by which nodes combine messages; the larger, the closer to the maximum. One of the
values of the authors' code."""

# -- what a policy file may hold: far more than any policy needs, far less than would exhaust a machine --------------

MAX_EMBEDDING = 1024
MAX_LAYERS = 1000
MAX_RELATIONS = 100_000
MAX_ARITY = 1000

MAX_HEADER = 16 << 20
"""Largest header that is read, in bytes; those of policies have a few thousand."""

MAX_DEPTH = 32
"""Deepest nesting of lists and objects in JSON that is read."""

# -- training on a CPU -----------------------------------------------------------------------------------------------

MOST_BYTES = 500_000_000
"""Memory of a pass of the kernel above which it is not kept for the next batch."""

# -- GPUs ------------------------------------------------------------------------------------------------------------

TILE = 64
"""Rows of atoms or messages that a CUDA kernel processes at a time."""

NODES = 16
"""Nodes that a CUDA kernel processes at a time."""

PIECE = 512
"""Rows whose contribution to the gradients of the weights is summed by one CUDA program."""

MOST_BUCKETS = 8
"""Sizes that batches are padded to; every one keeps its batch and its recordings on the GPU."""

WASTE = 2.4
"""A bucket with more than this many times the messages of a batch is not used for it, unless no more buckets can be
made: twice as many as a bucket that is made for it."""

MOST_SLOTS = 200_000
"""Messages per layer of the largest batch without gradients that is padded. In larger ones, launches take no time worth
saving."""
