"""Problems with nothing to spare among those that are learned from, and among those that policies are chosen by."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.learn.small import small_tasks

from saltus.domains.generated import generated_task
from saltus.learn.candidates import candidates_for
from saltus.learn.config import Configuration, load_configuration
from saltus.learn.larger import Maker
from saltus.learn.problems import Problems
from saltus.task import Task


def problems(name: str = "spanner") -> Problems:
    """A few small problems of a domain."""
    tasks = small_tasks(name, 8, of=16)
    return Problems(name, tasks[0].domain, tasks[:6], tasks[6:])


def configured(*settings: str) -> Configuration:
    return load_configuration(None, ["larger_problems=4", *settings])


def is_lean(task: Task) -> bool:
    """Whether there is a spanner for each nut, and no more."""
    kinds = Counter(entry.types[0] for entry in task.problem.objects)
    return kinds["spanner"] == kinds["nut"]


def test_training_problems_get_lean_versions() -> None:
    given = problems()
    spare = [task for task in given.training if not is_lean(task)]
    made = Maker(given, configured("lean=true")).lean()
    assert len(made) == len(spare) > 1
    assert all(is_lean(task) for task in made)


def test_nothing_changes_unless_asked_for_or_where_nothing_is_used_up(tmp_path: Path) -> None:
    assert Maker(problems(), configured()).lean() == Maker(problems("ferry"), configured("lean=true")).lean() == []
    assert Maker(problems("ferry"), configured("lean=true"), tmp_path).grow() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_known", [True, False])
def test_half_of_the_larger_problems_are_lean(is_known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given = problems()
    if not is_known:
        monkeypatch.setattr("saltus.learn.larger.find_domain", lambda domain: None)
    made = Maker(given, configured("lean=true")).larger()
    assert len(made) == 4
    assert [len(task.objects) for task in made] == sorted(len(task.objects) for task in made)
    assert sum(is_lean(task) for task in made) >= 2
    assert min(len(task.objects) for task in made) > max(len(task.objects) for task in given.training)


def test_lean_problems_are_made_once_and_kept(tmp_path: Path) -> None:
    given, wanted = problems(), configured("lean=true")
    assert Maker(given, wanted, tmp_path).grow() == []
    kept = {path.name.rpartition("-")[0]: sorted(path.iterdir()) for path in tmp_path.iterdir()}
    assert {name: len(files) > 1 for name, files in kept.items()} == {"lean": True, "larger-lean": True}
    assert [task.name for task in Maker(given, wanted, tmp_path).lean()] == [
        task.name for task in Maker(given, wanted).lean()
    ]
    fewer = replace(given, training=given.training[1:])
    Maker(fewer, wanted, tmp_path).lean()  # other problems: what was kept does not count
    assert len(list(tmp_path.iterdir())) == 3


def test_no_time_is_no_error(tmp_path: Path) -> None:
    given = problems()
    assert Maker(given, configured("lean=true"), tmp_path, lambda: True).grow() == []
    assert Maker(given, configured("lean=true"), tmp_path).lean() == []
    assert len(Maker(given, configured("lean=true"), tmp_path).larger()) == 4  # the generator's


def test_contests_have_them() -> None:
    assert all(entry.configuration.training.lean for entry in candidates_for(problems().training, "cpu"))


def test_larger_problems_are_larger_even_if_much_can_be_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty spanners for a few nuts: without them, problems would be smaller than the given ones."""
    tasks = [
        generated_task("spanner", "training", 0, 1, seed, {"spanners": 30 + seed, "nuts": 2 + seed, "locations": 3})
        for seed in range(3)
    ]
    given = Problems("spanner", tasks[0].domain, tasks, tasks[2:])
    monkeypatch.setattr("saltus.learn.larger.find_domain", lambda domain: None)
    made = Maker(given, configured("lean=true")).larger()
    assert min(len(task.objects) for task in made) > max(len(task.objects) for task in given.training)
