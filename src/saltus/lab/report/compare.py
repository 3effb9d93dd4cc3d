"""Stage `lab.report`: comparison of two or more series: plan lengths and times, as geometric means.

Only problems that all sides solved are compared; otherwise a series that solves the hard ones would look worse. Ratios
are geometric means of the ratios of single problems, so that large problems do not outweigh the others. Times below a
millisecond count as a millisecond; problems with a plan of length 0 are left out of the means of lengths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from saltus.errors import plural
from saltus.lab.bench.record import Problem, Record
from saltus.lab.report.series import Series
from saltus.lab.report.tables import NOTHING, Cell, Column, Row, Table, figure

SHORTEST_SECONDS = 0.001


@dataclass(frozen=True)
class Measure:
    """A figure of a record; smaller is better."""

    name: str
    unit: str

    def of(self, record: Record) -> float | None:
        """The figure, positive; None if a mean of logarithms cannot include it."""
        if self.name == "seconds":
            return None if record.seconds is None else max(record.seconds, SHORTEST_SECONDS)
        return record.plan_length or None


LENGTH = Measure("plan length", "actions")
SECONDS = Measure("seconds", "s")
MEASURES = (LENGTH, SECONDS)


def geometric_mean(values: Iterable[float]) -> float | None:
    """The geometric mean of positive numbers; None if there are none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else None


def common_problems(series: Sequence[Series]) -> list[Problem]:
    """Problems that all series solved, in the order of the first one."""
    first, *others = series
    return [
        record.name
        for record in first.solved
        if all(record.name in entry.records and entry.records[record.name].solved for entry in others)
    ]


def figures(series: Sequence[Series], problems: Iterable[Problem], measure: Measure) -> list[tuple[float, ...]]:
    """The measure of every series, as a tuple for each problem for which all series have it."""
    rows = ([measure.of(entry.records[key]) for entry in series] for key in problems)
    return [tuple(value for value in row if value is not None) for row in rows if None not in row]


def comparisons(series: Sequence[Series]) -> list[Table]:
    """A table for every pair that tried a common problem, and one for all series if there are more than two."""
    tables = [_pair(left, right) for left, right in pairs_of(series)]
    if len(series) > 2 and common_problems(series):
        tables.insert(0, _together(series))
    return tables


def pairs_of(series: Sequence[Series]) -> list[tuple[Series, Series]]:
    """Pairs that tried a common problem: all, or of more than four series the first one with each of the others."""
    pairs = combinations(series, 2) if len(series) <= 4 else product(series[:1], series[1:])
    return [(left, right) for left, right in pairs if left.records.keys() & right.records.keys()]


def _by_domain(problems: Iterable[Problem]) -> dict[str, list[Problem]]:
    domains: dict[str, list[Problem]] = {}
    for key in problems:
        domains.setdefault(key[0], []).append(key)
    return domains


def _pair(left: Series, right: Series) -> Table:
    """Two series: a row for each domain, and one for all problems."""
    common = common_problems([left, right])
    tried = left.records.keys() & right.records.keys()
    domains = _by_domain(key for key in left.records if key in tried)
    rows = [
        _pair_row(domain, left, right, keys, [key for key in common if key[0] == domain], "")
        for domain, keys in domains.items()
    ]
    rows.append(_pair_row("all", left, right, sorted(tried), common, "total"))
    columns = [Column("domain", text=True)]
    columns += [Column(name, "problems") for name in ("tried", "both", f"only {left.label}", f"only {right.label}")]
    for measure in MEASURES:
        group = f"{measure.name}, geometric mean"
        columns += [Column(left.label, group), Column(right.label, group)]
        columns.append(Column("ratio", group, title=f"{right.label} / {left.label}; above 1: {left.label} is better"))
    for name, word in (("<", "shorter"), ("=", "as long"), (">", "longer")):
        columns.append(Column(name, "plans", title=f"problems for which the plan of {left.label} is {word}"))
    notes = [
        f"Means over the problems that both solved. Ratio: {right.label} / {left.label}; above 1, {left.label} is "
        f"better. Plans <, =, >: problems for which the plan of {left.label} is shorter, as long, or longer."
    ]
    for one, other in ((left, right), (right, left)):
        alone = len(one.records.keys() - other.records.keys())
        if alone:
            notes.append(f"{plural(alone, 'problem')} tried only by {one.label}: left out.")
    title = f"{left.label} and {right.label}"
    return Table(f"compare {left.label} {right.label}", title, tuple(columns), tuple(rows), tuple(notes))


def _pair_row(
    name: str, left: Series, right: Series, tried: Sequence[Problem], common: Sequence[Problem], level: str
) -> Row:
    only_left = sum(left.records[key].solved and not right.records[key].solved for key in tried)
    only_right = sum(right.records[key].solved and not left.records[key].solved for key in tried)
    cells = [Cell(name), *(Cell(f"{count:,}") for count in (len(tried), len(common), only_left, only_right))]
    for measure in MEASURES:
        rows = figures([left, right], common, measure)
        ratio = geometric_mean(b / a for a, b in rows)
        cells += [Cell(figure(geometric_mean(column))) for column in zip(*rows, strict=True)] or [Cell(NOTHING)] * 2
        shown = figure(ratio)
        sign = "" if ratio is None or shown == "1" else "better" if ratio > 1 else "worse"
        cells.append(Cell(shown, sign=sign, title=f"{plural(len(rows), 'problem')}"))
    lengths = figures([left, right], common, LENGTH)
    counts = (sum(a < b for a, b in lengths), sum(a == b for a, b in lengths), sum(a > b for a, b in lengths))
    cells += [Cell(f"{count:,}" if lengths else NOTHING) for count in counts]
    return Row(tuple(cells), level)


def _together(series: Sequence[Series]) -> Table:
    """Means of all series on the problems that every one of them solved."""
    common = common_problems(series)
    rows = [_together_row(domain, series, keys, "") for domain, keys in _by_domain(common).items()]
    rows.append(_together_row("all", series, common, "total"))
    columns = [Column("domain", text=True), Column("problems", title="solved by all")]
    for measure in MEASURES:
        columns += [Column(entry.label, f"{measure.name}, geometric mean") for entry in series]
    notes = (f"Means over the problems that all {len(series)} solved.",)
    return Table("compare all", "Solved by all", tuple(columns), tuple(rows), notes)


def _together_row(name: str, series: Sequence[Series], problems: Sequence[Problem], level: str) -> Row:
    cells = [Cell(name), Cell(f"{len(problems):,}")]
    for measure in MEASURES:
        rows = figures(series, problems, measure)
        means = [geometric_mean(column) for column in zip(*rows, strict=True)] or [None] * len(series)
        best = min((mean for mean in means if mean is not None), default=None)
        cells += [Cell(figure(mean), sign="better" if mean == best and mean is not None else "") for mean in means]
    return Row(tuple(cells), level)
