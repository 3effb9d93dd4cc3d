"""Stage `policy`: how an attempt at a problem may end, under which limits, and what there is to say about it.

Everything here is plain values, without PyTorch: processes that only watch others import it, too. The exit codes are
Fast Downward's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from saltus.errors import ConfigurationError
from saltus.task import Plan


class Outcome(StrEnum):
    """How an attempt ended; only `FOUND` counts as solved."""

    FOUND = "plan found"
    FAILED = "policy failed"
    """A dead end, or every state of the tree visited or lost; says nothing about solvability, unless the detail is lost
    after no jump."""
    NO_JUMP = "no applicable jump"
    """The initial state has no successor."""
    JUMPS = "jump limit"
    TIME = "time limit"
    MEMORY = "memory limit"
    INPUT = "input error"
    UNSUPPORTED = "unsupported"
    WRONG_POLICY = "wrong policy"
    INVALID = "invalid plan"
    """The independent validator refused the plan: a fault of the program."""
    CRASH = "crash"
    INTERRUPTED = "interrupted"


EXIT_CODES = {
    Outcome.FOUND: 0,
    Outcome.FAILED: 12,
    Outcome.NO_JUMP: 12,
    Outcome.JUMPS: 12,
    Outcome.TIME: 23,
    Outcome.MEMORY: 22,
    Outcome.INPUT: 31,
    Outcome.UNSUPPORTED: 34,
    Outcome.WRONG_POLICY: 31,
    Outcome.INVALID: 32,
    Outcome.CRASH: 32,
    Outcome.INTERRUPTED: 130,
}
"""What a process that ends so returns."""

OPEN_TO_SEARCH = frozenset({Outcome.FAILED, Outcome.JUMPS, Outcome.TIME})
"""Endings of the greedy rollout after which a search may still find a plan, if there is time left."""


@dataclass(frozen=True)
class Limits:
    """What an attempt may use; None is no bound."""

    seconds: float | None = None
    """Wall-clock time, reading the files included."""
    memory_mb: float | None = None
    """Resident memory in MiB."""
    max_jumps: int | None = None
    """Jumps of the greedy rollout; a search may decide as often again."""

    def __post_init__(self) -> None:
        for name, value in (("time limit", self.seconds), ("memory limit", self.memory_mb)):
            if value is not None and not 0 < value < float("inf"):
                raise ConfigurationError(f"{name} is {value}, expected more than 0")
        if self.max_jumps is not None and self.max_jumps < 0:
            raise ConfigurationError(f"max_jumps is {self.max_jumps}, expected at least 0")


GREEDY_SHARE = 0.5
"""Of the time, what the greedy rollout may take where a search follows: one that only wanders must not use up all."""

PROTOCOLS = {
    "paper": Limits(seconds=3600.0, max_jumps=1000),
    "open": Limits(seconds=1800.0, memory_mb=8192.0),
}
"""The paper's limits, and the IPC's without a bound on jumps."""


@dataclass(frozen=True)
class Progress:
    """A moment of an attempt: figures so far, the best plan so far; `outcome` is None while nothing is decided."""

    outcome: Outcome | None = None
    detail: str = ""
    greedy_outcome: Outcome | None = None
    """How the greedy rollout ended, also where a search went on."""
    found_by: str | None = None
    """greedy, search, or search beside."""
    plan: Plan | None = field(default=None, repr=False)
    cost: float | None = None
    unit_cost: bool = True
    jumps: int = 0
    """Jumps of the greedy rollout."""
    search_decisions: int = 0
    """States that the search decided about with the policy."""
    goal_search_decisions: int = 0
    """States that the search beside it decided about, by goals reached."""
    tree_nodes: int = 0
    """States of all trees."""
    largest_tree: int = 0
    goals: int = 0
    """Most goal literals that held in a state jumped to."""
    goal_count: int = 0
    seconds: float = 0.0
    seconds_dead_ends: float = 0.0
    """Of them, for asking which states are dead ends."""
    seconds_plan: float | None = None
    """When the first plan was found."""

    @property
    def solved(self) -> bool:
        """Whether there is a validated plan."""
        return self.outcome is Outcome.FOUND


class Clock:
    """Seconds that went into the parts of all decisions."""

    def __init__(self) -> None:
        self.seconds = {"lookahead": 0.0, "graph": 0.0, "network": 0.0}

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        """Counts the time inside of a block towards a part."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[part] += time.perf_counter() - start
