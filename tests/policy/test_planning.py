"""Planning: every outcome, the search around a policy, and the library's functions, with answers worked out by hand."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
from tests.policies import Plays
from tests.policy.test_rollout import CHAIN, FarthestPolicy, blocks, chain
from tests.tasks import domain_of, task_of
from tests.tolls import toll_roads
from tests.twins.actions import successor

from saltus.errors import ConfigurationError, PolicyError, SaltusError, UnsupportedError, WrongPolicyError
from saltus.lookahead import JumpCost, PlaySpec, TreeSpec, lookahead, lookahead_batch
from saltus.lookahead.spec import PLAY
from saltus.policy import (
    Decision,
    GoalCountPolicy,
    JumpSearch,
    Limits,
    Outcome,
    Progress,
    RandomPolicy,
    load_policy,
    plan_stepwise,
)
from saltus.policy.exit_codes import ExitCode
from saltus.policy.outcome import EXIT_CODES, PROTOCOLS
from saltus.policy.planning import NO_LIMITS
from saltus.policy.portfolio import GOAL_SEARCH, MEMBERS, SEARCH
from saltus.policy.values import WEIGHTS
from saltus.task import Plan, State, Task, validate

FORK = """(define (domain fork) (:predicates (at ?x) (road ?x ?y))
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (road ?x ?y)) :effect (and (at ?y) (not (at ?x)))))"""


def roads(text: str, start: str, goal: str) -> Task:
    """A walk over one-way roads such as `a-b b-c`."""
    pairs = [road.split("-") for road in text.split()]
    names = dict.fromkeys([start, goal, *(place for pair in pairs for place in pair)])
    links = " ".join(f"(road {a} {b})" for a, b in pairs)
    return task_of(
        domain_of(FORK),
        f"(define (problem f) (:domain fork) (:objects {' '.join(names)}) (:init (at {start}) {links})"
        f" (:goal (at {goal})))",
    )


class Named(Plays):
    """A flat policy whose Q-value of a place is given by the place's name."""

    lookahead = TreeSpec(kind="flat")

    def __init__(self, values: dict[str, float], trees: TreeSpec = lookahead, play: PlaySpec = PLAY) -> None:
        self.values = values
        self.asked: list[str] = []
        self.lookahead = trees
        self.play_spec = play

    def decide(self, situations):
        trees = lookahead_batch(situations, self.lookahead, self.play_spec)
        decisions = []
        for tree in trees:
            task = tree.task
            places = [task.atom_name(code)[4:-1] for node in range(len(tree)) for code in tree.state_of(node)]
            self.asked.append(places[0])
            decisions.append(Decision(tree, np.array([self.values[place] for place in places[1:]], np.float32)))
        return decisions


def last(policy, task: Task, limits: Limits = NO_LIMITS, **options: Any) -> Progress:
    """The last progress of planning, greedily unless a search is asked for."""
    return list(plan_stepwise(policy, task, limits, **{"search": False, **options}))[-1]


SEARCH_ALONE = tuple(member for member in MEMBERS if member.name == SEARCH)


def test_every_outcome_has_an_exit_code() -> None:
    assert set(EXIT_CODES) == set(Outcome)
    assert [outcome for outcome, code in EXIT_CODES.items() if code == 0] == [Outcome.FOUND]
    assert Outcome.CRASH.exit_code is ExitCode.CRITICAL_ERROR


@pytest.mark.parametrize(
    ("error", "outcome", "code"),
    [
        (SaltusError("a batch is too large"), Outcome.INPUT, 31),
        (PolicyError("no policy"), Outcome.INPUT, 31),
        (WrongPolicyError("another domain"), Outcome.WRONG_POLICY, 31),
        (UnsupportedError("axioms"), Outcome.UNSUPPORTED, 34),
        (ConfigurationError("can't allocate memory"), Outcome.CONFIGURATION, 33),
        (MemoryError(), Outcome.MEMORY, 22),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), Outcome.MEMORY, 22),
        (KeyboardInterrupt(), Outcome.INTERRUPTED, 130),
        (ZeroDivisionError("planted"), Outcome.CRASH, 32),
    ],
)
def test_every_exception_has_one_outcome(error: BaseException, outcome: Outcome, code: int) -> None:
    assert (Outcome.of_error(error), Outcome.of_error(error).exit_code) == (outcome, code)


