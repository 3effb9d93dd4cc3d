"""Stage `lab.report`: charts of series and runs: solved over time and by size, pairs of series, training curves.

Every function returns HTML with an SVG drawing, or an empty string if there is nothing to draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from saltus.errors import plural
from saltus.lab.bench.record import Problem, Record
from saltus.lab.report.compare import SHORTEST_SECONDS, Measure
from saltus.lab.report.paper import OTHER_NAMES
from saltus.lab.report.plots import Axis, Plot, Point, figure_of
from saltus.lab.report.runs import Curve, RunGroup, coverage_of, episode_figure
from saltus.lab.report.series import Series
from saltus.lab.report.tables import figure

Chart = Callable[..., str]
"""Draws series: of all domains, or of one in a small size; empty if there is nothing to draw."""
SMALL = (420, 250)
"""Width and height of a drawing that shares a row with others."""


def cactus(series: Sequence[Series], domain: str | None = None) -> str:
    """The number of problems solved within each time: higher and further to the left is better."""
    lines: list[tuple[int, Series, list[Record]]] = []
    untimed = 0
    for number, entry in enumerate(series):
        solved = [record for record in entry.solved if domain is None or record.domain == domain]
        timed = sorted((record for record in solved if record.seconds is not None), key=_seconds)
        untimed += len(solved) - len(timed)
        lines.append((number, entry, timed))
    if not any(timed for _, _, timed in lines):
        return ""
    x = Axis.of("seconds", [_seconds(record) for _, _, timed in lines for record in timed], log=True)
    most = max(len(timed) for _, _, timed in lines)
    y = Axis("problems solved", 0, most * 1.04 + 0.2)
    plot = Plot(x, y, f"problems solved over time{f' in {domain}' if domain else ''}", *(SMALL if domain else ()))
    for number, entry, timed in lines:
        points = [(_seconds(record), float(i + 1)) for i, record in enumerate(timed)]
        if points:
            outline: list[Point] = [(points[0][0], 0.0), *points, (x.high, points[-1][1])]
            plot.line(outline, number, steps=True, title=f"{entry.label}: {plural(len(points), 'problem')} solved")
        for (seconds, count), record in zip(points, timed, strict=True):
            text = f"{entry.label}: {_name(record)}, {figure(seconds)} s; {int(count)} solved so far"
            plot.mark((seconds, count), number, text, radius=2.2)
    entries = [(f"{entry.label} ({len(timed)})", number, "line") for number, entry, timed in lines]
    note = f"{plural(untimed, 'plan')} without a time: left out." if untimed else ""
    return figure_of(plot, domain or "Problems solved over time", entries, note)


def coverage_by_size(series: Sequence[Series], domain: str | None = None) -> str:
    """The share of problems solved by number of objects, in groups of about equally many problems.

    A record of a trial that ended early may lack the number: that of any series counts for all.
    """
    objects: dict[Problem, int] = {}
    for entry in series:
        for name, record in entry.records.items():
            if record.objects and (domain is None or record.domain == domain):
                objects.setdefault(name, record.objects)
    groups = size_groups(sorted(objects.values()))
    if not groups:
        return ""
    centres = [(low * high) ** 0.5 for low, high in groups]
    x = Axis.of(
        "objects (groups of problems of similar size)", [value for group in groups for value in group], log=True
    )
    plot = Plot(x, Axis("solved", 0, 1.03, percent=True), "problems solved by size", *(SMALL if domain else ()))
    for number, entry in enumerate(series):
        points: list[Point] = []
        for (low, high), centre in zip(groups, centres, strict=True):
            tried = [
                entry.records[name] for name, count in objects.items() if name in entry.records and low <= count <= high
            ]
            if not tried:
                continue
            solved = sum(record.solved for record in tried)
            points.append((centre, solved / len(tried)))
            text = f"{entry.label}: {solved} of {len(tried)} problems with {low:,} to {high:,} objects"
            plot.mark(points[-1], number, text, radius=2.6)
        plot.line(points, number, title=entry.label)
    left_out = {name for entry in series for name in entry.records if domain in (None, name[0])} - objects.keys()
    note = f"{plural(len(left_out), 'problem')} of unknown size: left out." if left_out else ""
    entries = [(entry.label, number, "line") for number, entry in enumerate(series)]
    return figure_of(plot, domain or "Share of problems solved, by number of objects", entries, note)


def size_groups(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Smallest and largest size of each group of about equally many ascending sizes; equal sizes stay together."""
    count = min(10, max(1, len(sizes) // 6))  # few enough for the drawing, of six problems or more
    groups: list[tuple[int, int]] = []
    start = 0
    for i in range(count):
        end = (i + 1) * len(sizes) // count
        while 0 < end < len(sizes) and sizes[end] == sizes[end - 1]:
            end += 1
        if end > start:
            groups.append((sizes[start], sizes[end - 1]))
            start = end
    return groups


def _seconds(record: Record) -> float:
    return max(record.seconds or 0.0, SHORTEST_SECONDS)


def _name(record: Record) -> str:
    return " ".join(record.name)


def scatter(left: Series, right: Series, measure: Measure) -> str:
    """One dot per problem that at least one of the two series solved; below the diagonal the right series is better.

    If only one of them solved a problem, the dot lies on the dashed line beyond the other's largest figure.
    """
    keys = [key for key in left.records if key in right.records]
    both: list[tuple[Record, Record]] = [(left.records[key], right.records[key]) for key in keys]
    both = [pair for pair in both if any(_value(record, measure) for record in pair)]
    values = [value for pair in both for record in pair if (value := _value(record, measure))]
    if not values:
        return ""
    low, high = min(values), max(values)
    one_sided = any(_value(record, measure) is None for pair in both for record in pair)
    beyond = high * max(1.5, (high / low) ** 0.09)
    limits = [low, beyond if one_sided else high]
    unit = f", {measure.unit}" if measure.unit not in ("s", "actions") else ""
    x = Axis.of(f"{left.label}{unit}", limits, log=True)
    y = Axis.of(f"{right.label}{unit}", limits, log=True)
    plot = Plot(x, y, f"{measure.name} of {left.label} and {right.label}", 480, 440)
    plot.rule((x.low, y.low), (x.high, y.high), "diagonal")
    if one_sided:
        plot.rule((beyond, y.low), (beyond, y.high), "limit")
        plot.rule((x.low, beyond), (x.high, beyond), "limit")
    domains = sorted({pair[0].domain for pair in both})
    solved = 0
    for one, other in both:
        a, b = _value(one, measure), _value(other, measure)
        solved += a is not None and b is not None
        text = f"{_name(one)}: {left.label} {_result_text(one, a)}, {right.label} {_result_text(other, b)}"
        kind = "" if a is not None and b is not None else "open"
        plot.mark((a or beyond, b or beyond), domains.index(one.domain), text, kind)
    entries = [(domain, i, "dot") for i, domain in enumerate(domains)]
    note = f"{plural(solved, 'problem')} solved by both; below the diagonal, {right.label} is better."
    if one_sided:
        note += f" On the dashed lines: {plural(len(both) - solved, 'problem')} solved by only one of the two."
    return figure_of(plot, f"{measure.name.capitalize()}: {left.label} and {right.label}", entries, note)


def _value(record: Record, measure: Measure) -> float | None:
    return measure.of(record) if record.solved else None


def _result_text(record: Record, value: float | None) -> str:
    return record.outcome if value is None else figure(value, 4)


def training(groups: Sequence[RunGroup]) -> list[str]:
    """Charts of validation coverage, loss and success over episodes, per domain; bands span the least to the most."""
    figures: list[str] = []
    for group in groups:
        figures += [_coverage(group), _figure(group, "loss", "loss", log=True)]
        figures.append(_figure(group, "success", "success rate in training", percent=True))
    return [text for text in figures if text]


def _coverage(group: RunGroup) -> str:
    """The share of validation problems solved; the line for larger problems is dashed."""
    curves = {"": group.curves(coverage_of), "dash": group.curves(lambda run: coverage_of(run, "larger_"))}
    y = Axis("solved", 0, 1.03, percent=True)
    return _chart(group, "validation", y, curves, lambda value: f"{100 * value:.0f} %")


def _figure(group: RunGroup, name: str, label: str, *, log: bool = False, percent: bool = False) -> str:
    """One figure of the log over episodes."""
    curves = group.curves(lambda run: episode_figure(run, name))
    values = [value for curve in curves for point in curve.points for value in (point.low, point.high)]
    log = log and min(values, default=0) > 0
    y = Axis(label, 0, 1.03, percent=True) if percent else Axis.of(label, values, log=log, from_zero=not log)
    return _chart(group, label, y, {"": curves})


def _chart(
    group: RunGroup,
    label: str,
    y: Axis,
    curves: Mapping[str, Sequence[Curve]],
    as_text: Callable[[float], str] | None = None,
) -> str:
    """Curves over episodes by the kind of their lines, with a mark for every point if `as_text` says what is there."""
    episodes = [float(point.episode) for found in curves.values() for curve in found for point in curve.points]
    if not episodes:
        return ""
    plot = Plot(Axis.of("episode", episodes, from_zero=True), y, f"{label} of {group.domain}", *SMALL)
    entries: list[tuple[str, int, str]] = []
    for kind, curve in ((kind, curve) for kind, found in curves.items() for curve in found):
        colour = group.names.index(curve.name)
        means = f"{curve.name} (mean of {curve.runs} runs)" if curve.runs > 1 else curve.name
        name = f"{curve.name}, larger problems" if kind else curve.name
        entries.append((name if kind else means, colour, kind or "line"))
        if curve.runs > 1:
            low = [(point.episode, point.low) for point in curve.points]
            plot.band(low, [(point.episode, point.high) for point in curve.points], colour)
        plot.line([(point.episode, point.mean) for point in curve.points], colour, kind, title=means)
        if as_text is None:
            continue
        for point in curve.points:
            spread = f" ({as_text(point.low)} to {as_text(point.high)}, {plural(point.runs, 'run')})"
            text = f"{name}, episode {point.episode}: {as_text(point.mean)}{spread if curve.runs > 1 else ''}"
            plot.mark((point.episode, point.mean), colour, text, kind, radius=2.4)
    return figure_of(plot, f"{OTHER_NAMES.get(group.domain, group.domain)}: {label}", entries)
