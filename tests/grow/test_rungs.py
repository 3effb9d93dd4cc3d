"""Ladders: chains of numbers whose rungs own objects grow by whole rungs."""

from __future__ import annotations

import random

import pytest
from tests.domains.checks import check_problem
from tests.tasks import task_of

from saltus.domains import generate_problem
from saltus.domains.registry import DOMAINS
from saltus.grow import Grower
from saltus.grow.draft import Draft, Relations
from saltus.grow.rules import Rules
from saltus.grow.rungs import Ladders
from saltus.pddl import Source, parse_domain, parse_problem
from saltus.task import Task, build_task

TOWER = """\
(define (domain tower)
  (:requirements :strips :typing)
  (:types disc level colour)
  (:predicates (next ?a ?b - level) (size ?d - disc ?l - level) (paint ?d - disc ?c - colour) (fits ?a ?b - disc)
               (loose ?d - disc) (done ?d - disc))
  (:action finish :parameters (?d - disc) :precondition (loose ?d) :effect (and (done ?d) (not (loose ?d)))))
"""


def tower(levels: int, colours: int = 2) -> Task:
    """One disc per level and colour; discs fit discs of the next level in another colour, except on the first."""
    discs = {(level, colour): f"d{level}-{colour}" for level in range(levels) for colour in range(colours)}
    init = [f"(next l{level} l{level + 1})" for level in range(levels - 1)]
    init += [f"(size {disc} l{level}) (paint {disc} c{colour})" for (level, colour), disc in discs.items()]
    init += [
        f"(fits {disc} {discs[level + 1, other]})"
        for (level, colour), disc in discs.items()
        for other in range(colours)
        if 0 < level < levels - 1 and other != colour
    ]
    init += [f"(loose {disc})" for disc in discs.values()]
    objects = [
        f"{' '.join(discs.values())} - disc",
        f"{' '.join(f'l{level}' for level in range(levels))} - level",
        f"{' '.join(f'c{colour}' for colour in range(colours))} - colour",
    ]
    return task_of(
        TOWER,
        f"(define (problem t) (:domain tower) (:objects {' '.join(objects)})\n(:init {' '.join(init)})\n"
        f"(:goal (and {' '.join(f'(done {disc})' for disc in discs.values())})))",
    )


def learned(tasks: list[Task]) -> tuple[list[Draft], Ladders]:
    relations = Relations(tasks[0])
    drafts = [Draft(relations, task) for task in tasks]
    return drafts, Ladders(Rules(relations, drafts), drafts)


def facts(task: Task, predicate: str) -> set[tuple[str, ...]]:
    return {atom[1:] for atom in task.problem.initial_atoms(task.domain) if atom[0] == predicate}


def chain_of(task: Task) -> list[str]:
    """Levels from the first to the last."""
    following = dict(facts(task, "next"))
    (first,) = set(following) - set(following.values())
    chain = [first]
    while chain[-1] in following:
        chain.append(following[chain[-1]])
    return chain


@pytest.mark.parametrize("seed", range(5))
def test_a_rung_comes_with_its_members_and_their_connections(seed: int) -> None:
    drafts, ladders = learned([tower(4), tower(5), tower(6)])
    (kind,) = ladders.kinds
    draft = drafts[-1].copy()
    for _ in range(3):
        assert ladders.insert(draft, kind, random.Random(seed), 10, lambda: None) == 3
    made = draft.to_task("made")
    chain = chain_of(made)
    assert len(chain) == 9
    rank = {disc: chain.index(level) for disc, level in facts(made, "size")}
    colour = dict(facts(made, "paint"))
    assert sorted((rank[disc], colour[disc]) for disc in rank) == [(i, c) for i in range(9) for c in ("c0", "c1")]
    assert facts(made, "fits") == {
        (a, b) for a in rank for b in rank if rank[a] > 0 and rank[b] == rank[a] + 1 and colour[a] != colour[b]
    }
    assert facts(made, "loose") == {(disc,) for disc in rank}
    assert len(made.goal.positive) == len(rank)


def test_a_rung_needs_room() -> None:
    drafts, ladders = learned([tower(4), tower(5)])
    (kind,) = ladders.kinds
    draft = drafts[-1].copy()
    assert ladders.insert(draft, kind, random.Random(0), 2, lambda: None) == 0
    assert len(draft) == len(drafts[-1])


def test_ladders_of_one_length_do_not_grow() -> None:
    _, ladders = learned([tower(5, 2), tower(5, 3)])
    assert ladders.kinds == set()


def test_decks_grow_by_values() -> None:
    domain = parse_domain(Source.from_file(DOMAINS["freecell"].path))
    texts = [generate_problem("freecell", "training", index, 12) for index in range(12)]
    tasks = [build_task(domain, parse_problem(Source.from_bytes(text.encode(), "p"), domain)) for text in texts]
    made = Grower(domain, tasks).grow(2, 1.5)
    assert len(made) == 2
    for task in made:
        assert len(task.objects) > max(len(given.objects) for given in tasks)
        assert check_problem("freecell", task) == []
