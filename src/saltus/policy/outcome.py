"""Stage `policy`: how planning may end, and under which limits.

Plain values without PyTorch: processes that only watch others import this module, too. What an exception means is
decided here alone (`Outcome.of_error`), and so is the exit code of an outcome.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from saltus.errors import ConfigurationError, SaltusError, UnsupportedError, WrongPolicyError, shorten
from saltus.policy.exit_codes import ExitCode
from saltus.policy.values import MOST_NUMBER


class Outcome(StrEnum):
    """How a call to plan ended, in the order in which reports list outcomes; only `FOUND` counts as solved."""

    FOUND = "plan found"
    FAILED = "policy failed"
    """The rollout got stuck or reached a dead end. Says nothing about solvability: `Progress.unsolvable` does."""
    NO_JUMP = "no applicable jump"
    """The initial state has no successor."""
    STALLED = "stalled"
    """The rollout made no progress for long (`policy/stall.py`), and a search took over: how a rollout ends, not a
    call."""
    JUMPS = "jump limit"
    TIME = "time limit"
    MEMORY = "memory limit"
    CRASH = "crash"
    INVALID = "invalid plan"
    """The independent validator rejected the plan: a fault of the program."""
    INPUT = "input error"
    UNSUPPORTED = "unsupported"
    WRONG_POLICY = "wrong policy"
    CONFIGURATION = "configuration error"
    INTERRUPTED = "interrupted"

    @classmethod
    def of(cls, text: str) -> Outcome | None:
        """The outcome with this text; None if there is none."""
        return next((outcome for outcome in cls if outcome == text), None)

    @classmethod
    def of_error(cls, error: BaseException) -> Outcome:
        """The outcome of a call that ended in an exception.

        An error that the library raises on purpose is about input or configuration; any other exception is a crash.
        """
        for kind, outcome in ERRORS.items():
            if isinstance(error, kind):
                return outcome
        text = f"{type(error).__name__}: {error}"  # PyTorch's errors about memory are no `MemoryError`
        return cls.MEMORY if "OutOfMemoryError" in text or "can't allocate memory" in text else cls.CRASH

    @property
    def exit_code(self) -> ExitCode:
        """Exit code of a process that ends in this way."""
        return EXIT_CODES[self]

    @property
    def is_solved(self) -> bool:
        """Whether there is a validated plan."""
        return self is Outcome.FOUND

    @property
    def is_failure(self) -> bool:
        """Whether there is no plan although nothing went wrong: the policy or the limits were not good enough."""
        return self in (Outcome.FAILED, Outcome.NO_JUMP, Outcome.JUMPS, Outcome.TIME, Outcome.MEMORY)

    @property
    def is_fault(self) -> bool:
        """Whether the program itself is at fault."""
        return self in (Outcome.CRASH, Outcome.INVALID)

    @property
    def is_rejection(self) -> bool:
        """Whether files, policy or options were rejected before planning began."""
        return self in (Outcome.INPUT, Outcome.UNSUPPORTED, Outcome.WRONG_POLICY, Outcome.CONFIGURATION)

    @property
    def allows_search(self) -> bool:
        """Whether a search may still find a plan after the greedy rollout ended in this way."""
        return self in (Outcome.FAILED, Outcome.STALLED, Outcome.JUMPS, Outcome.TIME)


EXIT_CODES = {
    Outcome.FOUND: ExitCode.SUCCESS,
    Outcome.FAILED: ExitCode.NO_PLAN,
    Outcome.NO_JUMP: ExitCode.NO_PLAN,
    Outcome.STALLED: ExitCode.NO_PLAN,
    Outcome.JUMPS: ExitCode.NO_PLAN,
    Outcome.TIME: ExitCode.OUT_OF_TIME,
    Outcome.MEMORY: ExitCode.OUT_OF_MEMORY,
    Outcome.CRASH: ExitCode.CRITICAL_ERROR,
    Outcome.INVALID: ExitCode.CRITICAL_ERROR,
    Outcome.INPUT: ExitCode.INPUT_ERROR,
    Outcome.UNSUPPORTED: ExitCode.UNSUPPORTED,
    Outcome.WRONG_POLICY: ExitCode.INPUT_ERROR,
    Outcome.CONFIGURATION: ExitCode.USAGE_ERROR,
    Outcome.INTERRUPTED: ExitCode.INTERRUPTED,
}

ERRORS: dict[type[BaseException], Outcome] = {
    UnsupportedError: Outcome.UNSUPPORTED,
    WrongPolicyError: Outcome.WRONG_POLICY,
    ConfigurationError: Outcome.CONFIGURATION,
    SaltusError: Outcome.INPUT,
    MemoryError: Outcome.MEMORY,
    KeyboardInterrupt: Outcome.INTERRUPTED,
}
"""Outcomes of exceptions; the first kind that fits counts."""


@dataclass(frozen=True)
class Limits:
    """What planning may use; None for no limit."""

    seconds: float | None = None
    """Wall-clock time, including the time to read the files."""
    memory_mb: float | None = None
    """Resident memory in MiB."""
    max_jumps: int | None = None
    """Jumps of the greedy rollout; a search that follows may make as many decisions again."""

    def __post_init__(self) -> None:
        for name, value in (("time limit", self.seconds), ("memory limit", self.memory_mb)):
            if value is not None and not 0 < value < MOST_NUMBER:
                raise ConfigurationError(f"{name} is {shorten(str(value))}, expected more than 0")
        if self.max_jumps is not None and not 0 <= self.max_jumps < MOST_NUMBER:
            raise ConfigurationError(f"max_jumps is {shorten(str(self.max_jumps))}, expected at least 0")


@dataclass(frozen=True)
class PlanningProtocol:
    """Limits of planning, whether a search follows, and the rule that picks a state of a tree."""

    limits: Limits
    flat_seconds: float | None = None
    """Time limit of policies with a flat lookahead, where it differs."""
    play: tuple[str, ...] = ("take_goals=true",)
    """How policies play, whatever they were trained with: texts `key=value` of `PlaySpec`."""
    search: bool = True
    """Whether a search follows a greedy rollout that fails or stalls."""


PROTOCOLS = {
    "paper": PlanningProtocol(
        Limits(seconds=3600.0, max_jumps=1000), flat_seconds=900.0, play=("take_goals=false",), search=False
    ),
    "open": PlanningProtocol(Limits(seconds=1800.0, memory_mb=8192.0)),
}
"""The paper's section "Testing". Departure: by default, the IPC's limits, any number of jumps, goal states always
taken, and a search where the rollout fails or stalls."""


class Clock:
    """Seconds spent on each part of all decisions."""

    def __init__(self) -> None:
        self.seconds = {"lookahead": 0.0, "graph": 0.0, "network": 0.0}

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        """Counts the time inside a block towards a part."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[part] += time.perf_counter() - start

    def figures(self) -> dict[str, Any]:
        """The times under the names of the figures: `seconds_lookahead` and so on."""
        return {f"seconds_{part}": seconds for part, seconds in self.seconds.items()}
