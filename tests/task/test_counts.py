"""The paper's data table: objects and atoms of the ten IPC domains."""

from __future__ import annotations

from pathlib import Path

import pytest

from saltus.pddl import Source, parse_domain
from saltus.task import find_suite, load

# Training, validation and test rows as printed in the appendix: problems, objects min and max, atoms min and max.
TABLE = {
    "blocksworld": ((69, 2, 20, 6, 45), (30, 21, 29, 45, 64), (90, 5, 488, 13, 1019)),
    "childsnack": ((68, 7, 41, 20, 135), (30, 41, 52, 135, 174), (90, 21, 1327, 63, 4563)),
    "ferry": ((69, 3, 25, 9, 65), (30, 26, 35, 68, 92), (90, 7, 1461, 18, 3898)),
    "floortile": ((67, 5, 40, 17, 238), (30, 37, 45, 215, 267), (90, 15, 1022, 79, 6884)),
    "miconic": ((69, 3, 21, 10, 148), (30, 22, 30, 164, 271), (90, 5, 681, 19, 21443)),
    "rovers": ((69, 10, 28, 35, 254), (30, 28, 36, 193, 422), (90, 12, 596, 56, 294553)),
    "satellite": ((69, 5, 32, 15, 133), (30, 34, 43, 139, 196), (90, 11, 402, 37, 2402)),
    "sokoban": ((69, 54, 128, 134, 517), (30, 128, 177, 475, 793), (90, 69, 9884, 219, 55872)),
    "spanner": ((59, 6, 22, 22, 88), (30, 22, 28, 88, 114), (90, 9, 833, 31, 3961)),
    "transport": ((69, 6, 34, 20, 258), (30, 34, 45, 140, 382), (90, 12, 354, 47, 7785)),
}

Row = tuple[int, int, int, int, int]


def row(domain_file: Path, files: tuple[Path, ...]) -> Row:
    """Problems, objects min and max, atoms min and max."""
    domain = parse_domain(Source.from_file(domain_file))
    tasks = [load(domain, path) for path in files]
    objects = [task.object_count for task in tasks]
    atoms = [task.atom_count for task in tasks]
    return len(files), min(objects), max(objects), min(atoms), max(atoms)


@pytest.mark.parametrize("name", TABLE)
def test_training_and_validation_rows(ipc: Path, name: str) -> None:
    suite = find_suite(ipc / name)
    assert row(suite.domain, suite.splits["training"]) == TABLE[name][0]
    assert row(suite.domain, suite.splits["validation"]) == TABLE[name][1]


@pytest.mark.parametrize("name", TABLE)
def test_test_rows(ipc: Path, name: str) -> None:
    """The whole row where all ninety problems are there; with fewer, no count lies outside of the paper's."""
    suite = find_suite(ipc / name)
    files = tuple(path for split in ("easy", "medium", "hard", "test") for path in suite.splits.get(split, ()))
    found = row(suite.domain, files)
    printed = TABLE[name][2]
    if len(files) == printed[0]:
        assert found == printed
    else:
        assert printed[1] <= found[1] <= found[2] <= printed[2]
        assert printed[3] <= found[3] <= found[4] <= printed[4]


# Domains whose hard p30 is the largest test problem in objects and in atoms.
LARGEST_IS_P30 = ("blocksworld", "childsnack", "ferry", "miconic", "satellite", "sokoban", "spanner")


@pytest.mark.parametrize("name", LARGEST_IS_P30)
def test_largest_test_problem(ipc: Path, name: str) -> None:
    path = ipc / name / "testing" / "hard" / "p30.pddl"
    if not path.is_file():
        pytest.skip("the largest problem is not in the folder")
    task = load(ipc / name / "domain.pddl", path)
    printed = TABLE[name][2]
    assert (task.object_count, task.atom_count) == (printed[2], printed[4])
