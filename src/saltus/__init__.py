"""Saltus learns general policies for classical planning: trained on small problems, they solve far larger ones.

import saltus
task = saltus.load("domain.pddl", "p01.pddl")
print(saltus.validate(task, saltus.read_plan("sas_plan")))
"""

from importlib.metadata import version

from saltus.errors import ConfigurationError, InputError, PddlError, PlanError, Position, SaltusError, UnsupportedError
from saltus.lookahead import LookaheadSpec, LookaheadTree, lookahead
from saltus.task import (
    Action,
    Goal,
    Plan,
    State,
    Task,
    Validation,
    load,
    read_plan,
    validate,
    write_plan,
)

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
    "Validation",
    "__version__",
    "load",
    "lookahead",
    "read_plan",
    "validate",
    "write_plan",
]
