"""Problems from problems: what is made is of the same kind, larger, solvable, and the same for the same seed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domains.checks import check_problem
from tests.random_moves import random_move_task
from tests.random_tasks import random_task
from tests.tasks import RICH_DOMAIN, RICH_PROBLEM, domain_of, task_of
from tests.twins.actions import successor

from saltus.domains import generate_problem
from saltus.domains.registry import DOMAINS
from saltus.errors import InputError
from saltus.grow import Grower, Grown, goals, problem_text
from saltus.grow.draft import Draft, Relations
from saltus.grow.goals import find_guides, goal_of_state, search_goal, search_with_guides, walk
from saltus.grow.guides import Guide, atom_counts
from saltus.grow.rules import Rules
from saltus.grow.stretch import find_lattice, lattice_kinds, stretch
from saltus.grow.values import TRIES
from saltus.grow.ways import Way, Ways
from saltus.lookahead import lookahead
from saltus.lookahead.actions import is_dead_end
from saltus.pddl import Source, parse_domain, parse_problem
from saltus.policy.planning import plan_of
from saltus.policy.relaxed import relaxed_search
from saltus.task import Action, Task, build_task, validate
from saltus.task.applicability import is_applicable

HAULING = """\
(define (domain hauling)
  (:requirements :strips :typing :action-costs)
  (:types crate place)
  (:constants yard - place)
  (:predicates (at ?c - crate ?p - place) (crane ?p - place) (road ?a ?b - place) (heavy ?c - crate) (up ?c - crate)
               (idle))
  (:functions (total-cost) - number (length ?a ?b - place) - number)
  (:action drive :parameters (?a ?b - place) :precondition (and (crane ?a) (road ?a ?b))
    :effect (and (not (crane ?a)) (crane ?b) (increase (total-cost) (length ?a ?b))))
  (:action lift :parameters (?c - crate ?p - place) :precondition (and (idle) (crane ?p) (at ?c ?p))
    :effect (and (not (idle)) (not (at ?c ?p)) (up ?c)))
  (:action drop :parameters (?c - crate ?p - place) :precondition (and (crane ?p) (up ?c))
    :effect (and (idle) (at ?c ?p) (not (up ?c)))))
