"""Rollouts as pages: which nodes of a tree are shown, where, and what is said about a jump."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import ROOT, examples
from tests.policies import Plays
from tests.policy.test_dead_ends import TrapLover, closed_fork, fork, trap
from tests.policy.test_goal_by_goal import Confused, lamps
from tests.policy.test_rollout import CHAIN, FarthestPolicy, chain
from tests.random_tasks import random_task
from tests.tasks import domain_of, task_of

from saltus.domains import DOMAINS, generate_problem
from saltus.lab.report.explain import JUMP_LIMIT, ending_text, explain_page, trace
from saltus.lab.report.tree_drawing import draw, spread
from saltus.lookahead import JumpCost, LookaheadTree, PlaySpec, Situation, TreeSpec, lookahead
from saltus.policy import YARDSTICKS, Decision, GoalCountPolicy, LearnedPolicy, Limits, Outcome, Policy, plan_stepwise
from saltus.task import Plan, Task, load, validate

BLOCKS = ROOT / "examples" / "blocksworld"
GARDENER = ROOT / "examples" / "gardener"


@cache
def blocks() -> Task:
    """A hundred blocks."""
    return load(BLOCKS / "domain.pddl", BLOCKS / "p100.pddl")


@cache
def tree() -> LookaheadTree:
    """A tree of 227 nodes in 37 depths."""
    return lookahead(blocks())


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(0.5, 20)), min_size=1, max_size=10))
def test_places_are_as_close_to_the_wishes_as_can_be(entries: list[tuple[float, float]]) -> None:
    wished, weights = (list(column) for column in zip(*entries, strict=True))
    places = spread(wished, weights)
    assert all(b - a >= 1 - 1e-9 for a, b in pairwise(places))
    level = [wish - i for i, wish in enumerate(wished)]
    for i, place in enumerate(places):  # isotonic regression by its formula
        best = max(
            min(np.average(level[a : b + 1], weights=weights[a : b + 1]) for b in range(i, len(level)))
            for a in range(i + 1)
        )
        assert place - i == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize(("per_depth", "seed"), [(1, 0), (3, 1), (8, 2), (1000, 3)])
def test_the_best_of_every_depth_and_the_path_are_shown(per_depth: int, seed: int) -> None:
    found = tree()
    rng = np.random.default_rng(seed)
    q = rng.normal(size=len(found) - 1).astype(np.float32)
    jump = int(rng.integers(1, len(found)))
    drawing = draw(found, q, jump, per_depth)
    path = {jump}
    while min(path) != 0:
        path.add(int(found.parent[min(path)]))
    assert path <= set(drawing.nodes)
    assert drawing.nodes[0] == 0
    total, shown = Counter(found.depth.tolist()), Counter(found.depth[drawing.nodes].tolist())
    assert drawing.hidden == [total[depth] - shown[depth] for depth in range(max(total) + 1)]
    limit = min(per_depth, 700 // (max(total) + 1))
    for depth in range(1, max(total) + 1):
        members = sorted(np.flatnonzero(found.depth == depth).tolist(), key=lambda node: -q[node - 1])
        assert set(members[:limit]) <= set(drawing.nodes)
        assert set(drawing.nodes) & set(members[limit:]) <= path
        rows = sorted(row for row, node in zip(drawing.rows, drawing.nodes, strict=True) if found.depth[node] == depth)
        assert all(b - a >= 0.999 for a, b in pairwise(rows))
    for node, parent in zip(drawing.nodes[1:], drawing.parents[1:], strict=True):
        ancestor = int(found.parent[node])
        while ancestor not in drawing.nodes:
            ancestor = int(found.parent[ancestor])
        assert drawing.nodes[parent] == ancestor
    assert min(drawing.rows) == 0
    straight = [drawing.rows[drawing.nodes.index(node)] for node in path]
    assert max(straight) - min(straight) < 0.5


def test_edges_between_neighbouring_depths_do_not_cross() -> None:
    found = tree()
    q = np.random.default_rng(0).normal(size=len(found) - 1).astype(np.float32)
    drawing = draw(found, q, 1, 1000)  # nothing is hidden up to the bound on all nodes
    for depth in range(1, int(found.depth.max()) + 1):
        edges = sorted(
            (drawing.rows[parent], drawing.rows[i])
            for i, parent in enumerate(drawing.parents)
            if i and found.depth[drawing.nodes[i]] == depth and found.depth[drawing.nodes[parent]] == depth - 1
        )
        assert [end for _, end in edges] == sorted(end for _, end in edges)


def test_a_rollout_is_traced() -> None:
    task = chain(6, goal=5)
    seen = []
    content = trace(task, GoalCountPolicy(np.random.default_rng(0), TreeSpec()), "goal-count", see=seen.append)
    assert ending_text(content) == "solved in 1 jump, 5 actions"
    assert len(seen) == 1
    (step,) = content["steps"]
    names = [content["names"][number] for number in step["actions"]]
    assert names == [f"(go n{i} n{i + 1})" for i in range(5)]
    assert (content["goals"], content["reached"], step["gained"], step["lost"]) == (["(at n5)"], [], [0], [])
    assert (step["size"], step["hidden"], step["depth"]) == (6, [0] * 6, list(range(6)))
    assert (step["added"], step["deleted"], step["changes"]) == (["(at n5)"], ["(at n0)"], [1, 1])
    assert step["q"][0] is None
    assert step["rank"] == 1
    assert step["solved"]


def test_a_policy_file_is_traced_and_its_actions_are_a_plan() -> None:
    task = load(BLOCKS / "domain.pddl", BLOCKS / "p03.pddl")
    policy = LearnedPolicy.load(BLOCKS / "untrained.safetensors", task.domain)
    content = trace(task, policy, "untrained", max_jumps=50)
    assert content["solved"]
    actions = [content["names"][number] for step in content["steps"] for number in step["actions"]]
    assert validate(task, Plan.of(actions))
    goals = set(content["reached"])
    for step in content["steps"]:
        assert not goals & set(step["gained"])
        assert goals >= set(step["lost"])
        goals = goals - set(step["lost"]) | set(step["gained"])
        assert step["goals"][step["jump"]] == len(goals)
        walk, node = [], step["jump"]
        while node:
            walk = step["path"][node] + walk
            node = step["parent"][node]
        assert walk == step["actions"]
    assert goals == set(range(len(content["goals"])))


def test_walks_are_folded_within_a_jump() -> None:
    """An action after moves is a list that starts with them; all actions together are the plan."""
    task = load(GARDENER / "domain.pddl", GARDENER / "training" / "p04.pddl")
    content = trace(task, GoalCountPolicy(np.random.default_rng(0), TreeSpec(kind="iw", free_moves=True)), "x")
    assert content["lookahead"] == "IW(1) modulo free moves"
    assert "lookahead IW(1) modulo free moves" in explain_page(content)
    plan: list[str] = []
    folds = 0
    for step in content["steps"]:
        edges = step["actions"]
        assert len(edges) == step["depth"][step["jump"]]
        assert edges == [edge for node in way(step) for edge in step["path"][node]]
        for edge in edges:
            assert isinstance(edge, int) or len(edge) > 1
            folds += not isinstance(edge, int)
            plan += [content["names"][number] for number in ([edge] if isinstance(edge, int) else edge)]
    assert folds > 3
    assert len(plan) == content["length"]
    assert validate(task, Plan.of(plan))


def way(step: dict[str, Any]) -> list[int]:
    """The nodes shown from the root to the jump."""
    nodes = [step["jump"]]
    while step["parent"][nodes[-1]] > 0:
        nodes.append(step["parent"][nodes[-1]])
    return nodes[::-1]


@pytest.mark.parametrize("name", sorted(YARDSTICKS))
def test_the_jump_limit_ends_a_trace(name: str) -> None:
    content = trace(blocks(), YARDSTICKS[name](np.random.default_rng(0)), name, max_jumps=2, per_depth=2)
    assert len(content["steps"]) == 2
    assert ending_text(content) == "not solved after 2 jumps: stopped by the jump limit"
    step = content["steps"][0]
    assert sum(step["hidden"]) + len(step["depth"]) == step["size"]
    assert sum(step["hidden"]) > 0


@pytest.mark.parametrize(
    ("goal", "text"),
    [
        ("(at n0)", "solved: the goal holds in the initial state"),
        (
            "(and (at n0) (at n1))",
            "not solved after 1 jump: every state of the tree has been visited or is a dead end",
        ),
    ],
)
def test_endings(goal: str, text: str) -> None:
    task = task_of(
        domain_of(CHAIN),
        "(define (problem c) (:domain chain) (:objects n0 n1) (:init (at n0) (next n0 n1) (next n1 n0)) "
        f"(:goal {goal}))",
    )
    assert ending_text(trace(task, YARDSTICKS["random"](np.random.default_rng(0)), "random")) == text


def test_names_cannot_break_out_of_the_page() -> None:
    domain = domain_of("(define (domain <i>) (:predicates (</script>)) (:action <!-- :effect (</script>)))")
    task = task_of(domain, "(define (problem <b>) (:domain <i>) (:init) (:goal (</script>)))")
    page = explain_page(trace(task, YARDSTICKS["random"](np.random.default_rng(0)), "<u>"))
    assert page.count("</script>") == 2  # of the content and of the program
    assert "<!--" not in page
    assert "<i>" not in page.split("<main>")[1].split("</main>")[0]
    assert "&lt;b&gt;" in page


def test_the_page_says_what_q_values_count() -> None:
    """The network's values are multiplied by the scale, so that they count whole actions."""
    policy = LearnedPolicy.load(ROOT / "examples" / "blocksworld" / "untrained.safetensors")
    task = load(BLOCKS / "domain.pddl", BLOCKS / "p03.pddl")
    plain = trace(task, policy, "untrained", max_jumps=1)
    policy.cost = JumpCost("actions", 4.0, 0.5)
    scaled = trace(task, policy, "untrained", max_jumps=1)
    assert scaled["steps"][0]["q"][1:] == pytest.approx([4 * q for q in plain["steps"][0]["q"][1:]], rel=1e-4)
    assert "Q counts actions, and 2 per jump<" in explain_page(scaled)
    assert "Q counts jumps<" in explain_page(plain)
    yardstick = GoalCountPolicy(np.random.default_rng(0), TreeSpec())
    assert "Q counts" not in explain_page(trace(task, yardstick, "goal-count", max_jumps=1))


