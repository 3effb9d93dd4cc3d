"""Stage `policy`: exit codes of the command line, modelled on Fast Downward's. `outcome.py` maps outcomes to them."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes that programs calling `saltus` can rely on."""

    SUCCESS = 0
    """The command succeeded; a planning command found a validated plan."""
    INVALID_PLAN = 1
    """`validate`: the plan is not valid."""
    NO_PLAN = 12
    """Planning ended without a plan; the problem may still be solvable."""
    OUT_OF_MEMORY = 22
    OUT_OF_TIME = 23
    INPUT_ERROR = 31
    """A file is missing, malformed or meaningless."""
    CRITICAL_ERROR = 32
    """A fault of the program: it crashed, or the validator rejected its plan."""
    USAGE_ERROR = 33
    """The command line is invalid."""
    UNSUPPORTED = 34
    """The PDDL is well-formed but outside the supported language."""
    INTERRUPTED = 130
