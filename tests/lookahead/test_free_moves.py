"""Lookahead modulo free moves: the kernel against its twin, replayed paths, and what can be reached by jumps."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.conftest import IPC_DOMAINS, examples
from tests.lookahead.test_kernel import ROOT_ACTIONS, assert_same, bounded, limits, specs
from tests.random_moves import random_errands, random_maps, random_move_task, random_moves
from tests.random_tasks import random_tasks
from tests.tasks import task_of
from tests.trees import check_valid
from tests.twins import lookahead as twin
from tests.twins.free_moves import Places, is_reversible
from tests.twins.free_moves import walks_before as slow_walks_before

from saltus import _kernel
from saltus.lookahead import (
    PlaySpec,
    TreeSpec,
    applicable_actions,
    lookahead,
    lookahead_batch,
    random_action,
    successor_state,
)
from saltus.lookahead.free_groups import candidates
from saltus.lookahead.free_moves import FreeMoves, _entries, canonical_state, find_free_moves, walks_before
from saltus.lookahead.spec import KINDS
from saltus.task import Goal, State, Task, load
from saltus.task.kernel_task import kernel_task
from saltus.task.validate import validate

pytestmark = pytest.mark.kernel

FREE = TreeSpec(free_moves=True)


def free_specs() -> st.SearchStrategy[TreeSpec]:
    """Any lookahead modulo free moves."""
    return specs(widths=(1,), free_moves=True)


@st.composite
def situations(draw: st.DrawFn, tiny: bool = False) -> tuple[Task, State, Goal]:
    """A task, a state a few actions further on, and the task's goal or another one, often with places in it."""
    task = draw(random_moves(tiny=tiny))
    rng = random.Random(draw(st.integers(0, 2**32)))
    states = [task.initial_state]
    for _ in range(rng.choice([0, 0, 1, 2, 4, 7])):
        action = random_action(task, states[-1], rng)
        if action is None:
            break
        states.append(successor_state(task, states[-1], action))
    state = rng.choice(states) if rng.random() < 0.3 else states[0]
    return task, state, draw(st.sampled_from([task.goal, _another_goal(rng, states)]))


def _another_goal(rng: random.Random, states: list[State]) -> Goal:
    wanted = rng.sample(list(states[-1]), min(len(states[-1]), rng.randint(0, 3)))
    unwanted = rng.sample(list(states[0]), min(len(states[0]), rng.choice([0, 0, 1, 2])))
    return Goal(wanted, set(unwanted) - set(wanted))


def test_the_random_tasks_are_diverse() -> None:
    """Every kind of group, of agents and of moves; and tasks without any."""
    found: Counter[str] = Counter()
    for seed in range(100):
        task = random_move_task(seed)
        moves = find_free_moves(task)
        groups = moves.groups if moves else ()
        found[f"{min(len(groups), 2)} groups"] += 1
        found["fewer groups than candidates"] += len(groups) < len(candidates(task))
        found["conditional"] += any(schema.is_conditional for schema in task.schemas)
        for group in groups:
            found[f"agents of {len(group.objects) - 1} objects"] += 1
            found[f"{min(len(group.moves), 3)} moves"] += 1
            found["blocked by others"] += group.blocked_by_others
            schemas = [task.schemas[move.schema] for move in group.moves]
            changing = [sum(x.predicate >= 0 and task.fluent[x.predicate] for x in s.precondition) > 1 for s in schemas]
            found["moves with fluent conditions"] += any(changing)
            found["fixed moves"] += not any(changing)
            literals = [s.precondition[m.literal] for s, m in zip(schemas, group.moves, strict=True)]
            found["constant agents"] += any(term < 0 for literal in literals for term in literal.terms)
            goal = [moves.place_of(task, code) for code in task.goal.positive.tolist()] if moves else []
            found["goals"] += any(entry is not None for entry in goal)
    wanted = [f"{n} groups" for n in range(3)] + [f"agents of {n} objects" for n in range(3)]
    wanted += [f"{n} moves" for n in range(1, 4)] + ["blocked by others", "conditional", "goals", "constant agents"]
    wanted += ["moves with fluent conditions", "fixed moves", "fewer groups than candidates"]
    assert {name: found[name] for name in wanted if found[name] < 2} == {}


# -- kernel and twin -------------------------------------------------------------------------------------------------


@given(situations(), free_specs(), limits(), ROOT_ACTIONS)
@settings(max_examples=examples(80))
def test_kernel_equals_twin(
    situation: tuple[Task, State, Goal], spec: TreeSpec, play: PlaySpec, root_actions: int
) -> None:
    """Equal trees, valid by replay."""
    task, state, goal = situation
    with bounded(root_actions):
        tree = lookahead(task, state, spec, goal, play)
        assert_same(tree, twin.lookahead(task, state, spec, goal, play))
    check_valid(tree)


