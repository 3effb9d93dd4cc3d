"""Folders of problems and their splits."""

from __future__ import annotations

from pathlib import Path

import pytest

from saltus.errors import InputError
from saltus.task import find_suite, find_suites


def make(folder: Path, *files: str) -> Path:
    """A folder with these empty files."""
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def names(folder: Path) -> dict[str, list[str]]:
    """Files of every split, relative to the folder."""
    suite = find_suite(folder)
    return {split: [str(path.relative_to(folder)) for path in paths] for split, paths in suite.splits.items()}


def test_own_layout(tmp_path: Path) -> None:
    make(tmp_path, "domain.pddl", "training/b.pddl", "training/a.pddl", "validation/c.pddl", "testing/d.pddl", "x.pddl")
    assert names(tmp_path) == {
        "training": ["training/a.pddl", "training/b.pddl"],
        "validation": ["validation/c.pddl"],
        "test": ["testing/d.pddl"],
    }
    suite = find_suite(tmp_path)
    assert suite.name == tmp_path.name
    assert suite.domain == tmp_path / "domain.pddl"


def test_ipc_layout_gives_the_last_thirty_to_validation(tmp_path: Path) -> None:
    files = [f"training/easy/p{i:02}.pddl" for i in range(1, 41)]
    make(tmp_path, "domain.pddl", *files, "testing/easy/p1.pddl", "testing/medium/p1.pddl", "testing/hard/p1.pddl")
    assert names(tmp_path) == {
        "training": files[:10],
        "validation": files[10:],
        "easy": ["testing/easy/p1.pddl"],
        "medium": ["testing/medium/p1.pddl"],
        "hard": ["testing/hard/p1.pddl"],
    }


def test_few_training_problems_are_not_split(tmp_path: Path) -> None:
    files = [f"training/easy/p{i:02}.pddl" for i in range(30)]
    assert names(make(tmp_path, "domain.pddl", *files)) == {"training": files}


def test_flat_folder(tmp_path: Path) -> None:
    assert names(make(tmp_path, "domain.pddl", "p2.pddl", "p1.pddl")) == {"training": ["p1.pddl", "p2.pddl"]}


def test_several_suites(tmp_path: Path) -> None:
    make(tmp_path, "b/domain.pddl", "b/p.pddl", "a/domain.pddl", "a/p.pddl", "c/readme.txt")
    assert [suite.name for suite in find_suites(tmp_path)] == ["a", "b"]
    assert [suite.name for suite in find_suites(tmp_path / "a")] == ["a"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ((), "no domain.pddl in this folder, nor in the folders directly below it"),
        (("domain.pddl",), "no problems found in this folder, nor in training/, validation/ or testing/"),
        (("a/domain.pddl",), "a: no problems found in this folder, nor in training/, validation/ or testing/"),
    ],
)
def test_errors(tmp_path: Path, files: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_suites(make(tmp_path, *files))


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: no such folder"):
        find_suites(tmp_path / "none")
    with pytest.raises(InputError, match=r"no domain\.pddl in this folder"):
        find_suite(make(tmp_path, "x.pddl"))
