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
from dataclasses import dataclass
from pathlib import Path

from saltus.domains.generated import find_domain, larger_problems, similar_problems, spread_evenly
from saltus.files import WriteError, write_whole
from saltus.grow.values import ENOUGH_GIVEN
from saltus.learn.config import Configuration
from saltus.learn.problems import Problems, digest_of, spread
from saltus.learn.values import FAR_OBJECTS, MOST_OBJECTS, TIMES
from saltus.task import Task, load

FAR_TIMES = TIMES**2
"""Size of problems that are far larger, in multiples of the largest given ones."""

FINAL_TIMES = [TIMES * 2**i for i in range(1, 5)]
"""Sizes of the problems of finals, likewise: each twice that of the one before."""

Make = Callable[[Callable[[], None]], Iterator[Task]]
"""Makes problems; what it is given is to be called often."""


class _Expired(Exception):  # noqa: N818 (no error, and never seen outside of this module)
    """Raised inside of growing when its time is up."""


@dataclass(frozen=True)
class Maker:
    """Makes problems for given ones and a configuration; lists of them are empty if none can be made."""

    problems: Problems
    configuration: Configuration
    folder: Path | None = None
    """Where grown problems are kept."""
    expired: Callable[[], bool] = lambda: False
    """Once it returns True, the grown problems made by then are all."""

    @property
    def has_generator(self) -> bool:
        """Whether problems come from a generator of the domain; otherwise they are grown."""
        return find_domain(self.problems.domain) is not None

    @property
    def wants_lean(self) -> bool:
        """Whether the configuration wants lean problems, and the given ones have something that is used up."""
        given = self.problems.training
        if not self.configuration.training.lean or any(task.has_derived_goals for task in given):
            return False
        from saltus.grow.lean import supplies

        return any(supplies(task) for task in given)

    # -- problems of every kind --------------------------------------------------------------------------------------

    def larger(self) -> list[Task]:
        """Validation tasks several times larger than the given ones, smallest first."""
        return self._made(self.configuration.training.larger_problems, TIMES)

    def far(self) -> list[Task]:
        """Validation tasks far larger than the given ones, smallest first."""
        times = min(FAR_TIMES, FAR_OBJECTS / max(1, *(len(task.objects) for task in self.problems.training)))
        # If not, they would not be much larger than the others.
        return self._made(self.configuration.training.far_problems, times) if times >= 1.5 * TIMES else []

    def similar(self) -> list[Task]:
        """Training tasks of the given sizes in addition to the given ones.

        They are made after training problems alone, so that validation problems stay unseen.
        """
        return self._made(self.configuration.training.generated_problems, 1.0)

    def lean(self) -> list[Task]:
        """The training tasks without what their plans need not use up, of those that have something to spare; none
        unless the configuration asks for them."""
        if not self.wants_lean:
            return []
        given = spread(self.problems.training, ENOUGH_GIVEN)  # each takes a search for a plan

        def make(check: Callable[[], None]) -> Iterator[Task]:
            from saltus.grow import Grower
            from saltus.grow.lean import lean

            grower = Grower(self.problems.domain, self.problems.training)
            for task in given:
                check()
                found = lean(task, grower.given_plan(task, check))
                if found is not None:
                    yield found[0]

        return self._kept(f"lean-{_digest(given, '')}", make)

    def final(self) -> list[Task]:
        """Tasks up to `MOST_OBJECTS` objects for the final of a contest, smallest first.

        There are two of each size. They are grown, and their goals are not known to be reachable; where there is a
        generator, half of them are its own.
        """
        given, sizes = _all_given(self.problems), final_sizes(self.problems)

        def make(check: Callable[[], None]) -> Iterator[Task]:
            from saltus.grow import Grower

            grower = Grower(self.problems.domain, given)
            wanted: list[int] = []
            seen: set[str] = set()
            for size in sizes:
                check()
                generated = self._generated_of_size(size)
                wanted += [size] * (2 - len(generated))
                seen.update(digest_of([task]) for task in generated)
                yield from generated
            for task in grower.unproven(wanted, check):
                digest = digest_of([task])
                if digest not in seen:
                    seen.add(digest)
                    yield task

        return self._kept(f"final-{_digest(given, str(sizes))}", make, whole=True) if sizes else []

    def grow(self) -> list[str]:
        """Makes the grown problems of the configuration, keeps them, and returns sentences about missing ones."""
        is_grown = not self.has_generator
        if not is_grown and not self.wants_lean:
            return []
        larger = self.larger()
        self.similar()
        self.far()
        self.lean()
        wanted = self.configuration.training.larger_problems
        if len(larger) == wanted or not is_grown:
            return []
        made = f"only {len(larger)} of {wanted}" if larger else "no"
        return [f"{made} larger problems could be grown from the given ones: how the policy does on them says less"]

    # -- how they are made -------------------------------------------------------------------------------------------

    def _generated_of_size(self, objects: int) -> list[Task]:
        """A task of the generator with about so many objects, another than those of validations; none if there is no
        generator, or it has no such size."""
        found = larger_problems(self.problems.domain, objects, 1, seed=1, least=0.75, most=1.25)
        return [task for task in found if self.has_generator and 0.75 * objects <= len(task.objects) <= 1.25 * objects]

    def _made(self, count: int, times: float) -> list[Task]:
        """Tasks several times as large as the given ones, or as large with `times` 1.

        If the configuration wants lean ones, they are up to half of the larger ones.
        """
        is_larger, domain = times > 1, self.problems.domain
        given = _all_given(self.problems) if is_larger else self.problems.training
        lean = self._grown(given, count // 2, times, lean=True) if is_larger and self.wants_lean else []
        largest = max(len(task.objects) for task in self.problems.training)
        if not self.has_generator:
            made = self._grown(given, count - len(lean), times)
        elif not is_larger:
            made = similar_problems(domain, largest, count)
        elif times == TIMES:
            made = larger_problems(domain, largest, count)
        else:
            made = larger_problems(domain, largest, count, least=times / 2, most=times)
        return sorted([*spread_evenly(made, count - len(lean)), *lean], key=lambda task: len(task.objects))

    def _grown(self, given: Sequence[Task], count: int, times: float, *, lean: bool = False) -> list[Task]:
        """Grown tasks, smallest first; with `lean`, those that are larger than the given ones even so have nothing to
        spare."""
        if count == 0 or any(task.has_derived_goals for task in given):
            return []

        def make(check: Callable[[], None]) -> Iterator[Task]:
            from saltus.grow import Grower
            from saltus.grow.lean import lean as leaned

            largest = max(len(task.objects) for task in given)
            for entry in Grower(self.problems.domain, given).problems(count, times, check):
                found = leaned(entry.task, entry.plan) if lean else None
                is_larger = found is not None and len(found[0].objects) > largest
                yield found[0] if found is not None and is_larger else entry.task

        size = {1.0: "similar", TIMES: "larger"}.get(times, "far")
        return self._kept(f"{size}{'-lean' if lean else ''}-{_digest(given, f'{count} {times}')}", make)

    def _kept(self, name: str, make: Make, *, whole: bool = False) -> list[Task]:
        """The tasks that `make` gives until time has expired, smallest first; read from the folder if they have been
        kept there. With `whole`, they are kept only if time has not expired."""
        place = None if self.folder is None else self.folder / name
        if place is not None and place.is_dir():
            return [load(self.problems.domain, path) for path in sorted(place.glob("*.pddl"))]

        def check() -> None:
            if self.expired():
                raise _Expired

        tasks: list[Task] = []
        is_whole = False
        with suppress(_Expired):
            for task in make(check):
                tasks.append(task)
            is_whole = True
        tasks.sort(key=lambda task: len(task.objects))
        if place is not None and (is_whole or not whole):
            _keep(tasks, place)
        return tasks


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


def _digest(given: Sequence[Task], wanted: str) -> str:
    """A short text that differs for different given tasks, or if something else is wanted of them."""
    return hashlib.sha256(f"{digest_of(given)} {wanted}".encode()).hexdigest()[:8]


def _keep(tasks: Sequence[Task], folder: Path) -> None:
    """Writes problems to a folder, which appears when it is complete."""
    from saltus.grow import problem_text

    part = folder.with_name(f"{folder.name}.part-{os.getpid()}")
    try:
        part.mkdir(parents=True)
        width = max(3, len(str(len(tasks))))
        for number, task in enumerate(tasks, 1):
            write_whole(part / f"p{number:0{width}}.pddl", problem_text(task))
        part.rename(folder)
    except OSError as error:
        if not folder.is_dir():  # otherwise another process has made the same ones meanwhile
            raise WriteError(f"{folder}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
