"""The kernel's lookahead against its twin: the same tree, node by node, in order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import IPC_DOMAINS, examples
from tests.random_tasks import random_tasks
from tests.tasks import task_of
from tests.trees import check_valid
from tests.twins import actions as twin_actions
from tests.twins import lookahead as twin

from saltus.lookahead import (
    Conjunction,
    LookaheadTree,
    PlaySpec,
    TreeSpec,
    applicable_actions,
    count_actions,
    find_bindings,
    find_colours,
    lookahead,
    lookahead_batch,
    random_action,
    search,
    successor_state,
)
from saltus.lookahead.spec import GOAL_IDENTITIES, KINDS, ROOT_SUCCESSORS
from saltus.task import Literal, Task, load

pytestmark = pytest.mark.kernel

ARRAYS = (
    "parent",
    "depth",
    "length",
    "schema",
    "argument_offset",
    "argument",
    "novel",
    "goals",
    "added_offset",
    "added",
    "deleted_offset",
    "deleted",
)


def assert_same(fast: LookaheadTree, slow: LookaheadTree) -> None:
    """Equal in everything that belongs to the tree; `generated` does not."""
    for name in ARRAYS:
        assert getattr(fast, name).tolist() == getattr(slow, name).tolist(), name
    assert fast.root_actions == slow.root_actions
    assert fast.root_successors == slow.root_successors
    assert (fast.truncated, fast.stopped, fast.left_out) == (slow.truncated, slow.stopped, slow.left_out)


@st.composite
def specs(draw: st.DrawFn, *, widths: tuple[int, ...] = (1, 1, 1, 2), free_moves: bool = False) -> TreeSpec:
    """Any lookahead that is not refused."""
    width = draw(st.sampled_from(widths))
    roots = sorted(ROOT_SUCCESSORS.keys() - ({"classes"} if width == 2 else set()))
    return TreeSpec(
        kind=draw(st.sampled_from(sorted(KINDS))),
        width=width,
        capacity=draw(st.sampled_from([None, None, 1, 2, 5])),
        goal_identity=draw(st.sampled_from(sorted(GOAL_IDENTITIES))),
        root_successors=draw(st.sampled_from(roots)),
        expand_root_successors=draw(st.booleans()),
        keep_root_successors=draw(st.booleans()),
        free_moves=free_moves,
    )


def limits() -> st.SearchStrategy[PlaySpec]:
    """Limits that small trees run into."""
    return st.builds(
        PlaySpec,
        max_better=st.sampled_from([None, None, 1, 2, 5]),
        max_encoded=st.sampled_from([None, None, 1, 2, 3, 7, 20]),
        max_nodes=st.sampled_from([3, 10, 60, 60]),
    )


ROOT_ACTIONS = st.sampled_from([1, 5, 1000])


@contextmanager
def bounded(root_actions: int) -> Iterator[None]:
    """With more root actions, `auto` means `classes`, in the kernel and in its twin."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (search, twin):
            patch.setattr(module, "MAX_ROOT_ACTIONS", root_actions)
        yield


@given(random_tasks(), specs(), limits(), ROOT_ACTIONS, st.integers(0, 2**32))
@settings(max_examples=examples(250))
def test_random_tasks(task: Task, spec: TreeSpec, play: PlaySpec, root_actions: int, seed: int) -> None:
    """Equal trees from the initial state and from a state one action further on."""
    state = task.initial_state
    for _ in range(2):
        with bounded(root_actions):
            assert_same(lookahead(task, state, spec, play=play), twin.lookahead(task, state, spec, play=play))
        action = random_action(task, state, random.Random(seed))
        if action is None:
            break
        state = successor_state(task, state, action)


@given(random_tasks())
@settings(max_examples=examples(100))
def test_actions_and_successors(task: Task) -> None:
    """Applicable actions in order, their number, and all successors."""
    state = task.initial_state
    actions = list(twin_actions.applicable(task, state))
    assert applicable_actions(task, state) == actions
    assert applicable_actions(task, state, limit=2) == actions[:2]
    assert count_actions(task, state) == len(actions)
    for action in actions[:20]:
        assert successor_state(task, state, action) == twin_actions.successor(task, state, action)


@given(random_tasks(), st.integers(0, 2**32))
@settings(max_examples=examples(40))
def test_random_action_reaches_all(task: Task, seed: int) -> None:
    """Sampled actions are applicable, and every one of few actions is drawn sooner or later."""
    actions = set(twin_actions.applicable(task, task.initial_state))
    rng = random.Random(seed)
    drawn = {random_action(task, task.initial_state, rng) for _ in range(40 * max(1, min(len(actions), 8)))}
    assert drawn <= (actions or {None})
    if len(actions) <= 8:
        assert drawn == (actions or {None})


