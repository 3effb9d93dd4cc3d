"""Figures of `benchmarks/grown.py`: hand-computed distances, problems of the same sizes, descriptions of faults."""

from __future__ import annotations

from types import ModuleType

import pytest
from tests.scripts import script

from saltus.domains import generate_sizes
from saltus.domains.generated import generated_task
from saltus.pddl import Source, parse_problem
from saltus.policy.outcome import Outcome
from saltus.task import Task, build_task

DOMAIN = generated_task("ferry", "training").domain


@pytest.fixture(scope="module")
def grown() -> ModuleType:
    """The script as a module."""
    return script("benchmarks/grown.py")


def ferry(cars: int, locations: int, seed: int = 0) -> Task:
    """A ferry problem of these sizes."""
    text = generate_sizes("ferry", {"cars": cars, "locations": locations}, seed)
    return build_task(DOMAIN, parse_problem(Source.from_bytes(text.encode(), "ferry"), DOMAIN))


def test_problems_of_the_same_counts_are_at_no_distance(grown: ModuleType) -> None:
    made, others = [ferry(4, 6)], [ferry(4, 6, seed=1), ferry(4, 6, seed=2)]
    assert grown.off_by(grown.kinds, made, others) == "1.00"
    assert grown.off_by(grown.atoms, made, others) == "1.00"


def test_distances_are_geometric_means_of_ratios(grown: ModuleType) -> None:
    """Ten objects each, so half an object is added to every count: 2 of 10 cars and 8 of 10 against 5 and 5."""
    expected = ((5.5 / 2.5) * (8.5 / 5.5)) ** 0.5
    assert grown.off_by(grown.kinds, [ferry(2, 8)], [ferry(5, 5)]) == f"{expected:.2f}"


def test_atoms_are_counted_in_initial_state_and_goal(grown: ModuleType) -> None:
    assert grown.atoms(ferry(3, 4)) == {"at": 3, "at-ferry": 1, "empty-ferry": 1, "goal at": 3}


def test_plans_are_compared_by_actions_per_goal(grown: ModuleType) -> None:
    made = grown.Solved([Outcome.FOUND, Outcome.TIME], ["", ""], [8, None])
    others = grown.Solved([Outcome.FOUND], [""], [24])
    assert grown.off_by_plans([ferry(2, 3), ferry(2, 3)], made, [ferry(3, 3)], others) == "2.00"
    assert (made.share(), made.share([True, False]), made.share([False, True])) == ("50 %", "100 %", "0 %")


def test_peers_are_of_the_sizes_asked_for(grown: ModuleType) -> None:
    sizes = [10, 20, 33]
    found = [len(task.objects) for task in grown.peers("ferry", DOMAIN, sizes, 0)]
    assert all(abs(size - wanted) <= 1 for size, wanted in zip(found, sizes, strict=True))


def test_faults_of_one_kind_are_counted_together(grown: ModuleType) -> None:
    faults = [["init: car car1 has 2 of (at x _)", "init: car car2 has 2 of (at x _)"], []]
    lines = grown.described_faults("ferry", [ferry(3, 4), ferry(3, 4)], faults)
    assert lines == ["- ferry: 1 of 2: init: car car2 has 2 of (at x _)"]
