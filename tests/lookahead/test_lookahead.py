"""Lookaheads with known answers: hand-made tasks, published tree sizes, limits, refusals."""

from __future__ import annotations

import copy
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import ROOT
from tests.tasks import spec_with, task_of
from tests.trees import check_valid
from tests.twins import lookahead as twin

from saltus.errors import ConfigurationError, InputError, SaltusError
from saltus.lookahead import (
    PlaySpec,
    TreeSpec,
    count_actions,
    find_bindings,
    lookahead,
    lookahead_batch,
    random_action,
    search,
    successor_state,
)
from saltus.task import Action, Goal, Literal, Plan, Task, load, validate

pytestmark = pytest.mark.kernel

NOVEL_ONLY = {"root_successors": "novel", "expand_root_successors": False}

# Three places in a row, two balls, one gripper that only carries; types room and ball.
CORRIDOR = """
(define (domain corridor)
  (:types room ball)
  (:predicates (robot ?r - room) (next ?a ?b - room) (at ?b - ball ?r - room) (held ?b - ball) (free))
  (:action go :parameters (?a ?b - room)
    :precondition (and (robot ?a) (next ?a ?b)) :effect (and (robot ?b) (not (robot ?a))))
  (:action pick :parameters (?b - ball ?r - room)
    :precondition (and (robot ?r) (at ?b ?r) (free)) :effect (and (held ?b) (not (at ?b ?r)) (not (free))))
  (:action put :parameters (?b - ball ?r - room)
    :precondition (and (robot ?r) (held ?b)) :effect (and (at ?b ?r) (free) (not (held ?b)))))
"""
CORRIDOR_PROBLEM = """
(define (problem two-balls) (:domain corridor)
  (:objects r1 r2 r3 - room b1 b2 - ball)
  (:init (robot r1) (next r1 r2) (next r2 r1) (next r2 r3) (next r3 r2) (at b1 r1) (at b2 r1) (free))
  (:goal (and (at b1 r3))))
"""


@pytest.fixture(scope="module")
def corridor() -> Task:
    return task_of(CORRIDOR, CORRIDOR_PROBLEM)


def names(task: Task, tree_spec: TreeSpec) -> list[str]:
    """Readable paths of all nodes but the root, in order."""
    tree = lookahead(task, spec=tree_spec)
    return [" ".join(task.action_name(action) for action in tree.path_to(node)) for node in range(1, len(tree))]


def test_iw_by_hand(corridor: Task) -> None:
    """IW(1): with a ball in the gripper, (robot r2) is no news: another branch has been there."""
    assert names(corridor, TreeSpec(kind="iw", **NOVEL_ONLY)) == [
        "(go r1 r2)",
        "(pick b1 r1)",
        "(pick b2 r1)",
        "(go r1 r2) (go r2 r3)",
    ]


def test_iw_2_by_hand(corridor: Task) -> None:
    """IW(2): (robot r2) with (held b1) is a new pair, so balls are carried; the goal is reached."""
    paths = names(corridor, TreeSpec(kind="iw", width=2, root_successors="novel"))
    assert "(pick b1 r1) (go r1 r2) (go r2 r3) (put b1 r3)" in paths


def test_aiw_by_hand(corridor: Task) -> None:
    """AIW(1): as IW(1) here; the goal atom is not reached."""
    tree = lookahead(corridor, spec=TreeSpec(**NOVEL_ONLY))
    assert tree.novel_count == len(tree) == 5
    assert len(tree.goal_nodes) == 0


def test_expanded_root_successors_reach_further(corridor: Task) -> None:
    """From the state with b1 held in r2, the goal is two steps away and in the tree."""
    state = corridor.state(["(robot r2)", "(held b1)", "(at b2 r1)"])
    tree = lookahead(corridor, state)
    assert len(tree.goal_nodes) == 1
    path = [corridor.action_name(action) for action in tree.path_to(int(tree.goal_nodes[0]))]
    assert path == ["(go r2 r3)", "(put b1 r3)"]