@given(random_maps(), st.sampled_from(["iw", "aiw"]))
@settings(max_examples=examples(20))
def test_closures_follow_doors(task: Task, kind: str) -> None:
    """Places that agents reach are found from those of the parent where doors open and close on larger maps."""
    spec = TreeSpec(kind=kind, free_moves=True, root_successors="novel")
    bounds = PlaySpec(max_nodes=60)
    tree = lookahead(task, spec=spec, play=bounds)
    assert_same(tree, twin.lookahead(task, spec=spec, play=bounds))
    check_valid(tree)


@given(random_errands(), st.sampled_from(["iw", "aiw", "baiw"]), st.sampled_from(["off", "instead", "also"]))
@settings(max_examples=examples(10))
def test_errands_on_large_maps(task: Task, kind: str, goal_identity: str) -> None:
    """Places that are new, or nearest, are found without trying all of them."""
    spec = TreeSpec(kind=kind, goal_identity=goal_identity, free_moves=True, root_successors="novel")
    bounds = PlaySpec(max_nodes=50)
    tree = lookahead(task, spec=spec, play=bounds)
    assert_same(tree, twin.lookahead(task, spec=spec, play=bounds))
    check_valid(tree)


@pytest.mark.parametrize("kind", sorted(KINDS))
@given(random_moves())
@settings(max_examples=examples(12))
def test_kinds(kind: str, task: Task) -> None:
    """Whole trees of every kind; paths to goals are plans."""
    for root in ("all", "classes"):
        spec = TreeSpec(kind=kind, root_successors=root, free_moves=True)
        bounds = PlaySpec(max_nodes=60)
        tree = lookahead(task, spec=spec, play=bounds)
        assert_same(tree, twin.lookahead(task, spec=spec, play=bounds))
        for node in tree.goal_nodes[:3].tolist():
            plan = tree.plan_to(node)
            assert len(plan) == tree.length[node]
            assert validate(task, plan).valid


@given(situations())
@settings(max_examples=examples(60))
def test_walks_and_canonical_states(situation: tuple[Task, State, Goal]) -> None:
    """Walks before actions and states up to walks are the twin's, in every state of a tree."""
    task, state, goal = situation
    moves = find_free_moves(task)
    assume(moves is not None)
    assert moves is not None
    tree = lookahead(task, state, TreeSpec(kind="iw", free_moves=True), goal, PlaySpec(max_nodes=25))
    for node in range(len(tree)):
        reached = tree.state_of(node)
        assert canonical_state(task, reached, goal) == Places(task, moves, frozenset(reached)).canonical(goal)
        if node > 0:
            parent, action = tree.state_of(int(tree.parent[node])), tree.action_of(node)
            assert walks_before(task, parent, action) == slow_walks_before(task, moves, parent, action)


@given(random_moves(free=0.5))
@settings(max_examples=examples(60))
def test_reversible(task: Task) -> None:
    """Which groups have a move that can be undone."""
    groups = candidates(task)
    assume(groups)
    found = _kernel.FreeMoves(kernel_task(task), _entries(groups)).reversible.tolist()
    assert found == [is_reversible(task, group) for group in groups]


@given(st.one_of(random_moves(free=0.0), random_tasks()), specs(widths=(1,)), limits(), ROOT_ACTIONS)
@settings(max_examples=examples(60))
def test_without_free_moves_trees_are_the_usual_ones(
    task: Task, spec: TreeSpec, play: PlaySpec, root_actions: int
) -> None:
    """A task without free moves: the same tree, whether they are asked for or not."""
    assume(find_free_moves(task) is None)
    with bounded(root_actions):
        tree = lookahead(task, spec=replace(spec, free_moves=True), play=play)
        assert_same(tree, lookahead(task, spec=replace(spec, free_moves=False), play=play))
    assert tree.up_to_walks(task.initial_state) == task.initial_state


@given(st.lists(situations(), min_size=1, max_size=4), free_specs(), limits(), ROOT_ACTIONS)
@settings(max_examples=examples(20))
def test_batch_does_not_depend_on_threads(
    batch: list[tuple[Task, State, Goal]], spec: TreeSpec, play: PlaySpec, root_actions: int
) -> None:
    """A batch equals single calls, with any number of threads, in the order asked for."""
    with bounded(root_actions):
        single = [lookahead(task, state, spec, goal, play) for task, state, goal in batch * 2]
        for threads in (1, 4):
            for one, other in zip(single, lookahead_batch(batch * 2, spec, play, threads=threads), strict=True):
                assert_same(one, other)


