"""What is kept of trees that are too large: the encoding budget and the stop rule, by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples
from tests.lookahead.test_kernel import ARRAYS
from tests.random_tasks import random_tasks
from tests.tasks import task_of
from tests.trees import check_valid
from tests.twins import lookahead as twin
from tests.twins.budget import choose_encoded

from saltus.lookahead import LookaheadTree, PlaySpec, TreeSpec, lookahead
from saltus.task import Task

pytestmark = pytest.mark.kernel

BUILDS = [lookahead, twin.lookahead]
"""Both implementations."""

LINE = """(define (domain line) (:predicates (at ?x) (next ?x ?y) (seen ?x))
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (next ?x ?y))
    :effect (and (at ?y) (seen ?y) (not (at ?x)))))"""


def line(places: Sequence[str], links: str, goal: str) -> Task:
    """A walk from the first place over one-way links such as `a-b`; places stay seen."""
    pairs = " ".join(f"(next {a} {b})" for a, b in (link.split("-") for link in links.split()))
    return task_of(
        LINE,
        f"(define (problem p) (:domain line) (:objects {' '.join(places)}) (:init (at {places[0]}) {pairs})"
        f" (:goal (and {goal})))",
    )


@pytest.fixture
def fork() -> Task:
    """Two ways from r: a-b-c-d and x-y; seen d and seen y are the goals.

    The tree, as (number: place): 1: a, 2: x, 3: b, 4: y, 5: c, 6: d.
    """
    return line("raxbycd", "r-a r-x a-b x-y b-c c-d", "(seen d) (seen y)")


def places(tree: LookaheadTree) -> str:
    """Where each node is, the root first."""
    names = ([tree.task.atom_name(code) for code in tree.state_of(node)] for node in range(len(tree)))
    return "".join(name[4] for atoms in names for name in atoms if name.startswith("(at "))


# -- the choice ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("most", "kept"),
    [
        (1, [1]),  # no better node fits with its ancestors
        (2, [2, 4]),  # 4 is the first better node, and needs 2; 6 does not fit
        (3, [1, 2, 4]),  # what is left goes to the others, in the order found
        (4, [1, 2, 3, 4]),
        (5, [1, 2, 3, 4, 5]),
        (6, [1, 2, 3, 4, 5, 6]),
        (99, [1, 2, 3, 4, 5, 6]),
    ],
)
def test_better_nodes_come_first_with_their_ancestors(most: int, kept: list[int]) -> None:
    #         0
    #       1   2
    #       3   4*
    #       5
    #       6*
    assert choose_encoded([-1, 0, 0, 1, 2, 3, 5], [1, 1, 1, 1, 2, 1, 2], total=9, most=most) == [0, *kept]


def test_a_node_that_does_not_fit_makes_room_for_later_ones() -> None:
    """Of the better nodes 5 (depth 3) and 6 (depth 1's child), only the second fits two places."""
    parents, goals = [-1, 0, 0, 1, 3, 4, 2], [0, 0, 0, 0, 0, 1, 1]
    assert choose_encoded(parents, goals, total=9, most=2) == [0, 2, 6]
    assert choose_encoded(parents, goals, total=9, most=4) == [0, 1, 3, 4, 5]
    assert choose_encoded(parents, goals, total=9, most=6) == [0, 1, 2, 3, 4, 5, 6]


def test_a_goal_state_comes_before_all_others() -> None:
    parents, goals = [-1, 0, 0, 0], [0, 1, 1, 2]
    assert choose_encoded(parents, goals, total=2, most=1) == [0, 3]
    assert choose_encoded(parents, goals, total=3, most=1) == [0, 1]


def test_fewer_goals_than_the_root_are_no_better_than_equal() -> None:
    assert choose_encoded([-1, 0, 0, 0], [1, 0, 1, 2], total=9, most=2) == [0, 1, 3]


@given(st.data())
def test_every_choice_is_a_tree_as_large_as_it_may_be(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 12))
    parents = [-1] + [data.draw(st.integers(0, node - 1)) for node in range(1, size)]
    goals = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    most = data.draw(st.integers(1, 14))
    kept = choose_encoded(parents, goals, 3, most)
    assert kept == sorted(set(kept))
    assert len(kept) == 1 + min(most, size - 1)  # what better nodes leave is filled with others
    assert all(parents[node] in kept for node in kept[1:])