"""


SWITCHES = task_of(
    domain_of("""(define (domain switches) (:requirements :strips) (:predicates (a) (b) (c))
      (:action one :parameters () :precondition (a) :effect (and (b) (not (a))))
      (:action two :parameters () :precondition (b) :effect (c)))"""),
    "(define (problem p) (:domain switches) (:init (a)) (:goal (c)))",
)
"""A problem without objects."""


def hauling(places: int, crates: int, seed: int = 0) -> Task:
    """Crates to be hauled between places that all have a road to the yard and back; every other crate is heavy."""
    rng = random.Random(seed)
    names = ["yard", *(f"p{i}" for i in range(places))]
    roads = [pair for name in names[1:] for pair in ((name, "yard"), ("yard", name))]
    init = [f"(road {a} {b}) (= (length {a} {b}) {3 + len(a)})" for a, b in roads]
    init += [f"(at c{i} {rng.choice(names[1:])})" for i in range(crates)]
    init += [f"(heavy c{i})" for i in range(0, crates, 2)] + ["(crane yard)", "(idle)", "(= (total-cost) 0)"]
    goal = [f"(at c{i} {rng.choice(names[1:])})" for i in range(crates)]
    objects = f"{' '.join(names[1:])} - place {' '.join(f'c{i}' for i in range(crates))} - crate"
    return task_of(
        HAULING,
        f"(define (problem h) (:domain hauling) (:objects {objects})\n(:init {' '.join(init)})\n"
        f"(:goal (and {' '.join(goal)})) (:metric minimize (total-cost)))",
    )


HAULED = [hauling(2, 2, 1), hauling(3, 3, 2), hauling(4, 5, 3), hauling(5, 6, 4)]


def own_tasks(name: str, count: int = 12) -> list[Task]:
    """Training problems of one of the domains with a generator."""
    domain = parse_domain(Source.from_file(DOMAINS[name].path))
    texts = [generate_problem(name, "training", index, count) for index in range(count)]
    return [build_task(domain, parse_problem(Source.from_bytes(text.encode(), "p"), domain)) for text in texts]


def drafts_of(tasks: list[Task]) -> list[Draft]:
    relations = Relations(tasks[0])
    return [Draft(relations, task) for task in tasks]


def texts_of(tasks: list[Task]) -> list[str]:
    return [problem_text(task) for task in tasks]


# -- kinds and rules ---------------------------------------------------------------------------------------------------


def test_kinds_are_types_with_static_unary_predicates_and_constants() -> None:
    draft = drafts_of(HAULED)[2]
    by_kind = {name: draft.kind[draft.names.index(name)] for name in draft.names}
    assert by_kind["c0"] == by_kind["c2"] != by_kind["c1"] == by_kind["c3"]
    assert by_kind["p0"] == by_kind["p1"] != by_kind["yard"]
    assert draft.family[draft.names.index("c0")] == draft.family[draft.names.index("c1")]


def test_kinds_whose_number_differs_vary() -> None:
    drafts = drafts_of(HAULED)
    rules = Rules(drafts[0].relations, drafts)
    largest = drafts[-1]
    assert {largest.names[i] for i in range(len(largest)) if largest.kind[i] in rules.varying} == set(largest.names[1:])
    same = drafts_of([hauling(3, 4, 1), hauling(3, 4, 2)])
    assert Rules(same[0].relations, same).varying == {same[0].kind[i] for i in range(1, len(same[0]))}


def test_a_second_place_and_a_second_crane_break_a_rule() -> None:
    drafts = drafts_of(HAULED)
    rules = Rules(drafts[0].relations, drafts)
    draft = drafts[-1].copy()
    at, crane = (draft.relations.domain.predicates.index(p) for p in draft.relations.domain.predicates[:2])
    crate = draft.names.index("c0")
    assert rules.fits(draft, draft.mark(), [crate])
    mark = draft.mark()
    draft.add((at, crate, next(i for i in (1, 2) if (at, crate, i) not in draft.atoms)))
    assert not rules.fits(draft, mark, [crate])
    draft.undo(mark)
    draft.add((crane, 1))
    assert not rules.fits(draft, mark, [1])


def test_undo_restores_a_draft() -> None:
    draft = drafts_of(HAULED)[2]
    before = draft.copy()
    mark = draft.mark()
    new = draft.add_object(1)
    atom = next(atom for atom in draft.atoms if 1 in atom[1:])
    draft.remove(atom)
    draft.add((atom[0], *(new if number == 1 else number for number in atom[1:])))
    assert len(draft) == len(before) + 1
    draft.undo(mark)
    assert (draft.names, draft.atoms, draft.counts, draft.total) == (
        before.names, before.atoms, before.counts, before.total)  # fmt: skip


# -- growing -----------------------------------------------------------------------------------------------------------


def test_problems_grow_with_their_values_constants_and_plans() -> None:
    grower = Grower(HAULED[0].domain, HAULED, seed=1)
    made = list(grower.problems(4, 3.0))
    assert len(made) == 4
    for entry in made:
        task = entry.task
        assert 12 < len(task.objects) <= 3 * 12 * 1.1
        verdict = validate(task, plan_of(task, entry.plan))
        assert verdict.valid
        assert not task.goal.holds(task.initial_state)
        assert task.has_costs
        atoms = list(task.problem.initial_atoms(task.domain))
        roads = {atom[1:] for atom in atoms if atom[0] == "road"}
        assert {key[1:] for key in task.problem.values if key[0] == "length"} == roads
        assert all("yard" in road for road in roads)
        places = Counter(atom[1] for atom in atoms if atom[0] == "at")
        assert places == {name: 1 for name in task.objects if name.startswith("c")}
        assert sum(atom[0] == "crane" for atom in atoms) == 1


def test_a_seed_gives_the_same_problems() -> None:
    def made(seed: int) -> list[str]:
        grower = Grower(HAULED[0].domain, HAULED, seed)
        return texts_of(grower.grow(3, 2.0)) + texts_of(grower.grow(2, 1.0))

    assert made(5) == made(5)
    assert made(5) != made(6)


def test_grown_problems_read_back_equal() -> None:
    for task in Grower(HAULED[0].domain, HAULED).grow(3, 2.0):
        text = problem_text(task)
        again = build_task(task.domain, parse_problem(Source.from_bytes(text.encode(), "again"), task.domain))
        assert again.objects == task.objects
        assert again.initial_state == task.initial_state
        assert again.goal == task.goal
        assert again.static_codes == task.static_codes
        assert again.problem.values == task.problem.values
        assert problem_text(again) == text


def test_one_problem_and_equal_sizes_grow_by_kinds_with_several_objects() -> None:
    for tasks in ([hauling(4, 5)], [hauling(4, 5, 1), hauling(4, 5, 2)]):
        made = Grower(tasks[0].domain, tasks).grow(2, 2.0)
        assert made
        assert all(len(task.objects) > 10 for task in made)


def test_nothing_to_add_gives_no_problem() -> None:
    domain = HAULING.replace("(:constants yard - place)", "(:constants yard - place only - crate)")
    text = "(define (problem h) (:domain hauling) (:init (at only yard) (idle) (crane yard)) (:goal (up only)))"
    task = task_of(domain, text)
    assert Grower(task.domain, [task]).grow(3) == []


def test_problems_without_objects_do_not_grow() -> None:
    """Ground problems, whose predicates have no arguments: there is nothing to copy."""
    grower = Grower(SWITCHES.domain, [SWITCHES])
    assert grower.grow(2, 4.0) == []
    assert all(task.objects == () for task in grower.grow(2, 1.0))  # other states of the same problem


def test_no_problems_are_refused() -> None:
    with pytest.raises(InputError, match="no problems to grow"):
        Grower(HAULED[0].domain, [])


def test_the_whole_language_survives() -> None:
    task = task_of(RICH_DOMAIN, RICH_PROBLEM)
    draft = Draft(Relations(task), task)
    again = draft.to_task("again")
    assert (again.objects, again.initial_state, again.goal) == (task.objects, task.initial_state, task.goal)
    assert again.problem.values == task.problem.values
    assert len(task.goal.negative) > 0


def test_smaller_problems_are_made_if_none_of_the_size_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    finished = Grower._finished

    def only_small(grower: Grower, draft: Draft, check: Callable[[], None], **options: bool) -> Grown | None:
        return finished(grower, draft, check, **options) if len(draft) <= 18 else None

    monkeypatch.setattr(Grower, "_finished", only_small)
    made = Grower(HAULED[0].domain, HAULED, seed=3).grow(4, 4.0)
    assert made
    assert all(12 < len(task.objects) <= 18 for task in made)


def test_times_one_gives_other_problems_of_the_given_sizes() -> None:
    given = {problem_text(task) for task in HAULED}
    made = Grower(HAULED[0].domain, HAULED, seed=3).grow(4, 1.0)
    assert made
    assert all(len(task.objects) <= 13 for task in made)
    assert given.isdisjoint(problem_text(task) for task in made)


@pytest.mark.parametrize("name", ["blocksworld", "ferry", "logistics", "miconic", "transport", "visitall"])
def test_grown_problems_are_well_formed(name: str) -> None:
    tasks = own_tasks(name)[:9]
    made = Grower(tasks[0].domain, tasks).grow(2, 2.0)
    assert len(made) == 2
    for task in made:
        assert len(task.objects) > max(len(given.objects) for given in tasks)
        assert check_problem(name, task) == []


@pytest.mark.parametrize("name", ["blocksworld", "ferry", "spanner", "visitall"])
def test_unproven_problems_have_the_sizes_asked_for(name: str) -> None:
    tasks = own_tasks(name)[:9]
    largest = max(len(task.objects) for task in tasks)
    made = list(Grower(tasks[0].domain, tasks).unproven([6 * largest, 12 * largest]))
    assert [3 <= len(task.objects) / largest <= 7 for task in made[:1]] == [True]
    assert [6 <= len(task.objects) / largest <= 14 for task in made[1:]] == [True]
    for task in made:
        assert check_problem(name, task) == []
        assert not task.goal.holds(task.initial_state)
        assert not is_dead_end(task, task.initial_state, task.goal)


def test_unproven_problems_whose_goals_are_out_of_reach_get_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("saltus.grow.grower.is_dead_end", lambda *_: True)
    ways: list[Way] = []
    monkeypatch.setattr(Ways, "learn", lambda self, way, proven: ways.append(way))
    made = list(Grower(HAULED[0].domain, HAULED).unproven([40, 80]))
    assert len(made) == 2
    assert len(ways) == 2 * TRIES
    for task in made:
        assert len(task.objects) > max(len(given.objects) for given in HAULED)
        assert not task.goal.holds(task.initial_state)
        assert relaxed_search(task).plan  # the goal holds in a state that was reached


def test_other_ways_are_tried_for_unproven_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the first way makes nothing but dead ends, later problems are made in other ways."""
    seen: list[Way] = []
    learn = Ways.learn

    def see(self: Ways, way: Way, *, proven: bool) -> None:
        seen.append(way)
        learn(self, way, proven=proven)

    monkeypatch.setattr("saltus.grow.grower.is_dead_end", lambda *_: True)
    monkeypatch.setattr(Ways, "learn", see)
    grower = Grower(HAULED[0].domain, HAULED)
    list(grower.unproven([40, 40, 40]))
    assert [way == grower.ways.first for way in seen[: TRIES + 1]] == [True] * TRIES + [False]


