"""Small tasks to learn from."""

from __future__ import annotations

from saltus.domains.generated import generated_task
from saltus.task import Task


def small_tasks(name: str, count: int, split: str = "training", seed: int = 0, of: int | None = None) -> list[Task]:
    """The smallest problems of a split that is spread over `of` sizes."""
    return [generated_task(name, split, index, of or 40, seed) for index in range(count)]
