"""Stage `learn`: who is ahead in a contest between runs, who goes on, and why. Pure functions of validations.

Runs are compared by their best validation: solved validation and larger problems together, then the length of the plans
(their cost where problems have action costs). Among runs whose plans are about as short as the shortest, the one with
the smallest trees is ahead, since it will be the fastest on large problems. Remaining ties go to the run that is listed
first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from saltus.learn.validation import Validation

ABOUT_AS_SHORT = 1.05
"""Factor up to which plans count as about as short as the shortest ones."""

FEW = 0.05
"""Share of the problems that may be due to chance: among runs whose two best validations solved no more than this on
average, chance decides who is ahead, and a policy that solves fewer by no more than this may be as good."""


@dataclass(frozen=True)
class Standing:
    """How a run does in a contest."""

    name: str
    validations: tuple[Validation, ...] = ()
    unit: str = "actions"
    """What the run counts: actions or costs."""
    selection: str = "larger"
    """How the run chooses its policy."""
    looks_for_dead_ends: bool = False
    """Such runs learn nearly wherever others do, more slowly, and in some domains in which others never begin to."""

    @property
    def best(self) -> Validation | None:
        """The validation of the run's policy: its best one, the first of equals; None before the first one."""
        return max(self.validations, key=lambda entry: entry.key(self.selection, self.unit), default=None)

    @property
    def key(self) -> tuple[float, ...]:
        """What runs are compared by, the larger the better."""
        if self.best is None:
            return (-1.0,)
        return *self.best.key("larger", self.unit), -float(self.best.total.jumps)

    @property
    def nodes(self) -> int:
        """Nodes of the trees of the best validation."""
        return self.best.total.nodes if self.best is not None else 0

    @property
    def has_begun(self) -> bool:
        """Whether it has learned something: more than a few problems solved, and not by luck in a single validation."""
        best_two = sorted((entry.held_out.solved for entry in self.validations), reverse=True)[:2]
        return self.best is not None and sum(best_two) > 2 * FEW * self.best.held_out.problems

    def __str__(self) -> str:
        if self.best is None:
            return f"{self.name}: not validated yet"
        held_out, larger = self.best.held_out, self.best.larger
        parts = f"{held_out.solved} of {held_out.problems}"
        if larger is not None and larger.problems:
            parts += f" and {larger.solved} of {larger.problems} larger"
        total = self.best.total.length(self.unit)
        unit = "cost" if self.unit == "costs" and held_out.cost is not None else "actions"
        return f"{self.name}: {parts}, {f'cost {total:,.0f}' if unit == 'cost' else f'{total:,.0f} actions'}"


def ranked(standings: Sequence[Standing]) -> list[Standing]:
    """The runs, best first; the order of runs that tie stays."""
    order = sorted(standings, key=lambda entry: entry.key, reverse=True)
    short = [entry for entry in order if _is_about_as_short(entry, order[0])]
    return sorted(short, key=lambda entry: entry.nodes) + [entry for entry in order if entry not in short]


def _is_about_as_short(standing: Standing, first: Standing) -> bool:
    """Whether a run solves as many problems as the first, with plans that are about as short."""
    if standing.best is None or first.best is None or first.key[0] <= 0:
        return False
    return standing.key[0] == first.key[0] and -standing.key[1] <= ABOUT_AS_SHORT * -first.key[1]


def survivors(standings: Sequence[Standing], fits: Callable[[int], bool] = lambda runs: True) -> list[Standing]:
    """The better half, rounded up, best first; as long as none has begun to learn, those first that look for dead ends.

    `fits` says whether the time allows a round of so many runs; otherwise half of them are dropped at once, and so on
    until one is left.
    """
    order = ranked(standings)
    if not any(entry.has_begun for entry in order):
        order.sort(key=lambda entry: not entry.looks_for_dead_ends)
    kept = math.ceil(len(order) / 2)
    while kept > 1 and not fits(kept):
        kept = math.ceil(kept / 2)
    return order[:kept]


def parts_from(runs: int) -> int:
    """Equal parts of the time from a round of so many runs on: one for each halving, and two for the winner."""
    return math.ceil(math.log2(runs)) + 2


def reason(standings: Sequence[Standing]) -> str:
    """Why the best run was chosen: its score, and that of the next."""
    first, *others = ranked(standings)
    return f"{first}; next: {others[0]}" if others else str(first)
