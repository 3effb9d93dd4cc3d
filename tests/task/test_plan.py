"""Plan files: reading, writing, costs, errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltus.errors import InputError, PlanError
from saltus.task import Plan, format_plan, parse_plan, read_plan, write_plan


def test_format() -> None:
    plan = Plan.of(["(unstack b1 b2)", "(putdown b1)"])
    assert format_plan(plan, 2.0, unit_cost=True) == "(unstack b1 b2)\n(putdown b1)\n; cost = 2 (unit cost)\n"
    assert format_plan(plan, 7.5, unit_cost=False).endswith("; cost = 7.5 (general cost)\n")
    assert format_plan(Plan(()), 0, unit_cost=True) == "; cost = 0 (unit cost)\n"


def test_reading_ignores_case_comments_and_blank_lines() -> None:
    plan = parse_plan("; head\n\n  (A b  C) ; why\r\n\t( d )\n; cost = 2 (unit cost)", "x.plan")
    assert plan.steps == (("a", "b", "c"), ("d",))
    assert plan.lines == (3, 4)
    assert plan.file == "x.plan"
    assert len(plan) == 2


NAMES = st.text(alphabet="abc-_19", min_size=1, max_size=6)


@given(st.lists(st.lists(NAMES, min_size=1, max_size=4).map(tuple), max_size=6), st.integers(0, 10**6))
def test_round_trip(steps: list[tuple[str, ...]], cost: int) -> None:
    plan = Plan(tuple(steps))
    assert parse_plan(format_plan(plan, cost, unit_cost=False)).steps == plan.steps


@pytest.mark.parametrize(
    ("text", "position", "found"),
    [
        ("(a b)\n  stack b1 b2\n", "x:2:3", "stack b1 b2"),
        ("(a b", "x:1:1", "(a b"),
        ("()", "x:1:1", "()"),
        ("(a) (b)", "x:1:1", "(a) (b)"),
        ("((a))", "x:1:1", "((a))"),
        ("0: (a b)", "x:1:1", "0: (a b)"),
        (")", "x:1:1", ")"),
        ("(", "x:1:1", "("),
    ],
)
def test_malformed_plans(text: str, position: str, found: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_plan(text, "x")
    assert (
        str(caught.value) == f"{position}: not an action: expected one '(action argument …)' per line, found {found!r}"
    )


def test_files(tmp_path: Path) -> None:
    plan = Plan.of(["(a b)"])
    write_plan(tmp_path / "sas_plan", plan, 1, unit_cost=True)
    assert read_plan(tmp_path / "sas_plan").steps == plan.steps
    write_plan(tmp_path / "sas_plan", Plan(()), 0, unit_cost=True)
    assert read_plan(tmp_path / "sas_plan").steps == ()
    assert [path.name for path in tmp_path.iterdir()] == ["sas_plan"]


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: cannot be read: No such file or directory"):
        read_plan(tmp_path / "none")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_plan(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe(a)")
    with pytest.raises(PlanError, match="not a plan file: it is not text"):
        read_plan(tmp_path / "binary")


def test_unwritable_places(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "plan", tmp_path / "none" / "plan", tmp_path):
        with pytest.raises(InputError, match="cannot be written"):
            write_plan(place, Plan(()), 0, unit_cost=True)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_plan_prints_as_in_a_plan_file_and_its_repr_is_short() -> None:
    plan = Plan.of(["(Pick-Up b1)", "(stack b1 b2)"])
    assert str(plan) == "(pick-up b1)\n(stack b1 b2)"
    assert f"{plan}\n" == "".join(format_plan(plan, 2, unit_cost=True).splitlines(keepends=True)[:-1])
    assert repr(plan) == "<Plan of 2 actions>"
    assert repr(Plan(())) == "<Plan of 0 actions>"
