"""Stage `task`: folders of problems, and the names of their splits.

A suite is a folder with `domain.pddl` and problems in `training/`, `validation/`, `testing/easy|medium|hard/` or
`testing/`. The IPC 2023 Learning Track has `training/easy/` and no `validation/`; its problems are split as in the
paper: sorted by file name, the last thirty are for validation.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from saltus.errors import InputError

DOMAIN_FILE = "domain.pddl"


class Split(StrEnum):
    """A part of a suite, in the order in which splits are listed."""

    TRAINING = "training"
    VALIDATION = "validation"
    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"
    TEST = "test"
    """Test problems that are not sorted by difficulty."""


TEST_SPLITS = (Split.EASY, Split.MEDIUM, Split.HARD, Split.TEST)


def split_order(split: str) -> int:
    """Position of a split in a listing; unknown names come last."""
    names = list(Split)
    return names.index(Split(split)) if split in names else len(names)


FOLDERS = {
    Split.TRAINING: ("training", "training/easy", "training/medium", "training/hard"),
    Split.VALIDATION: ("validation",),
    Split.EASY: ("testing/easy",),
    Split.MEDIUM: ("testing/medium",),
    Split.HARD: ("testing/hard",),
    Split.TEST: ("testing",),
}
"""Folders that are read for each split; problems are written to the first one."""


@dataclass(frozen=True)
class Suite:
    """A domain file and its problem files by split. Splits without problems are left out."""

    name: str
    domain: Path
    splits: dict[str, tuple[Path, ...]]

    def training_files(self) -> tuple[Path, ...]:
        """Files of the training problems; an `InputError` if there are none."""
        if Split.TRAINING not in self.splits:
            folder = self.domain.parent
            raise InputError(f"{folder}: no training problems; expected them in {folder} or in {folder}/training")
        return self.splits[Split.TRAINING]


def find_suite(folder: str | os.PathLike[str]) -> Suite:
    """Suite in a folder that holds `domain.pddl`. A missing domain file, or no problems, raises an `InputError`."""
    root = Path(folder)
    domain = root / DOMAIN_FILE
    if not root.is_dir():
        raise InputError(f"{root}: {'not a folder' if root.exists() else 'no such folder'}")
    if not domain.is_file():
        raise InputError(f"{root}: no {DOMAIN_FILE} in this folder")
    splits: dict[str, tuple[Path, ...]] = {
        split: tuple(path for place in places for path in sorted((root / place).glob("*.pddl")))
        for split, places in FOLDERS.items()
    }
    if not any(splits.values()):  # problems may lie next to the domain file
        splits[Split.TRAINING] = tuple(path for path in sorted(root.glob("*.pddl")) if path != domain)
    training = splits[Split.TRAINING]
    # the paper takes 30 of the training problems for validation
    if not splits[Split.VALIDATION] and len(training) > 30 and (root / "training/easy").is_dir():
        splits[Split.VALIDATION] = training[-30:]
        splits[Split.TRAINING] = training[:-30]
    if not any(splits.values()):
        raise InputError(f"{root}: no problems found in this folder, nor in training/, validation/ or testing/")
    return Suite(root.resolve().name, domain, {split: paths for split, paths in splits.items() if paths})


def find_suites(folder: str | os.PathLike[str]) -> list[Suite]:
    """The suite in the folder itself, or all suites in folders directly below it."""
    root = Path(folder)
    if (root / DOMAIN_FILE).is_file() or not root.is_dir():
        return [find_suite(root)]
    found = [find_suite(path) for path in sorted(root.iterdir()) if (path / DOMAIN_FILE).is_file()]
    if not found:
        raise InputError(f"{root}: no {DOMAIN_FILE} in this folder, nor in the folders directly below it")
    return found
