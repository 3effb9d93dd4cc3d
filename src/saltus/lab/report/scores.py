"""Stage `lab.report`: the IPC's scores: quality and time, next to the number of problems solved.

The quality score of a plan is the length of the best plan known, divided by its own length. The time score is 1 for a
plan within a second and falls with the logarithm of the time to 0 at half an hour, the time limit of the IPC 2023
Learning Track, whatever the limit of the trial was. A problem that was not solved scores 0. Both are added up.

The best plan known is the shortest of all records given: a score says nothing about plans that nobody found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from saltus.lab.bench.record import Problem, Record
from saltus.lab.report.series import Series
from saltus.lab.report.tables import NOTHING, Cell, Column, Row, Table

Lengths = Mapping[Problem, int]
"""Length of the shortest plan known, by problem."""


def best_lengths(records: Iterable[Record]) -> dict[Problem, int]:
    """The length of the shortest plan of every problem that some record solves."""
    best: dict[Problem, int] = {}
    for record in records:
        if record.solved and record.plan_length is not None:
            best[record.name] = min(record.plan_length, best.get(record.name, record.plan_length))
    return best


def quality_score(record: Record, best: Lengths) -> float:
    """The best length known, divided by the plan's; 0 without a plan, 1 for an empty plan."""
    if not record.solved or record.plan_length is None:
        return 0.0
    known = min(record.plan_length, best.get(record.name, record.plan_length))
    return known / record.plan_length if record.plan_length else 1.0


def time_score(record: Record) -> float:
    """From 1 for a second to 0 for half an hour, by the logarithm of the time; 0 without a plan or a time."""
    if not record.solved or record.seconds is None:
        return 0.0
    return max(0.0, 1.0 - math.log(max(record.seconds, 1.0)) / math.log(1800.0))


def score_table(series: Sequence[Series], references: Iterable[Record] = ()) -> Table | None:
    """Problems solved, quality score and time score of every series, by domain; `references` are further plans."""
    if not series:
        return None
    known = [record for entry in series for record in entry.records.values()]
    best = best_lengths([*known, *references])
    domains = sorted({record.domain for record in known})
    columns = [Column("domain", text=True)]
    columns += [Column(entry.label, "solved / tried") for entry in series]
    columns += [Column(entry.label, "quality score, sum", title="best length known / length") for entry in series]
    columns += [Column(entry.label, "time score, sum", title="1 for 1 s, 0 for 30 min") for entry in series]
    rows = [_row(domain, series, [domain], best, "") for domain in domains]
    rows.append(_row("all", series, domains, best, "total"))
    notes = (
        "Quality score: length of the shortest plan known, divided by the plan's length. Time score: 1 for a plan"
        " within 1 s, falling with the logarithm of the time to 0 at 30 min. Unsolved: 0. Sums over the"
        " problems tried.",
        *_uneven(series),
    )
    return Table("scores", "Scores", tuple(columns), tuple(rows), notes)


def _row(name: str, series: Sequence[Series], domains: Sequence[str], best: Lengths, level: str) -> Row:
    found = [[record for record in entry.records.values() if record.domain in domains] for entry in series]
    cells = [Cell(name)]
    for records in found:
        solved = sum(record.solved for record in records)
        share = solved / len(records) if records else None
        cells.append(Cell(f"{solved:,}/{len(records):,}" if records else NOTHING, share=share))
    cells += _scores([[quality_score(record, best) for record in records] for records in found])
    cells += _scores([[time_score(record) for record in records] for records in found])
    return Row(tuple(cells), level)


def _scores(columns: Sequence[Sequence[float]]) -> list[Cell]:
    """Sums of scores; the best of those over equally many problems is marked if they differ."""
    sums = [math.fsum(column) if column else None for column in columns]
    shown = [score_text(total) for total in sums]
    even = len({len(column) for column in columns}) == 1 and len(set(shown)) > 1
    most = max((total for total in sums if total is not None), default=None)
    cells: list[Cell] = []
    for total, text, column in zip(sums, shown, columns, strict=True):
        mean = f"mean {total / len(column):.2f}" if total is not None else ""
        cells.append(Cell(text, mean, sign="better" if even and total == most else ""))
    return cells


def score_text(total: float | None) -> str:
    """A sum of scores as it is shown."""
    return NOTHING if total is None else f"{total:,.1f}"


def _uneven(series: Sequence[Series]) -> list[str]:
    """A note if not all series tried the same problems."""
    tried = {frozenset(entry.records) for entry in series}
    return ["Not all series tried the same problems: their sums cannot be compared."] if len(tried) > 1 else []
