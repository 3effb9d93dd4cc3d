"""Stage `task`: folders of problems.

A suite is a folder with `domain.pddl` and problems under `training/`, `validation/`, `testing/easy|medium|hard/` or
`testing/`. The IPC 2023 Learning Track's own layout, `training/easy/` without `validation/`, is read with the paper's
split: sorted by file name, the last thirty are validation.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from saltus.errors import InputError

DOMAIN_FILE = "domain.pddl"
PAPER_VALIDATION = 30
SPLITS = {
    "training": ("training", "training/easy", "training/medium", "training/hard"),
    "validation": ("validation",),
    "easy": ("testing/easy",),
    "medium": ("testing/medium",),
    "hard": ("testing/hard",),
    "test": ("testing",),
}


@dataclass(frozen=True)
class Suite:
    """A domain file and its problem files by split; splits without problems are left out."""

    name: str
    domain: Path
    splits: dict[str, tuple[Path, ...]]


def find_suite(folder: str | os.PathLike[str]) -> Suite:
    """Suite in a folder that holds `domain.pddl`; no domain file or no problem at all is an `InputError`."""
    root = Path(folder)
    domain = root / DOMAIN_FILE
    if not root.is_dir():
        raise InputError(f"{root}: {'not a folder' if root.exists() else 'no such folder'}")
    if not domain.is_file():
        raise InputError(f"{root}: no {DOMAIN_FILE} in this folder")
    splits = {
        split: tuple(path for place in places for path in sorted((root / place).glob("*.pddl")))
        for split, places in SPLITS.items()
    }
    if not any(splits.values()):
        splits["training"] = tuple(path for path in sorted(root.glob("*.pddl")) if path != domain)
    if not splits["validation"] and len(splits["training"]) > PAPER_VALIDATION and (root / "training/easy").is_dir():
        splits["validation"] = splits["training"][-PAPER_VALIDATION:]
        splits["training"] = splits["training"][:-PAPER_VALIDATION]
    if not any(splits.values()):
        raise InputError(f"{root}: no problems found under training/, validation/ or testing/")
    return Suite(root.resolve().name, domain, {split: paths for split, paths in splits.items() if paths})


def find_suites(folder: str | os.PathLike[str]) -> list[Suite]:
    """The suite in the folder itself, or all suites one level below it."""
    root = Path(folder)
    if (root / DOMAIN_FILE).is_file() or not root.is_dir():
        return [find_suite(root)]
    found = [find_suite(path) for path in sorted(root.iterdir()) if (path / DOMAIN_FILE).is_file()]
    if not found:
        raise InputError(f"{root}: no {DOMAIN_FILE} in this folder, nor one level below")
    return found
