"""Stage `learn`: the last choice of a contest, by problems far larger than any that policies were validated on.

Many policies of a contest solve everything that they are validated on, and few of them solve problems ten times larger.
Which ones do shows when they play some: that takes seconds, where making one such problem with a known plan may take
minutes. So goals of these problems are copied with their objects, and not known to be reachable. What one policy solves
is solvable, and policies that do not solve it fall behind.

Entrants are first the policies of all validations, of all runs, that solved about as many problems as the best one.
They play one problem after another, small ones first; an entrant that has fallen behind plays no more, nor do the
last ones where a problem takes long. A problem on which all of them ran out of time does not count. Where something is
used up, the plan of the first that solves a problem gives another one, with nothing to spare. Then the best of them
play once more, in several ways (`WAYS`): with less in sight, or with more care. How a policy plays is chosen here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from saltus.errors import SaltusError, plural
from saltus.grow.lean import lean
from saltus.learn.ranking import ABOUT_AS_SHORT, FEW, Standing
from saltus.learn.validation import Validation, roll_out
from saltus.policy import Ending, LearnedPolicy
from saltus.task import Action, Task

MOST_ENTRANTS = 16

WAYS = (
    ("roles=8",),
    ("goals_in_sight=1",),
    ("goals_in_sight=1", "roles=8"),
    ("frozen_goals=true",),
)
"""Ways to play that are tried with the best policies, besides the one that they were trained with: a few objects of
every role, one missing goal at a time, both, and jumps that shut off other goals wait."""

ORDERS = {"goals_in_sight", "frozen_goals"}
"""Keys of these that exclude each other."""

BEST = 2
"""How many of the best play every problem, however long it takes, and how many of them play in these ways. An entrant
that is as many problems behind the first one plays no more."""

PATIENCE = 4.0
"""Multiple of the shortest time in which a problem was solved that other entrants get for it, and at least a second."""

PROBLEM_SHARE = 1 / 3
"""Share of the time left after which nobody else begins to play a problem; as long as nobody has solved it, each gets
half of what is left of that."""

FASTER = 2.0
"""How many times as fast an entrant must be to win with plans about as short as the shortest ones."""


@dataclass(frozen=True)
class Entrant:
    """A policy as of a validation of a run."""

    run: str
    episode: int
    path: Path
    solved: int = 0
    """Problems that it solved when it was validated."""
    length: float = 0.0
    """Total length of its plans for them."""
    play: tuple[str, ...] = ()
    """How it is to play, where that differs from how it was trained: texts `key=value`."""


@dataclass(frozen=True)
class Played:
    """What came of an entrant's play of one problem."""

    plan: tuple[Action, ...] | None
    """None if it was not solved."""
    length: float
    """Cost of the plan if the policy counts costs, else its number of actions."""
    seconds: float
    is_late: bool = False
    """Whether time ended the play."""


@dataclass(frozen=True)
class Placing:
    """How an entrant did."""

    run: str
    episode: int
    solved: int
    problems: int
    """Problems that the entrant played."""
    length: float
    """Total length of its plans."""
    seconds: float
    """Time that they took."""
    play: tuple[str, ...] = ()
    """How it played, where that differs from how it was trained."""

    @property
    def share(self) -> float:
        """Share of the problems that it solved."""
        return self.solved / self.problems if self.problems else 0.0

    def __str__(self) -> str:
        policy = ", ".join((f"{self.run}, episode {self.episode}", *self.play))
        plans = f"plans of length {self.length:,.0f}, {self.seconds:,.1f} s"
        return f"{policy}: {self.solved} of {self.problems} far larger, {plans}"


class Play(Protocol):
    """Plays a problem."""

    def __call__(self, entrant: Entrant, task: Task, seconds: float) -> Played:
        """What came of it within so many seconds."""


