"""Stage `domains`: problems generated for a training set, for domains that have a generator.

Some are several times larger than the training problems, to select a policy by; others are as small, to learn from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from saltus.domains.registry import DOMAINS, generate_problem
from saltus.pddl import Domain, Source, parse_domain, parse_problem
from saltus.pddl.signature import domain_signature
from saltus.task import Split, Task, build_task

SPLITS = (Split.VALIDATION, Split.EASY, Split.MEDIUM, Split.TEST, Split.HARD)
"""Splits to look for larger problems in, from small to large."""


def find_domain(domain: Domain) -> str | None:
    """Name of the registered domain with the same types, predicates and schemas; None if there is none."""
    wanted = domain_signature(domain)
    for name in DOMAINS:
        if domain_signature(_registered(name)) == wanted:
            return name
    return None


def larger_problems(
    domain: Domain, objects: int, count: int, seed: int = 0, *, least: float = 3.0, most: float = 5.0
) -> list[Task]:
    """`count` tasks with about `least` to `most` times `objects` objects, smallest first.

    The list is empty if the domain has no generator. If the generator has no problems of these sizes, the tasks are the
    next larger ones, or its largest.
    """
    name = find_domain(domain)
    if name is None or count == 0:
        return []
    inside: list[Task] = []
    outside: list[Task] = []
    for number in range(8 * seed, 8 * seed + 8):
        for split in SPLITS:
            if split in DOMAINS[name].splits:
                found, other = _probe(name, domain, split, number, objects * least, objects * most)
                inside += found
                outside += other
        if len(inside) >= count:
            break
    chosen = inside or sorted(outside, key=lambda task: abs(len(task.objects) - objects * most))[:count]
    return spread_evenly(sorted(chosen, key=lambda task: len(task.objects)), count)


def similar_problems(domain: Domain, objects: int, count: int, seed: int = 0) -> list[Task]:
    """Those of `count` tasks of the generator's training split that have at most `objects` objects, smallest first."""
    name = find_domain(domain)
    if name is None or count == 0 or Split.TRAINING not in DOMAINS[name].splits:
        return []
    tasks = (generated_task(name, Split.TRAINING, index, count, seed, domain=domain) for index in range(count))
    return sorted((task for task in tasks if len(task.objects) <= objects), key=lambda task: len(task.objects))


def _probe(
    name: str, domain: Domain, split: str, seed: int, least: float, most: float
) -> tuple[list[Task], list[Task]]:
    """Tasks of a split with `least` to `most` objects, of 12 that are tried from small to large; and the first larger
    task, or else the split's last."""
    found: list[Task] = []
    task: Task | None = None
    for index in range(12):
        task = generated_task(name, split, index, 12, seed, domain=domain)
        if len(task.objects) > most:
            break
        if len(task.objects) >= least:
            found.append(task)
    return found, [task] if task is not None else []


def generated_task(
    name: str,
    split: str,
    index: int = 0,
    count: int = 1,
    seed: int = 0,
    overrides: Mapping[str, int] | None = None,
    *,
    domain: Domain | None = None,
) -> Task:
    """The task of problem `index` of `count` in a split, as `generate_problem` makes it.

    With `domain`, the task belongs to that copy of the domain.
    """
    own = _registered(name)
    text = generate_problem(name, split, index, count, seed, overrides)
    known = own if domain is None else replace(domain, name=own.name)  # the user's copy may have another name
    problem = parse_problem(Source.from_bytes(text.encode(), f"{name}-{split}"), known)
    return build_task(own if domain is None else domain, problem)


@cache
def _registered(name: str) -> Domain:
    """A domain of the registry, read once."""
    return parse_domain(Source.from_file(DOMAINS[name].path))


def spread_evenly(tasks: Sequence[Task], count: int) -> list[Task]:
    """`count` tasks, spread evenly over the list, including the first and the last."""
    if len(tasks) <= count:
        return list(tasks)
    return [tasks[round(i * (len(tasks) - 1) / max(1, count - 1))] for i in range(count)]