def test_protocols() -> None:
    paper, ours = PROTOCOLS["paper"], PROTOCOLS["open"]
    assert (paper.limits, paper.flat_seconds) == (Limits(3600, max_jumps=1000), 900)
    assert (ours.limits, ours.flat_seconds) == (Limits(1800, memory_mb=8192), None)
    assert (PlaySpec.of(paper.play), PlaySpec.of(ours.play)) == (PlaySpec(take_goals=False), PlaySpec())
    assert PlaySpec(take_goals=False).changed(ours.play).take_goals  # also of a policy that is trained otherwise
    assert (paper.search, ours.search) == (False, True)


def test_goals_are_taken_whatever_their_value_unless_the_best_value_is_asked_for() -> None:
    """The goal is in sight from the start, with the worst value; the paper's rule walks past it into a dead end."""
    task = roads("a-g a-b b-c c-g", "a", "g")
    values = {"a": 0.0, "b": 2.0, "c": 2.0, "g": 1.0}
    passing = Named(values).playing(PlaySpec(take_goals=False))
    assert [last(policy, task).jumps for policy in (Named(values), passing)] == [1, 3]
    trap = roads("a-g a-b", "a", "g")
    assert last(Named(values), trap).outcome is Outcome.FOUND
    end = last(passing, trap)
    assert (end.outcome, end.jumps) == (Outcome.FAILED, 1)
    searched = last(passing, trap, search=True)
    assert (searched.outcome, searched.greedy_outcome, searched.found_by) == (Outcome.FOUND, Outcome.FAILED, "search")


def test_a_plan_is_found_and_validated() -> None:
    task = chain(5, goal=4)
    moments = list(plan_stepwise(FarthestPolicy(), task))
    end = moments[-1]
    assert (end.outcome, end.greedy_outcome, end.found_by) == (Outcome.FOUND, Outcome.FOUND, "greedy")
    assert (end.jumps, end.search_decisions, end.cost, end.unit_cost) == (4, 0, 4.0, True)
    assert end.plan is not None
    assert validate(task, end.plan)
    assert [moment.jumps for moment in moments] == [0, 1, 2, 3, 4]
    assert end.tree_nodes == 2 + 3 + 3 + 3  # the root and one or two neighbours
    assert (end.largest_tree, end.goals, end.goal_count) == (3, 1, 1)
    assert end.seconds_plan is not None


def test_a_goal_that_holds_is_a_plan_without_actions() -> None:
    end = last(FarthestPolicy(), chain(3, goal=0))
    assert (end.outcome, end.jumps, end.plan) == (Outcome.FOUND, 0, Plan(()))


def test_a_dead_end_and_visited_states_are_failures_of_the_policy() -> None:
    end = last(Named({"b": 1, "c": 0, "g": 0}), roads("a-b a-c c-g", "a", "g"))
    assert (end.outcome, end.detail, end.jumps, end.plan) == (Outcome.FAILED, "dead end", 1, None)
    end = last(Named({"a": 0, "b": 0}), roads("a-b b-a", "a", "g"))
    assert (end.outcome, end.detail, end.jumps) == (Outcome.FAILED, "stuck", 1)
    assert not end.unsolvable


def test_no_applicable_jump() -> None:
    end = last(Named({}), roads("b-a", "a", "g"), search=True)
    assert (end.outcome, end.greedy_outcome, end.jumps) == (Outcome.NO_JUMP, Outcome.NO_JUMP, 0)
    assert end.unsolvable


@pytest.mark.parametrize("most", [0, 1, 3])
def test_jump_limit(most: int) -> None:
    end = last(FarthestPolicy(), chain(5, goal=4), Limits(max_jumps=most))
    assert (end.outcome, end.jumps, end.plan) == (Outcome.JUMPS, most, None)
    assert last(FarthestPolicy(), chain(5, goal=4), Limits(max_jumps=4)).outcome is Outcome.FOUND


def test_time_limit_between_decisions() -> None:
    task = chain(5, goal=4)
    moments = plan_stepwise(FarthestPolicy(), task, Limits(seconds=100), started=-1e9)
    assert list(moments)[-1].outcome is Outcome.TIME
    end = last(FarthestPolicy(), task, Limits(seconds=1e-9), search=True)
    assert (end.outcome, end.greedy_outcome, end.search_decisions) == (Outcome.TIME, Outcome.TIME, 0)


