"""Rules of well-formedness: generated and competition problems keep them, broken ones are named."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import IPC_DOMAINS
from tests.domains.checks import CHECKED, check_problem

from saltus.domains import DOMAINS
from saltus.domains.generated import generated_task
from saltus.errors import ConfigurationError
from saltus.lookahead import random_action, successor_state
from saltus.pddl import Source, parse_problem
from saltus.pddl.writer import write_problem
from saltus.task import Split, Task, build_task, find_suite, load

WALK = 40
"""Random actions after which a state must still keep the rules."""

DEAD_ENDS = {
    "childsnack": ["are needed"],
    "floortile": ["painted already"],
    "goldminer": ["all gold"],
    "spanner": ["usable spanners"],
}
"""Faults by domain that a random walk may bring about, because it runs into a dead end."""

OPTIONAL = {
    "floortile": {"available-color"},
    "reward": {"unblocked"},
    "rovers": {
        *("equipped_for_soil_analysis", "equipped_for_rock_analysis", "equipped_for_imaging"),
        *("at_soil_sample", "at_rock_sample", "supports", "visible_from"),
    },
    "satellite": {"supports"},
    "satellite-paper": {"supports"},
    "spanner": {"usable"},
}
"""Predicates of which one atom less may leave a problem well formed."""

IPC_FAULTS = {
    "floortile/p08": ["init: tile tile_2_1 has 2 of (clear x) or (robot-at _ x) or (painted x _), expected 1"],
}
"""The one problem of the competition's training set with a fault: a robot's tile is clear."""


def edited(task: Task, drop: Iterable[str] = (), add: Iterable[str] = (), goal: str | None = None) -> Task:
    """The task with some initial atoms less and some more, and perhaps another goal."""
    domain = task.domain
    atoms = [f"({' '.join(atom)})" for atom in task.problem.initial_atoms(domain)]
    missing = set(drop) - set(atoms)
    assert not missing, f"not in the initial state: {missing}"
    kept = [atom for atom in atoms if atom not in set(drop)]
    text = write_problem(domain, task.problem)
    head, rest = text.split("  (:init\n")
    tail = rest[rest.index("  )\n  (:goal") :] if goal is None else f")\n(:goal (and {goal})))"
    text = f"{head}  (:init\n{' '.join([*kept, *add])}{tail}"
    return build_task(domain, parse_problem(Source.from_bytes(text.encode(), "edited"), domain))


def example(name: str, text: str) -> Task:
    """A task from objects, initial atoms and goal, divided by lines of dashes."""
    domain = generated_task(name, "training").domain
    objects, init, goal = text.split("---")
    whole = f"(define (problem p) (:domain {domain.name}) (:objects {objects}) (:init {init}) (:goal (and {goal})))"
    return build_task(domain, parse_problem(Source.from_bytes(whole.encode(), "example"), domain))


def test_every_registered_domain_has_rules() -> None:
    assert set(CHECKED) == set(DOMAINS)


def test_a_domain_without_rules_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no rules for problems of 'chess'"):
        check_problem("chess", generated_task("ferry", "training"))


@pytest.mark.parametrize("name", CHECKED)
def test_generated_problems_are_well_formed(name: str) -> None:
    count = 5
    for split in (Split.TRAINING, Split.VALIDATION):
        for index in range(count):
            for seed in range(3):
                assert check_problem(name, generated_task(name, split, index, count, seed)) == [], (split, index, seed)


@pytest.mark.parametrize("name", CHECKED)
def test_states_on_the_way_are_well_formed(name: str) -> None:
    allowed = "|".join(["it holds at the start", *DEAD_ENDS.get(name, [])])
    for seed in range(3):
        task = generated_task(name, "training", 6, 10, seed)
        rng = random.Random(seed)
        state = task.initial_state
        seen = {state}
        for _ in range(WALK):
            action = random_action(task, state, rng)
            if action is None or task.goal.holds(state):
                break
            state = successor_state(task, state, action)
            seen.add(state)
            faults = check_problem(name, replace(task, initial_state=state))
            assert [fault for fault in faults if not re.search(allowed, fault)] == []
        assert len(seen) > 1


@pytest.mark.parametrize("name", CHECKED)
def test_an_atom_less_is_named(name: str) -> None:
    task = generated_task(name, "training", 6, 10, 2)
    rng = random.Random(3)
    atoms = [f"({' '.join(atom)})" for atom in task.problem.initial_atoms(task.domain)]
    for predicate in {atom.strip("()").split()[0] for atom in atoms} - OPTIONAL.get(name, set()):
        of_predicate = [atom for atom in atoms if atom.strip("()").split()[0] == predicate]
        for atom in rng.sample(of_predicate, min(4, len(of_predicate))):
            assert check_problem(name, edited(task, [atom])), f"{atom} is missing"


@pytest.mark.parametrize("name", CHECKED)
def test_a_second_place_is_named(name: str) -> None:
    task = generated_task(name, "training", 6, 10, 2)
    for predicate, place in PLACES[name]:
        atom = next(atom for atom in task.problem.initial_atoms(task.domain) if atom[0] == predicate)
        other = next(one for one in like(task, atom, place) if one not in atom)
        added = (*atom[:place], other, *atom[place + 1 :])
        faults = check_problem(name, edited(task, add=[f"({' '.join(added)})"]))
        named = "|".join((*atom, other, "the problem"))
        assert any(re.search(rf"\b({named})\b", fault) for fault in faults), added


def like(task: Task, atom: tuple[str, ...], place: int) -> list[str]:
    """Objects that could stand in an atom at some place: others do, or are of the same type."""
    atoms = [other for other in task.problem.initial_atoms(task.domain) if other[0] == atom[0] and other != atom]
    number = task.object_number[atom[place]]
    alike = np.flatnonzero(task.object_type == task.object_type[number]).tolist() if len(task.types) > 1 else []
    return [other[place] for other in atoms] + [task.objects[i] for i in alike] + [*task.objects]


PLACES: dict[str, list[tuple[str, int]]] = {
    "blocksworld": [("on", 1), ("on", 2)],
    "childsnack": [("at", 2), ("waiting", 2)],
    "delivery": [("at", 2)],
    "depots": [("on", 1), ("on", 2), ("at", 2)],
    "driverlog": [("at", 2)],
    "ferry": [("at", 2), ("at-ferry", 1)],
    "floortile": [("robot-at", 2), ("robot-has", 2), ("up", 2)],
    "freecell": [("on", 2), ("value", 2), ("cellspace", 1), ("successor", 2)],
    "goldminer": [("robot-at", 1), ("laser-at", 1)],
    "grid": [("at-robot", 1), ("at", 2), ("key-shape", 2)],
    "grippers": [("at-robby", 2), ("at", 2), ("free", 1)],
    "logistics": [("at", 2), ("in-city", 2)],
    "miconic": [("origin", 2), ("destin", 2), ("lift-at", 1)],
    "reward": [("at", 1)],
    "rovers": [("at", 2), ("at_lander", 2), ("store_of", 2), ("on_board", 2)],
    "satellite": [("pointing", 2), ("on_board", 2), ("calibration_target", 2)],
    "satellite-paper": [("pointing", 2), ("on_board", 2), ("calibration_target", 2)],
    "sokoban": [("at-robot", 1), ("at", 2)],
    "spanner": [("at", 2)],
    "transport": [("at", 2), ("capacity", 2)],
    "visitall": [("at-robot", 1)],
}
"""Atoms, and the argument of which there may be only one."""


LOCKED = """
    a b k s t ---
    (place a) (place b) (key k) (shape s) (shape t) (conn a b) (conn b a) (arm-empty) (at-robot a) (open a) (locked b)
    (lock-shape b s) (key-shape k SHAPE) (at k PLACE) --- (at k GOAL)
