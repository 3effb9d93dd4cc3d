"""Blocksworld problems: one random set of towers to be turned into another.

Blocks are shuffled and piled up. Each starts a new tower with a probability of about one in eleven
(more in small problems), which gives the tower counts of the IPC 2023 files. As in those files, the
goal is a complete description of the second set of towers.

Solvable by construction: any set of towers can be put on the table, and any other built from there.
The number of objects is exact; atoms vary with the number of towers (2 * blocks + 1 + towers).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise

from saltus.domains.sizes import Ramp, Split, refuse_below
from saltus.domains.text import numbered, problem_text


@dataclass(frozen=True)
class Sizes:
    blocks: int
    """Blocks, at least 2."""

    def __post_init__(self) -> None:
        refuse_below(self, blocks=2)


def _towers(blocks: list[str], rng: random.Random) -> list[list[str]]:
    """Random towers over all blocks, each listed from the top down."""
    shuffled = rng.sample(blocks, len(blocks))
    towers: list[list[str]] = []
    for block in shuffled:
        if not towers or rng.random() < 0.09 + 1 / len(blocks):
            towers.append([])
        towers[-1].append(block)
    return towers


def _atoms(towers: list[list[str]]) -> list[str]:
    """Atoms that describe the towers completely."""
    atoms: list[str] = []
    for tower in towers:
        atoms.append(f"(clear {tower[0]})")
        atoms.extend(f"(on {upper} {lower})" for upper, lower in pairwise(tower))
        atoms.append(f"(on-table {tower[-1]})")
    return atoms


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    blocks = numbered("b", sizes.blocks)
    start = _towers(blocks, rng)
    end = _towers(blocks, rng)
    while sorted(end) == sorted(start):
        end = _towers(blocks, rng)
    return problem_text(name, "blocksworld", [(blocks, "")], ["(arm-empty)", *_atoms(start)], _atoms(end))


SPLITS: dict[str, Split[Sizes]] = {
    "training": Ramp(Sizes(2), Sizes(20)),
    "validation": Ramp(Sizes(21), Sizes(29)),
    "easy": Ramp(Sizes(5), Sizes(29)),
    "medium": Ramp(Sizes(35), Sizes(146)),
    "hard": Ramp(Sizes(160), Sizes(488)),
}
