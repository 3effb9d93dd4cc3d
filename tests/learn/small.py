"""Small tasks to learn from."""

from __future__ import annotations

from saltus.domains import generate_problem
from saltus.domains.registry import DOMAINS
from saltus.pddl import Source, parse_domain, parse_problem
from saltus.task import Task, build_task


def small_tasks(name: str, count: int, split: str = "training", seed: int = 0, of: int | None = None) -> list[Task]:
    """The smallest problems of a split that is spread over `of` sizes."""
    domain = parse_domain(Source.from_file(DOMAINS[name].path))
    texts = [generate_problem(name, split, index, of or 40, seed) for index in range(count)]
    return [build_task(domain, parse_problem(Source.from_bytes(text.encode(), "p"), domain)) for text in texts]
