"""Problems of domains that have a generator: some times larger than those at hand, to choose a policy by; and as small
as those, to learn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from saltus.domains.registry import DOMAINS, generate_problem
from saltus.pddl import Domain, Source, parse_domain, parse_problem
from saltus.pddl.signature import domain_signature
from saltus.task import Task, build_task

SPLITS = ("validation", "easy", "medium", "test", "hard")
"""Where larger problems may be found, from small to large."""

PROBES = 12
"""Problems tried of every split and seed, from its smallest to its largest."""

SEEDS = 8


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
    """`count` tasks with about `least` to `most` times so many objects, smallest first.

    None if the domain has no generator; where the generator has no problem of such sizes, the next larger ones, or the
    largest it has.
    """
    name = find_domain(domain)
    if name is None or count == 0:
        return []
    inside: list[Task] = []
    outside: list[Task] = []
    for number in range(SEEDS):
        for split in SPLITS:
            if split in DOMAINS[name].splits:
                found, other = _probe(name, domain, split, seed * SEEDS + number, objects * least, objects * most)
                inside += found
                outside += other
        if len(inside) >= count:
            break
    chosen = inside or sorted(outside, key=lambda task: abs(len(task.objects) - objects * most))[:count]
    return _spread(sorted(chosen, key=lambda task: len(task.objects)), count)


def similar_problems(domain: Domain, objects: int, count: int, seed: int = 0) -> list[Task]:
    """`count` tasks of the generator's training split, less those with more than so many objects, smallest first."""
    name = find_domain(domain)
    if name is None or count == 0 or "training" not in DOMAINS[name].splits:
        return []
    tasks = (generated_task(name, "training", index, count, seed, domain=domain) for index in range(count))
    return sorted((task for task in tasks if len(task.objects) <= objects), key=lambda task: len(task.objects))


def _probe(
    name: str, domain: Domain, split: str, seed: int, least: float, most: float
) -> tuple[list[Task], list[Task]]:
    """Tasks of a split with `least` to `most` objects, and the one after them or the last one before."""
    found: list[Task] = []
    task: Task | None = None
    for index in range(PROBES):
        task = generated_task(name, split, index, PROBES, seed, domain=domain)
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
    """The task of problem `index` of `count` in a split, as `generate_problem` makes it; of one's own copy of the
    domain, if there is one."""
    own = _registered(name)
    text = generate_problem(name, split, index, count, seed, overrides)
    known = own if domain is None else replace(domain, name=own.name)  # the user's may differ
    problem = parse_problem(Source.from_bytes(text.encode(), f"{name}-{split}"), known)
    return build_task(own if domain is None else domain, problem)


@cache
def _registered(name: str) -> Domain:
    """The domain of the registry, read once."""
    return parse_domain(Source.from_file(DOMAINS[name].path))


def _spread(tasks: Sequence[Task], count: int) -> list[Task]:
    """`count` entries spread evenly, the first and the last among them."""
    if len(tasks) <= count:
        return list(tasks)
    return [tasks[round(i * (len(tasks) - 1) / max(1, count - 1))] for i in range(count)]