def test_flat_is_the_distinct_successors(corridor: Task) -> None:
    assert names(corridor, TreeSpec(kind="flat")) == ["(go r1 r2)", "(pick b1 r1)", "(pick b2 r1)"]


def test_classes_keep_one_of_interchangeable_objects() -> None:
    """Without a goal for one of them, two balls in the same place are one class."""
    problem = CORRIDOR_PROBLEM.replace("(at b1 r3)", "(robot r3)")
    task = task_of(CORRIDOR, problem)
    tree = lookahead(task, spec=TreeSpec(kind="flat", root_successors="classes"))
    assert [task.action_name(tree.action_of(i)) for i in (1, 2)] == ["(go r1 r2)", "(pick b1 r1)"]
    assert len(tree) == 3
    assert tree.root_actions == 3
    assert tree.root_successors == "classes"


def test_auto_turns_to_classes_above_the_bound(corridor: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    for bound, mode in ((3, "all"), (2, "classes")):
        monkeypatch.setattr(search, "MAX_ROOT_ACTIONS", bound)
        tree = lookahead(corridor)
        assert tree.root_successors == mode


def test_a_relabelled_goal_changes_the_tree(corridor: Task) -> None:
    """Goal identity belongs to the goal asked for, not to the task's."""
    goal = corridor.make_goal([corridor.atom("(at b2 r2)")])
    tree = lookahead(corridor, corridor.state(["(robot r2)", "(held b2)", "(at b1 r1)"]), goal=goal)
    assert len(tree.goal_nodes) == 1
    assert tree.goals[0] == 0


def test_negative_goals_count(corridor: Task) -> None:
    goal = Goal([corridor.atom("(robot r2)")], [corridor.atom("(at b1 r1)")])
    tree = lookahead(corridor, goal=goal)
    assert tree.goals[0] == 0
    assert tree.goals.max() == 1
    check_valid(tree)


TOOLS = """
(define (domain tools)
  (:predicates (raw ?x) (ready ?x) (done ?x) (sharp ?t) (bench ?b) (near ?t ?b))
  (:action prepare :parameters (?x) :precondition (raw ?x) :effect (and (ready ?x) (not (raw ?x))))
  (:action use :parameters (?b ?t ?x)
    :precondition (and (ready ?x) (sharp ?t) (bench ?b) (near ?t ?b))
    :effect (and (done ?x) (not (sharp ?t)) (not (ready ?x)))))
"""


def test_the_least_of_many_actions_with_the_same_gain() -> None:
    """Below the root only (done x) matters, and of all ways to it the first in object order is taken."""
    problem = """
    (define (problem tools-1) (:domain tools)
      (:objects b1 b2 b3 t1 t2 t3 x1 x2)
      (:init (raw x1) (raw x2) (bench b1) (bench b2) (bench b3) (sharp t1) (sharp t2) (sharp t3)
             (near t3 b2) (near t2 b2) (near t1 b3) (near t2 b3))
      (:goal (and (done x1))))
    """
    task = task_of(TOOLS, problem)
    paths = names(task, TreeSpec(**NOVEL_ONLY))
    assert paths == [
        "(prepare x1)",
        "(prepare x2)",
        "(prepare x1) (use b2 t2 x1)",
        "(prepare x2) (use b2 t2 x2)",
    ]


# Novel states from the initial state, root included, that an independent implementation agrees on.
PUBLISHED = [
    ("iw", "satellite", "medium/p15", 621),
    ("iw", "transport", "medium/p15", 802),
    ("iw", "blocksworld", "medium/p15", 1615),
    ("aiw", "satellite", "medium/p15", 74),
    ("aiw", "transport", "medium/p15", 45),
    ("aiw", "blocksworld", "medium/p15", 202),
    ("aiw", "blocksworld", "hard/p30", 1064),
    ("aiw", "ferry", "hard/p30", 1461),
    ("aiw", "miconic", "hard/p30", 681),
    ("aiw", "spanner", "hard/p30", 588),
]


@pytest.mark.parametrize(("kind", "domain", "problem", "novel"), PUBLISHED)
def test_published_sizes(ipc: Path, kind: str, domain: str, problem: str, novel: int) -> None:
    task = load(ipc / domain / "domain.pddl", ipc / domain / "testing" / f"{problem}.pddl")
    assert lookahead(task, spec=TreeSpec(kind=kind, **NOVEL_ONLY)).novel_count == novel


def test_childsnack_has_few_classes(ipc: Path) -> None:
    """Forty-seven million root actions are counted and played by classes."""
    task = load(ipc / "childsnack/domain.pddl", ipc / "childsnack/testing/hard/p30.pddl")
    tree = lookahead(task)
    assert tree.root_actions == count_actions(task, task.initial_state) == 46_703_531
    assert tree.root_successors == "classes"
    assert len(tree) < 100
    check_valid(tree)


@pytest.mark.parametrize("domain", ["blocksworld", "childsnack", "rovers", "sokoban"])
def test_paths_are_valid_plans(ipc: Path, domain: str) -> None:
    """Paths replay under the independent validator: every action is applicable, only the goal may be missed."""
    task = load(ipc / domain / "domain.pddl", ipc / domain / "testing" / "easy" / "p20.pddl")
    tree = lookahead(task)
    rng = random.Random(1)
    for node in rng.sample(range(1, len(tree)), min(20, len(tree) - 1)):
        verdict = validate(task, tree.plan_to(node))
        assert verdict.step is None
        assert bool(verdict) == (node in tree.goal_nodes)


def test_the_capacity_keeps_or_drops_successors_of_the_root(corridor: Task) -> None:
    """Three novel successors, of which one is kept to be expanded: the first, since none reaches a goal."""
    assert lookahead(corridor).depth.tolist().count(1) == 3
    kept = lookahead(corridor, spec=TreeSpec(capacity=1))
    dropped = lookahead(corridor, spec=TreeSpec(capacity=1, keep_root_successors=False))
    assert kept.depth.tolist().count(1) == 3
    assert dropped.depth.tolist().count(1) == 1
    assert [kept.path_to(node) for node in range(len(kept)) if kept.depth[node] > 1] == [
        dropped.path_to(node) for node in range(len(dropped)) if dropped.depth[node] > 1
    ]


def test_max_nodes_truncates(corridor: Task) -> None:
    whole = lookahead(corridor)
    for limit in range(1, len(whole) + 1):
        tree = lookahead(corridor, play=PlaySpec(max_nodes=limit))
        assert len(tree) == limit
        assert tree.truncated == (limit < len(whole))
        assert tree.parent.tolist() == whole.parent[:limit].tolist()


def test_too_many_atoms_truncate(corridor: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_ATOMS", 1)
    tree = lookahead(corridor)
    assert tree.truncated
    assert len(tree) == 2


def test_few_nodes_may_have_few_atoms(corridor: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = len(lookahead(corridor))
    few = PlaySpec(max_nodes=whole)
    assert not lookahead(corridor, play=few).truncated
    monkeypatch.setattr(search, "ATOMS_PER_NODE", 1)
    tree = lookahead(corridor, play=few)
    assert tree.truncated
    assert 1 < len(tree) < whole


def test_huge_root_is_cut_off_in_order(ipc: Path) -> None:
    """All successors of a root with 250,000 actions, cut off: the first ones in contract order, without a crash."""
    task = load(ipc / "childsnack/domain.pddl", ipc / "childsnack/testing/hard/p05.pddl")
    tree = lookahead(task, spec=TreeSpec(kind="flat", root_successors="all"), play=PlaySpec(max_nodes=1000))
    assert tree.truncated
    assert len(tree) == 1000
    arguments = [tree.action_of(node) for node in range(1, 1000)]
    assert arguments == sorted(arguments)


def test_trees_outlive_the_kernel_object(corridor: Task) -> None:
    """Arrays stay valid when only they are kept."""
    depth = lookahead(corridor).depth
    for _ in range(50):
        lookahead(corridor, spec=TreeSpec(kind="iw"))
    assert depth.tolist() == lookahead(corridor).depth.tolist()


def test_check_valid_finds_a_planted_fault(corridor: Task) -> None:
    tree = twin.lookahead(corridor)
    check_valid(tree)
    wrong = tree.added.copy()
    wrong[0] = corridor.atom("(robot r3)")
    object.__setattr__(tree, "added", wrong)
    with pytest.raises(SaltusError, match="node 1: the state is not the result of"):
        check_valid(tree)


def test_root_has_no_action(corridor: Task) -> None:
    with pytest.raises(SaltusError, match="has no action"):
        lookahead(corridor).action_of(0)
    assert lookahead(corridor).path_to(0) == []
    assert lookahead(corridor).plan_to(0) == Plan(())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "awi"}, "kind is 'awi', expected one of flat, iw, aiw, baiw"),
        ({"width": 3}, "width is 3"),
        ({"capacity": 0}, "capacity is 0"),
        ({"max_better": 0}, "max_better is 0"),
        ({"max_encoded": -1}, "max_encoded is -1"),
        ({"root_successors": "some"}, "root_successors is 'some'"),
        ({"goal_identity": "yes"}, "goal_identity is 'yes'"),
        ({"max_nodes": 0}, "max_nodes is 0"),
        ({"keep_root_successors": 1}, "keep_root_successors is 1"),
        ({"width": 2, "root_successors": "classes"}, "needs width=1"),
    ],
)
def test_senseless_specs_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        spec_with(**fields)