# -- the page shows what planning plays ------------------------------------------------------------------------------


class Noted(Plays):
    """A policy that plays like another one; what it decides about is remembered."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.lookahead = policy.lookahead
        self.play_spec = policy.play_spec
        self.asked: list[tuple[object, ...]] = []

    def decide(self, situations: Sequence[Situation]) -> list[Decision]:
        """The other one's decisions."""
        for situation in situations:
            goal = situation.goal
            self.asked.append((situation.state, goal.positive.tolist(), goal.negative.tolist()))
        return self.policy.decide(situations)


def generated(name: str, seed: int) -> Task:
    """A small problem of a domain."""
    return task_of(domain_of(DOMAINS[name].path.read_text()), generate_problem(name, "training", seed % 4, 12, seed))


PLAYERS: dict[str, Callable[[int, TreeSpec, PlaySpec], Policy]] = {
    "goal-count": lambda seed, trees, rules: YARDSTICKS["goal-count"](np.random.default_rng(seed), trees, rules),
    "random": lambda seed, trees, rules: YARDSTICKS["random"](np.random.default_rng(seed), trees, rules),
    "confused": lambda seed, trees, rules: Confused(1 + seed % 3).playing(rules),
    "farthest": lambda seed, trees, rules: FarthestPolicy().playing(rules),
    "traps": lambda seed, trees, rules: TrapLover(rules),
}
"""Policies by seed, trees and rules."""