def test_the_validator_refuses_a_plan_of_a_faulty_tree() -> None:
    class Faulty(FarthestPolicy):
        """A policy whose trees name the wrong actions."""

        def decide(self, situations):
            decisions = super().decide(situations)
            trees = [replace(entry.tree, argument=np.zeros_like(entry.tree.argument)) for entry in decisions]
            return [Decision(tree, entry.q) for tree, entry in zip(trees, decisions, strict=True)]

    end = last(Faulty(), chain(5, goal=4))
    assert (end.outcome, end.greedy_outcome, end.plan) == (Outcome.INVALID, Outcome.INVALID, None)
    assert "step 1 (go n0 n0): precondition (next n0 n0) does not hold" in end.detail


# -- search ------------------------------------------------------------------------------------------------------------


def test_the_search_backs_out_of_a_dead_end() -> None:
    task = roads("a-b b-x a-c c-g", "a", "g")
    policy = Named({"b": -1, "x": -1, "c": -5, "g": -1})
    assert last(policy, task).outcome is Outcome.FAILED
    end = last(policy, task, search=True)
    assert (end.outcome, end.greedy_outcome, end.found_by) == (Outcome.FOUND, Outcome.FAILED, "search")
    assert end.plan == Plan.of(["(go a c)", "(go c g)"])
    assert (end.jumps, end.search_decisions) == (2, 1)


def test_the_search_goes_on_where_the_jump_limit_cut_the_rollout_off() -> None:
    end = last(FarthestPolicy(), chain(6, goal=5), Limits(max_jumps=3), search=True)
    assert (end.outcome, end.greedy_outcome, end.found_by) == (Outcome.FOUND, Outcome.JUMPS, "search")
    assert (end.jumps, end.search_decisions, end.cost) == (3, 2, 5.0)


def test_the_search_may_decide_as_often_as_the_rollout() -> None:
    end = last(FarthestPolicy(), chain(9, goal=8), Limits(max_jumps=2), search=True)
    assert (end.outcome, end.jumps, end.search_decisions) == (Outcome.JUMPS, 2, 2)


def test_the_search_ends_where_all_states_were_decided_about() -> None:
    task = roads("a-b b-a b-c c-a c-d", "a", "g")
    policy = Named(dict.fromkeys("abcd", -1.0))
    end = last(policy, task, search=True)
    assert (end.outcome, end.detail) == (Outcome.FAILED, "the search has exhausted all reachable states")
    assert sorted(policy.asked) == ["a", "b", "c", "d"]  # each once: what the rollout decided is not decided again


@pytest.mark.parametrize(
    ("trees", "play", "asked", "incomplete", "left_out"),
    [
        (Named.lookahead, PLAY, "abcd", 0, 0),
        (Named.lookahead, PlaySpec(max_encoded=2), "abcd", 0, 0),  # as many as there are
        (Named.lookahead, PlaySpec(max_encoded=1), "abd", 1, 1),  # of a's successors b and c, one is left out
        (Named.lookahead, PlaySpec(max_nodes=2), "abd", 1, 0),  # the same by truncation
        (TreeSpec(kind="flat", root_successors="novel"), PLAY, "abcd", 4, 0),
        (TreeSpec(kind="aiw"), PlaySpec(max_better=1), "abcd", 0, 0),  # all successors are there all the same
    ],
)
def test_a_search_over_cut_trees_does_not_claim_to_have_seen_all(
    trees: TreeSpec, play: PlaySpec, asked: str, incomplete: int, left_out: int
) -> None:
    task = roads("a-b a-c b-d", "a", "g")
    policy = Named(dict.fromkeys("abcd", -1.0), trees, play)
    end = last(policy, task, search=True, members=SEARCH_ALONE)
    assert sorted(policy.asked) == list(asked)
    tried = f"the search has tried every state of its trees, but {incomplete} of {len(asked)} may lack successors"
    whole = "the search has exhausted all reachable states"
    assert (end.outcome, end.detail) == (Outcome.FAILED, tried if incomplete else whole)
    assert end.unsolvable is (incomplete == 0)
    assert end.left_out_nodes == left_out