def test_foreign_states_are_refused(corridor: Task) -> None:
    """Codes of another task, or unsorted ones, never reach the search."""
    from saltus import _kernel
    from saltus.task.kernel_task import kernel_task

    for codes in ([10**9], [5, 2], [-1]):
        with pytest.raises(ValueError, match="codes"):
            _kernel.count_applicable(kernel_task(corridor), np.array(codes, np.int64))


def test_bindings_by_hand(corridor: Task) -> None:
    """Two different balls in one room: two bindings, each variable another object."""
    at = corridor.predicate_number["at"]
    pair = [Literal(at, (0, 1)), Literal(at, (2, 1))]
    found = find_bindings(corridor, corridor.initial_state, pair, limit=10)
    named = sorted(tuple(corridor.objects[i] for i in row) for row in found.tolist())
    assert named == [("b1", "r1", "b2"), ("b2", "r1", "b1")]
    assert len(find_bindings(corridor, corridor.initial_state, pair, limit=1)) == 1
    firsts = {tuple(find_bindings(corridor, corridor.initial_state, pair, seed=s)[0].tolist()) for s in range(20)}
    assert len(firsts) == 2  # the seed decides which one is found
    assert len(find_bindings(corridor, corridor.initial_state, pair, limit=10, max_steps=1)) == 0