# -- what can be reached ---------------------------------------------------------------------------------------------

MAX_STATES = 400


def by_actions(task: Task) -> set[State] | None:
    """All states that single actions reach; None if there are too many."""
    known = {task.initial_state}
    queue = [task.initial_state]
    for state in queue:
        for action in applicable_actions(task, state):
            after = successor_state(task, state, action)
            if after not in known:
                known.add(after)
                queue.append(after)
        if len(known) > MAX_STATES:
            return None
    return known


def by_jumps(task: Task, kind: str) -> set[State]:
    """All states that jumps reach."""
    spec = TreeSpec(kind=kind, free_moves=True, root_successors="all")
    known = {task.initial_state}
    queue = [task.initial_state]
    for state in queue:
        tree = lookahead(task, state, spec)
        assert tree.has_all_successors
        for after in (tree.state_of(node) for node in range(1, len(tree))):
            if after not in known:
                known.add(after)
                queue.append(after)
    return known


def by_walks(task: Task, moves: FreeMoves, state: State) -> set[State]:
    """All states that differ from a state by walks alone."""
    places = Places(task, moves, frozenset(state))
    agents = sorted(places.at)
    rest = set(state) - {places.code(agent, places.at[agent]) for agent in agents}
    return {
        State(rest | {places.code(agent, place) for agent, place in zip(agents, chosen, strict=True)})
        for chosen in product(*(places.reached[agent] for agent in agents))
    }


def assert_complete(task: Task, kind: str, wanted: set[State]) -> None:
    """Jumps and walks reach what single actions do, and a goal state if there is one."""
    moves = find_free_moves(task)
    assert moves is not None
    jumped = by_jumps(task, kind)
    reached: set[State] = set()
    for state in jumped:
        if state not in reached:
            reached |= by_walks(task, moves, state)
    assert reached == wanted
    assert any(map(task.goal.holds, jumped)) == any(map(task.goal.holds, wanted))


@pytest.mark.parametrize("kind", ["flat", "aiw"])
@given(random_moves(tiny=True))
@settings(max_examples=examples(60))
def test_jumps_and_walks_reach_all_that_actions_reach(kind: str, task: Task) -> None:
    assume(find_free_moves(task) is not None)
    wanted = by_actions(task)
    assume(wanted is not None)
    assert wanted is not None
    assert_complete(task, kind, wanted)


def roads(*pairs: str) -> str:
    """Roads in both directions."""
    return " ".join(f"(road {pair[0]} {pair[1]}) (road {pair[1]} {pair[0]})" for pair in pairs)


HEAD = """(define (domain d) (:requirements :typing :conditional-effects :negative-preconditions)
  (:types agent place car - object)
  (:predicates (at ?a - agent ?p - place) (road ?a ?b) (in ?a ?c) (on) (open ?p) (seen ?p)
    (fast ?a) (door ?p) (gate ?a ?b))
"""
MOVE = """(:action move :parameters (?a - agent ?x ?y - place) :precondition (and (at ?a ?x) (road ?x ?y))
  :effect (and (not (at ?a ?x)) (at ?a ?y)))"""
WORK = "(:action work :parameters (?a - agent ?x - place) :precondition (at ?a ?x) :effect (seen ?x))"
ALIGHT = """(:action alight :parameters (?a - agent ?x - place ?c - car) :precondition (in ?a ?c)
  :effect (and (not (in ?a ?c)) (at ?a ?x)))"""


def small_task(actions: str, init: str, goal: str = "(on)") -> Task:
    """Two agents, three places, two cars."""
    objects = "a b - agent p q r - place c d - car"
    return task_of(
        f"{HEAD}{actions})", f"(define (problem s) (:domain d) (:objects {objects}) (:init {init}) (:goal {goal}))"
    )


