"""Ways to make problems larger where growing everything fails: subsets of kinds, groups, joined problems."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.grow.test_grow import HAULED, drafts_of, own_tasks
from tests.tasks import task_of

from saltus.grow import Grower, problem_text
from saltus.grow.groups import group_of
from saltus.grow.insert import Inserter
from saltus.grow.join import can_join, in_order, join
from saltus.grow.rules import Rules
from saltus.grow.stretch import lattice_kinds, stretchable_kinds
from saltus.grow.ways import Mode, Way, Ways
from saltus.policy.planning import plan_of
from saltus.policy.relaxed import relaxed_search
from saltus.task import Task, validate

ASSEMBLY = """\
(define (domain assembly)
  (:requirements :strips :typing)
  (:types product step worker)
  (:predicates (next ?s ?t - step) (last ?p - product ?s - step) (work ?p - product ?s - step)
               (fit ?p ?part - product ?s - step) (at ?p - product ?s - step) (loose ?p - product)
               (idle ?w - worker) (busy ?w - worker ?p - product))
  (:action take :parameters (?w - worker ?p - product) :precondition (and (idle ?w) (loose ?p))
    :effect (and (not (idle ?w)) (not (loose ?p)) (busy ?w ?p)))
  (:action put :parameters (?w - worker ?p - product) :precondition (busy ?w ?p)
    :effect (and (idle ?w) (loose ?p) (not (busy ?w ?p))))
  (:action do :parameters (?w - worker ?p - product ?s ?t - step)
    :precondition (and (busy ?w ?p) (at ?p ?s) (work ?p ?s) (next ?s ?t))
    :effect (and (not (at ?p ?s)) (at ?p ?t)))
  (:action mount :parameters (?w - worker ?p ?part - product ?s ?t ?end - step)
    :precondition (and (busy ?w ?p) (at ?p ?s) (fit ?p ?part ?s) (next ?s ?t) (at ?part ?end) (last ?part ?end)
                       (loose ?part))
    :effect (and (not (at ?p ?s)) (at ?p ?t) (not (loose ?part)))))
