"""Recorded steps and passes on a GPU against ordinary ones; skipped where there is no GPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.learn.small import small_tasks

from saltus.learn.config import load_configuration
from saltus.learn.learner import Learner, StepResult, batch_tensors
from saltus.learn.trainer import Trainer, make_network
from saltus.lookahead import Situation
from saltus.model import make_layout
from saltus.model.torch_scorer import TorchScorer
from saltus.policy import LearnedPolicy

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize("settings", [[], ["average=0.9"], ["encoding.depth_nodes=false"], ["cost=actions"]])
def test_recorded_steps_learn_what_ordinary_steps_learn(settings: list[str]) -> None:
    configuration = load_configuration("tiny", ["learning_rate=0.01", *settings])
    tasks = small_tasks("blocksworld", 6)
    source = Trainer(configuration, tasks, seed=3)
    source._store(source._collect(1.0))
    batches = []
    for _ in range(12):
        _, transitions, weight = source.steps.draw()
        batches.append(source.steps.batches.make(transitions, weight))
    learners = [Learner(make_network(configuration, source.vocabulary, 1), configuration, "cuda") for _ in range(2)]
    recorded, ordinary = learners
    assert recorded.recorded is not None
    layers = configuration.model.layers
    for batch in batches:
        found, _ = recorded.step(recorded.prepare(batch), layers).read()
        arities = ordinary.network.arities
        after = make_layout(batch.after, arities).to("cuda") if batch.after is not None else None
        packed = ordinary.descend(
            make_layout(batch.now, arities).to("cuda"), after, batch_tensors(batch, "cuda"), layers
        )
        wanted, _ = StepResult(packed).read()
        assert np.abs(found - wanted).max() < 1e-3 * max(1.0, np.abs(wanted).max())
    assert 1 <= len(recorded.recorded.buckets) < len(batches)
    for a, b in zip(recorded.player.parameters(), ordinary.player.parameters(), strict=True):
        assert torch.allclose(a, b, atol=2e-3)


def test_recorded_passes_give_the_values_of_ordinary_ones() -> None:
    configuration = load_configuration("tiny")
    tasks = small_tasks("blocksworld", 12)
    source = Trainer(configuration, tasks, seed=3, device="cuda")
    policy = source.policy()
    assert isinstance(policy.scorer, TorchScorer)
    assert policy.scorer.recorded is not None
    ordinary = TorchScorer(policy.scorer.network)
    ordinary.recorded = None
    slow = LearnedPolicy(ordinary, policy.encoding, policy.lookahead, policy.vocabulary, play=policy.play_spec)
    for count in (1, 3, 12, 2, 12, 1):
        situations = [Situation(task, task.initial_state, task.goal) for task in tasks[-count:]]
        for fast, wanted in zip(policy.decide(situations), slow.decide(situations), strict=True):
            assert np.allclose(fast.q, wanted.q, atol=1e-4)
    with torch.no_grad():  # the weights are read anew
        policy.scorer.network.readout.second.bias += 5.0
    situations = [Situation(tasks[0], tasks[0].initial_state, tasks[0].goal)]
    assert np.allclose(policy.decide(situations)[0].q, slow.decide(situations)[0].q, atol=1e-4)


@pytest.mark.parametrize("name", ["aiw-ad", "aiw-ext", "flat-aa", "aiw-int", "aiw-id"])
def test_every_encoding_learns_on_a_gpu(name: str) -> None:
    settings = ["episodes=2", "steps=3", "batch=4", "horizon=4", "layers=3", "larger_problems=0"]
    trainer = Trainer(load_configuration(name, settings), small_tasks("blocksworld", 4), seed=0, device="cuda")
    losses = [event.loss for event in trainer.train() if hasattr(event, "loss")]
    assert len(losses) == 2
    assert all(np.isfinite(losses))
