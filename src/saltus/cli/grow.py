"""Command `grow`: larger problems from the training problems of a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from saltus.cli import output
from saltus.cli.progress import bar
from saltus.errors import ConfigurationError, InputError, plural, printable
from saltus.files import PDDL_BYTES, make_folder, read_whole, write_whole
from saltus.grow import Grower, Grown, problem_text
from saltus.grow.given import read_given, reason_against
from saltus.pddl import Domain, Source, parse_domain
from saltus.policy.exit_codes import ExitCode
from saltus.task import Task, find_suite
from saltus.task.suite import DOMAIN_FILE

HOW = {
    "patterned": "goal copied with its objects, plan found by search",
    "joined": "goals of joined problems, whose plans follow each other",
    "reached": "goal taken from a state reached by a plan",
}
"""How solvability is known, by the way the goal was made."""


def grow(
    folder: Annotated[Path, typer.Argument(help="Folder with domain.pddl and training problems.")],
    out: Annotated[Path, typer.Option(help="New or empty folder for domain.pddl and p01.pddl, p02.pddl, …")],
    times: Annotated[
        float,
        typer.Option(help="Objects of the largest problem made, as a multiple of the largest given; 1: same sizes."),
    ] = 4.0,
    count: Annotated[int, typer.Option(help="Number of problems to make.")] = 20,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same files.")] = 0,
) -> int:
    """Make larger problems from the training problems of a folder, without a generator.

    What the given problems have in common is learned from them: how many objects of each kind there are, and which
    atoms an object has. Several problems of different sizes say more than one. Every problem made is solvable. There
    may be fewer than asked for.

    Example:

        saltus grow examples/blocksworld --times 2 --count 3 --out grown
    """
    # larger ones would take too long: problems are made of objects one by one
    if not 1 <= times <= 100:
        raise ConfigurationError(f"--times must be between 1 and 100, not {times:g}")
    if count < 1:
        raise ConfigurationError(f"--count must be at least 1, not {count}")
    suite = find_suite(folder)
    files = suite.training_files()
    check_empty(out)
    domain = parse_domain(Source.from_file(suite.domain))
    tasks = useful_tasks(folder, domain, files)
    grower = Grower(domain, tasks, seed)
    made = make(grower, count, times)
    if not made:
        output.error(f"{folder}: no problem could be made: {reason_for_none(grower)}")
        return ExitCode.NO_PLAN
    write(out, read_whole(suite.domain, PDDL_BYTES), made)
    if len(made) < count:
        output.note(f"{len(made)} of {plural(count, 'problem')} made; the others broke a rule or had no known plan")
    return ExitCode.SUCCESS


def reason_for_none(grower: Grower) -> str:
    """Why a grower made nothing."""
    if not grower.without_plan:
        return "nothing could be added that has been seen in the given problems; more of them may help"
    tried = plural(grower.without_plan, "problem")
    return f"no plan was found for any of the {tried} tried, with copied goals or others"


def useful_tasks(folder: Path, domain: Domain, files: Sequence[Path]) -> list[Task]:
    """Tasks of the files, without those that say nothing about what problems of the domain are like."""
    warnings: list[str] = []
    tasks: list[Task] = []
    for path, task in read_given(domain, files, warnings):
        reason = reason_against(task)
        if not reason and task.has_derived_goals:
            reason = "its goal is no conjunction of literals"
        if reason:
            warnings.append(f"{path.name} is left out: {reason}")
        else:
            tasks.append(task)
    if not tasks:
        raise InputError(f"{folder}: no problem to grow others from: {warnings[0]}")
    for warning in warnings:
        output.warning(warning)
    return tasks


def make(grower: Grower, count: int, times: float) -> list[Grown]:
    """The problems made, smallest first, with a bar on standard error."""
    made: list[Grown] = []
    with bar("grow", count) as shown:
        for entry in grower.problems(count, times):
            made.append(entry)
            if shown is not None:
                shown.update(len(made))
    return sorted(made, key=lambda entry: len(entry.task.objects))


def check_empty(out: Path) -> None:
    """Raises an `InputError` unless the folder is new or empty."""
    if not os.path.lexists(out):
        return
    if not out.is_dir():
        raise InputError(f"{out}: not a folder")
    present = len(os.listdir(out))
    if present:
        raise InputError(f"{out} already holds {plural(present, 'file')}; choose a new or empty folder")


def write(out: Path, domain: bytes, made: list[Grown]) -> None:
    """Writes the domain and the problems, and says what each one is."""
    make_folder(out)
    write_whole(out / DOMAIN_FILE, domain)
    width = max(2, len(str(len(made))))
    for number, entry in enumerate(made, start=1):
        path = out / f"p{number:0{width}}.pddl"
        write_whole(path, problem_text(entry.task).encode())
        length = f" ({plural(len(entry.plan), 'action')})" if entry.plan else ""
        output.result(
            printable(
                f"{path}: {plural(len(entry.task.objects), 'object')}, from {entry.base}; {HOW[entry.goal]}{length}"
            )
        )
