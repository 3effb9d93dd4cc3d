"""Stage `lookahead`: the two specifications of a policy beside its weights.

`TreeSpec` is what the weights were learned on: the kind of tree and its features. Another one needs other weights.
`PlaySpec` is how the policy plays: how much of a task and of a tree it sees, which states it avoids, when it takes a
goal. It may change at any time after training, and contests choose it last. Both consist of plain values; files of
policies, configurations and option texts `key=value` have the same keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, get_type_hints

from saltus.errors import ConfigurationError, shorten, suggestion

KINDS = {"flat": 0, "iw": 1, "aiw": 2, "baiw": 3}
"""Kinds of lookahead, and their numbers in the kernel."""

GOAL_IDENTITIES = {"off": 0, "instead": 1, "also": 2}
"""Features of atoms mentioned in the goal, and their numbers in the kernel."""

ROOT_SUCCESSORS = {"auto": 0, "all": 1, "classes": 2, "novel": 3}
"""Which successors of the root enter the tree, and their numbers in the kernel."""

LARGEST = 2**62
"""Limits must be smaller, since the kernel counts in 64 bits."""

MAX_ROOT_ACTIONS = 20_000
"""Largest number of applicable actions for which `root_successors=auto` means `all`."""

OLDER_PLAY = ("max_atoms", "max_root_actions")
"""Keys of play that earlier versions had."""


class Settings:
    """What both specifications share: texts `key=value`, and checks that name the field."""

    where: ClassVar[str] = ""
    """Name of the section in configurations and messages."""

    @classmethod
    def of(cls, settings: Sequence[str]) -> Self:
        """The default with fields changed by texts `field=value`, of which the last one counts; 0 or none: no limit."""
        return cls().changed(settings)

    def changed(self, settings: Sequence[str]) -> Self:
        """The specification with fields changed by such texts."""
        hints = get_type_hints(type(self))
        values: dict[str, Any] = {}
        for setting in settings:
            name, sign, text = (part.strip() for part in setting.partition("="))
            if not sign or not name:
                raise ConfigurationError(f"{self.where}: found {shorten(setting)!r}, expected key=value")
            if name not in names_of(type(self)):
                raise ConfigurationError(f"{self.where}: unknown key {shorten(name)!r}{_hint(type(self), name)}")
            values[name] = self._value_of(name, text, hints[name])
        return replace(self, **values)  # type: ignore[type-var]

    @property
    def settings(self) -> tuple[str, ...]:
        """What differs from the default, as texts that `of` takes, in the order of the fields."""
        return tuple(
            f"{entry.name}={str(value).lower()}"
            for entry in fields(self)  # type: ignore[arg-type]
            if (value := getattr(self, entry.name)) != entry.default
        )

    def _value_of(self, name: str, text: str, hint: Any) -> bool | int | str | None:
        """The value of a field, given as text."""
        if hint is str:
            return text
        if hint is bool:
            if text not in ("true", "false"):
                raise ConfigurationError(f"{self.where}: {name} is {shorten(text)!r}, expected true or false")
            return text == "true"
        if hint == (int | None) and text in ("none", "0"):
            return None
        if not text.isascii() or not text.isdigit() or len(text) > 19:
            raise ConfigurationError(f"{self.where}: {name} is {shorten(text)!r}, expected a whole number")
        return int(text)

    def _check_choices(self, **choices: Mapping[str, int] | Sequence[str]) -> None:
        for name, known in choices.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                raise ConfigurationError(f"{self.where}: {name} is {value!r}, expected one of {', '.join(known)}")

    def _check_types(self) -> None:
        """Refuses flags that are none, and numbers that are no whole numbers from 1 on."""
        hints = get_type_hints(type(self))
        for name in names_of(type(self)):
            value, hint = getattr(self, name), hints[name]
            if hint is bool and type(value) is not bool:
                raise ConfigurationError(f"{self.where}: {name} is {value!r}, expected True or False")
            if hint not in (int, int | None) or (value is None and hint is not int):
                continue
            if type(value) is not int:
                raise ConfigurationError(f"{self.where}: {name} is {value!r}, expected a whole number")
            if value < 1:
                raise ConfigurationError(f"{self.where}: {name} is {value}, expected at least 1")
            if value >= LARGEST:
                raise ConfigurationError(f"{self.where}: {name} is {value}, expected less than 2^62")


@dataclass(frozen=True)
class TreeSpec(Settings):
    """The trees that a policy learns on. Invalid values are refused with the name of the field."""

    where = "lookahead"

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
    # Departure: the paper enumerates all actions; on the largest problems there are millions of interchangeable ones.
    root_successors: str = "auto"
    """Successors of the root in the tree: all: every distinct one; classes: one per class that 1-WL colours cannot
    distinguish; novel: novel ones only; auto: all, or classes if there are more than 20,000 applicable actions."""
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

    @property
    def label(self) -> str:
        """Kind and width as the paper writes them: FLAT, IW(1), AIW(2); and whether moves are free."""
        width = "" if self.kind == "flat" else f"({self.width})"
        return f"{self.kind.upper()}{width}{' modulo free moves' if self.free_moves else ''}"

    def __post_init__(self) -> None:
        self._check_choices(kind=KINDS, goal_identity=GOAL_IDENTITIES, root_successors=ROOT_SUCCESSORS)
        if type(self.width) is not int or self.width not in (1, 2):
            raise ConfigurationError(f"lookahead: width is {self.width}, expected 1 or 2")
        if self.width == 2 and self.root_successors == "classes":
            raise ConfigurationError("lookahead: root_successors=classes needs width=1")
        if self.width == 2 and self.free_moves:
            raise ConfigurationError("lookahead: free_moves needs width=1")
        self._check_types()


@dataclass(frozen=True)
class PlaySpec(Settings):
    """How a policy plays, whatever it was trained with. Invalid values are refused with the name of the field."""

    where = "play"

    dead_ends: bool = False
    """Whether states are dead ends from which the goal is unreachable even if actions delete nothing (in small tasks:
    and what is false may stay so), or that have fewer things left to use up than goals that each need one. Policies
    avoid them, exploration ends there. If not, only states without successors are dead ends."""
    frozen_goals: bool = False
    """Whether states with more goals than the root are tested: can every missing goal still be reached while the
    reached ones stay, even if nothing else becomes false? Policies prefer jumps after which it can. A key: for domains
    in which the order of goals matters."""
    # Departure: the paper takes the best Q-value, which may leave a goal in sight for later, or for ever.
    take_goals: bool = True
    """Whether a goal state in the tree is taken whatever its Q-value (the paper: false). Exploration does as the
    paper."""
    goals_in_sight: int | None = None
    """Largest number of missing goals that a policy sees at a time; the others wait until these are reached, or have
    not been for some jumps. None: all goals. A key: for problems with many more goals than those of training."""
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

    def __post_init__(self) -> None:
        if self.goals_in_sight is not None and self.frozen_goals is True:
            raise ConfigurationError("play: goals_in_sight and frozen_goals exclude each other")
        self._check_types()


def names_of(kind: type[Settings]) -> list[str]:
    """The keys of a specification."""
    return [entry.name for entry in fields(kind)]  # type: ignore[arg-type]


def split_older(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The keys of trees, and those of play, of a `lookahead` of earlier versions, which held both.

    Dead ends were `successors` or `relaxed`; any other value is left as it is, to be refused.
    """
    play = {key: value for key, value in values.items() if key in (*names_of(PlaySpec), *OLDER_PLAY)}
    trees = {key: value for key, value in values.items() if key not in play}
    if play.get("dead_ends") in ("successors", "relaxed"):
        play["dead_ends"] = play["dead_ends"] == "relaxed"
    return trees, newer_play(play)


def newer_play(values: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of play that an earlier version may have saved: the test for frozen goals had two forms."""
    forms = {"off": False, "weak": True, "strong": True}
    found = values.get("frozen_goals")
    return {**values, "frozen_goals": forms[found]} if isinstance(found, str) and found in forms else {**values}


def _hint(kind: type[Settings], name: str) -> str:
    """What to say about an unknown key: that it is one of the other section, or what is nearest."""
    other: type[Settings] = PlaySpec if kind is TreeSpec else TreeSpec
    if name in names_of(other):
        return f": it is a key of {other.where}"
    return suggestion(name, names_of(kind)) or f"; known are {', '.join(names_of(kind))}"


TREES = TreeSpec()
"""The default trees."""

PLAY = PlaySpec()
"""The default way to play."""
