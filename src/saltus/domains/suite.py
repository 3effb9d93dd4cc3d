"""Suites on disk: problems of a domain written in the layout that `saltus.task.find_suite` reads.

    domain.pddl
    training/p001.pddl ...      validation/p001.pddl ...
    testing/easy/  testing/medium/  testing/hard/     (IPC domains)
    testing/p001.pddl ...                             (split test of the others)

Every file is written under another name first and renamed, so that a reader never sees half a file.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from saltus.domains.registry import DOMAINS, draw_sizes, generate_problem
from saltus.errors import ConfigurationError, InputError
from saltus.task.suite import DOMAIN_FILE, SPLITS


class SuiteExistsError(InputError):
    """Writing would overwrite a file of a suite or mix two suites."""


def _write(path: Path, text: bytes) -> None:
    """Writes a file whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_suite(
    directory: str | Path,
    name: str,
    split: str,
    count: int,
    seed: int = 0,
    overrides: Mapping[str, int] | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Path, ...]:
    """Paths of the problems written for one split, domain file beside them.

    Nothing is overwritten without `force`: a split that already has problems, or a domain file
    with other text, raises `SuiteExistsError` before anything is written. With `force` the split's
    problems p<number>.pddl are replaced as a whole. Other splits of the folder are left alone.
    `progress` is called with the number of problems written and `count`.
    """
    if count < 1:
        raise ConfigurationError(f"count must be at least 1, not {count}")
    # Unknown names, splits and sizes are refused before anything is written.
    for index in sorted({0, count - 1}):
        draw_sizes(name, split, index, count, seed, overrides)
    root = Path(directory)
    domain_path, domain_text = root / DOMAIN_FILE, DOMAINS[name].path.read_bytes()
    same_domain = domain_path.exists() and domain_path.read_bytes() == domain_text
    folder = root / SPLITS[split][0]
    present = sorted(folder.glob("*.pddl"))
    if not force:
        if domain_path.exists() and not same_domain:
            raise SuiteExistsError(f"{domain_path} is another domain than {name}")
        if present:
            raise SuiteExistsError(f"{folder} already has {len(present)} problems")
    if not same_domain:
        _write(domain_path, domain_text)
    width = max(3, len(str(count)))
    paths = tuple(folder / f"p{number:0{width}}.pddl" for number in range(1, count + 1))
    for index, path in enumerate(paths):
        text = generate_problem(name, split, index, count, seed, overrides)
        _write(path, text.encode())
        if progress is not None:
            progress(index + 1, count)
    for stale in set(present).difference(paths):
        if re.fullmatch(r"p\d+\.pddl", stale.name):
            stale.unlink()
    return paths