"""


def assembly(products: int, workers: int, seed: int) -> Task:
    """Products that are finished in steps, some of which mount another product; all share the chain of steps."""
    rng = random.Random(seed)
    parts: dict[int, list[int]] = {i: [] for i in range(products)}
    whole = {i: rng.randrange(i) for i in range(1, products) if rng.random() < 0.6}
    for part, host in list(whole.items()):
        if len(parts[host]) < 2:
            parts[host].append(part)
        else:
            del whole[part]
    init: list[str] = [f"(idle w{i})" for i in range(workers)]
    goal: list[str] = []
    longest = 0
    for i in range(products):
        steps = [f"(fit p{i} p{part} " for part in parts[i]] + [f"(work p{i} "] * rng.randint(0 if parts[i] else 1, 3)
        rng.shuffle(steps)
        longest = max(longest, len(steps))
        init += [f"{step}s{number})" for number, step in enumerate(steps)]
        init += [f"(at p{i} s0) (loose p{i}) (last p{i} s{len(steps)})"]
        if i not in whole:
            goal += [f"(at p{i} s{len(steps)}) (loose p{i})"]
    init += [f"(next s{i} s{i + 1})" for i in range(longest)]
    objects = [
        f"{' '.join(f'{stem}{i}' for i in range(number))} - {name}"
        for stem, number, name in (("p", products, "product"), ("s", longest + 1, "step"), ("w", workers, "worker"))
    ]
    return task_of(
        ASSEMBLY,
        f"(define (problem a{seed}) (:domain assembly) (:objects {' '.join(objects)})\n(:init {' '.join(init)})\n"
        f"(:goal (and {' '.join(goal)})))",
    )


ASSEMBLED = [assembly(2 + seed // 2, 1 + seed // 5, seed) for seed in range(12)]


def is_whole(task: Task) -> bool:
    """Whether every product has something to do at each of its steps, and is mounted at most once."""
    atoms = list(task.problem.initial_atoms(task.domain))
    following = dict(atom[1:] for atom in atoms if atom[0] == "next")
    (chain_start,) = set(following) - set(following.values())
    busy = {(atom[1], atom[-1]) for atom in atoms if atom[0] in ("work", "fit")}
    for _, product, end in (atom for atom in atoms if atom[0] == "last"):
        step = chain_start
        while step != end:
            if (product, step) not in busy or step not in following:
                return False
            step = following[step]
    return max(Counter(atom[2] for atom in atoms if atom[0] == "fit").values(), default=1) == 1


# -- the choice of ways ------------------------------------------------------------------------------------------------


def test_a_good_first_way_is_kept_and_draws_nothing() -> None:
    ways, rng = Ways({1, 2}), random.Random(0)
    before = rng.getstate()
    for number in range(20):
        assert ways.draw(rng) == Way(Mode.OBJECTS, frozenset({1, 2}))
        ways.learn(ways.first, proven=number % 2 == 0)
    assert rng.getstate() == before


def test_a_kind_that_spoils_everything_is_drawn_less_and_less() -> None:
    ways, rng = Ways({1, 2, 3}), random.Random(0)
    drawn = []
    for _ in range(104):
        way = ways.draw(rng)
        drawn.append(way)
        ways.learn(way, proven=way.mode is Mode.GROUPS and 3 not in way.kinds)
    assert drawn[:4] == [ways.first] * 4
    late = drawn[-40:]
    assert sum(3 in way.kinds for way in late) < 10
    assert sum(way.mode is Mode.GROUPS for way in late) > 20
    assert sum(way == Way(Mode.GROUPS, frozenset({1, 2})) for way in late) > 10


def test_problems_are_joined_only_if_other_ways_fail() -> None:
    for works in (True, False):
        ways, rng = Ways({1, 2}), random.Random(1)
        modes = set()
        for number in range(60):
            way = ways.draw(rng)
            modes.add(way.mode)
            ways.learn(way, proven=works and number >= 4)
        assert (Mode.JOINED in modes) == (not works)


# -- groups ------------------------------------------------------------------------------------------------------------


def test_a_group_is_the_whole_with_its_parts_and_their_parts() -> None:
    drafts = drafts_of(ASSEMBLED)
    rules = Rules(drafts[0].relations, drafts)
    draft = drafts[-1]
    fit = [predicate.name for predicate in draft.relations.domain.predicates].index("fit")
    host = {atom[2]: atom[1] for atom in draft.atoms if atom[0] == fit}
    assert host
    for number, name in enumerate(draft.names):
        if name.startswith("p"):
            root = number
            while root in host:
                root = host[root]
            group = set(group_of(draft, rules, number))
            assert root in group
            assert all((host[one] in group) if one in host else one == root for one in group)
            assert group >= {part for part, owner in host.items() if owner in group}
        if name.startswith("w"):
            assert group_of(draft, rules, number) == [number]


@pytest.mark.parametrize("seed", range(3))
def test_copied_groups_are_complete(seed: int) -> None:
    drafts = drafts_of(ASSEMBLED)
    rules = Rules(drafts[0].relations, drafts)
    draft = drafts[-1].copy()
    inserter = Inserter(rules, random.Random(seed), groups=True)
    kind = draft.kind[draft.names.index("p0")]
    sizes = [inserter.insert(draft, kind, 40) for _ in range(6)]
    assert all(sizes)
    assert is_whole(draft.to_task("copied"))


def test_problems_of_a_domain_that_cannot_grow_as_a_whole_are_made() -> None:
    grower = Grower(ASSEMBLED[0].domain, ASSEMBLED, seed=0)
    made = list(grower.problems(8, 3.0))
    assert grower.ways.is_first_bad
    assert len(made) >= 7
    largest = max(len(task.objects) for task in ASSEMBLED)
    assert all(len(entry.task.objects) > largest for entry in made)
    assert all(validate(entry.task, plan_of(entry.task, entry.plan)).valid for entry in made)
    assert sum(is_whole(entry.task) for entry in made) >= len(made) - 1
    again = Grower(ASSEMBLED[0].domain, ASSEMBLED, seed=0).problems(8, 3.0)
    assert [problem_text(entry.task) for entry in again] == [problem_text(entry.task) for entry in made]


# -- joined problems ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["visitall", "sokoban", "transport", "grid", "driverlog"])
def test_maps_are_not_joined(name: str) -> None:
    drafts = drafts_of(own_tasks(name, 6))
    rules = Rules(drafts[0].relations, drafts)
    assert not can_join(drafts, rules, stretchable_kinds(drafts, rules))


def test_joined_problems_share_what_does_not_vary() -> None:
    drafts = drafts_of(ASSEMBLED)
    rules = Rules(drafts[0].relations, drafts)
    assert can_join(drafts, rules, [])
    draft, other = drafts[-1].copy(), drafts[-2]
    mapping = join(draft, other, rules)
    assert mapping is not None
    count = Counter(name[0] for name in draft.names)
    parts = [Counter(name[0] for name in one.names) for one in (drafts[-1], other)]
    assert count["p"] == parts[0]["p"] + parts[1]["p"]
    assert count["s"] == max(part["s"] for part in parts)
    steps = [number for number, name in enumerate(draft.names) if name.startswith("s")]
    assert [draft.names[i] for i in in_order(draft, rules, draft.kind[steps[0]], steps)[:3]] == ["s0", "s1", "s2"]
    task = draft.to_task("joined")
    assert is_whole(task)
    plan = relaxed_search(task).plan
    assert plan is not None
    assert validate(task, plan_of(task, plan)).valid


def test_a_join_that_breaks_a_rule_changes_nothing() -> None:
    tasks = own_tasks("miconic", 6)  # floors are ordered
    drafts = drafts_of(tasks)
    rules = Rules(drafts[0].relations, drafts)
    draft = drafts[-1].copy()
    assert join(draft, drafts[-2], rules) is None
    assert (draft.names, draft.atoms) == (drafts[-1].names, drafts[-1].atoms)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_joined_problems_have_the_atoms_of_both(seed: int) -> None:
    rng = random.Random(seed)
    drafts = drafts_of(HAULED)
    rules = Rules(drafts[0].relations, drafts)
    first, other = rng.choice(drafts), rng.choice(drafts)
    draft = first.copy()
    mapping = join(draft, other, rules)
    if mapping is not None:
        assert draft.atoms.items() >= first.atoms.items()
        assert len(draft) == len(first) + len(other) - other.constants
        goals = {(atom[0], *(mapping[number] for number in atom[1:])) for atom in other.goal_atoms()}
        assert set(draft.goal_atoms()) == {*first.goal_atoms(), *goals}


def test_what_cannot_be_stretched_is_no_map() -> None:
    """Products are taken for cells, since steps name the directions in which others are mounted."""
    drafts = drafts_of(own_tasks("visitall", 6))
    rules = Rules(drafts[0].relations, drafts)
    assert stretchable_kinds(drafts, rules) == lattice_kinds(drafts) != []
    rules.totals = {0: -1}  # a rule that nothing can keep
    assert stretchable_kinds(drafts, rules) == []
