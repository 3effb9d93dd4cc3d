"""Stage `learn`: what to learn from. Problem files in, training and validation tasks out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from saltus.domains.generated import spread_evenly
from saltus.errors import InputError
from saltus.grow.given import read_given, reason_against
from saltus.learn.config import Configuration, changed
from saltus.learn.values import HELD_OUT_SHARE, VALIDATION_PROBLEMS
from saltus.pddl import Domain, Source, parse_domain
from saltus.task import Split, Task, find_suite, load

NEGATIVE_GOALS = "encoding.negative_goals"
"""The setting with which goals may have negated literals."""


@dataclass(frozen=True)
class Problems:
    """Training and validation tasks of one domain, and what is odd about them in `warnings`."""

    name: str
    domain: Domain
    training: list[Task]
    held_out: list[Task]
    warnings: list[str] = field(default_factory=list)


def load_problems(folder: str | os.PathLike[str], configuration: Configuration) -> Problems:
    """Training and validation tasks of a folder; a folder without any problem to learn from is an error.

    Without validation problems the largest training problems are held out; where there are too few for that, all of
    them are both. Problems whose goal is true at the start, out of reach, or cannot be encoded teach nothing and are
    left out with a warning, as are unreadable files and problems of another domain.
    """
    suite = find_suite(folder)
    suite.training_files()  # there must be some
    domain = parse_domain(Source.from_file(suite.domain))
    warnings: list[str] = []
    training = _useful(read_given(domain, suite.splits.get(Split.TRAINING, ()), warnings), configuration, warnings)
    held_out = _useful(read_given(domain, suite.splits.get(Split.VALIDATION, ()), warnings), configuration, warnings)
    if not training:
        raise InputError(f"{folder}: no training problem is left: {warnings[0]}")
    if not held_out:
        warnings.append(held_out_text(len(training)))
        training, held_out = hold_out(training)
    return Problems(suite.name, domain, training, held_out, warnings)


def listed_problems(domain_file: Path, files: Sequence[Path], configuration: Configuration) -> Problems:
    """Tasks of listed problem files, the largest of which are held out for validation.

    An unreadable file is an error: it was named for a reason.
    """
    domain = parse_domain(Source.from_file(domain_file))
    warnings: list[str] = []
    tasks = _useful([(path, load(domain, path)) for path in files], configuration, warnings)
    if not tasks:
        raise InputError(f"{domain_file}: no problem to learn from{': ' + warnings[0] if warnings else ''}")
    training, held_out = hold_out(tasks)
    return Problems(domain.name, domain, training, held_out, warnings)


def hold_out(tasks: Sequence[Task]) -> tuple[list[Task], list[Task]]:
    """Training and validation tasks, smallest first: the largest quarter, at most `VALIDATION_PROBLEMS`, is held out.

    Of fewer than `HELD_OUT_SHARE` tasks none can be spared: all of them are both.
    """
    count = _held_out(len(tasks))
    ordered = sorted(tasks, key=lambda task: len(task.objects))
    if count == 0:
        return ordered, list(ordered)
    return ordered[: len(tasks) - count], ordered[len(tasks) - count :]


def spread(tasks: Sequence[Task], most: int) -> list[Task]:
    """At most so many of some tasks, spread evenly over their sizes, the smallest and the largest included; 0: all."""
    if most == 0 or len(tasks) <= most:
        return list(tasks)
    ordered = sorted(tasks, key=lambda task: len(task.objects))
    return ordered[-1:] if most == 1 else spread_evenly(ordered, most)


def held_out_text(problems: int) -> str:
    """What is done about validation in a folder of so many problems that has none of its own."""
    count = _held_out(problems)
    if count == 0:
        few = f"{problems} training problems are" if problems > 1 else "1 training problem is"
        others = "them" if problems > 1 else "it"
        return (
            f"no validation problems, and {few} too few to hold any out ({HELD_OUT_SHARE} are needed): the policy is "
            f"chosen by how it solves {others} and larger problems made after {others}, if any can be made; "
            f"how it does on other problems is not known"
        )
    largest = "the largest" if count == 1 else f"the {count} largest"
    verb = "is" if count == 1 else "are"
    return f"no validation problems: {largest} of {problems} training problems {verb} held out"


def _held_out(problems: int) -> int:
    return min(VALIDATION_PROBLEMS, problems // HELD_OUT_SHARE)


def says_how_goals_are_encoded(settings: Sequence[str]) -> bool:
    """Whether a text `key=value` says whether negated goals are encoded."""
    names = (NEGATIVE_GOALS, NEGATIVE_GOALS.partition(".")[2])
    return any(text.partition("=")[0].strip() in names for text in settings)


def for_goals_of(
    configuration: Configuration, settings: Sequence[str], read: Callable[[Configuration], Problems]
) -> tuple[Configuration, Problems]:
    """Problems, and the configuration that fits them: negated goals are encoded if there are any.

    `settings` changed the configuration; one that says whether negated goals are encoded has the last word.
    """
    if says_how_goals_are_encoded(settings):
        return configuration, read(configuration)
    able = changed(configuration, [f"{NEGATIVE_GOALS}=true"])
    problems = read(able)
    needed = any(len(task.goal.negative) for task in (*problems.training, *problems.held_out))
    return (able if needed else configuration), problems


def _useful(found: Sequence[tuple[Path, Task]], configuration: Configuration, warnings: list[str]) -> list[Task]:
    kept: list[Task] = []
    for path, task in found:
        reason = reason_against(task)
        if not reason and len(task.goal.negative) and not configuration.encoding.negative_goals:
            reason = f"its goal has negated literals, which need {NEGATIVE_GOALS}=true"
        if reason:
            warnings.append(f"{path} is left out: {reason}")
        else:
            kept.append(task)
    return kept


def digest_of(tasks: Sequence[Task]) -> str:
    """A short text that differs for different problems, and for the same ones in a different order."""
    digest = hashlib.sha256()
    for task in tasks:
        digest.update(" ".join(task.objects).encode())
        for codes in (task.initial_state.codes, task.goal.positive, task.goal.negative):
            digest.update(len(codes).to_bytes(8, "little") + codes.tobytes())
    return digest.hexdigest()[:16]
