"""Stage `task`: a domain and a problem as flat integers; states, goals, actions, plans, their validator, and suites."""

from typing import TYPE_CHECKING

from saltus.later import names_later

if TYPE_CHECKING:
    from saltus.task.compile import build_task, load
    from saltus.task.plan import Plan, format_plan, parse_plan, read_plan, write_plan
    from saltus.task.state import Goal, State
    from saltus.task.suite import Split, Suite, find_suite, find_suites
    from saltus.task.task import EQUALITY, Action, Axiom, Effect, Exists, Literal, Schema, Task
    from saltus.task.validate import Verdict, validate
else:
    __getattr__ = names_later(
        __name__,
        {
            "compile": "build_task load",
            "plan": "Plan format_plan parse_plan read_plan write_plan",
            "state": "Goal State",
            "suite": "Split Suite find_suite find_suites",
            "task": "EQUALITY Action Axiom Effect Exists Literal Schema Task",
            "validate": "Verdict validate",
        },
    )

__all__ = [
    "EQUALITY",
    "Action",
    "Axiom",
    "Effect",
    "Exists",
    "Goal",
    "Literal",
    "Plan",
    "Schema",
    "Split",
    "State",
    "Suite",
    "Task",
    "Verdict",
    "build_task",
    "find_suite",
    "find_suites",
    "format_plan",
    "load",
    "parse_plan",
    "read_plan",
    "validate",
    "write_plan",
]
