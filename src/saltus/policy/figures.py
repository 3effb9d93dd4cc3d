"""Stage `policy`: the figures of a rollout, each declared once.

A figure is one field of `Figures`. The field's metadata says what values it takes, what it means, and under which title
the report shows it. Everything else follows from the declaration: planning fills the field in, the worker sends all
fields, a record stores them, the reader checks them, and the report adds a column for each field with a title. A new
figure is a line here and a line where it is measured.

`Record` (lab/bench/record.py) declares its own fields in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any, Self

from saltus.policy.outcome import Limits, Outcome
from saltus.policy.values import MOST_NUMBER


class Kind(Enum):
    """What values a stored field takes; the value says so in an error message."""

    COUNT = "a whole number"
    SECONDS = "a number of seconds"
    NUMBER = "a number"
    FLAG = "true or false"
    TEXT = "a text"
    NAME = "a name"
    OUTCOME = "an outcome"
    LIMITS = "an object with limits"
    VERSIONS = "an object with versions"

    def accepts(self, value: object) -> bool:
        """Whether a value read from JSON is of this kind; numbers are small enough to be added up and drawn."""
        match self:
            case Kind.COUNT:
                return type(value) is int and 0 <= value < 2**63
            case Kind.SECONDS | Kind.NUMBER:
                return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST_NUMBER
            case Kind.FLAG:
                return isinstance(value, bool)
            case Kind.TEXT:
                return isinstance(value, str)
            case Kind.NAME | Kind.OUTCOME:
                return isinstance(value, str) and value != ""
            case Kind.LIMITS | Kind.VERSIONS:
                return isinstance(value, dict)

    def read(self, value: Any) -> Any:
        """The value of the field for an accepted value; an outcome of a later version stays a plain string."""
        if self is Kind.OUTCOME:
            return Outcome.of(value) or value
        if self is Kind.LIMITS:
            return Limits(**{entry.name: value.get(entry.name) for entry in fields(Limits)})
        return value


@dataclass(frozen=True)
class Declaration:
    """What is said about a stored field."""

    kind: Kind
    about: str
    column: str = ""
    """Title of the report's column; empty for none."""
    required: bool = False
    """Whether a record without the field is damaged."""


def declare(
    kind: Kind, about: str, *, column: str = "", required: bool = False, default: Any = None, compare: bool = True
) -> Any:
    """A dataclass field with a declaration."""
    declaration = Declaration(kind, about, column, required)
    return field(default=default, compare=compare, metadata={"declaration": declaration})


def declarations(owner: type) -> dict[str, Declaration]:
    """Declarations of a dataclass by field name; fields without one are left out."""
    return {entry.name: entry.metadata["declaration"] for entry in fields(owner) if "declaration" in entry.metadata}


@dataclass(frozen=True)
class Figures:
    """Counts and times of planning so far; None where nothing was measured."""

    jumps: int | None = declare(Kind.COUNT, "Jumps of the greedy rollout.", column="jumps")
    search_decisions: int | None = declare(Kind.COUNT, "Decisions of the search around the policy.")
    goal_search_decisions: int | None = declare(Kind.COUNT, "Decisions of the goal search next to it.")
    goal_by_goal_decisions: int | None = declare(Kind.COUNT, "Decisions of the policy with one missing goal at a time.")
    found_by: str | None = declare(
        Kind.TEXT, "What found the first plan: greedy, drawn, goal by goal, search, goal search or relaxed search."
    )
    needless_actions: int | None = declare(Kind.COUNT, "Actions left out of the first plan: loops and redundant ones.")
    greedy_outcome: Outcome | None = declare(Kind.OUTCOME, "How the greedy rollout ended, even if a search followed.")
    greedy_goals: int | None = declare(Kind.COUNT, "Largest number of goal literals true during the greedy rollout.")
    tree_nodes: int | None = declare(Kind.COUNT, "States of all lookahead trees.")
    largest_tree: int | None = declare(Kind.COUNT, "States of the largest lookahead tree.")
    left_out_nodes: int | None = declare(Kind.COUNT, "States of all trees left out because of `max_encoded`.")
    goals: int | None = declare(Kind.COUNT, "Largest number of goal literals true in a state jumped to.")
    goal_count: int | None = declare(Kind.COUNT, "Goal literals of the problem.")
    seconds_read: float | None = declare(Kind.SECONDS, "Time to read the files.")
    seconds_lookahead: float | None = declare(Kind.SECONDS, "Time for lookahead trees.")
    seconds_graph: float | None = declare(Kind.SECONDS, "Time to encode trees as graphs.")
    seconds_network: float | None = declare(Kind.SECONDS, "Time for the network.")
    seconds_dead_ends: float | None = declare(Kind.SECONDS, "Time for testing states for dead ends.")
    seconds_frozen_goals: float | None = declare(Kind.SECONDS, "Time for testing states for frozen goals.")
    seconds_plan: float | None = declare(Kind.SECONDS, "Time until the first plan, counted from the start.")

    @classmethod
    def of(cls, source: Figures) -> Figures:
        """The figures alone of anything that has them."""
        return Figures(**{entry.name: getattr(source, entry.name) for entry in fields(Figures)})

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Figures:
        """The figures among plain values."""
        known = {name: entry.kind.read(values[name]) for name, entry in FIGURES.items() if values.get(name) is not None}
        return Figures(**known)

    def to_json(self) -> dict[str, Any]:
        """All figures as plain values, None included."""
        return {name: getattr(self, name) for name in FIGURES}

    def plus(self, **counts: int) -> Self:
        """The same with counts added; one that was None counts from 0."""
        sums: dict[str, Any] = {name: (getattr(self, name) or 0) + count for name, count in counts.items()}
        return replace(self, **sums)


FIGURES = declarations(Figures)
"""All figures by name."""