# -- trees -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(
    ("most", "kept", "parents"),
    [
        (1, "ra", [-1, 0]),
        (2, "rxy", [-1, 0, 1]),
        (3, "raxy", [-1, 0, 0, 2]),
        (5, "raxbyc", [-1, 0, 0, 1, 2, 3]),
        (6, "raxbycd", [-1, 0, 0, 1, 2, 3, 5]),
    ],
)
def test_the_tree_is_smaller_and_says_so(build, fork: Task, most: int, kept: str, parents: list[int]) -> None:
    whole = build(fork)
    assert (places(whole), whole.left_out, whole.has_all_successors) == ("raxbycd", 0, True)
    tree = build(fork, play=PlaySpec(max_encoded=most))
    assert (places(tree), tree.parent.tolist()) == (kept, parents)
    assert tree.left_out == len(whole) - len(tree)
    assert tree.has_all_successors == (tree.left_out == 0)
    assert not tree.truncated
    check_valid(tree)


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(
    ("enough", "grown", "stopped"),
    [
        (1, "raxby", True),  # y is found when x is expanded: b, c are not expanded any more
        (2, "raxbycd", True),  # d itself is not expanded; nothing would have come of it
        (3, "raxbycd", False),
    ],
)
def test_the_tree_stops_growing(build, fork: Task, enough: int, grown: str, stopped: bool) -> None:
    tree = build(fork, play=PlaySpec(max_better=enough))
    assert (places(tree), tree.stopped) == (grown, stopped)
    assert (tree.truncated, tree.left_out, tree.has_all_successors) == (False, 0, True)
    check_valid(tree)


@pytest.mark.parametrize("build", BUILDS)
def test_the_root_is_always_expanded(build) -> None:
    """Three successors reach a goal at once: all of them are there, none is expanded."""
    task = line("rabcd", "r-a r-b r-c a-d", "(seen a) (seen b) (seen c)")
    tree = build(task, play=PlaySpec(max_better=1))
    assert (places(tree), tree.stopped) == ("rabc", True)
    flat = build(task, spec=TreeSpec(kind="flat"), play=PlaySpec(max_better=1))
    assert (places(flat), flat.stopped) == ("rabc", False)  # nothing else would have been expanded


@pytest.mark.parametrize("build", BUILDS)
def test_the_capacity_may_take_better_nodes_away_again(build) -> None:
    """Two better successors, of which one is kept and expanded, since one is not enough."""
    task = line("rabcd", "r-a r-b a-c b-d", "(seen a) (seen b)")
    spec = {"capacity": 1, "keep_root_successors": False}
    tree = build(task, spec=TreeSpec(**spec), play=PlaySpec(max_better=2))
    assert (places(tree), tree.stopped) == ("rac", True)  # c is the second one
    tree = build(task, spec=TreeSpec(**spec), play=PlaySpec(max_better=1))
    assert (places(tree), tree.stopped) == ("ra", True)


@pytest.mark.parametrize("mode", ["novel", "classes"])
def test_some_successors_may_be_missing(fork: Task, mode: str) -> None:
    assert not lookahead(fork, spec=TreeSpec(root_successors=mode)).has_all_successors
    assert not lookahead(fork, play=PlaySpec(max_nodes=3)).has_all_successors


def test_a_capacity_may_drop_successors(fork: Task) -> None:
    assert lookahead(fork, spec=TreeSpec(capacity=9)).has_all_successors
    assert not lookahead(fork, spec=TreeSpec(capacity=9, keep_root_successors=False)).has_all_successors


@given(random_tasks(), st.integers(1, 30), st.sampled_from([None, 1, 3]))
@settings(max_examples=examples(60))
def test_a_large_budget_changes_nothing_and_a_small_one_keeps_its_size(task: Task, most: int, enough: int) -> None:
    """The nodes kept are nodes of the whole tree, in its order, with the same paths."""
    whole = lookahead(task, play=PlaySpec(max_nodes=40, max_better=enough))
    tree = lookahead(task, play=PlaySpec(max_nodes=40, max_better=enough, max_encoded=most))
    assert len(tree) == 1 + min(most, len(whole) - 1)
    assert (tree.left_out, tree.truncated, tree.stopped) == (len(whole) - len(tree), whole.truncated, whole.stopped)
    if not tree.left_out:
        assert all(getattr(tree, name).tolist() == getattr(whole, name).tolist() for name in ARRAYS)
    paths = [whole.path_to(node) for node in range(len(whole))]
    positions = [paths.index(tree.path_to(node)) for node in range(len(tree))]
    assert positions == sorted(set(positions))
    check_valid(tree)
