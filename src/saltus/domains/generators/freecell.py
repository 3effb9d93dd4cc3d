"""Freecell problems: four suits of a few cards each, dealt in stacks, must all go home.

Cells, columns and card values are counted with three separate chains of numbers. A card can be put
on a card of the other colour and the next higher value. As in the well-known problem files, aces are
never put on twos (they can always go home).

Solvable by construction: the deal is made backwards from the finished game. Cards are taken from
home, highest first, suits at random, and put on top of a stack or aside, that is into a free cell
or a column that stays empty in the deal; cards aside are put on top of a stack later. Every such
step is the reverse of a legal move (send home, from a stack, a cell or a column of its own; send to
a cell; send to a new column), so the reverse of the deal is a plan. Exact: objects (5 * cards +
cells + columns + 11) and atoms; 31 and 131 for 2 cells, 3 columns, 3 stacks, 3 cards per suit. The
extremes of every split are those of the paper's data table; their division is derived from the
totals, not known.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import pairwise

from saltus.domains.sizes import Ramp, Split, refuse_above, refuse_below
from saltus.domains.text import numbered, problem_text

SUITS = ["c", "h", "s", "d"]
Card = tuple[int, int]


@dataclass(frozen=True)
class Sizes:
    cards: int
    """Cards per suit, which is also the highest value."""
    cells: int
    """Free cells."""
    columns: int
    """Columns."""
    stacks: int
    """Columns that have cards in the deal."""

    def __post_init__(self) -> None:
        refuse_below(self, cards=1, cells=1, columns=1, stacks=1)
        refuse_above("stacks", self.stacks, self.columns, "a stack fills a column")
        refuse_above("stacks", self.stacks, 4 * self.cards, "a stack has at least one card")

    @property
    def atoms(self) -> int:
        """Atoms of the initial state, types included; exact for 2 or more cards per suit."""
        return 31 * self.cards + 20 + 3 * (self.cells + self.columns) + self.stacks


def _name(card: Card) -> str:
    """The name of a card: suit and value; an ace has the value a."""
    return SUITS[card[0]] + ("a" if card[1] == 1 else str(card[1]))


def _put(card: Card, stacks: list[list[Card]], left: int, most: int, rng: random.Random) -> None:
    """Puts a card on a random stack or a new one, such that `left` cards, including it, suffice for `most` stacks."""
    missing = most - len(stacks)
    if missing and (left <= missing or rng.randrange(most) < missing):
        stacks.append([card])
    else:
        rng.choice(stacks).append(card)


def _deal(sizes: Sizes, rng: random.Random) -> list[list[Card]]:
    """The stacks, each from the bottom up, dealt backwards from the finished game."""
    home = [sizes.cards] * len(SUITS)
    aside: list[Card] = []
    room = sizes.cells + sizes.columns - sizes.stacks
    stacks: list[list[Card]] = []
    while any(home) or aside:
        left = sum(home) + len(aside)
        if aside and (not any(home) or rng.random() < 0.3):  # back before the next leaves home
            _put(aside.pop(rng.randrange(len(aside))), stacks, left, sizes.stacks, rng)
            continue
        suit = rng.choice([suit for suit, value in enumerate(home) if value])
        card = (suit, home[suit])
        home[suit] -= 1
        if len(aside) < room and rng.random() < 0.8:
            aside.append(card)
        else:
            _put(card, stacks, left, sizes.stacks, rng)
    return stacks


def generate(sizes: Sizes, name: str, rng: random.Random) -> str:
    """The PDDL text of one problem."""
    cards = [(suit, value) for suit in range(len(SUITS)) for value in range(sizes.cards + 1)]
    chains = [
        (numbered("celln", sizes.cells + 1, first=0), "cellnum", "cellsuccessor"),
        (numbered("coln", sizes.columns + 1, first=0), "colnum", "colsuccessor"),
        (numbered("n", sizes.cards + 1, first=0), "num", "successor"),
    ]
    init = [f"(value {_name(card)} n{card[1]})" for card in cards]
    init += [f"(suit {_name(card)} {SUITS[card[0]]})" for card in cards]
    for numbers, _, successor in chains:
        init += [f"({successor} {more} {less})" for less, more in pairwise(numbers)]
    init += [f"(home {_name((suit, 0))})" for suit in range(len(SUITS))]
    init.append(f"(cellspace celln{sizes.cells})")
    init.append(f"(colspace coln{sizes.columns - sizes.stacks})")
    init += [
        f"(canstack {_name((suit, value))} {_name((other, value + 1))})"
        for value in range(2, sizes.cards)
        for suit in range(len(SUITS))
        for other in range(len(SUITS))
        if suit % 2 != other % 2
    ]
    for stack in _deal(sizes, rng):
        init.append(f"(bottomcol {_name(stack[0])})")
        init += [f"(on {_name(upper)} {_name(lower)})" for lower, upper in pairwise(stack)]
        init.append(f"(clear {_name(stack[-1])})")
    objects = [([_name(card) for card in cards], "card")]
    objects += [(numbers, type_name) for numbers, type_name, _ in chains]
    objects.append((SUITS, "suitsort"))
    goal = [f"(home {_name((suit, sizes.cards))})" for suit in range(len(SUITS))]
    return problem_text(name, "freecell", objects, init, goal)


def _stacked(smallest: Sizes, largest: Sizes) -> Split[Sizes]:
    """Ramp with a drawn number of stacks, within the atoms of the largest problem."""
    ramp = Ramp(smallest, largest)

    def draw(index: int, count: int, rng: random.Random) -> Sizes:
        sizes = ramp(index, count, rng)
        if sizes in (smallest, largest):
            return sizes
        most = min(sizes.columns, largest.atoms - replace(sizes, stacks=1).atoms + 1)
        least = min(smallest.stacks, most)
        return replace(sizes, stacks=rng.randrange(least, most + 1))

    return draw


SPLITS: dict[str, Split[Sizes]] = {
    "training": _stacked(Sizes(3, 1, 2, 2), Sizes(5, 4, 8, 2)),
    "validation": _stacked(Sizes(3, 2, 3, 3), Sizes(5, 5, 10, 5)),
    "test": _stacked(Sizes(4, 3, 6, 3), Sizes(5, 6, 14, 7)),
}
