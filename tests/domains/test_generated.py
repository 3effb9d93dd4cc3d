"""Generated problems: their sizes, finding the generator by a domain's contents and not its name, unknown domains."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tasks import domain_of

from saltus.domains.generated import find_domain, generated_task, larger_problems, similar_problems
from saltus.domains.registry import DOMAINS, generate_problem
from saltus.pddl import Source, parse_domain, parse_problem
from saltus.task import build_task


def text_of(name: str) -> str:
    """The domain file of a registered domain."""
    return Path(DOMAINS[name].path).read_text()


@pytest.mark.parametrize(("name", "objects"), [("blocksworld", 10), ("spanner", 25), ("logistics", 20)])
def test_problems_are_three_to_five_times_larger_and_the_same_every_time(name: str, objects: int) -> None:
    domain = parse_domain(Source.from_file(DOMAINS[name].path))
    assert find_domain(domain) == name
    found = larger_problems(domain, objects, 4)
    sizes = [len(task.objects) for task in found]
    assert len(found) == 4
    assert sizes == sorted(sizes)
    assert 3 * objects <= sizes[0] <= sizes[-1] <= 5 * objects
    again = larger_problems(domain, objects, 4)
    assert [task.initial_state for task in again] == [task.initial_state for task in found]
    assert [task.goal for task in again] == [task.goal for task in found]


def test_a_generated_task_is_that_of_the_generated_text() -> None:
    """Both with the registered domain and with a copy under another name."""
    copy = domain_of(text_of("ferry").replace("(domain ferry", "(domain boats"))
    text = generate_problem("ferry", "easy", 2, 5, 3)
    domain = parse_domain(Source.from_file(DOMAINS["ferry"].path))
    expected = build_task(domain, parse_problem(Source.from_bytes(text.encode(), "ferry"), domain))
    for found in (generated_task("ferry", "easy", 2, 5, 3), generated_task("ferry", "easy", 2, 5, 3, domain=copy)):
        assert (found.initial_state, found.goal, found.objects) == (
            expected.initial_state,
            expected.goal,
            expected.objects,
        )
    assert copy.name != domain.name
    assert len(generated_task("ferry", "easy", overrides={"cars": 3, "locations": 4}).objects) == 7


def test_similar_problems_are_no_larger_and_the_same_every_time() -> None:
    domain = parse_domain(Source.from_file(DOMAINS["sokoban"].path))
    found = similar_problems(domain, 90, 12)
    sizes = [len(task.objects) for task in found]
    assert 0 < len(found) < 12
    assert sizes == sorted(sizes)
    assert sizes[-1] <= 90
    assert [task.initial_state for task in similar_problems(domain, 90, 12)] == [task.initial_state for task in found]
    assert len(similar_problems(domain, 10_000, 5)) == 5
    assert similar_problems(domain, 90, 0) == []
    assert similar_problems(domain_of(text_of("ferry").replace("sail", "swim")), 90, 5) == []


def test_the_nearest_sizes_are_taken_if_no_problem_is_as_large() -> None:
    domain = parse_domain(Source.from_file(DOMAINS["blocksworld"].path))
    assert larger_problems(domain, 5_000, 2)
    assert larger_problems(domain, 5, 0) == []


def test_a_domain_under_another_name_has_its_generator() -> None:
    domain = domain_of(text_of("blocksworld").replace("(domain blocksworld)", "(domain my-blocks)"))
    assert domain.name == "my-blocks"
    found = larger_problems(domain, 10, 2)
    assert len(found) == 2
    assert all(task.domain is domain for task in found)


def test_a_different_domain_has_no_generator() -> None:
    domain = domain_of(text_of("blocksworld").replace("pickup", "lift").replace("pick-up", "lift"))
    assert find_domain(domain) is None
    assert larger_problems(domain, 10, 2) == []
