"""Padded training batches: the kernel writes what the twin writes; buckets are reused. No GPU is needed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.learn.small import small_tasks

from saltus.learn.config import load_configuration
from saltus.learn.experience import Final
from saltus.learn.learner import sample_arrays
from saltus.learn.recorded_step import DeviceBatch, StepArrays, StepSize, fill_step, find_bucket
from saltus.learn.trainer import Trainer
from saltus.model import make_layout
from saltus.model.padding import Buckets, empty_layout, fill_layout, grouped_relations, host_cutter


@pytest.mark.parametrize("domain", ["blocksworld", "satellite"])
def test_padded_batches_equal_the_twins(domain: str) -> None:
    configuration = load_configuration("tiny")
    trainer = Trainer(configuration, small_tasks(domain, 6, of=8), seed=1)
    trainer._store(trainer._collect(1.0))
    arities = trainer.learner.network.arities
    relations = grouped_relations(arities)
    buckets: Buckets[StepSize, DeviceBatch] = Buckets()
    goals = [entry for entry in trainer.hindsight.transitions if entry.final is Final.GOAL]
    drawn = [trainer.steps.draw()[1:] for _ in range(8)]
    drawn.append(([goals[0]] * configuration.training.batch, np.ones(configuration.training.batch)))  # no successors
    for transitions, weight in drawn:
        batch = trainer.steps.batches.make(transitions, weight)
        bucket = find_bucket(buckets, batch, np.array(arities, np.int32))
        fast, slow = (np.full(bucket.nbytes, 77, np.uint8) for _ in range(2))
        fill_step(fast, bucket, batch, np.array(arities, np.int32))
        arrays = StepArrays.cut(bucket.size, relations, host_cutter(slow))
        fill_layout(arrays.now, make_layout(batch.now, arities))
        fill_layout(
            arrays.after, make_layout(batch.after, arities) if batch.after is not None else empty_layout(relations)
        )
        values = sample_arrays(batch, bucket.size.after_width, bucket.size.depth_width)
        for array, value in zip(vars(arrays.samples).values(), vars(values).values(), strict=True):
            array[:] = value
        assert np.array_equal(fast, slow)
    assert batch.after is None
    assert 1 <= len(buckets) < len(drawn)
