"""Stage `lab.report`: a `Report` on record files and training runs: all its tables and warnings, as plain values."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from saltus.lab.bench.records import read_records
from saltus.lab.report.compare import comparisons
from saltus.lab.report.contests import contest_table, read_contests
from saltus.lab.report.coverage import coverage_tables, outcome_table, unexplained_table
from saltus.lab.report.paper import Paper, read_paper
from saltus.lab.report.runs import RunGroup, RunLog, coverage_of, read_runs
from saltus.lab.report.scores import score_table
from saltus.lab.report.series import Series, make_series
from saltus.lab.report.tables import NOTHING, Cell, Column, Row, Table, figure


@dataclass(frozen=True)
class Report:
    """The results of records and runs, with unexplained errors first."""

    series: tuple[Series, ...]
    warnings: tuple[str, ...]
    sections: Mapping[str, tuple[Table, ...]]
    """Tables by section, in reading order."""
    runs: tuple[RunGroup, ...]
    paper: Paper = field(repr=False)

    def tables(self) -> list[Table]:
        """All tables, in reading order."""
        return [table for tables in self.sections.values() for table in tables]

    def table(self, key: str) -> Table | None:
        """The table of that key, if there is one."""
        return next((table for table in self.tables() if table.key == key), None)

    def to_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "warnings": list(self.warnings),
            "series": [
                {
                    "label": entry.label,
                    "method": entry.method,
                    "protocol": entry.protocol,
                    "search": entry.search,
                    "improve": entry.improve,
                    "files": list(entry.files),
                    "records": len(entry.records),
                    "solved": len(entry.solved),
                    "unexplained": len(entry.unexplained),
                }
                for entry in self.series
            ],
            "tables": [table.to_json() for table in self.tables()],
        }


def make_report(
    files: Sequence[str | os.PathLike[str]],
    runs: Sequence[str | os.PathLike[str]] = (),
    references: Sequence[str | os.PathLike[str]] = (),
    published: str = "paper",
) -> Report:
    """The report on record files and folders of training runs.

    Records of `references` are not shown; their plans count when the best plans known are looked up. `published` is
    the publication whose figures stand next to those of the records.
    """
    read = [read_records(path) for path in files]
    known = [read_records(path) for path in references]
    series, warnings = make_series(read)
    groups, complaints = read_runs(os.fspath(run) for run in runs)
    contests, ignored = read_contests(os.fspath(run) for run in runs)
    damaged = [message for file in (*read, *known) for message in file.warnings]
    paper = read_paper(published)
    sections: dict[str, Sequence[Table | None]] = {
        "errors": [unexplained_table(series)],
        "coverage": [*coverage_tables(series, paper), outcome_table(series)],
        "scores": [score_table(series, [record for file in known for record in file.records])],
        "comparison": comparisons(series),
        "training": [contest_table(contests), validation_table(groups)],
    }
    return Report(
        series=tuple(series),
        warnings=(*damaged, *warnings, *complaints, *ignored),
        sections={key: tuple(table for table in tables if table is not None) for key, tables in sections.items()},
        runs=tuple(groups),
        paper=paper,
    )


def selection_key(run: RunLog, episode: int) -> tuple[float, ...]:
    """What validations are compared by, as in training: problems solved, larger ones included; then the length of the
    plans; the first of equals is the best."""
    entry = run.validations[episode]
    solved, actions = (entry.get(name, 0) + entry.get(f"larger_{name}", 0) for name in ("solved", "actions"))
    return solved, -actions, -episode


def validation_table(groups: Sequence[RunGroup]) -> Table | None:
    """The best and the last validation of every run; None if there are no runs."""
    rows: list[Row] = []
    for group in groups:
        for run in group.runs:
            shares = coverage_of(run)
            cells = [Cell(text) for text in (group.domain, run.name, run.path)]
            cells.append(Cell(f"{max((*run.episodes, *run.validations), default=0):,}"))
            best = max(shares, key=partial(selection_key, run), default=None)
            for episode in (best, max(shares, default=None)):
                if episode is None:
                    cells += [Cell(NOTHING)] * 3
                    continue
                entry = run.validations[episode]
                larger = NOTHING
                if entry.get("larger_problems"):
                    larger = f"{entry.get('larger_solved', 0):.0f}/{entry['larger_problems']:.0f}"
                share = Cell(f"{entry['solved']:.0f}/{entry['problems']:.0f}", share=shares[episode])
                cells += [Cell(f"{episode:,}"), share, Cell(larger)]
            cells.append(Cell(figure(run.validations[best].get("jumps")) if best is not None else NOTHING))
            rows.append(Row(tuple(cells)))
    if not rows:
        return None
    columns = [Column("domain", text=True), Column("name", text=True), Column("run", text=True), Column("episodes")]
    for group_name in ("best validation", "last validation"):
        columns += [Column(name, group_name) for name in ("episode", "solved", "larger")]
    columns.append(Column("jumps at best"))
    return Table("validation", "Training runs", tuple(columns), tuple(rows))
