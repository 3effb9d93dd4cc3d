"""From nothing to a general policy: small problems in, much larger ones solved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.learn.small import small_tasks

from saltus.cli.main import run as command
from saltus.domains.suite import write_suite
from saltus.learn.validation import measure
from saltus.policy import LearnedPolicy, RandomPolicy
from saltus.task import find_suite, load

EPISODES = 20
"""As many as this seed needs."""


def test_delivery_is_learned_and_solves_problems_five_times_larger(tmp_path: Path) -> None:
    folder = tmp_path / "delivery"
    write_suite(folder, "delivery", "training", 40)
    problems = sorted((folder / "training").glob("*.pddl"))
    (folder / "validation").mkdir()
    for path in problems[14:18]:
        path.rename(folder / "validation" / path.name)
    for path in problems[18:]:
        path.unlink()
    suite = find_suite(folder)
    largest = max(len(load(suite.domain, path).objects) for path in suite.splits["training"])
    options = ["--config", "tiny", "--threads", "1", "--seed", "1", "--device", "cpu"]
    options += ["--set", f"episodes={EPISODES}"]
    assert command(["train", str(folder), "--out", str(tmp_path / "run"), *options]) == 0
    large = [task for seed in range(10) for task in small_tasks("delivery", 1, "test", seed)]
    assert min(len(task.objects) for task in large) >= 5 * largest
    policy = LearnedPolicy.load(tmp_path / "run" / "policy.safetensors", large[0].domain)
    found = measure(policy, large)
    assert (found.problems, found.solved) == (10, 10)
    chance = measure(RandomPolicy(np.random.default_rng(0)), large)
    assert chance.solved < 5  # it takes more than luck
