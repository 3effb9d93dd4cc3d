"""Stage `grow`: ways to make a larger problem, and which of them to try next.

The first way is to add objects of every kind that varies. Where it seldom gives a problem with a known plan, something
that varies cannot be added one by one: the stages of a process, which every product must pass. Then other ways are
tried: some of the kinds grow and the others keep their number; objects are copied with what belongs to them; given
problems are joined. What led to a plan is drawn more often.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from enum import StrEnum

from saltus.grow.values import TRIES


class Mode(StrEnum):
    """What a problem is made larger by."""

    OBJECTS = "objects"
    """Copies of single objects, with what every object of the kind has."""
    GROUPS = "groups"
    """Copies of objects with all that belongs to them."""
    JOINED = "joined"
    """Other given problems, added as a whole."""


@dataclass(frozen=True)
class Way:
    """A way to make a larger problem."""

    mode: Mode
    kinds: frozenset[int]
    """Kinds that grow; nothing where problems are joined."""


class Ways:
    """The choice of ways, by what came of earlier tries."""

    def __init__(self, kinds: Collection[int]) -> None:
        self.first = Way(Mode.OBJECTS, frozenset(kinds))
        """The way that is tried first: all kinds grow."""
        self.is_first_bad = False
        """Whether the first way seldom led to a plan."""
        self._tries: Counter[Hashable] = Counter()
        self._plans: Counter[Hashable] = Counter()
        self._proven: list[Way] = []

    def draw(self, rng: random.Random) -> Way:
        """The way to try next: the first one as long as it is good enough, otherwise a random one."""
        if not self.is_first_bad:
            return self.first
        modes = [Mode.OBJECTS, Mode.GROUPS, *([Mode.JOINED] if self._is_bad("others") else [])]
        mode = rng.choices(modes, [self._chance(mode) for mode in modes])[0]
        if mode is Mode.JOINED:
            return Way(mode, frozenset())
        proven = [way for way in self._proven if way.mode is mode]
        if proven and rng.random() < 0.5:
            return Way(mode, rng.choice(proven).kinds | rng.choice(proven).kinds)
        kinds = sorted(self.first.kinds)
        drawn = frozenset(kind for kind in kinds if rng.random() < self._chance((mode, kind)))
        return Way(mode, drawn or frozenset(rng.sample(kinds, min(1, len(kinds)))))

    def learn(self, way: Way, *, proven: bool) -> None:
        """Takes down whether a way led to a problem with a plan."""
        if not self.is_first_bad:
            names: list[Hashable] = ["first"]
        else:
            names = ["others", way.mode, *((way.mode, kind) for kind in sorted(way.kinds))]
            if proven and way.mode is not Mode.JOINED:
                self._proven.append(way)
        for name in names:
            self._tries[name] += 1
            self._plans[name] += proven
        self.is_first_bad |= self._is_bad("first")

    def _chance(self, name: Hashable) -> float:
        """Share of tries with a plan, as if there had been one with and one without before."""
        return (self._plans[name] + 1) / (self._tries[name] + 2)

    def _is_bad(self, name: Hashable) -> bool:
        tries = self._tries[name]
        return tries >= TRIES and self._plans[name] < 0.5 * tries
