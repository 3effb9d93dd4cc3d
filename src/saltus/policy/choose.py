"""Stage `policy`: which candidate to jump to, given the Q-values of a tree.

A chooser yields candidates one by one, best first or drawn at random without replacement; the caller takes the first
whose state has not been visited. The result is the same as if visited states were excluded beforehand, but only the
states that are asked for have to be built.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


def tolerance(best: float) -> float:
    """Difference from the best Q-value up to which others count as equal to it."""
    # relative, so that rounding on a CPU or GPU decides nothing
    return 1e-5 * max(1.0, abs(best))


class Chooser(Protocol):
    """An order of candidates."""

    def order(self, q: NDArray[np.float32]) -> Iterator[int]:
        """Every candidate (index of a Q-value) once, in the order of preference."""


class Greedy:
    """Candidates by descending Q-value; among equal values the first candidate, which is the shallowest."""

    def order(self, q: NDArray[np.float32]) -> Iterator[int]:
        """Candidates by descending Q-value."""
        left = q.astype(np.float64)
        for _ in range(len(left)):
            best = left.max()
            candidate = int(np.argmax(left >= best - tolerance(best)))
            yield candidate
            left[candidate] = -np.inf


class Boltzmann:
    """Candidates drawn without replacement, with probabilities proportional to exp(q / temperature)."""

    def __init__(self, temperature: float, rng: np.random.Generator) -> None:
        self.temperature = temperature
        self.rng = rng

    def order(self, q: NDArray[np.float32]) -> Iterator[int]:
        """Candidates in the order drawn: sorting by Q-value plus Gumbel noise draws without replacement."""
        noise = self.rng.gumbel(size=len(q))
        yield from np.argsort(-(q / self.temperature + noise), kind="stable").tolist()
