"""Frozen goals: the kernel against its twin, and what the test says about boxes that are in each other's way."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples
from tests.random_adl import random_adl_task
from tests.random_tasks import random_tasks
from tests.tasks import domain_of, task_of
from tests.twins import relaxation

from saltus import _kernel
from saltus.domains.registry import DOMAINS, generate_problem
from saltus.lookahead import actions, keeps_goals, random_action, successor_state
from saltus.task import Goal, State, Task
from saltus.task.kernel_task import kernel_task

pytestmark = pytest.mark.kernel

SOKOBAN = """(define (domain boxes) (:types cell way box)
  (:predicates (at-robot ?c - cell) (at ?b - box ?c - cell) (next ?c ?d - cell ?w - way) (clear ?c - cell))
  (:action move :parameters (?c ?d - cell ?w - way)
    :precondition (and (clear ?d) (at-robot ?c) (next ?c ?d ?w)) :effect (and (at-robot ?d) (not (at-robot ?c))))
  (:action push :parameters (?r ?c ?d - cell ?w - way ?b - box)
    :precondition (and (at-robot ?r) (at ?b ?c) (next ?r ?c ?w) (next ?c ?d ?w) (clear ?d))
    :effect (and (at-robot ?c) (not (at-robot ?r)) (at ?b ?d) (not (at ?b ?c)) (clear ?c) (not (clear ?d)))))"""

CREW = (
    SOKOBAN.replace("(at-robot ?", "(at-robot ?a ?")
    .replace("(at-robot ?a ?c - cell)", "(at-robot ?a - robot ?c - cell)")
    .replace(":parameters (", ":parameters (?a - robot ")
    .replace("way box)", "way box robot)")
)
"""The same with several robots, which do not block each other."""

WAYS = {"right": (0, 1), "left": (0, -1), "down": (1, 0), "up": (-1, 0)}


def boxes(rows: Sequence[str]) -> Task:
    """A map: `#` wall, `r` and `s` robots, `a` to `c` boxes, `A` to `C` their goals."""
    cells = {(y, x): mark for y, row in enumerate(rows) for x, mark in enumerate(row) if mark != "#"}
    names = {cell: f"c{cell[0]}-{cell[1]}" for cell in cells}
    links = [
        f"(next {names[y, x]} {names[y + dy, x + dx]} {way})"
        for y, x in cells
        for way, (dy, dx) in WAYS.items()
        if (y + dy, x + dx) in cells
    ]
    marks = {mark: names[cell] for cell, mark in cells.items()}
    letters = [mark for mark in marks if mark in "abc"]
    init = [f"(at {mark} {marks[mark]})" for mark in letters]
    init += [f"(at-robot {robot} {marks[robot]})" for robot in "rs"] if "s" in marks else [f"(at-robot {marks['r']})"]
    init += [f"(clear {names[cell]})" for cell, mark in cells.items() if mark not in "abc"]
    goal = [f"(at {mark} {marks.get(mark.upper(), marks[mark])})" for mark in letters]
    return task_of(
        domain_of(CREW if "s" in marks else SOKOBAN),
        f"(define (problem p) (:domain boxes) (:objects {' '.join(names.values())} - cell {' '.join(WAYS)} - way"
        f" {'r s - robot' if 's' in marks else ''} {' '.join(letters)} - box)"
        f" (:init {' '.join(init + links)}) (:goal (and {' '.join(goal)})))",
    )


def moved(task: Task, *places: str) -> State:
    """The initial state with things put elsewhere: `a c1-2`, `robot c1-1`."""
    atoms = {*task.initial_state}
    predicate, clear = task.predicate_number["at"], task.predicate_number["clear"]
    for text in places:
        thing, cell = text.split()
        if thing == "robot":
            atoms = {code for code in atoms if task.decode(code)[0] != task.predicate_number["at-robot"]}
            atoms.add(task.atom(f"at-robot {cell}"))
            continue
        number = task.object_number[thing]
        (old,) = [code for code in atoms if task.decode(code)[:2] == (predicate, number)]
        atoms -= {old, task.atom(f"clear {cell}")}
        atoms |= {task.encode(clear, task.decode(old)[2:]), task.atom(f"at {thing} {cell}")}
    return State(atoms)


def keeps(task: Task, state: State, goal: Goal | None = None) -> bool:
    """What the kernel says; its twin says the same."""
    goal = task.goal if goal is None else goal
    answer = keeps_goals(task, state, goal)
    assert answer == relaxation.keeps_goals(task, state, goal)
    return answer


DOOR = [
    "#########",
    "#r..#...#",
    "#...#...#",
    "#.a.A.bB#",
    "#########",
]
"""Two rooms, a door between them; the goal of a is the door, that of b behind it."""


def test_a_frozen_box_in_a_door() -> None:
    """While a is on its way nothing is frozen; on its goal in the door, it shuts off the goal of b for a robot before
    it, and nothing for one behind it."""
    task = boxes(DOOR)
    assert keeps(task, task.initial_state)
    assert keeps(task, moved(task, "b c3-7"))
    assert not keeps(task, moved(task, "a c3-4", "robot c3-3"))
    assert keeps(task, moved(task, "a c3-4", "robot c3-5"))
    assert keeps(task, moved(task, "a c3-4", "b c3-7", "robot c3-3"))


def test_a_box_that_may_move_away_does_not_block() -> None:
    """Box a stands in the corridor but can be pushed on; once frozen, it cannot."""
    corridor = boxes(["#########", "#r.b.a..#", "#########"])
    beyond = corridor.make_goal([corridor.atom("at b c1-5")])
    assert keeps(corridor, corridor.initial_state, beyond)
    both = corridor.make_goal([corridor.atom("at b c1-5"), corridor.atom("at a c1-5")])
    assert not keeps(corridor, corridor.initial_state, both)


def test_several_robots() -> None:
    """The other one is behind the door."""
    task = boxes([*DOOR[:2], "#...#..s#", *DOOR[3:]])
    assert keeps(task, moved(task, "a c3-4"))


def test_too_many_actions_mean_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "DEAD_END_WORK", 3)
    task = boxes(["r.a", "..A", "###"])
    goal = task.make_goal([task.atom("at a c0-0"), task.atom("at a c0-2")])
    assert not relaxation.keeps_goals(task, task.initial_state, goal)
    assert keeps_goals(task, task.initial_state, goal)


def test_impossible_goals() -> None:
    task = boxes(["r.a.A"])
    impossible = task.make_goal([task.atom("next c0-0 c0-4 up")])
    assert impossible.impossible
    assert not keeps(task, task.initial_state, impossible)


STACK = """(define (domain stack) (:predicates (on ?x ?y) (table ?x) (clear ?x) (held ?x) (free))
  (:action pick :parameters (?x) :precondition (and (clear ?x) (table ?x) (free))
    :effect (and (held ?x) (not (clear ?x)) (not (table ?x)) (not (free))))
  (:action drop :parameters (?x) :precondition (held ?x)
    :effect (and (clear ?x) (table ?x) (free) (not (held ?x))))
  (:action stack :parameters (?x ?y) :precondition (and (held ?x) (clear ?y))
    :effect (and (on ?x ?y) (clear ?x) (free) (not (held ?x)) (not (clear ?y))))
  (:action unstack :parameters (?x ?y) :precondition (and (on ?x ?y) (clear ?x) (free))
    :effect (and (held ?x) (clear ?y) (not (on ?x ?y)) (not (clear ?x)) (not (free)))))"""


def test_a_tower_is_built_from_below() -> None:
    """b on c before a on b."""
    task = task_of(
        domain_of(STACK),
        "(define (problem t) (:domain stack) (:objects a b c)"
        " (:init (table a) (table b) (table c) (clear a) (clear b) (clear c) (free)) (:goal (and (on a b) (on b c))))",
    )
    assert keeps(task, task.initial_state)
    assert keeps(task, task.state(["on b c", "table a", "table c", "clear a", "clear b", "free"]))
    assert not keeps(task, task.state(["on a b", "table b", "table c", "clear a", "clear c", "free"]))


def test_what_an_action_adds_again_is_kept() -> None:
    """Turning needs the goal that it deletes and adds; flipping deletes it for good."""
    domain = """(define (domain coin) (:predicates (up) (shown) (lost))
      (:action turn :parameters () :precondition (up) :effect (and (not (up)) (up) (shown)))
      (:action flip :parameters () :precondition (up) :effect (and (not (up)) (lost))))"""
    text = "(define (problem c) (:domain coin) (:init (up)) (:goal (and (up) ({}))))"
    turned, flipped = (task_of(domain, text.format(name)) for name in ("shown", "lost"))
    assert keeps(turned, turned.initial_state)
    assert not keeps(flipped, flipped.initial_state)


# -- kernel and twin -------------------------------------------------------------------------------------------------


def some_goal(task: Task, state: State, rng: random.Random) -> Goal:
    """A goal of some atoms that are true, and some that may be."""
    fluent = [i for i in range(len(task.arity)) if task.fluent[i]]
    atoms = rng.sample(state.codes.tolist(), min(len(state), rng.randint(0, 2)))
    for predicate in rng.choices(fluent, k=rng.randint(1, 3)) if fluent else []:
        atoms.append(task.encode(predicate, [rng.randrange(len(task.objects)) for _ in range(task.arity[predicate])]))
    return Goal(atoms)


def walk(task: Task, steps: int, rng: random.Random, state: State | None = None) -> State:
    """The state some random actions after a state (default: the initial one)."""
    state = task.initial_state if state is None else state
    for _ in range(steps):
        action = random_action(task, state, rng)
        state = state if action is None else successor_state(task, state, action)
    return state


@given(task=random_tasks(max_objects=4), seed=st.integers(0, 2**32))
@settings(max_examples=examples(100))
def test_twin(task: Task, seed: int) -> None:
    rng = random.Random(seed)
    state = walk(task, rng.randint(0, 3), rng)
    for goal in (task.goal, *(some_goal(task, state, rng) for _ in range(3))):
        keeps(task, state, goal)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(50))
def test_twin_with_formulas(seed: int) -> None:
    task, rng = random_adl_task(seed), random.Random(seed)
    state = walk(task, rng.randint(0, 3), rng)
    for goal in (task.goal, some_goal(task, state, rng)):
        keeps(task, state, goal)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(50))
def test_twin_on_maps(seed: int) -> None:
    """Random maps with two or three boxes and one or two robots; goals that a random walk reaches, and others."""
    rng = random.Random(seed)
    marks = rng.choice(["rab", "rabc", "rsab"])
    height, width = rng.randint(3, 5), rng.randint(4, 6)
    free = [(y, x) for y in range(height) for x in range(width) if rng.random() < 0.85]
    if len(free) < len(marks):
        return
    rows = [["#"] * width for _ in range(height)]
    for y, x in free:
        rows[y][x] = "."
    for mark, (y, x) in zip(marks, rng.sample(free, len(marks)), strict=True):
        rows[y][x] = mark
    task = boxes(["".join(row) for row in rows])
    state = walk(task, 30, rng)
    later = walk(task, 60, rng, state)
    at = task.predicate_number["at"]
    wanted = [task.decode(code)[1:] for code in later if task.decode(code)[0] == at]
    places = [cell if rng.random() < 0.6 else rng.randrange(len(free)) for _, cell in wanted]
    goal = Goal(task.encode(at, (box, cell)) for (box, _), cell in zip(wanted, places, strict=True))
    keeps(task, state, goal)
    keeps(task, task.initial_state, goal)


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_twin_on_domains(name: str) -> None:
    """Along random walks, with the problem's goal and with atoms of a state further on."""
    task = task_of(DOMAINS[name].path.read_text(), generate_problem(name, index=2, count=30))
    rng = random.Random(0)
    for steps in (0, 5, 20):
        state = walk(task, steps, rng)
        later = {*walk(task, 30, rng)} - {*state}
        some = rng.sample(sorted(later), min(3, len(later)))
        for goal in (task.goal, Goal([*some, *rng.sample(state.codes.tolist(), 2)])):
            keeps(task, state, goal)


# -- what the kernel is given ----------------------------------------------------------------------------------------


def test_deleted_atoms_must_be_known() -> None:
    task = boxes(["rab", "AB."])
    rules = _kernel.GroundActions(kernel_task(task), 10**6, "effects")
    with pytest.raises(ValueError, match="deleted atoms are not known"):
        rules.reaches(task.initial_state.codes, task.goal.positive, [], keeping=True)
    assert not _kernel.GroundActions(kernel_task(task), 3, "actions").complete
