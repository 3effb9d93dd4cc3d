"""Stage `lookahead`: what kind of tree is wanted."""

from __future__ import annotations

from dataclasses import dataclass

from saltus.errors import ConfigurationError

KINDS = {"flat": 0, "iw": 1, "aiw": 2, "baiw": 3}
"""Kinds of lookahead and their numbers in the kernel."""

GOAL_IDENTITIES = {"off": 0, "instead": 1, "also": 2}
"""What becomes of the features of atoms that the goal mentions."""

ROOT_SUCCESSORS = {"auto": 0, "all": 1, "classes": 2, "novel": 3}
"""Which successors of the root are in the tree."""

DEAD_ENDS = ("successors", "relaxed")
"""How dead ends are seen."""

LARGEST = 2**62
"""Limits stay below; the kernel counts in 64 bits."""


@dataclass(frozen=True)
class LookaheadSpec:
    """Description of a lookahead; senseless values are refused with the field's name."""

    kind: str = "aiw"
    """flat: successors only; iw: novelty of atoms; aiw: of atoms with all arguments but one replaced by their types;
    baiw: of atoms with all arguments but one dropped."""
    width: int = 1
    """1, or 2 for small tasks: novelty of pairs."""
    capacity: int | None = None
    """Most novel states kept at every depth, most satisfied goals first, ties first seen (C-AIW). Root successors
    beyond it stay in the tree as leaves, unless `root_successors` is novel."""
    goal_identity: str = "instead"
    """Features of an atom mentioned in the goal: instead: its identity alone (the paper); also: identity and
    abstracted features; off: abstracted features alone (the paper's reduced goals)."""
    root_successors: str = "auto"
    """all: every distinct successor of the root; classes: one of every class that 1-WL colours cannot tell apart;
    novel: only novel ones; auto: all up to `max_root_actions` applicable actions, classes above."""
    expand_root_successors: bool = True
    """Expand successors of the root that are not novel, too."""
    dead_ends: str = "successors"
    """successors: a state without any is a dead end; relaxed: and one from which the goal is out of reach even for
    actions that delete nothing. Trees are the same; policies avoid such states, exploration ends there."""
    max_nodes: int = 1_000_000
    """Largest tree; a larger one is cut off and says so."""
    max_atoms: int = 100_000_000
    """Most atoms stored as differences in one tree; a larger one is cut off and says so. What the search needs beside
    the tree (pairs of width 2, classes, gathered actions) may take as many bytes as these atoms, 64 MiB at least."""
    max_root_actions: int = 20_000
    """Most applicable actions for which `auto` means `all`."""

    def __post_init__(self) -> None:
        for name, known in (
            ("kind", KINDS),
            ("goal_identity", GOAL_IDENTITIES),
            ("root_successors", ROOT_SUCCESSORS),
            ("dead_ends", DEAD_ENDS),
        ):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                raise ConfigurationError(f"lookahead: {name} is {value!r}, expected one of {', '.join(known)}")
        if type(self.width) is not int or self.width not in (1, 2):
            raise ConfigurationError(f"lookahead: width is {self.width}, expected 1 or 2")
        if self.width == 2 and self.root_successors == "classes":
            raise ConfigurationError("lookahead: root_successors=classes needs width=1")
        for name in ("capacity", "max_nodes", "max_atoms", "max_root_actions"):
            value = getattr(self, name)
            if value is None and name == "capacity":
                continue
            if type(value) is not int:
                raise ConfigurationError(f"lookahead: {name} is {value!r}, expected a whole number")
            if value < 1:
                raise ConfigurationError(f"lookahead: {name} is {value}, expected at least 1")
            if value >= LARGEST:
                raise ConfigurationError(f"lookahead: {name} is {value}, expected less than 2^62")
        if type(self.expand_root_successors) is not bool:
            raise ConfigurationError(
                f"lookahead: expand_root_successors is {self.expand_root_successors!r}, expected True or False"
            )
