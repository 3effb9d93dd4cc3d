"""Plots: ticks, places of marks, well-formed SVG whatever the names."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lab.report.samples import record, series_of

from saltus.lab.report.charts import cactus, scatter, training
from saltus.lab.report.compare import LENGTH, SECONDS
from saltus.lab.report.plots import Axis, Plot
from saltus.lab.report.runs import RunGroup, RunLog
from saltus.lab.report.tables import figure

positive = st.floats(1e-6, 1e9, allow_nan=False)


def parse(text: str) -> ElementTree.Element:
    """The figure as XML; fails where it is not well formed."""
    return ElementTree.fromstring(text)


def marks(root: ElementTree.Element, kind: str = "") -> list[ElementTree.Element]:
    """Circles of a class."""
    found = [element for element in root.iter("circle") if "mark" in element.get("class", "").split()]
    return [element for element in found if not kind or kind in element.get("class", "").split()]


def titles(root: ElementTree.Element) -> list[str]:
    """What the marks say."""
    return [mark.findtext("title") or "" for mark in marks(root)]


@pytest.mark.parametrize(
    ("low", "high", "log", "ticks"),
    [
        (0, 10, False, [0, 2, 4, 6, 8, 10]),
        (0, 1, False, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-5, 5, False, [-4, -2, 0, 2, 4]),
        (0, 95, False, [0, 20, 40, 60, 80]),
        (0.01, 1000, True, [0.01, 0.1, 1, 10, 100, 1000]),
        (1, 60, True, [1, 2, 5, 10, 20, 50]),
        (30, 45, True, [30, 35, 40, 45]),
        (1e-3, 1e6, True, [1e-3, 1e-1, 1e1, 1e3, 1e5]),
    ],
)
def test_ticks_are_round(low: float, high: float, log: bool, ticks: list[float]) -> None:
    assert Axis("", low, high, log).ticks(6) == pytest.approx(ticks)


@given(st.lists(positive, min_size=1, max_size=20), st.booleans(), st.integers(2, 9))
def test_axes_hold_their_values(values: list[float], log: bool, most: int) -> None:
    axis = Axis.of("", values, log=log)
    assert axis.low < min(values) <= max(values) < axis.high
    assert all(0 < axis.share(value) < 1 for value in values)
    ticks = axis.ticks(most)
    assert ticks
    assert len(ticks) <= max(most + 1, 4)
    assert all(axis.low * (1 - 1e-6) <= tick <= axis.high * (1 + 1e-6) for tick in ticks)


@pytest.mark.parametrize("log", [True, False])
def test_axes_of_nothing_and_of_nonsense(log: bool) -> None:
    for values in ([], [math.nan], [math.inf], [0.0]):
        axis = Axis.of("", values, log=log)
        assert axis.low < axis.high
        assert axis.ticks()
        assert 0 <= axis.share(-3) <= axis.share(1e12) <= 1


def test_places() -> None:
    plot = Plot(Axis("x", 0, 10), Axis("y", 1, 100, log=True), "test", width=174, height=160)
    plot.mark((5, 10), 3, "middle")
    (mark,) = marks(parse(plot.svg()))
    assert (mark.get("cx"), mark.get("cy"), mark.get("class")) == ("108", "64", "mark c3")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0, "0"), (12345.6, "12,346"), (1.23456, "1.23"), (0.00012, "1.2e-04"), (99.96, "100")],
)
def test_figures(value: float | None, text: str) -> None:
    assert figure(value) == text


def test_cactus_has_a_mark_for_every_plan_in_order_of_time() -> None:
    left = [record(problem=f"p{i}", seconds=seconds) for i, seconds in enumerate((3.0, 0.0, 1.0))]
    left += [record(problem="p8", outcome="time limit"), record(problem="p9", seconds=None)]
    right = [record(problem="p1", method="<b>&", seconds=2.0)]
    root = parse(cactus(series_of(left, right)))
    assert titles(root) == [
        "aiw-ad: ferry easy p1, 0.001 s; 1 solved so far",
        "aiw-ad: ferry easy p2, 1 s; 2 solved so far",
        "aiw-ad: ferry easy p0, 3 s; 3 solved so far",
        "<b>&: ferry easy p1, 2 s; 1 solved so far",
    ]
    assert [float(mark.get("cx", "")) for mark in marks(root, "c0")] == sorted(
        float(mark.get("cx", "")) for mark in marks(root, "c0")
    )
    assert len([path for path in root.iter("path") if "line" in path.get("class", "")]) == 2
    assert "1 plan without a time: left out." in "".join(root.itertext())
    assert "<b>& (1)" in "".join(root.itertext())
    assert cactus(series_of([record(outcome="crash")])) == ""


def test_scatter_has_a_mark_for_every_problem_one_side_solved() -> None:
    left = [record(problem="p1", plan_length=10), record(problem="p2", outcome="time limit"), record(problem="p3")]
    right = [
        record(problem="p1", plan_length=100, method="x"),
        record(problem="p2", plan_length=50, method="x"),
        record(problem="p3", outcome="crash", method="x"),
        record(problem="p4", method="x"),
    ]
    series = series_of(left, right)
    root = parse(scatter(*series, LENGTH))
    assert titles(root) == [
        "ferry easy p1: aiw-ad 10, x 100",
        "ferry easy p2: aiw-ad time limit, x 50",
        "ferry easy p3: aiw-ad 30, x crash",
    ]
    assert len(marks(root, "open")) == 2
    both, late, early = marks(root)
    assert float(late.get("cx", "")) > float(both.get("cx", ""))  # on the line beyond all figures
    assert float(early.get("cy", "")) < float(both.get("cy", ""))
    assert len(marks(parse(scatter(*series, SECONDS)))) == 3
    assert scatter(*series_of([record(outcome="crash")], [record(outcome="crash", method="x")]), LENGTH) == ""


def test_training_draws_band_line_and_marks() -> None:
    def run(seed: int, solved: list[int]) -> RunLog:
        validations = {
            25 * i: {"solved": float(n), "problems": 30.0, "larger_solved": n / 3, "larger_problems": 10.0}
            for i, n in enumerate(solved, 1)
        }
        return RunLog(f"r/{seed}", "ferry", "ferry", {1: {"loss": 0.5}, 2: {"loss": 0.0}}, validations)

    group = RunGroup("ferry", (run(0, [10, 20, 30]), run(1, [20, 30, 30])))
    validation, loss = (parse(text) for text in training([group]))
    assert len(marks(validation)) == 6
    assert titles(validation)[0] == "ferry, episode 25: 50 % (33 % to 67 %, 2 runs)"
    assert titles(validation)[3] == "ferry, larger problems, episode 25: 50 % (33 % to 67 %, 2 runs)"
    assert len([path for path in validation.iter("path") if "band" in path.get("class", "")]) == 2
    assert len([path for path in validation.iter("path") if "dash" in path.get("class", "")]) == 1
    assert "ferry (mean of 2 runs)" in "".join(loss.itertext())
    alone = parse(training([RunGroup("ferry", (group.runs[0],))])[0])
    assert [path for path in alone.iter("path") if "band" in path.get("class", "")] == []
