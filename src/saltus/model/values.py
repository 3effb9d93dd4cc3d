"""Stage `model`: the numbers of networks that nobody sets, each with its reason."""

SHARPNESS = 12.0
"""Factor inside the log-sum-exp by which nodes combine messages; the larger, the closer to the maximum. One of the
values of the authors' code."""

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
