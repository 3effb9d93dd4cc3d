"""Stage `lab.report`: a `Report` in, one self-contained HTML page out."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from saltus.errors import plural
from saltus.lab.bench.record import Record
from saltus.lab.report.charts import Chart, cactus, coverage_by_size, scatter, training
from saltus.lab.report.compare import MEASURES, pairs_of
from saltus.lab.report.html import document, table_html
from saltus.lab.report.plots import colour_class
from saltus.lab.report.report import Report
from saltus.lab.report.series import Series
from saltus.lab.report.tables import NOTHING, Cell, Column, Row, Table, figure
from saltus.policy.figures import FIGURES, Declaration, Kind
from saltus.task.suite import split_order

SHOWN = {name: entry for name, entry in FIGURES.items() if entry.column}
"""Figures with a column of their own in the table of all problems."""


def report_page(report: Report, title: str = "Saltus report") -> str:
    """The page: errors, coverage, scores, plots, comparison, training, every problem."""
    sections = [
        ("errors", "Errors and warnings", _errors(report)),
        ("coverage", "Coverage", _coverage(report)),
        ("scores", "Scores", _tables(report, "scores")),
        ("time", "Solved over time", _drawn(report.series, cactus, "cactus")),
        ("size", "Solved by size", _drawn(report.series, coverage_by_size, "sizes")),
        ("comparison", "Comparison", _comparison(report)),
        ("training", "Training", _training(report)),
        ("problems", "Every problem", _problems(report.series)),
    ]
    shown = [(key, name, text) for key, name, text in sections if text]
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name, _ in shown)
    body = [f"<main><h1>{escape(title)}</h1>", f'<p class="soft">{escape(_subtitle(report))}</p>']
    body += [_tiles(report), f"<nav>{links}</nav>"]
    body += [f'<section id="{key}"><h2>{name}</h2>\n{text}\n</section>' for key, name, text in shown]
    body.append(f"<footer>Paper: {escape(report.paper.source)}. {escape(report.paper.protocol)}</footer></main>")
    return document(title, "\n".join(body), ["page.css"], ["page.js"])


def _subtitle(report: Report) -> str:
    files = list(dict.fromkeys(name for entry in report.series for name in entry.files))
    runs = sum(len(group.runs) for group in report.runs)
    parts = (
        [f"{plural(sum(len(entry.records) for entry in report.series), 'record')} from {', '.join(files)}"]
        if files
        else []
    )
    if runs:
        parts.append(plural(runs, "training run"))
    return "; ".join(parts)


def _tiles(report: Report) -> str:
    tiles = [
        f'<div class="tile {colour_class(i)}"><b>{len(entry.solved):,} <small>/ {len(entry.records):,}</small></b>'
        f"<span>{escape(entry.label)} solved</span></div>"
        for i, entry in enumerate(report.series)
    ]
    if report.series:
        count = sum(len(entry.unexplained) for entry in report.series)
        tiles.append(
            f'<div class="tile{" bad" if count else ""}"><b>{count:,}</b><span>unexplained errors</span></div>'
        )
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _errors(report: Report) -> str:
    parts: list[str] = []
    if report.warnings:
        entries = "".join(f"<li>{escape(message)}</li>" for message in report.warnings)
        parts.append(f'<div class="box warn"><ul>{entries}</ul></div>')
    if unexplained := _tables(report, "errors"):
        parts.append(unexplained)
    elif report.series:
        parts.append(
            '<div class="box fine">No crashes, no invalid plans, no other errors that need an explanation.</div>'
        )
    return "\n".join(parts)


def _tables(report: Report, section: str, *, main: bool = True) -> str:
    """The tables of a section that are shown at first, or the others, each with its title."""
    parts: list[str] = []
    for table in report.sections[section]:
        if table.main == main:
            name = f"{section}-{table.key.replace(' ', '-')}"
            title = "" if table.key == section else f"<h3>{escape(table.title)}</h3>\n"
            parts.append(title + table_html(table, name, tall=section == "errors" and len(table.rows) > 15))
    return "\n".join(parts)


def _coverage(report: Report) -> str:
    if not report.series:
        return ""
    parts = [
        '<div class="bar"><label><input type="checkbox" checked data-hides="coverage"> rows of single splits</label>'
        '<span class="soft">▲ ▼: more or fewer than the same method in the paper, if the numbers of problems '
        "are equal</span></div>",
        _tables(report, "coverage"),
    ]
    if ablations := _tables(report, "coverage", main=False):
        parts.append(f"<details><summary>Other tables of the paper</summary>\n{ablations}</details>")
    return "\n".join(parts)


def _drawn(series: Sequence[Series], chart: Chart, name: str) -> str:
    """A chart of all problems, and those of single domains in a section that is closed at first."""
    whole = chart(series)
    if not whole:
        return ""
    domains = sorted({record.domain for entry in series for record in entry.records.values()})
    parts = [f'<div class="plots" id="{name}">{whole}</div>']
    if len(domains) > 1:
        drawn = "".join(chart(series, domain) for domain in domains)
        parts.append(f'<details><summary>By domain</summary><div class="plots small">{drawn}</div></details>')
    return "\n".join(parts)


def _comparison(report: Report) -> str:
    drawn = [scatter(left, right, measure) for left, right in pairs_of(report.series) for measure in MEASURES]
    plots = f'<div class="plots" id="scatter" style="margin-top:1rem">{"".join(drawn)}</div>' if any(drawn) else ""
    return _tables(report, "comparison") + plots


def _training(report: Report) -> str:
    drawn = training(report.runs)
    plots = f'<div class="plots small">{"".join(drawn)}</div>\n' if drawn else ""
    return plots + _tables(report, "training")


def _problems(series: Sequence[Series]) -> str:
    """A row for every problem, in a section that is closed at first."""
    keys = sorted({key for entry in series for key in entry.records}, key=_problem_order)
    if not keys:
        return ""
    columns = [Column(name, text=True) for name in ("domain", "split", "problem")] + [Column("objects")]
    for entry in series:
        columns += [Column("outcome", entry.label, text=True), Column("length", entry.label)]
        columns += [Column(shown.column, entry.label, is_text(shown), shown.about) for shown in SHOWN.values()]
        columns.append(Column("s", entry.label))
    rows: list[Row] = []
    for key in keys:
        records = [entry.records.get(key) for entry in series]
        objects = next((record.objects for record in records if record and record.objects is not None), None)
        cells = [*(Cell(text) for text in key), Cell(figure(objects, 9))]
        for record in records:
            cells += _trial(record)
        rows.append(Row(tuple(cells)))
    table = Table("problems", "Every problem", tuple(columns), tuple(rows))
    return (
        f'<details><summary>{plural(len(rows), "problem")}</summary><div class="bar">'
        '<input type="search" data-filters="every" placeholder="words, e.g. ferry hard time" aria-label="filter">'
        f'<span class="soft" id="every-count">{plural(len(rows), "problem")}</span></div>\n'
        f"{table_html(table, 'every', tall=True)}</details>"
    )


def _problem_order(key: tuple[str, str, str]) -> tuple[str, int, str, str]:
    domain, split, problem = key
    return domain, split_order(split), split, problem


def _trial(record: Record | None) -> list[Cell]:
    """Cells of one record: outcome, plan length, the figures shown, seconds."""
    if record is None:
        return [Cell(NOTHING), *[Cell("")] * (len(SHOWN) + 2)]
    sign = "bad" if record.unexplained else ""
    length = figure(record.plan_length, 9) if record.solved else ""
    figures = [Cell(figure_text(entry, getattr(record, name))) for name, entry in SHOWN.items()]
    return [Cell(record.outcome, record.detail, sign=sign), Cell(length), *figures, Cell(figure(record.seconds))]


def is_text(entry: Declaration) -> bool:
    """Whether a figure is shown as words."""
    return entry.kind in (Kind.TEXT, Kind.NAME, Kind.OUTCOME)


def figure_text(entry: Declaration, value: float | str | None) -> str:
    """A figure as it is shown; empty if there is none."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return figure(value, 9) if entry.kind is Kind.COUNT else figure(value)
