"""Stage `lookahead`: the specification of a lookahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from saltus.errors import ConfigurationError, shorten, suggestion

KINDS = {"flat": 0, "iw": 1, "aiw": 2, "baiw": 3}
"""Kinds of lookahead, and their numbers in the kernel."""

GOAL_IDENTITIES = {"off": 0, "instead": 1, "also": 2}
"""Features of atoms mentioned in the goal, and their numbers in the kernel."""

ROOT_SUCCESSORS = {"auto": 0, "all": 1, "classes": 2, "novel": 3}
"""Which successors of the root enter the tree, and their numbers in the kernel."""

DEAD_ENDS = ("successors", "relaxed")
"""How dead ends are recognised."""

FROZEN_GOALS = ("off", "weak", "strong")
"""How goals that a jump reaches are tested for being in the way of others."""

LARGEST = 2**62
"""Limits must be smaller, since the kernel counts in 64 bits."""


@dataclass(frozen=True)
class LookaheadSpec:
    """Specification of a lookahead. Invalid values are refused with the name of the field."""

    kind: str = "aiw"
    """flat: successors of the root only; iw: novelty of atoms; aiw: novelty of atoms in which all arguments but one are
    replaced by their types; baiw: novelty of atoms in which all arguments but one are dropped."""
    width: int = 1
    """1: novelty of single features; 2: also of pairs, for small tasks. A key: an option of the paper's definition."""
    capacity: int | None = None
    """Largest number of novel states kept at each depth (C-AIW): those with the most satisfied goals, ties in the order
    they were found. `keep_root_successors` says what becomes of successors of the root beyond it."""
    goal_identity: str = "instead"
    """Features of an atom mentioned in the goal: instead: its identity alone (the paper); also: its identity and its
    abstracted features; off: its abstracted features alone (the paper's reduced goals)."""
    derived_novelty: bool = True
    """Whether derived atoms have features; those mentioned in the goal always do. A key: a choice that depends on the
    domain."""
    # Departure: the paper enumerates all actions; on the largest problems there are millions of interchangeable ones.
    root_successors: str = "auto"
    """Successors of the root in the tree: all: every distinct one; classes: one per class that 1-WL colours cannot
    distinguish; novel: novel ones only; auto: all, or classes if there are more than `max_root_actions` applicable
    actions."""
    # Departure: the paper expands novel states only. The first vehicle's moves then make every place seen, and those of
    # the other vehicles are leaves.
    expand_root_successors: bool = True
    """Whether successors of the root are expanded even if they are not novel (the paper: false)."""
    # Departure: the paper drops them. The search around a policy is complete only if every successor is in the tree.
    keep_root_successors: bool = True
    """Whether successors of the root beyond the capacity stay in the tree as leaves; if not, they are dropped like
    deeper states (the paper's C-AIW). They are always dropped if `root_successors` is novel."""
    free_moves: bool = False
    """Whether moves that only shift an agent and can be undone are closed over, so that an edge of the tree is a whole
    errand: an action and the moves before it (the paper: false). Needs width 1. A key: an addition to the paper's
    method."""
    dead_ends: str = "successors"
    """successors: a state without successors is a dead end; relaxed: so is a state from which the goal is unreachable
    even if actions delete nothing (in small tasks: and what is false may stay so), or that has fewer things left to use
    up than goals that each need one. Trees do not depend on it; policies avoid dead ends; exploration ends there."""
    frozen_goals: str = "off"
    """Test of states with more goals than the root: can every missing goal still be reached by itself while the reached
    ones stay? weak: in the delete relaxation; strong: with the goal's own objects and the agents moving for real; off:
    no test. Trees do not depend on it; policies prefer jumps after which it holds. A key: for domains in which the
    order of goals matters."""
    goals_in_sight: int | None = None
    """Largest number of missing goals that a policy sees at a time when it plays or explores; the others wait until
    these are reached, or have not been for some jumps. Trees depend on the goals that are seen. None: all goals. A key:
    for problems with many more goals than those of training."""
    roles: int | None = None
    """Largest number of objects of the same role that trees and graphs show; the others wait, and those that come first
    stand for them. Objects have the same role if nothing but their names tells them apart. None: all objects. A key:
    for problems with thousands of objects."""
    max_better: int | None = None
    """The tree stops growing once it holds this many states with more satisfied goals than the root: no further state
    is expanded, the root always is. A key: a limit for trees that are too large."""
    max_encoded: int | None = None
    """Largest number of nodes of a finished tree, not counting the root, that are kept for the network: goal states
    first, then states with more satisfied goals than the root, then all others; within each, in the order they were
    found. A node is kept together with its ancestors, or left out if they do not fit. A key: a limit for trees that are
    too large."""
    max_nodes: int = 1_000_000
    """Largest number of nodes in a tree. A larger tree is cut off and marked as truncated. A key: a limit."""
    max_atoms: int = 100_000_000
    """Largest number of atoms stored as differences in a tree. A larger tree is cut off and marked as truncated. What
    the search needs in addition to the tree (pairs of width 2, classes, lists of actions) may take as many bytes as
    these atoms, and at least 64 MiB. A key: a limit."""
    max_root_actions: int = 20_000
    """Largest number of applicable actions for which `auto` means `all`. A key: a limit."""

    @property
    def label(self) -> str:
        """Kind and width as the paper writes them: FLAT, IW(1), AIW(2); and whether moves are free."""
        width = "" if self.kind == "flat" else f"({self.width})"
        return f"{self.kind.upper()}{width}{' modulo free moves' if self.free_moves else ''}"

    @classmethod
    def of(cls, settings: Sequence[str]) -> LookaheadSpec:
        """The default with fields changed by texts `field=value`, of which the last one counts; 0 or none: no limit."""
        hints = get_type_hints(cls)
        values: dict[str, Any] = {}
        for setting in settings:
            name, sign, text = (part.strip() for part in setting.partition("="))
            if not sign or not name:
                raise ConfigurationError(f"lookahead: found {shorten(setting)!r}, expected key=value")
            if name not in hints:
                known = suggestion(name, hints) or f"; known are {', '.join(hints)}"
                raise ConfigurationError(f"lookahead: unknown key {shorten(name)!r}{known}")
            values[name] = _value_of(name, text, hints[name])
        return cls(**values)

    @property
    def settings(self) -> tuple[str, ...]:
        """What differs from the default, as texts that `of` takes, in the order of the fields."""
        return tuple(
            f"{entry.name}={str(value).lower()}"
            for entry in fields(self)
            if (value := getattr(self, entry.name)) != entry.default
        )

    def __post_init__(self) -> None:
        for name, known in (
            ("kind", KINDS),
            ("goal_identity", GOAL_IDENTITIES),
            ("root_successors", ROOT_SUCCESSORS),
            ("dead_ends", DEAD_ENDS),
            ("frozen_goals", FROZEN_GOALS),
        ):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                raise ConfigurationError(f"lookahead: {name} is {value!r}, expected one of {', '.join(known)}")
        if type(self.width) is not int or self.width not in (1, 2):
            raise ConfigurationError(f"lookahead: width is {self.width}, expected 1 or 2")
        if self.width == 2 and self.root_successors == "classes":
            raise ConfigurationError("lookahead: root_successors=classes needs width=1")
        if self.width == 2 and self.free_moves:
            raise ConfigurationError("lookahead: free_moves needs width=1")
        if self.goals_in_sight is not None and self.frozen_goals != "off":
            raise ConfigurationError("lookahead: goals_in_sight and frozen_goals exclude each other")
        optional = ("capacity", "goals_in_sight", "roles", "max_better", "max_encoded")
        for name in (*optional, "max_nodes", "max_atoms", "max_root_actions"):
            value = getattr(self, name)
            if value is None and name in optional:
                continue
            if type(value) is not int:
                raise ConfigurationError(f"lookahead: {name} is {value!r}, expected a whole number")
            if value < 1:
                raise ConfigurationError(f"lookahead: {name} is {value}, expected at least 1")
            if value >= LARGEST:
                raise ConfigurationError(f"lookahead: {name} is {value}, expected less than 2^62")
        for name in ("derived_novelty", "expand_root_successors", "keep_root_successors", "free_moves"):
            if type(getattr(self, name)) is not bool:
                raise ConfigurationError(f"lookahead: {name} is {getattr(self, name)!r}, expected True or False")


def _value_of(name: str, text: str, hint: Any) -> bool | int | str | None:
    """The value of a field, given as text."""
    if hint is str:
        return text
    if hint is bool:
        if text not in ("true", "false"):
            raise ConfigurationError(f"lookahead: {name} is {shorten(text)!r}, expected true or false")
        return text == "true"
    if hint == (int | None) and text in ("none", "0"):
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 19:
        raise ConfigurationError(f"lookahead: {name} is {shorten(text)!r}, expected a whole number")
    return int(text)
