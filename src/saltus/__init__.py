"""Saltus learns general policies for classical planning: trained on small problems, they solve far larger ones.

import saltus
task = saltus.load("domain.pddl", "p01.pddl")
plan = saltus.load_policy("blocksworld").plan(task)
print(saltus.validate(task, plan))
"""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from saltus.errors import ConfigurationError, InputError, PddlError, PlanError, Position, SaltusError, UnsupportedError
from saltus.lookahead import LookaheadSpec, LookaheadTree, lookahead
from saltus.task import (
    Action,
    Goal,
    Plan,
    State,
    Task,
    Verdict,
    load,
    read_plan,
    validate,
    write_plan,
)

if TYPE_CHECKING:
    from saltus.policy.catalogue import load_policy

__version__ = version("saltus")

__all__ = [
    "Action",
    "ConfigurationError",
    "Goal",
    "InputError",
    "LookaheadSpec",
    "LookaheadTree",
    "PddlError",
    "Plan",
    "PlanError",
    "Position",
    "SaltusError",
    "State",
    "Task",
    "UnsupportedError",
    "Verdict",
    "__version__",
    "load",
    "load_policy",
    "lookahead",
    "read_plan",
    "validate",
    "write_plan",
]


def __dir__() -> list[str]:
    """Everything that is meant to be used, also what is imported later."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Names whose stages are imported only when they are asked for."""
    if name == "load_policy":
        from saltus.policy.catalogue import load_policy

        return load_policy
    raise AttributeError(f"module 'saltus' has no attribute {name!r}")
