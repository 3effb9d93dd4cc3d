"""Small tasks to learn from."""

from __future__ import annotations

import pytest

from saltus.domains.generated import generated_task
from saltus.task import Task


def small_tasks(name: str, count: int, split: str = "training", seed: int = 0, of: int | None = None) -> list[Task]:
    """The smallest problems of a split that is spread over `of` sizes."""
    return [generated_task(name, split, index, of or 40, seed) for index in range(count)]


def by_the_maximum_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has states valued by nearly the maximum of their Q-values, and nothing learned in hindsight."""
    monkeypatch.setattr("saltus.learn.learner.MELLOWMAX", 100.0)
    monkeypatch.setattr("saltus.learn.trainer.LEARNING_RATE_END", 1e-4)
    monkeypatch.setattr("saltus.learn.trainer.hindsight_transitions", lambda *_: [])