TASKS: dict[str, Callable[[int], Task]] = {
    "random": random_task,
    "generated": lambda seed: generated(sorted(DOMAINS)[seed % len(DOMAINS)], seed),
    "fork": lambda seed: fork(1 + seed % 4),
    "closed fork": lambda seed: closed_fork(),
    "trap": lambda seed: trap(),
    "lamps": lambda seed: lamps(1 + seed % 5, places=2 + seed % 30, broken=seed % 2, lit=seed % 3),
}
"""Tasks by seed: of the first few, most are not solved, and many have dead ends."""


def rules() -> st.SearchStrategy[PlaySpec]:
    """Ways to play."""
    free = {"dead_ends": st.booleans(), "take_goals": st.booleans(), "max_better": st.sampled_from([None, 1, 3])}
    free["roles"] = st.sampled_from([None, 1, 2])
    whole = st.builds(PlaySpec, frozen_goals=st.booleans(), **free)
    return whole | st.builds(PlaySpec, goals_in_sight=st.integers(1, 2), **free)


def assert_the_page_is_the_plan(player: str, task: Task, seed: int, trees: TreeSpec, spec: PlaySpec, most: int) -> str:
    """The same decisions, jumps and actions, and the same ending, which is returned."""
    planning, showing = (Noted(PLAYERS[player](seed, trees, spec)) for _ in range(2))
    end = list(plan_stepwise(planning, task, Limits(max_jumps=most), search=False))[-1]
    content = trace(task, showing, player, max_jumps=most)
    assert showing.asked == planning.asked
    steps = content["steps"]
    assert len(steps) == end.jumps
    assert content["solved"] == end.solved == (content["ending"] == "solved")
    if end.plan is not None:
        assert Plan.of(actions_of(content)) == end.plan
        assert len(end.plan) == content["length"]
    wanted = {Outcome.FOUND: "solved", Outcome.JUMPS: JUMP_LIMIT, Outcome.NO_JUMP: "dead end"}
    assert content["ending"] == wanted.get(end.outcome, end.detail)
    return content["ending"]


