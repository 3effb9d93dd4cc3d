"""Training with few goals in sight: rollouts in parts, each to the goals that it saw."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.learn.small import small_tasks
from tests.policy.test_goal_by_goal import lamps
from tests.tasks import domain_of, task_of

from saltus.learn.config import load_configuration
from saltus.learn.experience import Trajectory, collect, search
from saltus.learn.trainer import EpisodeReport, Trainer
from saltus.lookahead import PlaySpec, TreeSpec, lookahead
from saltus.policy import Ending, GoalCountPolicy
from saltus.policy.sight import missing_literals
from saltus.task import Task

IW, FLAT = TreeSpec(kind="iw"), TreeSpec(kind="flat")
ONE = PlaySpec(goals_in_sight=1)


def goal_count(trees: TreeSpec = IW, rules: PlaySpec = ONE) -> GoalCountPolicy:
    return GoalCountPolicy(np.random.default_rng(0), trees, rules)


def collected(
    tasks: list[Task],
    trees: TreeSpec = IW,
    rules: PlaySpec = ONE,
    horizon: int = 40,
    seed: int = 0,
    temperature: float = 0.01,
) -> list[Trajectory]:
    return collect(
        goal_count(trees, rules),
        tasks,
        range(len(tasks)),
        horizon=horizon,
        temperature=temperature,
        rng=np.random.default_rng(seed),
    )


@pytest.mark.parametrize("domain", ["ferry", "blocksworld"])
def test_parts_follow_each_other_and_reach_what_they_saw(domain: str) -> None:
    tasks = small_tasks(domain, 4)
    found = collected(tasks)
    for number, task in enumerate(tasks):
        parts = [part for part in found if part.task == number]
        assert parts[0].states[0] == task.initial_state
        for part in parts:
            assert len(part.states) == len(part.costs) + 1 >= 2
            assert len(missing_literals(part.goal, part.states[0])) == 1
            assert set(part.goal.positive.tolist()) <= set(task.goal.positive.tolist())
            assert (part.ending is Ending.SOLVED) == part.goal.holds(part.states[-1])
            for state, successor in pairwise(part.states):
                assert lookahead(task, state, IW, part.goal).find(successor) > 0
        for one, other in pairwise(parts):
            assert one.states[-1] == other.states[0]
            assert one.ending is Ending.SOLVED
    assert sum(part.ending is Ending.SOLVED for part in found) > len(tasks)


def test_goals_are_drawn_at_random() -> None:
    task = lamps(6, places=2)
    firsts = {tuple(collected([task], seed=seed)[0].goal.positive.tolist()) for seed in range(20)}
    assert len(firsts) > 3


def test_a_part_that_is_cut_off_has_no_ending() -> None:
    (part,) = collected(small_tasks("blocksworld", 3)[2:], FLAT, horizon=1)
    assert (len(part.states), part.ending) == (2, None)


def test_a_goal_reached_in_a_dead_end_is_not_reached() -> None:
    """A lamp that is lit by smashing another one that is to be lit, too: the first goal holds, the second cannot."""
    domain = domain_of("""(define (domain sparks) (:predicates (lit ?x) (whole ?x) (apart ?x ?y))
      (:action strike :parameters (?x ?y) :precondition (and (whole ?x) (whole ?y) (apart ?x ?y))
        :effect (and (lit ?x) (not (whole ?y)))))""")
    task = task_of(
        domain,
        """(define (problem s) (:domain sparks) (:objects a b) (:init (whole a) (whole b) (apart a b) (apart b a))
          (:goal (and (lit a) (lit b))))""",
    )
    for dead_ends in (True, False):
        (part,) = collected([task], FLAT, PlaySpec(goals_in_sight=1, dead_ends=dead_ends))
        assert part.goal.holds(part.states[-1])
        assert part.ending is Ending.DEAD_END


def test_searches_begin_where_a_part_began_and_reach_what_it_saw() -> None:
    task = small_tasks("ferry", 4)[3]
    parts = collected([task])
    last = parts[-1]
    found = search(goal_count(), task, 0, 500, goal=last.goal, state=last.states[0])
    assert found is not None
    assert (found.goal, found.states[0], found.ending) == (last.goal, last.states[0], Ending.SOLVED)
    assert last.goal.holds(found.states[-1])


def test_training_with_one_goal_in_sight() -> None:
    settings = ["episodes=3", "steps=3", "batch=6", "layers=3", "embedding=8", "horizon=12", "searches=2"]
    configuration = load_configuration("tiny", [*settings, "play.goals_in_sight=1"])
    tasks = small_tasks("blocksworld", 4)
    trainer = Trainer(configuration, tasks[:3], tasks[3:], seed=0)
    losses = [event.loss for event in trainer.train() if isinstance(event, EpisodeReport)]
    assert len(losses) == 3
    assert all(np.isfinite(losses))
