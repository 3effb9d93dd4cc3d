"""Stage `learn`: problems made for a training set: larger ones to choose a policy by, similar ones to learn from.

They come from the domain's generator where there is one, and otherwise are grown from the given problems
(`TrainingSpec.problems_from`). Growing takes time, so grown problems can be kept in a folder: they are made once, and
every run that is given the folder reads them from there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from saltus.domains.generated import find_domain, larger_problems, similar_problems
from saltus.files import WriteError, write_whole
from saltus.learn.config import Configuration
from saltus.learn.problems import Problems
from saltus.task import Task, load

TIMES = 4.0
"""Size of grown larger problems, in multiples of the largest given ones."""


def larger_tasks(problems: Problems, configuration: Configuration, folder: Path | None = None) -> list[Task]:
    """Validation tasks several times larger than the given ones, smallest first; empty if none can be made."""
    spec = configuration.training
    largest = max(len(task.objects) for task in problems.training)
    match _origin(problems, configuration):
        case "generator":
            return larger_problems(problems.domain, largest, spec.larger_problems)
        case "grown":
            given = [*problems.training, *(task for task in problems.held_out if task not in problems.training)]
            return _grown(problems, given, spec.larger_problems, TIMES, _place(folder, "larger"))
    return []


def similar_tasks(problems: Problems, configuration: Configuration, folder: Path | None = None) -> list[Task]:
    """Training tasks of the given sizes in addition to the given ones; empty if none can be made.

    They are made after training problems alone, so that validation problems stay unseen.
    """
    spec = configuration.training
    largest = max(len(task.objects) for task in problems.training)
    match _origin(problems, configuration):
        case "generator":
            return similar_problems(problems.domain, largest, spec.generated_problems)
        case "grown":
            return _grown(problems, problems.training, spec.generated_problems, 1.0, _place(folder, "similar"))
    return []


def grow_tasks(problems: Problems, configuration: Configuration, folder: Path) -> None:
    """Makes the grown problems of a configuration and keeps them in a folder, if there are to be any."""
    if _origin(problems, configuration) == "grown":
        larger_tasks(problems, configuration, folder)
        similar_tasks(problems, configuration, folder)


def _origin(problems: Problems, configuration: Configuration) -> str:
    """generator, grown or none."""
    wanted = configuration.training.problems_from
    if wanted != "auto":
        return wanted
    return "generator" if find_domain(problems.domain) is not None else "grown"


def _place(folder: Path | None, kind: str) -> Path | None:
    return folder / kind if folder is not None else None


def _grown(problems: Problems, given: Sequence[Task], count: int, times: float, folder: Path | None) -> list[Task]:
    """Grown tasks, read from the folder if they have been kept there."""
    if count == 0:
        return []
    if folder is not None and folder.is_dir():
        return [load(problems.domain, path) for path in sorted(folder.glob("*.pddl"))]
    from saltus.grow import Grower, problem_text

    tasks = Grower(problems.domain, given).grow(count, times)
    if folder is not None:
        _keep(tasks, folder, problem_text)
    return tasks


def _keep(tasks: Sequence[Task], folder: Path, text_of: Callable[[Task], str]) -> None:
    """Writes problems to a folder, which appears when it is complete."""
    part = folder.with_name(f"{folder.name}.part-{os.getpid()}")
    try:
        part.mkdir(parents=True)
        for number, task in enumerate(tasks, 1):
            write_whole(part / f"p{number:03}.pddl", text_of(task))
        part.rename(folder)
    except OSError as error:
        if not folder.is_dir():  # otherwise another process has made the same ones meanwhile
            raise WriteError(f"{folder}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