def test_guides_find_plans_where_goals_alone_mislead() -> None:
    """Nothing counts as progress while tools are collected along a one-way road, and all of them are needed."""
    tasks = own_tasks("spanner")
    grower = Grower(tasks[0].domain, tasks)
    guides = find_guides(grower.drafts[-4:])
    names = {(tasks[0].domain.predicates[guide.predicate].name, guide.sign) for guide in guides}
    assert names == {("carrying", 1), ("at", -1)}
    made = list(grower.problems(2, 3.0))
    assert [entry.goal for entry in made] == ["patterned"] * 2
    for entry in made:
        assert search_goal(Draft(grower.relations, entry.task), entry.task, 0).plan is None
        assert validate(entry.task, plan_of(entry.task, entry.plan)).valid
        assert check_problem("spanner", entry.task) == []


def test_atoms_of_a_guide_are_counted_in_every_state() -> None:
    task = HAULED[2]
    tree = lookahead(task, task.initial_state, goals.TREES, task.goal, goals.PLAY)
    for predicate in range(len(task.arity)):
        expected = [sum(task.decode(code)[0] == predicate for code in tree.state_of(node)) for node in range(len(tree))]
        assert atom_counts(tree, predicate).tolist() == expected


# -- maps --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["visitall", "sokoban"])  # without and with directions
def test_maps_are_stretched_line_by_line(name: str) -> None:
    drafts = drafts_of(own_tasks(name, 6))
    (kinds,) = lattice_kinds(drafts)
    rules = Rules(drafts[0].relations, drafts)
    draft = drafts[-1].copy()
    before = len(draft)
    added = stretch(draft, rules, random.Random(0), kinds, before)
    assert added > 1
    assert len(draft) == before + added
    lattice = find_lattice(draft, kinds)
    assert lattice is not None
    degrees = Counter(x for x, _ in lattice.edges)
    assert max(degrees.values()) <= 4


