"""Stage `learn`: problems made for a training set: larger ones to choose a policy by, similar ones to learn from.

They come from the domain's generator where there is one, and otherwise are grown from the given problems
(`TrainingSpec.problems_from`). Growing takes time, so grown problems can be kept in a folder: they are made once, and
every run that is given the folder reads them from there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from saltus.domains.generated import find_domain, larger_problems, similar_problems
from saltus.files import WriteError, write_whole
from saltus.learn.config import Configuration
from saltus.learn.problems import Problems, digest_of
from saltus.task import Task, load

TIMES = 4.0
"""Size of grown larger problems, in multiples of the largest given ones."""

FAR_TIMES = 16.0
"""Size of those that are far larger."""

FAR_OBJECTS = 300
"""Their largest number of objects, so that validations do not take too long."""

LEAST_FAR = 6.0
"""Multiple below which they would not be much larger than the others: then there are none."""


def larger_tasks(
    problems: Problems,
    configuration: Configuration,
    folder: Path | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> list[Task]:
    """Validation tasks several times larger than the given ones, smallest first; empty if none can be made."""
    return _made(problems, configuration, configuration.training.larger_problems, TIMES, folder, expired)


def far_tasks(
    problems: Problems,
    configuration: Configuration,
    folder: Path | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> list[Task]:
    """Validation tasks far larger than the given ones, smallest first; empty if none can be made."""
    times = min(FAR_TIMES, FAR_OBJECTS / max(len(task.objects) for task in problems.training))
    if times < LEAST_FAR:
        return []
    return _made(problems, configuration, configuration.training.far_problems, times, folder, expired)


def similar_tasks(
    problems: Problems,
    configuration: Configuration,
    folder: Path | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> list[Task]:
    """Training tasks of the given sizes in addition to the given ones; empty if none can be made.

    They are made after training problems alone, so that validation problems stay unseen.
    """
    return _made(problems, configuration, configuration.training.generated_problems, 1.0, folder, expired)


def grow_tasks(
    problems: Problems, configuration: Configuration, folder: Path, expired: Callable[[], bool] = lambda: False
) -> list[str]:
    """Makes the grown problems of a configuration, keeps them in a folder, and returns sentences about missing ones.

    Once `expired` returns True, those made by then are all.
    """
    if _origin(problems, configuration) != "grown":
        return []
    larger = larger_tasks(problems, configuration, folder, expired)
    similar_tasks(problems, configuration, folder, expired)
    far_tasks(problems, configuration, folder, expired)
    wanted = configuration.training.larger_problems
    if len(larger) == wanted:
        return []
    made = f"only {len(larger)} of {wanted}" if larger else "no"
    return [f"{made} larger problems could be grown from the given ones: how the policy does on them says less"]


def _origin(problems: Problems, configuration: Configuration) -> str:
    """generator, grown or none."""
    wanted = configuration.training.problems_from
    if wanted != "auto":
        return wanted
    return "generator" if find_domain(problems.domain) is not None else "grown"


def _made(
    problems: Problems,
    configuration: Configuration,
    count: int,
    times: float,
    folder: Path | None,
    expired: Callable[[], bool],
) -> list[Task]:
    """Tasks several times as large as the given ones, or as large with `times` 1, from where the configuration says."""
    is_larger = times > 1
    match _origin(problems, configuration):
        case "generator":
            largest = max(len(task.objects) for task in problems.training)
            if not is_larger:
                return similar_problems(problems.domain, largest, count)
            if times == TIMES:
                return larger_problems(problems.domain, largest, count)
            return larger_problems(problems.domain, largest, count, least=times / 2, most=times)
        case "grown":
            more = [task for task in problems.held_out if is_larger and task not in problems.training]
            return _grown(problems, [*problems.training, *more], count, times, folder, expired)
    return []


class _Expired(Exception):  # noqa: N818 (no error, and never seen outside of this module)
    """Raised inside of growing when its time is up."""


def _grown(
    problems: Problems,
    given: Sequence[Task],
    count: int,
    times: float,
    folder: Path | None,
    expired: Callable[[], bool],
) -> list[Task]:
    """Grown tasks, read from the folder if they have been kept there."""
    if count == 0:
        return []
    facts = f"{digest_of(given)} {count} {times}"
    size = "similar" if times == 1 else "larger" if times == TIMES else "far"
    name = f"{size}-{hashlib.sha256(facts.encode()).hexdigest()[:8]}"
    place = None if folder is None else folder / name
    if place is not None and place.is_dir():
        return [load(problems.domain, path) for path in sorted(place.glob("*.pddl"))]
    if any(task.has_derived_goals for task in given):
        return []
    from saltus.grow import Grower, problem_text

    def check() -> None:
        if expired():
            raise _Expired

    tasks: list[Task] = []
    with suppress(_Expired):
        for entry in Grower(problems.domain, given).problems(count, times, check):
            tasks.append(entry.task)
    tasks.sort(key=lambda task: len(task.objects))
    if place is not None:
        _keep(tasks, place, problem_text)
    return tasks


def _keep(tasks: Sequence[Task], folder: Path, text_of: Callable[[Task], str]) -> None:
    """Writes problems to a folder, which appears when it is complete."""
    part = folder.with_name(f"{folder.name}.part-{os.getpid()}")
    try:
        part.mkdir(parents=True)
        width = max(3, len(str(len(tasks))))
        for number, task in enumerate(tasks, 1):
            write_whole(part / f"p{number:0{width}}.pddl", text_of(task))
        part.rename(folder)
    except OSError as error:
        if not folder.is_dir():  # otherwise another process has made the same ones meanwhile
            raise WriteError(f"{folder}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
