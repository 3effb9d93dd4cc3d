"""Runs that count actions or costs: rewards, returns, the scale, the choice of checkpoints, the policy file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.learn.small import by_the_maximum_alone, small_tasks
from tests.learn.test_hindsight import blocks, walk
from tests.learn.test_trainer import SHORT, weights_hash
from tests.policy.test_rollout import chain
from tests.tolls import toll_road

from saltus.errors import ConfigurationError
from saltus.learn.batch import BatchMaker
from saltus.learn.config import TrainingSpec, load_configuration
from saltus.learn.experience import collect, jump_cost, search, transitions_of
from saltus.learn.folder import RunFolder
from saltus.learn.hindsight import hindsight_transitions, lifted_subgoals
from saltus.learn.learner import batch_tensors, loss_of
from saltus.learn.trainer import Trainer
from saltus.learn.validation import Coverage, Validation, measure
from saltus.learn.values import DISCOUNT
from saltus.lookahead import JUMPS, UNITS, JumpCost, TreeSpec, lookahead
from saltus.lookahead.spec import PLAY, TREES
from saltus.model import make_layout
from saltus.policy import Ending, GoalCountPolicy, LearnedPolicy
from saltus.task import Goal

IW = TreeSpec(kind="iw")


def goal_count() -> GoalCountPolicy:
    return GoalCountPolicy(np.random.default_rng(0), IW)


def test_a_rollouts_jump_of_three_actions_costs_three() -> None:
    task = chain(6, goal=3)
    settings = {"horizon": 5, "temperature": 0.01, "rng": np.random.default_rng(0)}
    for cost, wanted in ((JUMPS, 1.0), (JumpCost("actions"), 3.0), (JumpCost("actions", 2.0, 0.5), 2.0)):
        (found,) = collect(goal_count(), [task], [0], cost=cost, **settings)  # type: ignore[arg-type]
        assert (found.ending, found.costs) == (Ending.SOLVED, [wanted])
        (made,) = transitions_of(found, found.goal, 0, 1, reached=True, discount=0.9)
        assert (made.cost, made.bound) == (wanted, -wanted)


def test_trajectories_of_a_search_have_the_costs_of_their_jumps() -> None:
    tasks = small_tasks("sokoban", 3)
    jumps = 0
    for number, task in enumerate(tasks):
        found = search(goal_count(), task, number, 2000, JumpCost("actions"))
        assert found is not None
        states = found.states
        trees = [lookahead(task, state, IW) for state in states[:-1]]
        assert found.costs == [tree.length[tree.find(state)] for tree, state in zip(trees, states[1:], strict=True)]
        jumps += len(found.costs)
    assert jumps > len(tasks)


def test_returns_add_up_the_costs_of_the_part_that_is_relabelled() -> None:
    task = blocks("(on a b) (on b c)")
    found = walk(task, "(table a), (table b)", "(on a b), (table b)", "(on a b), (on b c)")
    found.costs[:] = [2.0, 5.0]
    whole = transitions_of(found, found.goal, 0, 2, reached=True, discount=0.5)
    assert [(entry.cost, entry.bound) for entry in whole] == [(2.0, -(2 + 0.5 * 5)), (5.0, -5.0)]
    failed = transitions_of(found, found.goal, 0, 2, reached=False, discount=0.5)
    assert [entry.cost for entry in failed] == [2.0, 5.0]
    assert np.isnan([entry.bound for entry in failed]).all()
    rng = np.random.default_rng(0)
    relabelled = hindsight_transitions([found], [task], [lifted_subgoals(task, rng)], 4, rng)
    returns = [-(2 + DISCOUNT * 5), -5.0, -2.0]
    assert [(entry.cost, entry.bound) for entry in relabelled] == list(zip((2.0, 5.0, 2.0), returns, strict=True))


def test_costs_reach_the_targets_of_a_batch() -> None:
    """The jumps that end in their goal have minus their cost as target."""
    configuration = load_configuration("tiny", ["cost=actions"])
    task = chain(6, goal=3)
    trainer = Trainer(configuration, [task], seed=0)
    trainer.cost = JumpCost("actions")
    tree = lookahead(task)
    entries = []
    for node in (1, 3, 4):
        found = walk(task, "(at n0)", f"(at n{node})", ending=Ending.SOLVED)
        found.costs[:] = [trainer.cost.of(tree, node)]
        entries += transitions_of(found, Goal(found.states[1].codes), 0, 1, reached=True, discount=0.9)
    specs = configuration.lookahead, configuration.play, trainer.vocabulary, configuration.encoding
    batch = BatchMaker([task], *specs).make(entries, np.ones(3))
    assert batch.cost.tolist() == [1.0, 3.0, 4.0]
    network = trainer.learner.network
    now = make_layout(batch.now, network.arities)
    loss = loss_of(network, now, None, batch_tensors(batch, "cpu"), -50.0, 4)
    with torch.no_grad():
        q = network(now, 4).q[torch.from_numpy(batch.chosen)]
    error = (q + torch.tensor([1.0, 3.0, 4.0])).abs().mean().item()
    assert loss.packed[-1].item() == pytest.approx(error, abs=1e-5)


def test_q_values_reach_the_tolls_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flat walk along a road: Q of each step is minus the tolls to the end, and minus a constant per jump."""
    tolls = [5, 5, 5, 5]
    settings = ["lookahead.kind=flat", "episodes=100", "steps=8", "batch=16", "embedding=16", "layers=5"]
    settings += ["learning_rate=0.005", "learning_rate_episodes=100", "horizon=12", "replay=200", "validate_every=1000"]
    by_the_maximum_alone(monkeypatch)
    for module in ("learner", "trainer"):
        monkeypatch.setattr(f"saltus.learn.{module}.DISCOUNT", 1.0)
    task = toll_road(tolls)
    trainer = Trainer(load_configuration(None, [*settings, "cost=costs"]), [task], seed=1)
    assert trainer.cost == JumpCost("costs", 5.0, 0.5)
    for _ in trainer.train():
        pass
    state = task.initial_state
    for place in range(4):
        (decision,) = trainer.policy().decide([(task, state, task.goal)])
        assert decision.q == pytest.approx([-sum(toll / 5 + 0.5 for toll in tolls[place:])], abs=0.1)
        state = decision.tree.state_of(1)