SHIFTS = {
    "all cars at once": f"""(:action board :parameters (?a - agent ?x - place) :precondition (at ?a ?x)
      :effect (and (not (at ?a ?x)) (forall (?c - car) (in ?a ?c)))) {ALIGHT}""",
    "the same agent twice": f"""(:action board :parameters (?a - agent ?x - place ?c - car) :precondition (at ?a ?x)
      :effect (and (not (at ?a ?x)) (in ?a ?c))) {ALIGHT}
      (:action both :parameters (?a ?b - agent ?c ?d - car ?x ?y - place) :precondition (and (in ?a ?c) (in ?b ?d))
      :effect (and (not (in ?a ?c)) (not (in ?b ?d)) (at ?a ?x) (at ?b ?y)))""",
    "two effects": f"""(:action board :parameters (?a - agent ?x - place ?c ?d - car) :precondition (at ?a ?x)
      :effect (and (not (at ?a ?x)) (when (on) (in ?a ?c)) (when (open ?x) (in ?a ?d)))) {ALIGHT}""",
    "swap": """(:action swap :parameters (?a ?b - agent ?x ?y - place) :precondition (and (at ?a ?x) (at ?b ?y))
      :effect (and (not (at ?a ?x)) (not (at ?b ?y)) (at ?a ?y) (at ?b ?x)))""",
    "fork": """(:action fork :parameters (?a - agent ?x ?y ?z - place) :precondition (at ?a ?x)
      :effect (and (not (at ?a ?x)) (when (on) (at ?a ?y)) (when (not (on)) (at ?a ?z))))""",
}


@pytest.mark.parametrize("name", sorted(SHIFTS))
def test_shifted_agents(name: str) -> None:
    """Agents that other actions shift, hide, or put to several places."""
    task = small_task(f"{MOVE} {WORK} {SHIFTS[name]}", f"{roads('pq', 'qr')} (at a p) (on) (open p)")
    wanted = by_actions(task)
    assert wanted is not None
    assert_complete(task, "flat", wanted)
    for kind in sorted(KINDS):
        spec = TreeSpec(kind=kind, free_moves=True)
        bounds = PlaySpec(max_nodes=60)
        assert_same(lookahead(task, spec=spec, play=bounds), twin.lookahead(task, spec=spec, play=bounds))


# -- single cases ----------------------------------------------------------------------------------------------------


def names(task: Task, spec: TreeSpec = FREE) -> list[tuple[int, str, int]]:
    """Parent, action and length of every node, in the kernel and in its twin."""
    tree = lookahead(task, spec=spec)
    assert_same(tree, twin.lookahead(task, spec=spec))
    check_valid(tree)
    return [
        (int(tree.parent[i]), task.action_name(tree.action_of(i)), int(tree.length[i])) for i in range(1, len(tree))
    ]


@pytest.mark.parametrize(("start", "goal"), [("q", "(at a p)"), ("p", "(not (at a p))"), ("p", "(at a q)")])
def test_a_place_that_the_goal_mentions_differs_from_others(start: str, goal: str) -> None:
    """Walking there, or away, is a jump, wherever the place stands in the list of objects."""
    task = small_task(f"{MOVE} {WORK}", f"{roads('pq', 'qr')} (at a {start})", goal)
    end = "q" if start == "p" else "p"
    assert (0, f"(move a {start} {end})", 1) in names(task)
    after = successor_state(task, task.initial_state, lookahead(task, spec=FREE).action_of(1))
    assert canonical_state(task, after, task.goal) != canonical_state(task, task.initial_state, task.goal)


def test_moves_for_some_agents_only() -> None:
    """A way back for fast agents is none for others: theirs is one-way."""
    slow = MOVE.replace("(road ?x ?y)", "(gate ?x ?y)").replace("move", "pass")
    fast = MOVE.replace("(road ?x ?y)", "(fast ?a)")
    task = small_task(slow + fast, "(fast a) (gate p q) (at a p) (at b p)")
    assert names(task) == [(0, "(pass b p q)", 1)]


def test_there_for_some_agents_and_back_for_others_is_no_free_move() -> None:
    """No agent can undo its own move."""
    there = MOVE.replace("(road ?x ?y)", "(gate ?x ?y) (fast ?a)").replace("move", "there")
    back = MOVE.replace("(road ?x ?y)", "(gate ?y ?x) (not (fast ?a))").replace("move", "back")
    assert find_free_moves(small_task(there + back, "(fast a) (gate p q) (at a p) (at b q)")) is None
    assert (
        find_free_moves(
            small_task(there + back.replace("(not (fast ?a))", "(fast ?a)"), "(fast a) (gate p q) (at a p)")
        )
        is not None
    )


