"""Stage `grow`: given problems: which of them there is something to learn from. Files in, tasks and sentences out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from saltus.errors import InputError
from saltus.lookahead import is_dead_end
from saltus.pddl import Domain
from saltus.task import Task, load


def read_given(domain: Domain, files: Iterable[Path], warnings: list[str]) -> list[tuple[Path, Task]]:
    """Tasks of problem files; files that are no problem of the domain are left out with a warning."""
    found: list[tuple[Path, Task]] = []
    for path in files:
        try:
            found.append((path, load(domain, path)))
        except InputError as error:
            warnings.append(f"{path.name} is left out: {error}")
    return found


def reason_against(task: Task) -> str:
    """Why nothing can be learned from a task; empty if something can.

    Sound but incomplete: a task without a plan may go unnoticed.
    """
    if task.goal.impossible:
        return "its goal can never be true"
    if task.goal.holds(task.initial_state):
        return "its goal is true at the start"
    if is_dead_end(task, task.initial_state, task.goal):
        return "its goal cannot be reached from its initial state"
    return ""