@pytest.mark.parametrize("unit", ["actions", "costs"])
def test_the_scale_makes_the_mean_jump_cost_1(unit: str) -> None:
    tasks = small_tasks("blocksworld", 5)
    found = jump_cost(TrainingSpec(cost=unit), tasks, TREES, PLAY)
    trees = [lookahead(task) for task in tasks]
    assert found.scale == pytest.approx(np.mean([tree.length[1:].mean() for tree in trees]))
    assert (found.unit, found.per_jump) == (unit, 0.5)
    assert jump_cost(TrainingSpec(), tasks, TREES, PLAY) == JUMPS


def test_runs_that_count_actions_differ_and_are_repeatable() -> None:
    def learn(*settings: str) -> str:
        trainer = Trainer(load_configuration("tiny", [*SHORT, *settings]), small_tasks("blocksworld", 5), seed=1)
        list(trainer.train())
        return weights_hash(trainer)

    plain = learn()
    assert learn("cost=jumps") == plain
    assert learn("cost=actions") == learn("cost=actions") != plain


def test_the_unit_is_saved_with_the_policy(tmp_path: Path) -> None:
    tasks = small_tasks("blocksworld", 3)
    trainer = Trainer(load_configuration("tiny", [*SHORT, "cost=actions"]), tasks, seed=1)
    assert trainer.policy().cost == trainer.cost
    published: list[Path] = []
    RunFolder(tmp_path, publish=published.append).keep(trainer, {}, is_best=True)
    policy = LearnedPolicy.load(published[0], tasks[0].domain)
    assert policy.cost == trainer.cost
    assert policy.cost.unit == "actions"
    assert "counts actions" in repr(policy)


def test_the_best_checkpoint_has_cheap_plans_only_if_costs_count() -> None:
    def entry(episode: int, actions: int, cost: float | None) -> Validation:
        return Validation(episode, Coverage(30, 30, 5, actions, cost), Coverage(8, 8, 3, 10, cost), 1.0)

    long, dear = entry(1, 100, 10.0), entry(2, 90, 20.0)
    for selection in ("larger", "paper"):
        best = {unit: 1 + (dear.key(selection, unit) > long.key(selection, unit)) for unit in UNITS}
        assert best == {"jumps": 2, "actions": 2, "costs": 1}
    assert long.key("larger") == long.key("larger", "actions") == (38, -110)
    assert entry(3, 100, None).key("paper", "costs") == (30, -100, -1.0)  # problems without costs
    assert Validation.from_json(long.to_json()) == long


def test_coverage_adds_up_costs_where_there_are_some() -> None:
    found = measure(goal_count(), [toll_road([4, 0, 5.5]), toll_road([2, 2], metric=False)])
    assert found == Coverage(problems=2, solved=2, jumps=2, actions=5, cost=11.5, nodes=7)
    assert measure(goal_count(), [toll_road([2, 2], metric=False)]).cost is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["cost=steps"], "training: cost is 'steps', expected one of jumps, actions, costs"),
        (["cost=3"], "training: cost is 3, expected text"),
    ],
)
def test_wrong_values_are_refused(settings: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(None, settings)
    assert message in str(caught.value)