def test_an_agent_that_loses_all_but_one_place_walks_again() -> None:
    """Which of several places is left makes no difference where the agent can walk from one to the other."""
    spread = """(:action spread :parameters (?a - agent ?x - place) :precondition (at ?a ?x)
      :effect (and (not (at ?a ?x)) (forall (?y - place) (at ?a ?y))))"""
    leave = "(:action leave :parameters (?a - agent ?x - place) :precondition (at ?a ?x) :effect (not (at ?a ?x)))"
    task = small_task(MOVE + spread + leave, f"{roads('pq')} (at a p) (at b p)")
    state = task.initial_state
    for name in ("(spread a p)", "(leave a r)"):
        actions = {task.action_name(action): action for action in applicable_actions(task, state)}
        state = successor_state(task, state, actions[name])
    tree = lookahead(task, state, TreeSpec(kind="flat", free_moves=True))
    assert_same(tree, twin.lookahead(task, state, TreeSpec(kind="flat", free_moves=True)))
    found = [task.action_name(tree.action_of(node)) for node in range(1, len(tree))]
    assert found == ["(move a p q)", "(spread a p)", "(spread b p)", "(leave b p)"]


def test_a_way_back_is_taken_away() -> None:
    """A move within an agent's places becomes one that leaves them below the root."""
    guarded = MOVE.replace("(road ?x ?y)", "(open ?x)")
    close = "(:action close :parameters (?x - place) :precondition (open ?x) :effect (and (not (open ?x)) (seen ?x)))"
    task = small_task(guarded + close, "(open p) (open q) (at a p)")
    assert (4, "(move a p q)", 2) in names(task, TreeSpec(kind="iw", free_moves=True))


def test_a_way_round_is_taken_away() -> None:
    """The same for a one-way road whose end could be left by another road."""
    guarded = MOVE.replace("(road ?x ?y)", "(road ?x ?y) (open ?y)")
    close = "(:action close :parameters (?x - place) :precondition (door ?x) :effect (and (not (open ?x)) (seen ?x)))"
    init = f"{roads('pr', 'qr')} (road p q) (open p) (open q) (open r) (door r) (at a p)"
    assert names(small_task(guarded + close, init), TreeSpec(kind="iw", free_moves=True))[-1] == (
        3,
        "(move a p q)",
        2,
    )


def test_a_place_out_of_reach_stays_out_of_reach() -> None:
    """What happens elsewhere on the map does not bring an agent there."""
    guarded = MOVE.replace("(road ?x ?y)", "(road ?x ?y) (open ?x)")
    unlock = "(:action unlock :parameters (?x - place) :effect (open ?x))"
    task = small_task(guarded + unlock, "(road p q) (road q p) (road r q) (at a p)")
    assert [entry for entry in names(task, TreeSpec(kind="iw", free_moves=True)) if "move a r" in entry[1]] == []


def test_conditional_actions_come_by_the_length_of_walks() -> None:
    """Below the root, too, an agent acts where it is rather than elsewhere."""
    push = """(:action push :parameters (?a - agent ?x ?y - place) :precondition (at ?a ?x)
      :effect (when (open ?y) (gate ?y ?y)))"""
    unlock = "(:action unlock :parameters (?x - place) :effect (open ?x))"
    task = small_task(MOVE + push + unlock, f"{roads('pq', 'qr')} (at a r)")
    below = [
        entry for entry in names(task, TreeSpec(kind="iw", free_moves=True)) if entry[0] > 0 and "push" in entry[1]
    ]
    assert below
    assert {length for _, _, length in below} == {2}


def test_an_agent_at_two_places_does_not_walk() -> None:
    """An action that needs one agent at two places is none; one that needs two agents at one place is one."""
    pair = """(:action pair :parameters (?a ?b - agent ?x ?y - place) :precondition (and (at ?a ?x) (at ?b ?y))
      :effect (gate ?x ?y))"""
    task = small_task(MOVE + pair, f"{roads('pq', 'qr')} (at a p)")
    assert {name for _, name, _ in names(task)} == {f"(pair a a {x} {x})" for x in "pqr"}
    task = small_task(MOVE + pair, f"{roads('pq', 'qr')} (at a p) (at b p)")
    assert (0, "(pair a b r p)", 3) in names(task, TreeSpec(kind="flat", free_moves=True))


# -- IPC problems ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", IPC_DOMAINS)
def test_ipc_easy(ipc: Path, domain: str) -> None:
    """Valid trees on easy problems; on the smallest, the twin's."""
    paths = sorted((ipc / domain / "training" / "easy").glob("*.pddl"))
    for i, path in enumerate(paths):
        task = load(ipc / domain / "domain.pddl", path)
        for kind in sorted(KINDS) if i < 2 else ["aiw"]:
            spec = TreeSpec(kind=kind, free_moves=True)
            bounds = PlaySpec(max_nodes=20)
            tree = lookahead(task, spec=spec, play=bounds)
            check_valid(tree)
            if i < 2:
                assert_same(tree, twin.lookahead(task, spec=spec, play=bounds))
