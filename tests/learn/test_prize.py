"""The policy of a contest: who gets it, when it changes hands, and what happens if it cannot be written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.learn.small import small_tasks
from tests.learn.test_contest import standing, validation

from saltus.files import WriteError
from saltus.learn.candidates import Candidate
from saltus.learn.contest_state import Budget, ContestState
from saltus.learn.final import Placing
from saltus.learn.prize import CHOSEN, Prize
from saltus.learn.ranking import ranked
from saltus.model.policy_file import load_policy_file
from saltus.policy.catalogue import find_policy


@dataclass
class Place:
    """A contest of the runs a and b, whose policies are texts; and what was published."""

    folder: Path
    published: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    fails: bool = False

    def __post_init__(self) -> None:
        runs = [Candidate(name, "tiny", (), 0) for name in "ab"]
        self.state = ContestState("problems", 0, [], Budget(60.0), runs, ["a", "b"])
        self.prize = Prize(self.state, self.folder, self.publish, self.warnings.append)

    def publish(self, path: Path) -> None:
        if self.fails:
            raise WriteError("disk full")
        self.published.append(path.read_text())

    def write(self, name: str, episode: int | None = None) -> Path:
        """Writes the policy of a run, or of one of its validations."""
        run = self.folder / "candidates" / name
        path = run / "policy.safetensors" if episode is None else run / "checkpoints" / f"{episode:04}.safetensors"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name} {episode or 'best'}")
        return path

    def award(self, **solved: int) -> str | None:
        """Hands out the policy; the runs have solved so many problems at episode 1."""
        return self.prize.award(ranked([standing(name, validation(1, count)) for name, count in solved.items()]))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A contest whose runs have policies."""
    found = Place(tmp_path)
    for name in "ab":
        found.write(name)
    return found


def test_the_best_run_gets_it_once(place: Place) -> None:
    assert place.award(a=5, b=3) == ""  # nobody was ahead before
    assert (place.state.winner, place.state.reason) == ("a", "a: 5 of 10, 100 actions; next: b: 3 of 10, 100 actions")
    assert place.award(a=5, b=4) is None
    assert place.state.reason == "a: 5 of 10, 100 actions; next: b: 4 of 10, 100 actions"
    assert place.award(a=6, b=4) == ""
    assert place.award(a=6, b=7) == "b: 7 of 10, 100 actions"
    assert place.published == ["a best", "a best", "b best"]
    assert place.warnings == []


def test_without_validations_or_a_file_nothing_is_handed_out(place: Place) -> None:
    assert place.prize.award([standing("a")]) is None
    assert place.state.winner == ""
    (place.folder / "candidates" / "a" / "policy.safetensors").unlink()
    assert place.award(a=5, b=3) is None
    assert place.published == []
    place.write("a")
    assert place.award(a=5, b=3) == ""


def test_what_cannot_be_published_is_told_and_tried_again(place: Place) -> None:
    place.fails = True
    assert place.award(a=5) is None
    assert place.warnings == ["best policy not saved: disk full"]
    place.fails = False
    assert place.award(a=5) == ""
    assert place.published == ["a best"]


def test_the_final_says_more_than_validations(place: Place) -> None:
    place.award(a=10, b=10)
    place.state.placings = [Placing("b", 1, 4, 4, 9.0, 1.0), Placing("a", 1, 3, 4, 9.0, 1.0)]
    assert place.award(a=10, b=10) is None  # its checkpoint is gone
    place.write("b", 1)
    first, second = map(str, place.state.placings)
    assert place.award(a=10, b=10) == first
    assert (place.state.winner, place.state.reason) == ("b", f"{first}; next: {second}")
    assert place.award(a=10, b=10) is None
    assert place.award(a=10, b=2) == "a: 10 of 10, 100 actions"  # the best of the final has been left far behind
    place.state.placings = [Placing("b", 1, 0, 4, 0.0, 0.0)]
    assert place.award(a=10, b=10) is None
    assert place.published == ["a best", "b 1", "a best"]


def test_another_way_to_play_is_another_policy(tmp_path: Path) -> None:
    """It is written with that way; one that is no policy file is told, and nothing is left behind."""
    place, plays = Place(tmp_path), list[int | None]()
    prize = Prize(
        place.state, tmp_path, lambda path: plays.append(load_policy_file(path).play.roles), place.warnings.append
    )
    (task,) = small_tasks("ferry", 1)
    path = place.write("a", 1)
    order = [standing("a", validation(1, 10))]
    place.state.placings = [Placing("a", 1, 4, 4, 9.0, 1.0, ("roles=8",))]
    assert prize.award(order) is None
    (warning,) = place.warnings
    assert warning.startswith("best policy not saved: ")
    path.write_bytes(find_policy(task.domain).read_bytes())
    assert prize.award(order) == ""
    assert prize.award(order) is None
    place.state.placings = [Placing("a", 1, 4, 4, 9.0, 1.0, ("roles=4",))]
    assert prize.award(order) == ""
    assert plays == [8, 4]
    assert not (tmp_path / CHOSEN).exists()


def test_a_contest_that_validated_nothing_hands_out_the_first_policy_there_is(place: Place) -> None:
    (place.folder / "candidates" / "a" / "policy.safetensors").unlink()
    place.fails = True
    place.prize.award_unvalidated()
    assert place.warnings == ["policy not saved: disk full"]
    place.fails = False
    place.prize.award_unvalidated()
    assert place.published == ["b best"]
    assert place.state.winner == ""


def test_a_validated_policy_is_not_replaced_by_another(place: Place) -> None:
    place.award(b=5)
    place.prize.award_unvalidated()
    later = Prize(place.state, place.folder, place.publish)  # the contest was resumed
    later.award_unvalidated()
    assert place.published == ["b best"]


def test_by_default_the_policy_is_in_the_folder(place: Place) -> None:
    Prize(place.state, place.folder).award([standing("a", validation(1, 5))])
    assert (place.folder / "policy.safetensors").read_text() == "a best"