"""


@pytest.mark.parametrize(
    ("shape", "place", "goal", "faults"),
    [
        ("s", "a", "b", []),
        ("t", "a", "b", ["goal: b is behind locks that no key within reach opens"]),
        ("s", "b", "a", ["init: k is behind locks that no key within reach opens"]),
    ],
)
def test_a_key_in_its_own_lock_is_named(shape: str, place: str, goal: str, faults: list[str]) -> None:
    text = LOCKED.replace("SHAPE", shape).replace("PLACE", place).replace("GOAL", goal)
    assert check_problem("grid", example("grid", text)) == faults


TOWERS = """
    a b c --- (arm-empty) (on a b) (on-table b) (clear a) (on-table c) (clear c) ---
"""


@pytest.mark.parametrize(
    ("goal", "fault"),
    [
        ("(on a c) (on c b)", ""),
        ("(on a b)", "goal: it holds at the start"),
        ("(on a c) (on c a)", "goal: a is on a cycle of on"),
        ("(on a c) (on b c)", "goal: object c has 2 of (on _ x) or (clear x), expected at most 1"),
        ("(on c a) (clear a)", "goal: object a has 2 of (on _ x) or (clear x), expected at most 1"),
        ("(holding a)", "goal: 1 of 1 goals are not (on _ _) or (on-table _) or (clear _)"),
        ("(not (on a b))", "goal: 1 negated goals, expected none"),
    ],
)
def test_goals_that_no_towers_meet_are_named(goal: str, fault: str) -> None:
    faults = check_problem("blocksworld", example("blocksworld", TOWERS + goal))
    assert fault in faults if fault else faults == []


def test_a_ring_of_blocks_is_named() -> None:
    text = "a b c d --- (arm-empty) (on a b) (on b a) (on c d) (on-table d) (clear c) --- (on d c)"
    faults = check_problem("blocksworld", example("blocksworld", text))
    assert faults == ["init: a is on a cycle of on", "init: b is on a cycle of on"]


def test_spanners_behind_the_man_do_not_count() -> None:
    text = """bob - man s1 s2 - spanner n1 n2 - nut a b c - location ---
        (link a b) (link b c) (at bob b) (at s1 PLACE) (usable s1) (at s2 b) (usable s2)
        (at n1 c) (loose n1) (at n2 c) (loose n2) --- (tightened n1) (tightened n2)"""
    assert check_problem("spanner", example("spanner", text.replace("PLACE", "c"))) == []
    fault = "init: 2 nuts up to c and 1 usable spanners on the way"
    assert check_problem("spanner", example("spanner", text.replace("PLACE", "a"))) == [fault]


def test_floors_in_a_circle_are_named() -> None:
    text = """p - passenger a b c - floor --- (origin p a) (destin p b) (lift-at c)
        (above a b) (above b c) (above ENDS) --- (served p)"""
    assert check_problem("miconic", example("miconic", text.replace("ENDS", "a c"))) == []
    fault = "init: above is not a total order of floor"
    assert check_problem("miconic", example("miconic", text.replace("ENDS", "c a"))) == [fault]


def test_cells_that_are_no_grid_are_named() -> None:
    def star(edges: Iterable[str]) -> list[str]:
        both = " ".join(f"(connected {one} {other}) (connected {other} {one})" for one, other in edges)
        text = f"a b c d e f - place --- (at-robot a) (visited a) {both} --- (visited f)"
        return check_problem("visitall", example("visitall", text))

    assert star(["ab", "bc", "cd", "de", "ef", "fa"]) == []
    assert star(["ab", "ac", "ad", "ae", "af"]) == ["init: a has 5 neighbours"]
    assert star(["ab", "bc", "ca", "cd", "de", "ef"]) == ["init: connected has a cycle of odd length, a grid has none"]
    assert star(["ab", "ac", "ad", "eb", "ec", "ed", "ef"]) == ["init: a and e have 3 neighbours in common"]
    assert star(["ab", "bc", "de", "ef"]) == ["init: 3 of 6 place are not connected by connected"]


def test_a_cell_in_the_place_of_another_is_named() -> None:
    """A copy of c, with the same neighbours in the same directions."""
    cells = [("a", "b", "right", "left"), ("b", "c", "right", "left"), ("b", "d", "right", "left")]
    steps = " ".join(f"(adjacent {one} {two} {way}) (adjacent {two} {one} {back})" for one, two, way, back in cells)
    text = (
        f"""x - box a b c d - location --- (at-robot a) (at x b) (clear a) (clear c) (clear d) {steps} --- (at x c)"""
    )
    assert check_problem("sokoban", example("sokoban", text)) == ["init: d and c lie at the same place"]


@pytest.mark.parametrize("name", IPC_DOMAINS)
def test_the_competitions_training_problems_are_well_formed(name: str, ipc: Path) -> None:
    suite = find_suite(ipc / name)
    for path in (*suite.splits[Split.TRAINING], *suite.splits[Split.VALIDATION])[::4]:
        faults = check_problem(name, load(suite.domain, path))
        assert faults == IPC_FAULTS.get(f"{name}/{path.stem}", []), path


def test_the_competitions_one_fault_is_named(ipc: Path) -> None:
    for place, faults in IPC_FAULTS.items():
        name, stem = place.split("/")
        path = ipc / name / "training/easy" / f"{stem}.pddl"
        assert check_problem(name, load(ipc / name / "domain.pddl", path)) == faults
