"""Progress in narrow terminals: nothing that matters is cut off."""

from __future__ import annotations

from collections import Counter
from io import StringIO

import pytest
from rich.console import Console

from saltus.cli import bench, output
from saltus.cli.plan import progress_line
from saltus.cli.progress import fitting
from saltus.lab.bench.benchmark import Tally, Trial
from saltus.policy import Figures, Outcome
from saltus.process import PlanJob, PlanResult
from saltus.task import Plan

LONG = PlanResult(
    Outcome.INTERRUPTED,
    plan=Plan(()),
    cost=1234.0,
    figures=Figures(
        jumps=1234, goals=99, goal_count=100, largest_tree=123456, search_decisions=9999, goal_search_decisions=99999
    ),
)


def trial(number: int) -> Trial:
    """One of many trials with a long name."""
    return Trial("a-domain-with-a-long-name", "training", f"p{number}", PlanJob("d", "p"), "c")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_benchmark_shows_counts_and_time(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    screen = StringIO()
    terminal = Console(file=screen, width=width, force_terminal=True, color_system=None, legacy_windows=False)
    monkeypatch.setattr(output, "error_console", lambda: terminal)
    tally = Tally(1000, 0)
    tally.outcomes = Counter({Outcome.FOUND: 200, Outcome.FAILED: 45})
    tally.running[:] = [trial(number) for number in range(4)]
    with bench.shown(1000) as watch:
        watch(tally, None)
    lines = [line for line in screen.getvalue().replace("\r", "\n").splitlines() if "solved" in line]
    assert lines
    assert "200 solved 45 failed" in lines[-1]
    assert " 245/1000 " in lines[-1]
    assert "0:00:00" in lines[-1]
    assert ("running a-domain" in lines[-1]) is (width >= 120)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_plan_shows_seconds_jumps_and_goals(width: int) -> None:
    line = progress_line(LONG, 61.3, width)
    assert line.startswith("61 s · 1,234 jumps · 99 of 100 goals · plan of cost 1234")
    assert len(line) <= width
    assert ("trees of up to 123,456 states" in line) is (width == 200)


def test_parts_without_room_are_left_out() -> None:
    assert fitting(["12 s", "a long part", "b"], 9) == "12 s · b"
    assert fitting(["12 seconds", "b"], 5) == "12 seconds"