def test_a_tree_made_again_with_less_memory_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trees are not kept, and when they are made again they lack their last state."""
    task = roads("a-b a-c b-d", "a", "g")
    search = JumpSearch(Named(dict.fromkeys("abcd", -1.0)), task)
    trees, limits = TreeSpec(kind="flat"), PlaySpec(max_nodes=2)
    monkeypatch.setattr(search, "_tree", lambda node: lookahead(task, node.state, trees, play=limits))
    assert len(list(search.run())) == 3
    assert search.incomplete == {0}


def test_search_nodes_that_keep_changes_have_their_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third state along a path is kept, the others are made anew from what has changed."""
    monkeypatch.setattr("saltus.policy.search.KEPT_EVERY", 3)
    task = blocks(6, 3)
    search = JumpSearch(RandomPolicy(np.random.default_rng(2), TreeSpec(kind="flat")), task, weights=(10.0,))
    list(islice(search.run(), 40))
    depths = {node.depth for node in search.nodes if not isinstance(node.kept, State)}
    assert {1, 2, 4} <= depths
    assert not {depth for depth in depths if depth % 3 == 0}
    for node in search.nodes:
        state = task.initial_state
        for action in node.path():
            state = successor(task, state, action)
        assert node.state == state


def test_the_queues_take_turns() -> None:
    """From a, the queue with the large weight follows b's large values first; the other prefers few jumps."""
    task = roads("a-b a-c b-d d-e e-f c-h h-g", "a", "g")
    values = {"b": -4.0, "c": -4.5, "d": -3.9, "e": -3.8, "f": -3.7, "h": -2.0, "g": 0.0}
    search = JumpSearch(Named(values), task)
    assert WEIGHTS[0] > WEIGHTS[1] == 1.0
    list(search.run())
    asked = [task.atom_name(next(iter(node.state)))[4:-1] for node in search.nodes]
    # weight 10: b (0 + 40); weight 1: c (0 + 4.5, against d 1 + 3.9); weight 10: h (1 + 20, against d 1 + 39)
    assert asked == ["a", "b", "c", "h"]
    assert search.solution == [task.action(text) for text in ("(go a c)", "(go c h)", "(go h g)")]


@pytest.mark.parametrize(("unit", "asked", "cost"), [("jumps", "abcd", 2.0), ("costs", "abce", 2.0 / 4)])
def test_the_search_adds_up_what_the_policys_values_count(unit: str, asked: str, cost: float) -> None:
    """After a, b and c: d has 1 + 3 jumps or 5/4 + 3 costs, e has 1 + 3.2 jumps or 1/4 + 3.2 costs."""
    task = toll_roads("a-b:5 a-c:1 b-d:1 c-e:1", "a", "g")
    policy = Named({"b": -3.0, "c": -3.5, "d": -3.0, "e": -3.2})
    policy.cost = JumpCost(unit, 1.0 if unit == "jumps" else 4.0)  # type: ignore[attr-defined]
    search = JumpSearch(policy, task, weights=(1.0,))
    list(islice(search.run(), 4))
    assert "".join(policy.asked) == asked
    assert search.nodes[-1].cost == cost


def test_the_search_is_the_same_every_time_and_does_not_depend_on_its_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> tuple[object, ...]:
        end = last(RandomPolicy(np.random.default_rng(2)), blocks(7, 3), Limits(max_jumps=5), search=True)
        return end.outcome, end.search_decisions, end.plan, end.tree_nodes

    first = run()
    assert run() == first
    monkeypatch.setattr("saltus.policy.search.CACHED_NODES", 0)
    assert run() == first


def lured(length: int) -> tuple[Named, Task]:
    """A policy that follows every path except the one to the goal, and its task."""
    ways = " ".join(f"a-{way}0 " + " ".join(f"{way}{i}-{way}{i + 1}" for i in range(length)) for way in "pq")
    names = ["a", "c", "g", *(f"{way}{i}" for way in "pq" for i in range(length + 1))]
    values = {name: -100.0 if name in "cg" else -1.0 for name in names}
    return Named(values), roads(f"{ways} a-c c-g", "a", "g")


