"""Saltus learns general policies for classical planning: trained on small problems, they solve far larger ones.

import saltus

policy = saltus.load_policy("blocksworld")  # or saltus.train("my-domain").best_policy()
plan = policy.plan(saltus.load("domain.pddl", "p01.pddl"))
print(plan)
"""

import importlib
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
    from saltus.learn import train
    from saltus.policy.catalogue import load_policy

__version__ = version("saltus")

_LATER = {"load_policy": "saltus.policy.catalogue", "train": "saltus.learn"}
"""Names whose stages are imported only when they are used, and the modules that hold them."""

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
    "train",
    "validate",
    "write_plan",
]


def __dir__() -> list[str]:
    """All public names, those that are imported later included."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Names that are imported only when they are used: training needs PyTorch, which takes a second to import."""
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'saltus' has no attribute {name!r}")