def test_random_walk_stays_valid(corridor: Task) -> None:
    rng = random.Random(3)
    state = corridor.initial_state
    actions = []
    for _ in range(30):
        action = random_action(corridor, state, rng)
        assert action is not None
        actions.append(corridor.action_name(action))
        state = successor_state(corridor, state, action)
    assert validate(corridor, Plan.of(actions)).step is None


def ground(task: Task, text: str, positive: bool = True) -> Literal:
    """A literal without variables."""
    predicate, *arguments = task.decode(task.atom(text))
    return Literal(predicate, tuple(~number for number in arguments), positive)


@pytest.mark.parametrize(
    ("atoms", "shape"),
    [
        ([("(robot r1)", True)], (1, 0)),
        ([("(robot r2)", True)], (0, 0)),
        ([("(robot r2)", False)], (1, 0)),
        ([("(robot r1)", True), ("(next r1 r2)", True), ("(free)", True)], (1, 0)),
        ([("(robot r1)", True), ("(next r1 r3)", True)], (0, 0)),
        ([("(free)", True)], (1, 0)),
        ([], (1, 0)),
    ],
)
def test_ground_conjunctions(corridor: Task, atoms: list[tuple[str, bool]], shape: tuple[int, int]) -> None:
    """Without variables there is one empty binding, or none."""
    literals = [ground(corridor, *atom) for atom in atoms]
    assert find_bindings(corridor, corridor.initial_state, literals, limit=5).shape == shape
    assert len(twin.find_bindings(corridor, corridor.initial_state, literals)) == shape[0]


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        (Literal(99, (0,)), "predicate 99"),
        (Literal(-2, (0, 1)), "predicate -2"),
        (Literal(0, (~99,)), "object 99"),
        (Literal(0, (0, 1)), "2 terms, expected 1"),
        (Literal(-1, (0,)), "1 terms, expected 2"),
        (Literal(0, (3,)), "has 1 variables, but numbers them up to 3"),
    ],
)
def test_senseless_conjunctions_are_refused(corridor: Task, literal: Literal, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_bindings(corridor, corridor.initial_state, [literal])


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (Action(3, (0, 1)), "schema 3"),
        (Action(-1, (0, 1)), "schema -1"),
        (Action(0, ()), "takes 2 arguments, found 0"),
        (Action(0, (0, 1, 2)), "takes 2 arguments, found 3"),
        (Action(0, (0, 10**8)), "object 100000000"),
        (Action(0, (-1, 0)), "object -1"),
    ],
)
def test_senseless_actions_are_refused(corridor: Task, action: Action, message: str) -> None:
    with pytest.raises(InputError, match=message):
        successor_state(corridor, corridor.initial_state, action)


