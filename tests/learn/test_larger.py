"""Problems made in addition to the given ones: where they come from, and that grown ones are made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.grow.test_grow import SWITCHES
from tests.learn.small import small_tasks

import saltus.grow
from saltus.domains.generated import generated_task
from saltus.grow import Grower, Grown
from saltus.learn.config import Configuration, load_configuration
from saltus.learn.larger import Maker
from saltus.learn.problems import Problems, load_problems
from saltus.learn.values import FAR_OBJECTS
from saltus.pddl import Domain
from saltus.task import Task


class FakeGrower:
    """Returns the given tasks, and remembers what it was asked for."""

    asked: list[tuple[int, float, int]]

    def __init__(self, domain: Domain, tasks: Sequence[Task], seed: int = 0) -> None:
        self.tasks = list(tasks)

    def problems(self, count: int, times: float = 4.0, check: Callable[[], None] = lambda: None) -> Iterator[Grown]:
        """The first tasks."""
        FakeGrower.asked.append((count, times, len(self.tasks)))
        for task in self.tasks[:count]:
            check()
            yield Grown(task, task.name, "patterned", ())


@pytest.fixture(autouse=True)
def grower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Growing takes no time."""
    FakeGrower.asked = []
    monkeypatch.setattr(saltus.grow, "Grower", FakeGrower)


@pytest.fixture
def unheard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """No domain has a generator."""
    monkeypatch.setattr("saltus.learn.larger.find_domain", lambda domain: None)


def configured() -> Configuration:
    """A configuration that asks for two larger and two similar problems."""
    return load_configuration(None, ["larger_problems=2", "generated_problems=2"])


def known() -> Problems:
    """Problems of a domain with a generator."""
    tasks = small_tasks("ferry", 5)
    return Problems("ferry", tasks[0].domain, tasks[:4], tasks[4:])


def unknown() -> Problems:
    """Problems of a domain without one."""
    return load_problems(ROOT / "examples" / "gardener", configured())


def test_a_generator_comes_first(tmp_path: Path) -> None:
    problems = known()
    made = Maker(problems, configured(), tmp_path).larger()
    assert len(made) == 2
    assert min(len(task.objects) for task in made) > max(len(task.objects) for task in problems.training)
    assert Maker(problems, configured(), tmp_path).similar()
    assert FakeGrower.asked == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("unheard_of")
def test_without_a_generator_problems_are_grown() -> None:
    problems = known()
    assert Maker(problems, configured()).larger() == problems.training[:2]
    assert Maker(problems, configured()).similar() == problems.training[:2]
    assert FakeGrower.asked == [(2, 4.0, 5), (2, 1.0, 4)]  # validation problems are not learned from


def test_grown_problems_are_made_once_and_kept(tmp_path: Path) -> None:
    problems = unknown()
    Maker(problems, configured(), tmp_path / "grown").grow()
    assert len(FakeGrower.asked) == 2
    assert sorted(path.name.split("-")[0] for path in (tmp_path / "grown").iterdir()) == ["larger", "similar"]
    again = Maker(problems, configured(), tmp_path / "grown").larger()
    assert [task.objects for task in again] == [task.objects for task in problems.training[:2]]
    assert [task.initial_state for task in again] == [task.initial_state for task in problems.training[:2]]
    assert len(Maker(problems, configured(), tmp_path / "grown").similar()) == 2
    assert len(FakeGrower.asked) == 2
    fewer = replace(problems, training=problems.training[1:])
    Maker(fewer, configured(), tmp_path / "grown").similar()  # other problems: what was kept does not count
    assert len(FakeGrower.asked) == 3


def test_missing_larger_problems_are_told(tmp_path: Path) -> None:
    problems = unknown()
    assert Maker(problems, configured(), tmp_path / "whole").grow() == []
    calls = iter([False, True, True])
    assert Maker(problems, configured(), tmp_path / "part", lambda: next(calls)).grow() == [
        "only 1 of 2 larger problems could be grown from the given ones: how the policy does on them says less"
    ]
    assert len(Maker(problems, configured(), tmp_path / "part").larger()) == 1  # those made in time are kept
    assert Maker(problems, configured(), tmp_path / "none", lambda: True).grow()[0].startswith("no larger problems")


@pytest.mark.usefixtures("unheard_of")
def test_problems_that_are_given_for_both_are_counted_once() -> None:
    problems = known()
    few = Problems("ferry", problems.domain, problems.training[:3], problems.training[:3])
    Maker(few, configured()).larger()
    assert FakeGrower.asked == [(2, 4.0, 3)]


def test_far_larger_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = known()
    largest = max(len(task.objects) for task in problems.training)
    wanted = load_configuration(None, ["far_problems=3"])
    far = [len(task.objects) for task in Maker(problems, wanted).far()]
    assert len(far) == 3
    assert far == sorted(far)
    assert far[0] > 5 * largest
    assert far[-1] <= min(16 * largest, FAR_OBJECTS)
    assert Maker(problems, load_configuration(None, [])).far() == []
    monkeypatch.setattr("saltus.learn.larger.find_domain", lambda domain: None)
    Maker(problems, wanted).far()
    ((count, times, _),) = FakeGrower.asked
    assert (count, times) == (3, 16.0)


def test_nothing_is_far_larger_than_large_problems() -> None:
    problems = known()
    task = generated_task("ferry", "medium", 9, 10)
    assert len(task.objects) > FAR_OBJECTS / 6
    assert Maker(replace(problems, training=[task]), load_configuration(None, ["far_problems=3"])).far() == []


def test_problems_without_objects_have_no_larger_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(saltus.grow, "Grower", Grower)
    problems = Problems("switches", SWITCHES.domain, [SWITCHES], [SWITCHES])
    wanted = load_configuration(None, ["far_problems=2", "larger_problems=2", "generated_problems=2", "lean=true"])
    assert Maker(problems, wanted, tmp_path).grow()[0].startswith("no larger problems")
    assert Maker(problems, wanted).larger() == Maker(problems, wanted).far() == Maker(problems, wanted).similar() == []
