"""Stage `learn`: problems made for a training set: larger ones to choose a policy by, similar ones to learn from.

They come from the domain's generator where there is one, and otherwise are grown from the given problems. Some of them
have nothing to spare of what actions use up (`TrainingSpec.lean`), and these are always grown. Growing takes time, so
grown problems can be kept in a folder: they are made once, and every run that is given the folder reads them from
there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from saltus.domains.generated import find_domain, larger_problems, similar_problems, spread_evenly
from saltus.files import WriteError, write_whole
from saltus.learn.config import Configuration
from saltus.learn.problems import Problems, digest_of, spread
from saltus.learn.values import (
    FAR_OBJECTS,
    FAR_TIMES,
    FINAL_TIMES,
    MOST_LEAN,
    MOST_OBJECTS,
    TIMES,
)
from saltus.pddl import Domain
from saltus.task import Task, load


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
    times = min(FAR_TIMES, FAR_OBJECTS / max(1, *(len(task.objects) for task in problems.training)))
    if times < 1.5 * TIMES:  # they would not be much larger than the others
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


def _of_size(domain: Domain, objects: int) -> list[Task]:
    """A task of a generator with about so many objects, another than those of validations; none if it has no such
    size."""
    found = larger_problems(domain, objects, 1, seed=1, least=0.75, most=1.25)
    return [task for task in found if 0.75 * objects <= len(task.objects) <= 1.25 * objects]


def lean_tasks(
    problems: Problems,
    configuration: Configuration,
    folder: Path | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> list[Task]:
    """The training tasks without what their plans need not use up, of those that have something to spare; empty unless
    the configuration asks for them."""
    if not wants_lean(problems, configuration):
        return []
    given = spread(problems.training, MOST_LEAN)

    def make(check: Callable[[], None]) -> Iterator[Task]:
        from saltus.grow import Grower
        from saltus.grow.lean import lean

        grower = Grower(problems.domain, problems.training)
        for task in given:
            check()
            found = lean(task, grower.given_plan(task, check))
            if found is not None:
                yield found[0]

    return _kept(f"lean-{_digest(given, '')}", make, problems, folder, expired)


def final_tasks(
    problems: Problems,
    folder: Path | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> list[Task]:
    """Tasks up to `MOST_OBJECTS` objects for the final of a contest, smallest first; empty if none can be made.

    There are two of each size. They are grown, and their goals are not known to be reachable; where there is a
    generator, half of them are its own.
    """
    given, sizes = _all_given(problems), final_sizes(problems)
    if not sizes:
        return []

    def make(check: Callable[[], None]) -> Iterator[Task]:
        from saltus.grow import Grower

        grower = Grower(problems.domain, given)
        wanted: list[int] = []
        seen: set[str] = set()
        for size in sizes:
            check()
            generated: list[Task] = []
            if has_generator(problems):
                generated = _of_size(problems.domain, size)
            wanted += [size] * (2 - len(generated))
            seen.update(digest_of([task]) for task in generated)
            yield from generated
        for task in grower.unproven(wanted, check):
            digest = digest_of([task])
            if digest not in seen:
                seen.add(digest)
                yield task

    return _kept(f"final-{_digest(given, str(sizes))}", make, problems, folder, expired, whole=True)


def final_sizes(problems: Problems) -> list[int]:
    """Numbers of objects of the problems for the final of a contest; empty if there can be none."""
    given = _all_given(problems)
    if any(task.has_derived_goals for task in given):
        return []
    largest = max(1, *(len(task.objects) for task in given))
    sizes = sorted({min(MOST_OBJECTS, round(times * largest)) for times in FINAL_TIMES})
    return [size for size in sizes if size >= TIMES * largest]


def _all_given(problems: Problems) -> list[Task]:
    """The training tasks, and those held out that are others."""
    return [*problems.training, *(task for task in problems.held_out if task not in problems.training)]


def wants_lean(problems: Problems, configuration: Configuration) -> bool:
    """Whether the configuration wants lean problems, and the given ones have something that is used up."""
    if not configuration.training.lean or any(task.has_derived_goals for task in problems.training):
        return False
    from saltus.grow.lean import supplies

    return any(supplies(task) for task in problems.training)


def grow_tasks(
    problems: Problems, configuration: Configuration, folder: Path, expired: Callable[[], bool] = lambda: False
) -> list[str]:
    """Makes the grown problems of a configuration, keeps them in a folder, and returns sentences about missing ones.

    Once `expired` returns True, those made by then are all.
    """
    is_grown = not has_generator(problems)
    if not is_grown and not wants_lean(problems, configuration):
        return []
    larger = larger_tasks(problems, configuration, folder, expired)
    similar_tasks(problems, configuration, folder, expired)
    far_tasks(problems, configuration, folder, expired)
    lean_tasks(problems, configuration, folder, expired)
    wanted = configuration.training.larger_problems
    if len(larger) == wanted or not is_grown:
        return []
    made = f"only {len(larger)} of {wanted}" if larger else "no"
    return [f"{made} larger problems could be grown from the given ones: how the policy does on them says less"]


def has_generator(problems: Problems) -> bool:
    """Whether problems come from a generator of the domain; otherwise they are grown."""
    return find_domain(problems.domain) is not None


def _made(
    problems: Problems,
    configuration: Configuration,
    count: int,
    times: float,
    folder: Path | None,
    expired: Callable[[], bool],
) -> list[Task]:
    """Tasks several times as large as the given ones, or as large with `times` 1.

    If the configuration wants lean ones, they are up to half of the larger ones.
    """
    is_larger = times > 1
    given = _all_given(problems) if is_larger else problems.training
    lean: list[Task] = []
    if is_larger and wants_lean(problems, configuration):
        lean = _grown(problems, given, count // 2, times, folder, expired, lean=True)
    largest = max(len(task.objects) for task in problems.training)
    if not has_generator(problems):
        made = _grown(problems, given, count - len(lean), times, folder, expired)
    elif not is_larger:
        made = similar_problems(problems.domain, largest, count)
    elif times == TIMES:
        made = larger_problems(problems.domain, largest, count)
    else:
        made = larger_problems(problems.domain, largest, count, least=times / 2, most=times)
    return sorted([*spread_evenly(made, count - len(lean)), *lean], key=lambda task: len(task.objects))


class _Expired(Exception):  # noqa: N818 (no error, and never seen outside of this module)
    """Raised inside of growing when its time is up."""


def _grown(
    problems: Problems,
    given: Sequence[Task],
    count: int,
    times: float,
    folder: Path | None,
    expired: Callable[[], bool],
    *,
    lean: bool = False,
) -> list[Task]:
    """Grown tasks, smallest first; with `lean`, those that are larger than the given ones even so have nothing to
    spare."""
    if count == 0 or any(task.has_derived_goals for task in given):
        return []

    def make(check: Callable[[], None]) -> Iterator[Task]:
        from saltus.grow import Grower
        from saltus.grow.lean import lean as leaned

        largest = max(len(task.objects) for task in given)
        for entry in Grower(problems.domain, given).problems(count, times, check):
            found = leaned(entry.task, entry.plan) if lean else None
            is_larger = found is not None and len(found[0].objects) > largest
            yield found[0] if found is not None and is_larger else entry.task

    size = {1.0: "similar", TIMES: "larger"}.get(times, "far")
    name = f"{size}{'-lean' if lean else ''}-{_digest(given, f'{count} {times}')}"
    return _kept(name, make, problems, folder, expired)


def _digest(given: Sequence[Task], wanted: str) -> str:
    """A short text that differs for different given tasks, or if something else is wanted of them."""
    return hashlib.sha256(f"{digest_of(given)} {wanted}".encode()).hexdigest()[:8]


def _kept(
    name: str,
    make: Callable[[Callable[[], None]], Iterator[Task]],
    problems: Problems,
    folder: Path | None,
    expired: Callable[[], bool],
    *,
    whole: bool = False,
) -> list[Task]:
    """The tasks that `make` gives until time has expired, smallest first; read from the folder if they have been kept
    there. What `make` is given is to be called often. With `whole`, they are kept only if time has not expired."""
    place = None if folder is None else folder / name
    if place is not None and place.is_dir():
        return [load(problems.domain, path) for path in sorted(place.glob("*.pddl"))]
    from saltus.grow import problem_text

    def check() -> None:
        if expired():
            raise _Expired

    tasks: list[Task] = []
    is_whole = False
    with suppress(_Expired):
        for task in make(check):
            tasks.append(task)
        is_whole = True
    tasks.sort(key=lambda task: len(task.objects))
    if place is not None and (is_whole or not whole):
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