def test_stars_of_roads_are_no_map() -> None:
    assert lattice_kinds(drafts_of(HAULED)) == []


# -- goals -------------------------------------------------------------------------------------------------------------


def reached_goals(seed: int, moves: bool) -> list[tuple[Task, tuple[Action, ...]]]:
    """Tasks with goals taken from the states of a walk, and the walks, under rules that allow any such goal."""
    task = random_move_task(seed, tiny=True) if moves else random_task(seed)
    draft = Draft(Relations(task), task)
    rng = random.Random(seed)
    walked = walk(task, rng, 4)
    wanted = {atom[0] for atom in draft.goal_atoms()}
    allowing = []
    for reached in walked:
        allowing.append(draft.copy())
        atoms = [task.decode(code) for code in reached.state]
        positive = [(draft.relations.goal + atom[0], *atom[1:]) for atom in atoms]
        allowing[-1].set_goal([atom for atom in positive if atom[0] in wanted])
    rules = Rules(draft.relations, [draft, *allowing])
    found = []
    for reached in walked:
        goal = goal_of_state(draft, rules, task, reached.state, rng)
        if goal is not None:
            made = draft.copy()
            made.set_goal(goal)
            found.append((made.to_task("made"), reached.actions))
    return found


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_goals_of_reached_states_are_reachable(seed: int, moves: bool) -> None:
    for task, actions in reached_goals(seed, moves):
        assert not task.goal.holds(task.initial_state)
        assert validate(task, plan_of(task, actions)).valid


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_searches_return_the_way_to_what_they_found(seed: int, moves: bool) -> None:
    task = random_move_task(seed, tiny=True) if moves else random_task(seed)
    draft = Draft(Relations(task), task)
    fluent = [number for number in range(len(task.arity)) if task.fluent[number]]
    guides = [Guide(random.Random(seed).choice(fluent), sign) for sign in (1, -1)] if fluent else []
    for found in (search_goal(draft, task, seed), search_with_guides(task, guides, seed, lambda: None)):
        if found.plan is not None:
            assert validate(task, plan_of(task, found.plan)).valid
        if found.best is not None:
            state = task.initial_state
            for action in found.best.actions:
                assert is_applicable(task, state, action)
                state = successor(task, state, action)
            assert state == found.best.state


def test_random_tasks_do_reach_goals() -> None:
    assert sum(bool(reached_goals(seed, moves)) for seed in range(20) for moves in (True, False)) >= 5


def test_a_goal_is_taken_from_a_reached_state_in_the_shape_of_the_given_one() -> None:
    task = HAULED[2]
    drafts = drafts_of(HAULED)
    rules = Rules(drafts[0].relations, drafts)
    found = 0
    for reached in walk(task, random.Random(0), 12):
        goal = goal_of_state(drafts[2], rules, task, reached.state, random.Random(0))
        if goal is not None:
            found += 1
            assert {atom[1] for atom in goal} == {i for i, name in enumerate(task.objects) if name.startswith("c")}
    assert found