def entrants_of(
    standings: Sequence[Standing], checkpoint: Callable[[str, int], Path], most: int = MOST_ENTRANTS
) -> list[Entrant]:
    """The policies that are good enough for a final, best runs first: the best one of every run, then others, spread
    over the episodes. `standings` are ranked; `checkpoint` says where the policy of a run's validation is."""
    known, least = [entry for entry in standings if entry.best is not None], _least(standings)

    def entrant(standing: Standing, validation: Validation) -> Entrant:
        path = checkpoint(standing.name, validation.episode)
        total = validation.total
        return Entrant(standing.name, validation.episode, path, total.solved, total.length(standing.unit))

    firsts = [
        entrant(entry, entry.best) for entry in known if entry.best is not None and entry.best.total.solved >= least
    ]
    rest = [
        entrant(entry, validation)
        for entry in known
        for validation in entry.validations
        if validation is not entry.best and validation.total.solved >= least
    ]
    found = [entry for entry in firsts if entry.path.is_file()][:most]
    others = [entry for entry in rest if entry.path.is_file()]
    room = most - len(found)
    if len(others) > room:
        others = [others[round(i * (len(others) - 1) / max(1, room - 1))] for i in range(room)]
    return [*found, *others]


def is_entrant(standings: Sequence[Standing], run: str, episode: int) -> bool:
    """Whether the policy as of a validation of a run is good enough for a final."""
    least = _least(standings)
    validations = [validation for entry in standings if entry.name == run for validation in entry.validations]
    return any(entry.episode == episode and entry.total.solved >= least for entry in validations)


def _least(standings: Sequence[Standing]) -> int:
    """How many problems a policy must have solved to be good enough for a final."""
    found = [entry.best.total for entry in standings if entry.best is not None]
    best, most = (max((getattr(total, name) for total in found), default=0) for name in ("solved", "problems"))
    return max(1, best - math.floor(FEW * most))


def in_ways(placings: Sequence[Placing], entrants: Sequence[Entrant], fixed: Sequence[str] = ()) -> list[Entrant]:
    """The best policies of a final, each in every way that leaves the keys `fixed` alone; the way of its training comes
    first."""
    by_name = {(entry.run, entry.episode): entry for entry in entrants}
    kept = {*fixed, *(ORDERS if ORDERS & set(fixed) else ())}
    ways = [(), *(way for way in WAYS if not any(setting.partition("=")[0] in kept for setting in way))]
    best = [by_name[entry.run, entry.episode] for entry in placings[:BEST] if entry.solved]
    return [replace(entrant, play=way) for entrant in best for way in ways]


def hold_final(
    entrants: Sequence[Entrant],
    tasks: Sequence[Task],
    seconds: float,
    play: Play,
    *,
    is_lean: bool = False,
    clock: Callable[[], float] = time.monotonic,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Placing]:
    """How the entrants did, best first; those that played fewer problems are behind those that went on.

    With `is_lean`, a problem that was solved is followed by the same one with nothing to spare. Problems that the time
    was not enough for do not count. The list is empty if none was played to an end or given up by anyone.
    """
    until = clock() + seconds
    records = {entrant: _Record(entrant) for entrant in entrants}
    left, queue = list(entrants), [(task, True) for task in tasks]
    count, is_any_late = 0, False
    while queue and clock() < until:
        task, may_be_lean = queue.pop(0)
        played = _play_all(left, task, until, play, clock, tell)
        if len(played) < min(len(left), BEST):
            break
        if all(entry.is_late for entry in played.values()):
            is_any_late = True
            tell(f"{task.name}, {plural(len(task.objects), 'object')}: not solved in time")
            continue
        count += 1
        for entrant, result in played.items():
            records[entrant].played[count] = result
        winners = [entrant for entrant, result in played.items() if result.plan is not None]
        tell(f"{task.name}, {plural(len(task.objects), 'object')}: solved by {len(winners)} of {len(played)}")
        if is_lean and may_be_lean and winners:
            found = lean(task, played[winners[0]].plan or ())
            if found is not None:
                queue.insert(0, (found[0], False))
        most = max(records[entrant].solved for entrant in played)
        left = [entrant for entrant in played if records[entrant].solved > most - BEST]
        left.sort(key=lambda entrant: -records[entrant].solved)
    if not count and not is_any_late:
        return []
    return [entry.placing for entry in _ranked(list(records.values()))]


