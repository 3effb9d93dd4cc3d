"""Stage `lab.report`: solved problems by domain and split, ours next to the paper's; unexplained errors; outcomes.

The paper's tables are shown in full, so that they can be compared cell by cell. Our cells give the number solved and
the number tried, which is smaller than the paper's if fewer problems are available.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from saltus.errors import plural
from saltus.lab.bench.record import Record
from saltus.lab.report.paper import BENCHMARKS, TOTAL, WHOLE, Paper, PaperTable, place_of
from saltus.lab.report.series import Series
from saltus.lab.report.tables import NOTHING, Cell, Column, Row, Table
from saltus.policy.outcome import Outcome
from saltus.task.suite import split_order

PUBLISHED = "published"
"""Start of the heading of columns whose figures come from a publication."""

Counts = dict[tuple[str, str, str], list[Record]]
"""Records by benchmark, the paper's domain name and split; benchmark is empty for problems not in the paper."""


def coverage_tables(series: Sequence[Series], paper: Paper) -> list[Table]:
    """The paper's tables with problems of our records, with our columns added, and one table of all other problems.

    An ablation table is marked as secondary if none of its columns has a method of ours.
    """
    counts = [_count(entry, paper) for entry in series]
    tables: list[Table] = []
    for benchmark in paper.benchmarks:
        if any(place[0] == benchmark for count in counts for place in count):
            tables += [
                _paper_table(table, paper, series, counts) for table in paper.tables if table.benchmark == benchmark
            ]
    others = sorted({place for count in counts for place in count if not place[0]}, key=_order)
    if others:
        tables.append(_other(others, series, counts))
    return tables


def _count(series: Series, paper: Paper) -> Counts:
    counts: Counts = {}
    for record in series.records.values():
        benchmark, domain = place_of(record.domain, record.split, paper) or ("", record.domain)
        counts.setdefault((benchmark, domain, record.split), []).append(record)
    return counts


def _order(place: tuple[str, str, str]) -> tuple[str, int, str]:
    _, domain, split = place
    return domain, split_order(split), split


def _paper_table(table: PaperTable, paper: Paper, series: Sequence[Series], counts: Sequence[Counts]) -> Table:
    """A table of the paper with our columns on the left."""
    columns = [Column("domain", text=True)]
    columns += [Column(entry.label, "ours, solved / tried", title=_about(entry)) for entry in series]
    for name in table.columns:
        searches = name in table.search
        star = "*" if searches else ""
        about = "published, not run here" + ("; searches at test time" if searches else "")
        columns.append(Column(name + star, f"{PUBLISHED}, {paper.name}", title=about))
    if table.is_main:
        about = "best of all columns of the publication's tables of these problems"
        columns.append(Column("best", f"{PUBLISHED}, {paper.name}", title=about))
    rows: list[Row] = []
    for (domain, split), cells in table.cells.items():
        of = table.problems[domain, split]
        splits = BENCHMARKS[table.benchmark] if split in (WHOLE, TOTAL) else (split,)
        domains = table.domains if split == TOTAL else [domain]
        level = {WHOLE: "whole", TOTAL: "total"}.get(split, "split")
        row = [Cell({"whole": domain, "split": split}.get(level, "total"))]
        tried = False
        for entry, count in zip(series, counts, strict=True):
            places = [(table.benchmark, name, part) for name in domains for part in splits]
            found = [record for place in places for record in count.get(place, ())]
            row.append(_ours(found, of, _paired(table, entry, cells)))
            tried |= bool(found)
        row += [_theirs(cell, of) for cell in cells]
        if table.is_main:
            row.append(_theirs(_best(paper, table, domain, split), of))
        rows.append(Row(tuple(row), level, tried))
    methods = {entry.method for entry in series} - {"aiw-ad", "lama-first", "wl-goose"}
    notes = [*_partial(table, series, counts), *table.notes]
    if table.search:
        notes.append("* searches at test time.")
    wanted = table.is_main or any(method in methods for method in table.methods)
    return Table(table.key, table.title, tuple(columns), tuple(rows), tuple(notes), wanted)


def _paired(table: PaperTable, series: Series, cells: Sequence[float | None]) -> tuple[str, float] | None:
    """The paper's column with the method of our series, and its cell."""
    if series.search or series.method not in table.methods:
        return None
    i = table.methods.index(series.method)
    cell = cells[i]
    return None if cell is None else (table.columns[i], cell)


def _ours(records: Sequence[Record], of: int, paired: tuple[str, float] | None) -> Cell:
    if not records:
        return Cell(NOTHING, "not tried")
    solved = sum(record.solved for record in records)
    outcomes = Counter(record.outcome for record in records)
    title = ", ".join(f"{outcome}: {outcomes[outcome]}" for outcome in sorted(outcomes, key=_outcome_order))
    searched = sum(record.solved and record.by_search for record in records)
    title += f"; {plural(searched, 'plan')} found by search" if searched else ""
    sign = ""
    if paired is not None:
        column, cell = paired
        title += f"; {column} in the paper: {cell}/{of}"
        if len(records) == of and solved != cell:
            sign = "better" if solved > cell else "worse"
    return Cell(f"{solved:,}/{len(records):,}", title, solved / len(records), sign)