def actions_of(content: dict[str, Any]) -> list[str]:
    """The names of the actions on a page, without folds."""
    found: list[str] = []
    for step in content["steps"]:
        for entry in step["actions"]:
            found += [content["names"][number] for number in (entry if isinstance(entry, list) else [entry])]
    return found


@settings(max_examples=examples(100), deadline=None)
@given(
    player=st.sampled_from(sorted(PLAYERS)),
    kind=st.sampled_from(sorted(TASKS)),
    seed=st.integers(0, 10_000),
    trees=st.sampled_from(["flat", "aiw", "iw"]),
    spec=rules(),
    most=st.integers(1, 40),
)
def test_the_page_shows_what_greedy_planning_plays(
    player: str, kind: str, seed: int, trees: str, spec: PlaySpec, most: int
) -> None:
    assert_the_page_is_the_plan(player, TASKS[kind](seed), seed, TreeSpec(kind=trees), spec, most)


def test_rollouts_of_all_endings_are_compared() -> None:
    """So that the test above cannot pass by rollouts that all end alike."""
    found = {
        assert_the_page_is_the_plan(player, make(seed), seed, TreeSpec(kind="flat"), spec, 40)
        for player in PLAYERS
        for make in TASKS.values()
        for seed in range(3)
        for spec in (PlaySpec(), PlaySpec(dead_ends=True), PlaySpec(goals_in_sight=1))
    }
    assert found == {"solved", "stuck", "dead end", "proven dead end", JUMP_LIMIT}
