"""What the core at hand can do at most, measured, and the least time that a network pass takes at that rate.

The peaks come from a small C++ program (`roofline.cpp`), compiled for this machine (`CXX`, else g++): multiply-adds on
registers, and reading memory. The work of a pass is counted from its batch as the method needs it: nothing is saved
by atoms that happen to send equal messages, except in the first layer, where all embeddings are 0.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from saltus.graph import GraphBatch
from saltus.model.spec import ModelSpec

MISH = 20
"""Instructions per vector of Mish: a power of two with a polynomial of degree 5, a reciprocal, six others."""
COLLECT = 13
"""Instructions per vector of a message that is added to a smooth maximum."""


@dataclass(frozen=True)
class Peak:
    """Peak rates of one core."""

    operations: float
    """Floating-point operations per second; a fused multiply-add is two."""
    bytes: float
    """Bytes read from memory per second."""


def measure_peak() -> Peak:
    """The peaks of this core now; raises an error if there is no compiler."""
    source = Path(__file__).with_suffix(".cpp")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "roofline"
        flags = ["-std=c++20", "-O3", "-march=native", "-ffp-contract=fast"]
        if "avx512" in Path("/proc/cpuinfo").read_text():
            flags.append("-mprefer-vector-width=512")
        subprocess.run([os.environ.get("CXX", "g++"), *flags, str(source), "-o", str(program)], check=True)
        done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    operations, rate = map(float, done.stdout.split())
    return Peak(operations, rate)


@dataclass(frozen=True)
class Work:
    """What a pass has to compute and to move."""

    products: float
    """Floating-point operations of the matrix products."""
    others: float
    """Vector instructions of Mish and of the aggregation, counted per element like the products' multiply-adds."""
    bytes: float
    """Least traffic if nothing but embeddings and arguments is kept from layer to layer."""

    def seconds(self, peak: Peak, *, products_only: bool = False) -> float:
        """The least time at a core's peaks."""
        operations = self.products + (0 if products_only else 2 * self.others)
        return max(operations / peak.operations, self.bytes / peak.bytes)


def count_work(arities: tuple[int, ...], spec: ModelSpec, batch: GraphBatch) -> Work:
    """The work of one pass over a batch whose candidates are nodes."""
    width, nodes, candidates = spec.embedding, batch.node_count, len(batch.candidate_graph)
    offset, arguments = np.asarray(batch.argument_offset), np.asarray(batch.arguments)
    products = others = 0.0
    for relation, arity in enumerate(arities):
        slots = arguments[offset[relation] : offset[relation + 1]]
        atoms, wide = len(slots) // arity, arity * width
        # The first map is computed once per node at a position, or per atom where that is less.
        rows = sum(min(atoms, len(np.unique(slots[p::arity]))) for p in range(arity))
        products += 2.0 * rows * width * wide + 2.0 * atoms * wide * wide * spec.hidden_layers
        others += atoms * wide * (MISH * spec.hidden_layers + COLLECT)
    two = 2 * width
    update = 2.0 * nodes * (two * two * spec.hidden_layers + two * width)
    readout = 2.0 * candidates * (two * two * spec.hidden_layers + two)
    layers = max(0, spec.layers - 1)  # with atoms that differ
    products = layers * products + spec.layers * update + readout
    others = layers * others + spec.layers * nodes * two * MISH * spec.hidden_layers
    traffic = spec.layers * (4.0 * len(arguments) + 2 * 4.0 * nodes * width)
    return Work(products, others, traffic)