def _theirs(cell: float | None, of: int) -> Cell:
    if cell is None:
        return Cell("n/a", "no figure in the paper")
    return Cell(f"{cell}/{of}", f"{100 * cell / of:.0f} %", cell / of)


def _best(paper: Paper, table: PaperTable, domain: str, split: str) -> float | None:
    if split != TOTAL:
        return paper.best(table.benchmark, domain, split)
    found = [paper.best(table.benchmark, name, WHOLE) for name in table.domains]
    return round(sum(cell for cell in found if cell is not None), 6)


def _partial(table: PaperTable, series: Sequence[Series], counts: Sequence[Counts]) -> list[str]:
    """A note if we tried fewer problems than the paper."""
    of = table.problems[WHOLE, TOTAL]
    tried = [sum(len(found) for place, found in count.items() if place[0] == table.benchmark) for count in counts]
    parts = [f"{entry.label} {count:,}" for entry, count in zip(series, tried, strict=True) if count != of]
    notes = [f"Problems tried, of the paper's {of:,}: {', '.join(parts)}."] if parts else []
    if any(tried):
        notes.append(
            "Problems are matched by the names of domain and split; generated problems with such names are included."
        )
    return notes


def _other(places: Sequence[tuple[str, str, str]], series: Sequence[Series], counts: Sequence[Counts]) -> Table:
    """Problems that no table of the paper has."""
    columns = (
        Column("domain", text=True),
        Column("split", text=True),
        *(Column(entry.label, "ours, solved / tried", title=_about(entry)) for entry in series),
    )
    rows = [
        Row((Cell(domain), Cell(split), *(_ours(count.get(("", domain, split), ()), 0, None) for count in counts)))
        for _, domain, split in places
    ]
    everything = [[record for place in places for record in count.get(place, ())] for count in counts]
    rows.append(Row((Cell("total"), Cell(""), *(_ours(found, 0, None) for found in everything)), "total"))
    return Table("other", "Other problems", columns, tuple(rows), ("The paper has no figures for these.",))


def _about(series: Series) -> str:
    parts = [", ".join(series.files)]
    if series.protocol:
        parts.append(f"protocol {series.protocol}")
    return "; ".join(parts)


def _outcome_order(outcome: Outcome | str) -> tuple[int, str]:
    known = list(Outcome)
    return (known.index(outcome) if isinstance(outcome, Outcome) else len(known)), outcome


def outcome_table(series: Sequence[Series]) -> Table | None:
    """Number of records with each outcome, for every series."""
    if not series:
        return None
    counts = [Counter(record.outcome for record in entry.records.values()) for entry in series]
    rows: list[Row] = []
    for outcome in sorted({outcome for count in counts for outcome in count}, key=_outcome_order):
        fine = isinstance(outcome, Outcome) and (outcome.is_solved or outcome.is_failure)
        sign = "" if fine else "bad"
        cells = [Cell(f"{count[outcome]:,}" if count[outcome] else NOTHING, sign=sign) for count in counts]
        rows.append(Row((Cell(outcome, sign=sign), *cells)))
        if outcome is Outcome.FOUND:
            rows += _searched(series)
    rows.append(Row((Cell("records"), *(Cell(f"{count.total():,}") for count in counts)), "total"))
    columns = (Column("outcome", text=True), *(Column(entry.label, title=_about(entry)) for entry in series))
    return Table("outcomes", "Outcomes", columns, tuple(rows))


def _searched(series: Sequence[Series]) -> list[Row]:
    """A row with the number of plans found by search, if there are any."""
    counts = [sum(record.by_search for record in entry.solved) for entry in series]
    cells = [Cell(f"{count:,}" if count else NOTHING) for count in counts]
    return [Row((Cell("by search"), *cells), "split")] if any(counts) else []


def unexplained_table(series: Sequence[Series]) -> Table | None:
    """Every record that needs an explanation, worst first; None if there is none."""
    found = [(entry.label, record) for entry in series for record in entry.unexplained]
    if not found:
        return None
    found.sort(key=lambda pair: (_severity(pair[1]), pair[0], pair[1].name))
    rows = [Row(tuple(Cell(text) for text in _complaint(label, record))) for label, record in found]
    names = ("outcome", "series", "domain", "split", "problem", "detail", "record")
    notes = _summary(record for _, record in found)
    return Table(
        "unexplained", "Unexplained errors", tuple(Column(name, text=True) for name in names), tuple(rows), notes
    )


def _severity(record: Record) -> int:
    """Position among records that need an explanation: first what cannot be, then by outcome."""
    outcome = record.outcome
    return -1 if record.solved or not isinstance(outcome, Outcome) else list(Outcome).index(outcome)


def _complaint(label: str, record: Record) -> tuple[str, ...]:
    outcome, detail = record.outcome, record.detail
    if record.solved:
        detail = detail or "a plan without a length"
    elif not isinstance(outcome, Outcome):
        detail = detail or "an outcome that this program does not know"
    return outcome, label, record.domain, record.split, record.problem, " ".join(detail.split()), record.place


def _summary(records: Iterable[Record]) -> tuple[str, ...]:
    counts = Counter(record.outcome for record in records)
    parts = [
        f"{outcome}: {count}" for outcome, count in sorted(counts.items(), key=lambda pair: _outcome_order(pair[0]))
    ]
    return (f"{plural(counts.total(), 'record')} to explain ({', '.join(parts)}).",)
