"""Suites on disk: written and read back, nothing overwritten."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from saltus.domains import DOMAINS, generate_problem
from saltus.domains.suite import SuiteExistsError, write_suite
from saltus.errors import ConfigurationError, InputError
from saltus.task import find_suite


def names(paths: tuple[Path, ...]) -> list[str]:
    """File names."""
    return [path.name for path in paths]


def test_splits_go_into_one_folder_and_are_found_again(tmp_path: Path) -> None:
    seen: list[int] = []
    for split, count in (("training", 12), ("validation", 3), ("easy", 2), ("hard", 1)):
        written = write_suite(tmp_path, "ferry", split, count, seed=4)
        assert len(written) == count
    write_suite(tmp_path, "ferry", "medium", 2, progress=seen.append)
    assert seen == [1, 2]
    suite = find_suite(tmp_path)
    assert suite.domain.read_bytes() == DOMAINS["ferry"].path.read_bytes()
    assert {split: len(paths) for split, paths in suite.splits.items()} == {
        "training": 12,
        "validation": 3,
        "easy": 2,
        "medium": 2,
        "hard": 1,
    }
    assert suite.splits["training"][0] == tmp_path / "training" / "p001.pddl"
    assert suite.splits["easy"][1] == tmp_path / "testing" / "easy" / "p002.pddl"
    assert suite.splits["training"][4].read_text() == generate_problem("ferry", "training", 4, 12, 4)


def test_the_split_test_goes_into_testing(tmp_path: Path) -> None:
    write_suite(tmp_path, "delivery", "test", 2)
    suite = find_suite(tmp_path)
    assert suite.splits == {"test": (tmp_path / "testing" / "p001.pddl", tmp_path / "testing" / "p002.pddl")}


def test_names_sort_like_numbers(tmp_path: Path) -> None:
    write_suite(tmp_path, "ferry", "training", 1001)
    found = names(find_suite(tmp_path).splits["training"])
    assert found[:2] == ["p0001.pddl", "p0002.pddl"]
    assert found[-1] == "p1001.pddl"


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    write_suite(tmp_path, "ferry", "training", 3, seed=1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.pddl")}
    with pytest.raises(SuiteExistsError):
        write_suite(tmp_path, "ferry", "training", 5, seed=2)
    with pytest.raises(SuiteExistsError):
        write_suite(tmp_path, "miconic", "easy", 1)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*.pddl")}
    assert not (tmp_path / "testing").exists()


def test_force_replaces_the_split_as_a_whole(tmp_path: Path) -> None:
    write_suite(tmp_path, "ferry", "training", 5, seed=1)
    write_suite(tmp_path, "ferry", "validation", 1, seed=1)
    (tmp_path / "training" / "mine.pddl").write_text("(kept)")
    write_suite(tmp_path, "ferry", "training", 2, seed=2, force=True)
    assert sorted(os.listdir(tmp_path / "training")) == ["mine.pddl", "p001.pddl", "p002.pddl"]
    assert (tmp_path / "training" / "p002.pddl").read_text() == generate_problem("ferry", "training", 1, 2, seed=2)
    assert len(find_suite(tmp_path).splits["validation"]) == 1


@pytest.mark.parametrize(
    ("name", "split", "count", "overrides"),
    [
        ("fery", "training", 1, {}),
        ("ferry", "test", 1, {}),
        ("ferry", "training", 0, {}),
        ("ferry", "training", 2, {"boats": 1}),
        ("ferry", "training", 2, {"locations": 1}),
    ],
)
def test_a_refused_request_leaves_no_trace(
    tmp_path: Path, name: str, split: str, count: int, overrides: dict[str, int]
) -> None:
    with pytest.raises(ConfigurationError):
        write_suite(tmp_path / "suite", name, split, count, overrides=overrides)
    assert not (tmp_path / "suite").exists()


def test_a_failed_write_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(source: str, target: str) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("saltus.files.os.replace", broken)
    with pytest.raises(InputError, match="disk full"):
        write_suite(tmp_path, "ferry", "training", 1)
    assert list(tmp_path.rglob("*")) == []