def test_counts_saturate() -> None:
    """More than 2^62 actions, of one schema in two parts and of several schemas: 2^62, not a negative number."""
    several = " ".join(f"?x{i}" for i in range(10))
    differ = " ".join(f"(not (q ?a ?x{i}))" for i in range(10))
    domain = f"""(define (domain many) (:requirements :negative-preconditions) (:predicates (p ?a) (q ?a ?b) (r ?a))
      (:action a :parameters (?a {several}) :precondition (and (p ?a) {differ}) :effect (and (r ?x0) (q ?a ?a)))
      (:action b :parameters ({several}) :effect (r ?x0))
      (:action c :parameters ({several}) :effect (r ?x1)))"""
    objects = " ".join(f"o{i}" for i in range(100))
    for facts in ("", "(p o1) (p o2)"):
        task = task_of(
            domain, f"(define (problem m) (:domain many) (:objects {objects}) (:init {facts}) (:goal (r o1)))"
        )
        assert count_actions(task, task.initial_state) == 2**62
        tree = lookahead(task, spec=TreeSpec(root_successors="novel"), play=PlaySpec(max_nodes=1))
        assert (tree.root_actions, tree.truncated) == (2**62, True)


def test_pickled_after_a_lookahead(corridor: Task) -> None:
    """The kernel's copy does not travel with the task; the other process makes its own."""
    tree = lookahead(corridor)
    again = pickle.loads(pickle.dumps(corridor))
    assert lookahead(again).added.tolist() == tree.added.tolist()
    assert copy.deepcopy(corridor).initial_state == corridor.initial_state


@pytest.mark.parametrize("threads", [-5, 0, 1, 3000])
def test_any_number_of_threads(corridor: Task, threads: int) -> None:
    """As many threads as make sense are started."""
    situation = (corridor, corridor.initial_state, corridor.goal)
    assert len(lookahead_batch([situation] * 50, threads=threads)) == 50


@pytest.mark.skipif(sys.platform != "linux", reason="threads are limited as on Linux")
@pytest.mark.skipif("SALTUS_TEST_KERNEL" in os.environ, reason="sanitizers reserve terabytes of addresses")
def test_threads_that_cannot_start() -> None:
    """Where the system gives no more threads, the work is done on fewer."""
    program = """
import resource
from pathlib import Path
from saltus.lookahead import lookahead_batch
from saltus.task import load
folder = Path("examples/blocksworld")
task = load(folder / "domain.pddl", folder / "p100.pddl")
resource.setrlimit(resource.RLIMIT_STACK, (2**40, resource.RLIM_INFINITY))
resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))
print(len(lookahead_batch([(task, task.initial_state, task.goal)] * 8, threads=8)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "8\n", "")
