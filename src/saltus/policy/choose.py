"""Stage `policy`: which candidate to jump to, given the Q-values of a tree.

A chooser gives candidates one after the other, best first or drawn at random without replacement; whoever asks takes
the first whose state was not visited before. That is the same as excluding visited states beforehand, and only the
states that are asked for need to be built.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

TIE = 1e-5
"""Relative difference below which two Q-values are equal: rounding must not decide, on a CPU or a GPU."""


class Chooser(Protocol):
    """An order of candidates."""

    def order(self, q: NDArray[np.float32]) -> Iterator[int]:
        """Candidates (numbers of Q-values), each once, the one to take first."""


class Greedy:
    """Best Q-value first; among equal ones the first candidate, which is the shallowest."""

    def order(self, q: NDArray[np.float32]) -> Iterator[int]:
        """Candidates by falling Q-value."""
        left = q.astype(np.float64)
        for _ in range(len(left)):
            best = left.max()
            choice = int(np.argmax(left >= best - TIE * max(1.0, abs(best))))
            yield choice
            left[choice] = -np.inf


class Boltzmann:
    """Drawn with probabilities proportional to exp(q / temperature), without replacement."""

    def __init__(self, temperature: float, rng: np.random.Generator) -> None:
        self.temperature = temperature
        self.rng = rng

    def order(self, q: NDArray[np.float32]) -> Iterator[int]:
        """Candidates as drawn: adding Gumbel noise and sorting draws without replacement."""
        noise = self.rng.gumbel(size=len(q))
        yield from np.argsort(-(q / self.temperature + noise), kind="stable").tolist()