def test_the_goal_search_finds_what_the_policy_leads_away_from() -> None:
    policy, task = lured(20)
    alone = last(policy, task, search=True)
    assert (alone.found_by, alone.goal_search_decisions) == ("search", 0)
    others = [GoalCountPolicy(np.random.default_rng(0), policy.lookahead) for _ in range(2)]
    end, again = (last(lured(20)[0], task, search=True, goal_policy=other) for other in others)
    assert (end.outcome, end.greedy_outcome, end.found_by) == (Outcome.FOUND, Outcome.FAILED, "goal search")
    assert end.plan == Plan.of(["(go a c)", "(go c g)"])
    assert end.search_decisions < alone.search_decisions
    assert end.goal_search_decisions > end.search_decisions
    assert replace(again, seconds=0, seconds_plan=0, seconds_dead_ends=0) == replace(
        end, seconds=0, seconds_plan=0, seconds_dead_ends=0
    )


def test_the_searches_share_what_they_look_at() -> None:
    """On an endless path, every tree has two states."""
    names = [f"n{i}" for i in range(600)]
    task = roads(" ".join(f"{a}-{b}" for a, b in pairwise(names)), "n0", "g")
    policy = Named(dict.fromkeys(names, -1.0))
    other = GoalCountPolicy(np.random.default_rng(0), policy.lookahead)
    moments = list(plan_stepwise(policy, task, Limits(max_jumps=20), search=True, goal_policy=other))
    end = moments[-1]
    assert (end.outcome, end.search_decisions) == (Outcome.JUMPS, 20)
    (weight,) = (member.weight for member in MEMBERS if member.name == GOAL_SEARCH)
    assert abs(weight * (end.goal_search_decisions or 0) - 20) <= 1
    for moment in moments:
        assert abs(weight * (moment.goal_search_decisions or 0) - (moment.search_decisions or 0)) <= 1


def test_the_goal_search_may_end_first() -> None:
    task = roads("a-b b-a b-c c-a c-d", "a", "g")
    policy = Named(dict.fromkeys("abcd", -1.0))
    other = GoalCountPolicy(np.random.default_rng(0), policy.lookahead)
    end = last(policy, task, search=True, goal_policy=other)
    assert (end.outcome, end.detail) == (Outcome.FAILED, "the search has exhausted all reachable states")
    assert end.goal_search_decisions <= 4
    assert sorted(policy.asked) == ["a", "b", "c", "d"]


def test_only_a_policy_with_a_network_has_a_goal_search() -> None:
    assert GoalCountPolicy(np.random.default_rng(0)).goal_policy() is None
    policy = load_policy("sokoban", device="cpu")
    other = policy.goal_policy()
    assert isinstance(other, GoalCountPolicy)
    assert other.lookahead == policy.lookahead
    assert other.clock is policy.clock


def test_search_solves_what_the_greedy_rollout_cannot() -> None:
    """Goal counts fail on this problem with a dead end (a spanner left behind), and a search with them does not."""
    from saltus.domains import DOMAINS, generate_problem

    task = task_of(domain_of(DOMAINS["spanner"].path.read_text()), generate_problem("spanner", "training", 5, 10, 0))
    policy = GoalCountPolicy(np.random.default_rng(0))
    assert policy.solve(task, search=False).outcome is Outcome.FAILED
    end = policy.solve(task, Limits(max_jumps=1000), search=True)
    assert (end.outcome, end.found_by) == (Outcome.FOUND, "search")
    assert validate(task, end.plan)


# -- library -----------------------------------------------------------------------------------------------------------


def test_policies_plan() -> None:
    task = blocks(5, 1)
    policy = GoalCountPolicy(np.random.default_rng(0))
    plan = policy.plan(task)
    assert plan is not None
    assert validate(task, plan)
    assert policy.clock.seconds["lookahead"] > 0
    assert policy.clock.seconds["network"] == 0
    assert policy.plan(task, max_jumps=0) is None
    unsolvable = task_of(
        domain_of(CHAIN), "(define (problem c) (:domain chain) (:objects a b) (:init (at a)) (:goal (at b)))"
    )
    assert policy.plan(unsolvable, search=True) is None


def test_importing_the_package_leaves_pytorch_alone() -> None:
    code = "import sys, saltus, saltus.policy, saltus.cli.main; saltus.load_policy; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_nothing_is_proven_where_the_search_takes_no_part() -> None:
    """The rollout is stuck; with the search, all states have been decided about."""
    task, policy = roads("a-b b-a", "a", "g"), Named({"a": 0, "b": 0})
    end = last(policy, task, search=True, members=())
    assert (end.outcome, end.detail, end.unsolvable) == (Outcome.FAILED, "nobody is left to search", False)
    assert last(policy, task, search=True).unsolvable
