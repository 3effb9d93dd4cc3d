"""Two domains with axioms.

    python experiments/2026-11-16-adl/axioms.py OUT [--seed 0]

towers: blocks whose `clear` and `above` (recursive, quadratically many atoms) are derived; goals ask for both `on` and
`above`. vault: cells linked by doors that levers open; what can be reached is derived.
"""

from __future__ import annotations

import argparse
import random
from itertools import pairwise
from pathlib import Path

TOWERS = """(define (domain towers)
  (:requirements :adl :derived-predicates)
  (:predicates (on ?x ?y) (on-table ?x) (clear ?x) (above ?x ?y))
  (:derived (clear ?x) (not (exists (?y) (on ?y ?x))))
  (:derived (above ?x ?y) (or (on ?x ?y) (exists (?z) (and (on ?x ?z) (above ?z ?y)))))
  (:action stack :parameters (?x ?y)
    :precondition (and (on-table ?x) (clear ?x) (clear ?y) (not (= ?x ?y)))
    :effect (and (on ?x ?y) (not (on-table ?x))))
  (:action unstack :parameters (?x ?y)
    :precondition (and (on ?x ?y) (clear ?x))
    :effect (and (on-table ?x) (not (on ?x ?y)))))
"""
VAULT = """(define (domain vault)
  (:requirements :adl :typing :derived-predicates)
  (:types cell door lever gem)
  (:predicates (entrance ?c - cell) (joins ?d - door ?a ?b - cell) (opens ?l - lever ?d - door) (open ?d - door)
    (lever-in ?l - lever ?c - cell) (gem-in ?g - gem ?c - cell) (taken ?g - gem) (reachable ?c - cell))
  (:derived (reachable ?c - cell)
    (or (entrance ?c)
        (exists (?d - door ?b - cell) (and (reachable ?b) (open ?d) (or (joins ?d ?b ?c) (joins ?d ?c ?b))))))
  (:action pull :parameters (?l - lever ?c - cell)
    :precondition (and (lever-in ?l ?c) (reachable ?c))
    :effect (forall (?d - door) (when (opens ?l ?d) (and (when (open ?d) (not (open ?d)))
                                                         (when (not (open ?d)) (open ?d))))))
  (:action take :parameters (?g - gem ?c - cell)
    :precondition (and (gem-in ?g ?c) (reachable ?c)) :effect (taken ?g)))
"""


def towers(blocks: int, rng: random.Random) -> str:
    """Random towers, and others to be built."""

    def piles() -> list[list[str]]:
        order = [f"b{i}" for i in range(blocks)]
        rng.shuffle(order)
        cuts = sorted(rng.sample(range(1, blocks), max(1, blocks // 6)))
        return [order[i:j] for i, j in zip([0, *cuts], [*cuts, blocks], strict=True)]

    start = piles()
    init = [f"(on-table {pile[0]})" for pile in start]
    init += [f"(on {y} {x})" for pile in start for x, y in pairwise(pile)]
    goal = []
    for number, pile in enumerate(piles()):
        if number % 2:
            goal += [f"(on {y} {x})" for x, y in pairwise(pile)]
        elif len(pile) > 1:
            goal.append(f"(above {pile[-1]} {pile[0]})")
    names = " ".join(f"b{i}" for i in range(blocks))
    return (
        f"(define (problem towers-{blocks}) (:domain towers) (:objects {names})\n"
        f"  (:init {' '.join(init)})\n  (:goal (and {' '.join(goal)})))\n"
    )


def vault(cells: int, rng: random.Random) -> str:
    """A tree of cells; the lever of every door lies in an earlier cell."""
    init = ["(entrance c0)"]
    for i in range(1, cells):
        init += [f"(joins d{i} c{rng.randrange(i)} c{i})", f"(opens l{i} d{i})", f"(lever-in l{i} c{rng.randrange(i)})"]
    gems = cells // 3
    init += [f"(gem-in g{i} c{rng.randrange(cells)})" for i in range(gems)]
    groups = [("c", range(cells), "cell"), ("d", range(1, cells), "door"), ("l", range(1, cells), "lever")]
    names = " ".join(
        f"{' '.join(f'{letter}{i}' for i in numbers)} - {kind}"
        for letter, numbers, kind in [*groups, ("g", range(gems), "gem")]
    )
    goal = " ".join(f"(taken g{i})" for i in range(gems))
    return (
        f"(define (problem vault-{cells}) (:domain vault) (:objects {names})\n"
        f"  (:init {' '.join(init)})\n  (:goal (and {goal})))\n"
    )


def main() -> None:
    """Writes the folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    for name, domain, make in (("towers", TOWERS, towers), ("vault", VAULT, vault)):
        folder = options.out / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "domain.pddl").write_text(domain)
        for size in (10, 20, 40):
            (folder / f"p{size}.pddl").write_text(make(size, rng))


if __name__ == "__main__":
    main()
