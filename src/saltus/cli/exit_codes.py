"""Exit codes of the command line, after Fast Downward's table; `policy/outcome.py` has those of planning's outcomes."""

from __future__ import annotations

from enum import IntEnum

from saltus.errors import ConfigurationError, SaltusError, UnsupportedError


class ExitCode(IntEnum):
    """What a program that calls `saltus` can rely on."""

    SUCCESS = 0
    """Done; for planning: a validated plan was found."""
    INVALID_PLAN = 1
    """`validate`: the plan is not valid."""
    NO_PLAN = 12
    """Ended without a plan; says nothing about solvability."""
    OUT_OF_MEMORY = 22
    OUT_OF_TIME = 23
    INPUT_ERROR = 31
    """A file is missing, malformed or meaningless."""
    CRITICAL_ERROR = 32
    """A fault of the program: it crashed, or its plan was refused by the validator."""
    USAGE_ERROR = 33
    """The command line is wrong."""
    UNSUPPORTED = 34
    """Well-formed PDDL outside of the supported language."""
    INTERRUPTED = 130


def exit_code_of(error: SaltusError) -> ExitCode:
    """Exit code for an error of the library."""
    if isinstance(error, ConfigurationError):
        return ExitCode.USAGE_ERROR
    return ExitCode.UNSUPPORTED if isinstance(error, UnsupportedError) else ExitCode.INPUT_ERROR