def _play_all(
    entrants: Sequence[Entrant],
    task: Task,
    until: float,
    play: Play,
    clock: Callable[[], float],
    tell: Callable[[str], None],
) -> dict[Entrant, Played]:
    """What came of a problem: of all entrants, or of the first ones if it would take the others too long."""
    played: dict[Entrant, Played] = {}
    begun = clock()
    end = begun + PROBLEM_SHARE * (until - begun)
    for entrant in entrants:
        now = clock()
        if now >= until or (now >= end and len(played) >= BEST):
            break
        fastest = min((entry.seconds for entry in played.values() if entry.plan is not None), default=math.inf)
        limit = max(0.0, end - now) / 2 if fastest == math.inf else max(1.0, PATIENCE * fastest)
        try:
            played[entrant] = play(entrant, task, min(limit, until - now))
        except (SaltusError, OSError, MemoryError, RuntimeError) as error:  # of PyTorch: RuntimeError
            tell(f"{entrant.run}, episode {entrant.episode}: {task.name} cannot be played: {error}")
            played[entrant] = Played(None, 0.0, 0.0)
    return played


@dataclass
class _Record:
    """What came of an entrant's plays, by number of the problem."""

    entrant: Entrant
    played: dict[int, Played] = field(default_factory=dict)

    @property
    def plans(self) -> dict[int, Played]:
        return {number: entry for number, entry in self.played.items() if entry.plan is not None}

    @property
    def solved(self) -> int:
        return len(self.plans)

    @property
    def placing(self) -> Placing:
        plans = self.plans.values()
        total, seconds = sum(entry.length for entry in plans), sum(entry.seconds for entry in plans)
        name = self.entrant.run, self.entrant.episode
        return Placing(*name, self.solved, len(self.played), round(total, 3), round(seconds, 3), self.entrant.play)


def _ranked(records: Sequence[_Record]) -> list[_Record]:
    """Best first: by problems solved, then by those of the validation, then by lengths of plans; but the first one may
    be one with plans about as short that is far faster. Policies that play in several ways are ranked already: as long
    as it solves as many, the first one stays first, and lengths and times choose its way."""
    in_ways = any(entry.entrant.play for entry in records)

    def key(entry: _Record) -> tuple[int, int]:
        return entry.solved, 0 if in_ways else entry.entrant.solved

    order = sorted(records, key=key, reverse=True)
    tied = [entry for entry in order if key(entry) == key(order[0])]
    if in_ways:
        tied = [entry for entry in tied if entry.entrant.path == order[0].entrant.path]
    shared = set.intersection(*(set(entry.plans) for entry in tied))

    def total(entry: _Record) -> float:
        return entry.entrant.length + sum(entry.played[number].length for number in shared)

    def seconds(entry: _Record) -> float:
        return sum(entry.played[number].seconds for number in shared)

    tied.sort(key=total)
    fastest = min((entry for entry in tied if total(entry) <= ABOUT_AS_SHORT * total(tied[0])), key=seconds)
    first = fastest if FASTER * seconds(fastest) <= seconds(tied[0]) else tied[0]
    others = [*tied, *(entry for entry in order if all(entry is not known for known in tied))]
    return [first, *(entry for entry in others if entry is not first)]


class Player:
    """Plays problems with policies from files, greedily, as validations do."""

    def __init__(self, device: str, threads: int, unit: str) -> None:
        self.device = device
        self.threads = threads
        self.unit = unit
        """What lengths count: actions or costs."""
        self._policy: tuple[Path, LearnedPolicy] | None = None

    def __call__(self, entrant: Entrant, task: Task, seconds: float) -> Played:
        """Plays one problem; a rollout that goes on after so many seconds has failed."""
        policy = self._load(entrant.path)
        policy = policy.playing(policy.play_spec.changed(entrant.play))
        begun = time.monotonic()
        (rolled,) = roll_out(policy, [task], until=begun + seconds)
        took = time.monotonic() - begun
        if rolled.ending is not Ending.SOLVED:
            return Played(None, 0.0, took, is_late=rolled.ending is None)
        total = rolled.cost_of(task) if self.unit == "costs" else float(len(rolled.actions))
        return Played(tuple(rolled.actions), total, took)

    def _load(self, path: Path) -> LearnedPolicy:
        if self._policy is None or self._policy[0] != path:
            policy = LearnedPolicy.load(path, None, self.device)
            policy.threads = self.threads
            self._policy = path, policy
        return self._policy[1]
