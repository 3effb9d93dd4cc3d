"""Stage `task`: plans, and plan files in the usual format: a line `(action argument …)` per action, then
`; cost = N (unit cost)`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from saltus.errors import PlanError, Position, plural
from saltus.files import PLAN_BYTES, read_whole, write_whole


@dataclass(frozen=True, repr=False)
class Plan:
    """Ground actions by name, `(action, object, …)`, in lower case; `str` of it is the text of a plan file.

    `lines` are the line numbers of the actions in the file that the plan was read from. Plans with the same actions are
    equal.
    """

    steps: tuple[tuple[str, ...], ...]
    file: str = field(default="<plan>", compare=False)
    lines: tuple[int, ...] = field(default=(), compare=False)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return "\n".join(f"({' '.join(step)})" for step in self.steps)

    def __repr__(self) -> str:
        return f"<Plan of {plural(len(self), 'action')}>"

    @classmethod
    def of(cls, actions: Iterable[str]) -> Plan:
        """Plan of actions in plan-file notation, such as `(stack b1 b2)`."""
        return cls(tuple(tuple(text.strip().strip("()").lower().split()) for text in actions))


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Plan in a file; a line that is not an action is a `PlanError` with its position."""
    return plan_of_bytes(read_whole(path, PLAN_BYTES), os.fspath(path))


def plan_of_bytes(content: bytes, name: str) -> Plan:
    """Plan in the content of a file."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PlanError(f"{name}: not a plan file: it is not text") from error
    return parse_plan(text, name)


def parse_plan(text: str, name: str = "<plan>") -> Plan:
    """Plan in a text; everything after `;` is a comment."""
    steps: list[tuple[str, ...]] = []
    lines: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.split(";")[0].strip()
        if not content:
            continue
        inner = content[1:-1]
        if content[0] != "(" or content[-1] != ")" or not inner.split() or set(inner) & set("()"):
            column = len(line) - len(line.lstrip()) + 1
            expected = "one '(action argument …)' per line"
            raise PlanError("not an action", Position(name, number, column), found=content, expected=expected)
        steps.append(tuple(inner.lower().split()))
        lines.append(number)
    return Plan(tuple(steps), name, tuple(lines))


def format_plan(plan: Plan, cost: float, *, unit_cost: bool) -> str:
    """Text of a plan file, with the cost as its last line."""
    actions = f"{plan}\n" if plan.steps else ""
    return f"{actions}; cost = {cost_text(cost, unit_cost=unit_cost)}\n"


def cost_text(cost: float, *, unit_cost: bool) -> str:
    """A cost as plan files and commands write it: `4 (unit cost)`, `7.5 (general cost)`."""
    number = int(cost) if cost == int(cost) else cost
    return f"{number} ({'unit cost' if unit_cost else 'general cost'})"


def write_plan(
    path: str | os.PathLike[str], plan: Plan, cost: float, *, unit_cost: bool, mode: int | None = None
) -> None:
    """Writes a plan file, whole or not at all: a reader never sees half a plan. `mode` is for `write_whole`."""
    write_whole(path, format_plan(plan, cost, unit_cost=unit_cost), mode=mode)