@given(random_tasks(), st.data())
@settings(max_examples=examples(100))
def test_bindings(task: Task, data: st.DataObject) -> None:
    """Conjunctive situations: the twin's bindings, each once; fewer when fewer are asked for."""
    fitting = [i for i in range(len(task.arity)) if task.arity[i] <= 3]
    literals = []
    for _ in range(data.draw(st.integers(1, 3))):
        predicate = data.draw(st.sampled_from(fitting))
        terms = tuple(data.draw(st.integers(-1, 2)) for _ in range(int(task.arity[predicate])))
        literals.append(Literal(predicate, terms, data.draw(st.integers(0, 4)) > 0))
    used = sorted({term for literal in literals for term in literal.terms if term >= 0})
    literals = [
        Literal(x.predicate, tuple(used.index(t) if t >= 0 else t for t in x.terms), x.positive) for x in literals
    ]
    wanted = twin.find_bindings(task, task.initial_state, literals)
    found = find_bindings(task, task.initial_state, literals, limit=10_000, seed=3)
    assert found.shape == (len(wanted), len(used))
    assert sorted(map(tuple, found.tolist())) == sorted(wanted)
    some = find_bindings(task, task.initial_state, literals, limit=2, seed=4)
    assert some.shape == (min(2, len(wanted)), len(used))
    assert set(map(tuple, some.tolist())) <= wanted
    again = find_bindings(task, task.initial_state, literals, limit=2, seed=4)
    assert np.array_equal(some, again)
    types = [data.draw(st.integers(0, len(task.types) - 1)) for _ in used]
    typed = Conjunction(task, literals, types).find(task.initial_state, limit=10_000)
    assert sorted(map(tuple, typed.tolist())) == sorted(twin.find_bindings(task, task.initial_state, literals, types))


@given(random_tasks(max_objects=7))
@settings(max_examples=examples(60))
def test_colours(task: Task) -> None:
    """1-WL colours are the twin's."""
    fast = find_colours(task, task.initial_state, task.goal)
    assert fast.tolist() == twin.find_colours(task, task.initial_state, task.goal)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize(
    ("types", "arity", "objects"),
    [(64, 12, 3), (256, 9, 2), (1000, 8, 3), (16, 17, 3), (4, 27, 4), (2, 60, 2)],
    ids=lambda value: str(value),
)
def test_many_types_and_arguments(kind: str, types: int, arity: int, objects: int) -> None:
    """types^(arity - 1) * objects leaves 64 bits, or comes close to it: equal trees all the same."""
    names = " ".join(f"t{i}" for i in range(types - 1))
    terms = " ".join(f"?x{i % 3}" for i in range(arity))
    slots = " ".join(f"?x{i}" for i in range(arity))
    domain = f"""(define (domain wide) (:requirements :typing) (:types {names}) (:predicates (p {slots}) (q ?x))
      (:action a :parameters (?x0 ?x1 ?x2) :precondition (q ?x0) :effect (and (p {terms}) (q ?x1))))"""
    listed = " ".join(f"o{i} - t{i // 2 % (types - 1)}" for i in range(objects))
    task = task_of(domain, f"(define (problem w) (:domain wide) (:objects {listed}) (:init (q o0)) (:goal (q o1)))")
    for width, root in ((1, "novel"), (1, "all"), (2, "novel")):
        if kind == "iw" or width == 1:
            spec = TreeSpec(kind=kind, width=width, root_successors=root)
            bounds = PlaySpec(max_nodes=60)
            assert_same(lookahead(task, spec=spec, play=bounds), twin.lookahead(task, spec=spec, play=bounds))


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("domain", IPC_DOMAINS)
def test_ipc_easy(ipc: Path, domain: str, kind: str) -> None:
    """Equal trees on small problems of all ten IPC domains, valid by replay."""
    for name in ("p02", "p08"):
        task = load(ipc / domain / "domain.pddl", ipc / domain / "training" / "easy" / f"{name}.pddl")
        for root in ("all", "classes", "novel"):
            spec = TreeSpec(kind=kind, root_successors=root)
            bounds = PlaySpec(max_nodes=150)
            tree = lookahead(task, spec=spec, play=bounds)
            assert_same(tree, twin.lookahead(task, spec=spec, play=bounds))
            check_valid(tree)


@given(st.lists(random_tasks(), min_size=1, max_size=4), specs(), limits(), ROOT_ACTIONS)
@settings(max_examples=examples(20))
def test_batch_does_not_depend_on_threads(tasks: list[Task], spec: TreeSpec, play: PlaySpec, root_actions: int) -> None:
    """A batch equals single calls, with any number of threads, in the order asked for."""
    situations = [(task, task.initial_state, task.goal) for task in tasks for _ in range(3)]
    with bounded(root_actions):
        single = [lookahead(task, state, spec, goal, play) for task, state, goal in situations]
        for threads in (1, 4):
            for one, other in zip(single, lookahead_batch(situations, spec, play, threads=threads), strict=True):
                assert_same(one, other)
