"""Stage `domains`: suites on disk: problems of a domain, written in the layout that `saltus.task.find_suite` reads.

    domain.pddl
    training/p001.pddl ...      validation/p001.pddl ...
    testing/easy/  testing/medium/  testing/hard/     (IPC domains)
    testing/p001.pddl ...                             (split test of the others)

Every file is written under another name and then renamed, so that a reader never sees half a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from saltus.domains.registry import DOMAINS, draw_sizes, generate_problem
from saltus.errors import ConfigurationError, InputError, plural
from saltus.files import PDDL_BYTES, make_folder, read_whole, write_whole
from saltus.task import Split
from saltus.task.suite import DOMAIN_FILE, FOLDERS


class SuiteExistsError(InputError):
    """Writing would overwrite a file of a suite or mix two suites."""


def check_suite(
    directory: str | Path,
    name: str,
    split: str,
    count: int,
    seed: int = 0,
    overrides: Mapping[str, int] | None = None,
    force: bool = False,
) -> None:
    """Raises the error that `write_suite` would raise, if any, without writing anything."""
    if count < 1:
        raise ConfigurationError(f"count must be at least 1, not {count}")
    for index in sorted({0, count - 1}):  # unknown names, splits and sizes
        draw_sizes(name, split, index, count, seed, overrides)
    domain_path = Path(directory) / DOMAIN_FILE
    if os.path.lexists(domain_path) and read_whole(domain_path, PDDL_BYTES) != DOMAINS[name].path.read_bytes():
        raise SuiteExistsError(f"{domain_path} is not the domain {name}; choose another folder")
    folder = Path(directory) / FOLDERS[Split(split)][0]
    present = len(list(folder.glob("*.pddl")))
    if present and not force:
        raise SuiteExistsError(f"{folder} already has {plural(present, 'problem')}; --force (force=True) replaces them")


def write_suite(
    directory: str | Path,
    name: str,
    split: str,
    count: int,
    seed: int = 0,
    overrides: Mapping[str, int] | None = None,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> tuple[Path, ...]:
    """The paths of the problems written for one split; the domain file is written to `directory`.

    Without `force` nothing is overwritten: a split that already has problems raises a `SuiteExistsError` before
    anything is written. A different domain file raises it in any case. With `force`, all of the split's problems
    p<number>.pddl are replaced. Other splits in the folder are not touched. `progress` is called with the number of
    problems written.
    """
    check_suite(directory, name, split, count, seed, overrides, force)
    root = Path(directory)
    folder = root / FOLDERS[Split(split)][0]
    present = sorted(folder.glob("*.pddl"))
    make_folder(root)
    if not (root / DOMAIN_FILE).exists():
        write_whole(root / DOMAIN_FILE, DOMAINS[name].path.read_bytes())
    make_folder(folder)
    width = max(3, len(str(count)))
    paths = tuple(folder / f"p{number:0{width}}.pddl" for number in range(1, count + 1))
    for index, path in enumerate(paths):
        text = generate_problem(name, split, index, count, seed, overrides)
        write_whole(path, text.encode())
        if progress is not None:
            progress(index + 1)
    for stale in set(present).difference(paths):
        if re.fullmatch(r"p\d+\.pddl", stale.name):
            stale.unlink()
    return paths
