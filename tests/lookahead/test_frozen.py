"""Frozen goals: the kernel against its twin, and what the two forms say about boxes that are in each other's way."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples
from tests.random_tasks import random_tasks
from tests.tasks import domain_of, task_of
from tests.twins import frozen_goals

from saltus import _kernel
from saltus.domains.registry import DOMAINS, generate_problem
from saltus.errors import ConfigurationError
from saltus.lookahead import frozen, random_action, successor_state
from saltus.lookahead.exclusion import analyse_goal, walkers
from saltus.lookahead.frozen import FORMS, keeps_goals
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


def forms(task: Task, state: State, goal: Goal | None = None) -> tuple[bool, bool]:
    """What the weak and the strong form say; the twin says the same."""
    goal = task.goal if goal is None else goal
    answers = [frozen.answer(task, state, goal, form) for form in ("weak", "strong")]
    assert answers == [frozen_goals.keeps_goals(task, state, goal, form) for form in ("weak", "strong")]
    return bool(answers[0]), bool(answers[1])


def test_what_is_known_about_boxes() -> None:
    """A box is at one cell, a cell holds a box or is clear; the goal is about the box; the robot walks."""
    task = boxes(["r.a.A"])
    analysis = analyse_goal(task, task.goal)
    kinds = {
        tuple((task.domain.predicates[part.predicate].name, part.agent) for part in exclusion.parts)
        for exclusion in analysis.exclusions
    }
    assert kinds == {(("at", (0,)),), (("at", (1,)), ("clear", (0,)))}
    assert [[task.objects[i] for i in own] for own in analysis.own] == [["a"]]
    assert [task.domain.predicates[group.predicate].name for group in walkers(task)] == ["at-robot"]


PASSAGE = [
    "#######",
    "#r.B..#",
    "#...a.#",
    "###b#.#",
    "###.#.#",
    "###..A#",
    "###.###",
    "#######",
]
"""b must be pushed up from below, where the robot comes only through the passage in which the goal of a is."""


def test_a_box_in_a_corridor_blocks_the_way_around_another() -> None:
    """Once a is on its goal, b can only be pushed down. The relaxation pushes it down, walks past and pushes it up."""
    task = boxes(PASSAGE)
    assert forms(task, task.initial_state) == (True, True)
    assert forms(task, moved(task, "a c5-5", "robot c4-5")) == (True, False)
    assert forms(task, moved(task, "a c5-5", "robot c5-4")) == (True, True)


ROOM = [
    "#########",
    "#r..#...#",
    "#..a.A.B#",
    "#.b.#...#",
    "#...#...#",
    "#########",
]
"""Two rooms, a door between them; the goal of a is behind the door, that of b further on."""


def test_a_frozen_box_before_a_door() -> None:
    """While a is on its way nothing is frozen; on its goal behind the door, it shuts off the goal of b."""
    task = boxes(ROOM)
    assert forms(task, task.initial_state) == (True, True)
    assert forms(task, moved(task, "b c2-7")) == (True, True)
    assert forms(task, moved(task, "a c2-5", "robot c2-4")) == (False, False)


def test_only_the_strong_form_walks_around_a_box() -> None:
    """Nobody can get below b, and nothing is frozen yet."""
    task = boxes(["#######", "#r....#", "###b###", "###.###", "###B###", "#######"])
    goal = task.make_goal([task.atom("at b c1-3")])
    assert forms(task, task.initial_state, goal) == (True, False)
    assert forms(task, task.initial_state, task.make_goal([task.atom("at b c4-3")])) == (True, True)


def test_a_box_that_may_move_away_does_not_block() -> None:
    """Box a stands in the corridor but can be pushed on; once frozen, it cannot."""
    corridor = boxes(["#########", "#r.b.a..#", "#########"])
    beyond = corridor.make_goal([corridor.atom("at b c1-5")])
    assert forms(corridor, corridor.initial_state, beyond) == (True, True)
    both = corridor.make_goal([corridor.atom("at b c1-5"), corridor.atom("at a c1-5")])
    assert forms(corridor, corridor.initial_state, both) == (False, False)


def test_too_little_work_means_yes() -> None:
    task = boxes(["#######", "#r....#", "###b###", "###.###", "###B###", "#######"])
    goal = task.make_goal([task.atom("at b c1-3")])
    assert not keeps_goals(task, task.initial_state, goal)
    assert keeps_goals(task, task.initial_state, goal, work=0)
    assert keeps_goals(task, task.initial_state, goal, "weak")


def test_too_many_actions_mean_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen, "GROUND_ATOMS", 3)
    task = boxes(["r.a", "..A"])
    assert frozen.answer(task, task.initial_state, task.goal, "weak") is None
    assert keeps_goals(task, task.initial_state, task.goal, "strong")


def test_forms_are_checked() -> None:
    task = boxes(["r.a.A"])
    with pytest.raises(ConfigurationError, match=r"'off', expected one of weak, strong"):
        keeps_goals(task, task.initial_state, task.goal, "off")


def test_impossible_goals() -> None:
    task = boxes(["r.a.A"])
    impossible = task.make_goal([task.atom("next c0-0 c0-4 up")])
    assert impossible.impossible
    assert not any(keeps_goals(task, task.initial_state, impossible, form) for form in FORMS)


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
    assert forms(task, task.initial_state) == (True, True)
    below = task.state(["on b c", "table a", "table c", "clear a", "clear b", "free"])
    above = task.state(["on a b", "table b", "table c", "clear a", "clear c", "free"])
    assert forms(task, below) == (True, True)
    assert forms(task, above) == (False, False)


# -- kernel and twin -------------------------------------------------------------------------------------------------


def same(task: Task, state: State, goal: Goal, max_states: int = 300) -> int:
    """Number of forms about which both know an answer, which is the same."""
    decided = 0
    for form in FORMS:
        left = frozen.answer(task, state, goal, form, work=10**6)
        right = frozen_goals.keeps_goals(task, state, goal, form, max_states)
        assert right is None or left == right, form
        decided += right is not None
    return decided


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
@settings(max_examples=50)
def test_twin_with_conditional_effects(task: Task, seed: int) -> None:
    rng = random.Random(seed)
    state = walk(task, rng.randint(0, 3), rng)
    for goal in (task.goal, some_goal(task, state, rng)):
        same(task, state, goal)


@given(task=random_tasks(conditional=False, max_objects=4), seed=st.integers(0, 2**32))
@settings(max_examples=examples(100))
def test_twin(task: Task, seed: int) -> None:
    rng = random.Random(seed)
    state = walk(task, rng.randint(0, 3), rng)
    for goal in (task.goal, *(some_goal(task, state, rng) for _ in range(3))):
        same(task, state, goal)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=50)
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
    assert same(task, state, goal, 3000) == 2
    assert same(task, task.initial_state, goal, 3000) == 2


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
            assert same(task, state, goal) > 0


# -- what the kernel is given ----------------------------------------------------------------------------------------


def test_no_program_crashes() -> None:
    """One wrong number anywhere, or a short program: refused, or a test that can be used."""
    task = boxes(["rab", "AB."])
    known = kernel_task(task)
    actions = _kernel.GroundActions(known, 10**6, "actions")
    program = frozen.program_of(task, task.goal).tolist()
    refused = 0
    for position in range(len(program)):
        for changed in ([], *([value] for value in (-(2**31), -1, 1, 57, 2**31 - 1))):
            wrong = np.array([*program[:position], *changed, *(program[position + 1 :] if changed else [])], np.int32)
            try:
                test = _kernel.FrozenTest(known, actions, task.goal.positive, wrong)
            except ValueError:
                refused += 1
            else:
                assert test.keeps(task.initial_state.codes, True, 10**5) in (-1, 0, 1)
    assert refused > len(program)


def test_actions_and_codes_are_checked() -> None:
    task, other = boxes(["rab", "AB."]), boxes(["rab", "AB."])
    known, program = kernel_task(task), frozen.program_of(task, task.goal)
    actions = _kernel.GroundActions(known, 10**6, "actions")
    assert actions.complete
    with pytest.raises(ValueError, match="not grounded"):
        _kernel.FrozenTest(known, _kernel.GroundActions(known, 3, "actions"), task.goal.positive, program)
    with pytest.raises(ValueError, match="another task"):
        _kernel.FrozenTest(kernel_task(other), actions, task.goal.positive, program)
    with pytest.raises(ValueError, match="codes"):
        _kernel.FrozenTest(known, actions, np.array([10**12]), program)
    test = _kernel.FrozenTest(known, actions, task.goal.positive, program)
    with pytest.raises(ValueError, match="codes"):
        test.keeps(np.array([3, 3]), True, 100)
