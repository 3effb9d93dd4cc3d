"""Makes the headline page anew from the record files: `python tools/headline.py`.

Writes docs/headline.html, its picture (docs/pictures/headline.png, by Chromium and Playwright) and the table of
README.md whose first column is `system`. `--check` only says whether README and page are up to date.

experiments/headline.toml lists benchmarks: which record files make the column of which system, which columns of which
published table stand next to them, and where the cost of training is found. Everything on the page is computed from
these; a published column is marked as such wherever it is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tarfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

from saltus.errors import InputError, SaltusError
from saltus.files import SETTINGS_BYTES, read_whole
from saltus.lab.bench.record import Problem, Record
from saltus.lab.bench.records import read_records
from saltus.lab.report.html import document, table_html, write_page
from saltus.lab.report.paper import PUBLISHED, TOTAL, WHOLE, read_paper
from saltus.lab.report.plots import colour_class
from saltus.lab.report.tables import NOTHING, Cell, Column, Row, Table, figure
from saltus.model.description import read_description, training_seconds
from saltus.policy.catalogue import policy_path
from saltus.policy.outcome import Outcome

ROOT = Path(__file__).parents[1]
SPEC = ROOT / "experiments" / "headline.toml"
PAGE = ROOT / "docs" / "headline.html"
PICTURE = ROOT / "docs" / "pictures" / "headline.png"
README = ROOT / "README.md"
PLACE = re.compile(r"(?<=\n\n)\| system \|.*?\|(?=\n\n)", re.DOTALL)
"""Where the table is in README."""
STYLE = Path(__file__).with_name("headline.css")
MARK = "†"
"""Mark of everything that is published and was not run here."""


@dataclass(frozen=True)
class Training:
    """What the policy for a domain cost."""

    seconds: float
    objects: int | None = None
    """Objects of the largest training problem, where that is known."""


@dataclass(frozen=True)
class System:
    """A column: records by problem; of several records of one problem the last one counts."""

    name: str
    about: str
    records: dict[Problem, Record]
    training: Mapping[str, Training] = field(default_factory=dict)
    """By domain."""

    def solved(self, domain: str | None = None) -> int:
        """Problems solved, of one domain or of all."""
        return sum(record.solved for record in self.tried(domain))

    def tried(self, domain: str | None = None) -> list[Record]:
        """Records of one domain, or all."""
        return [record for record in self.records.values() if domain in (None, record.domain)]

    def largest(self, domain: str) -> Record | None:
        """The solved problem with the most objects."""
        known = [record for record in self.tried(domain) if record.solved and record.objects is not None]
        return max(known, key=lambda record: (record.objects or 0, record.name), default=None)


@dataclass(frozen=True)
class PublishedColumn:
    """A column that was not run here: problems solved by domain, of how many, and the sum."""

    name: str
    about: str
    solved: Mapping[str, float | None]
    problems: Mapping[str, int]
    total: float | None
    total_problems: int


@dataclass(frozen=True)
class Benchmark:
    """A set of problems, the systems that were run on it, and published columns."""

    key: str
    title: str
    about: str
    systems: tuple[System, ...]
    published: tuple[PublishedColumn, ...]
    notes: tuple[str, ...]
    training: str = ""
    """A sentence about the cost of training."""

    @property
    def domains(self) -> list[str]:
        """All domains with a record, sorted."""
        return sorted({name[0] for system in self.systems for name in system.records})


@dataclass(frozen=True)
class Headline:
    """What the page shows."""

    title: str
    lead: str
    benchmarks: tuple[Benchmark, ...]
    footer: str = ""


def read_headline(path: str | os.PathLike[str]) -> Headline:
    """The headline that a file describes; record files are named relative to it."""
    name = os.fspath(path)
    try:
        content = tomllib.loads(read_whole(path, SETTINGS_BYTES).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: not a TOML file: {error}") from None
    folder = Path(path).parent
    try:
        benchmarks = tuple(_benchmark(entry, folder) for entry in content["benchmark"])
        return Headline(content["title"], content["lead"], benchmarks, content.get("footer", ""))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{name}: not a description of a headline page: {error!r}") from None


def _benchmark(entry: Mapping[str, Any], folder: Path) -> Benchmark:
    return Benchmark(
        entry["key"],
        entry["title"],
        entry["about"],
        tuple(_system(system, folder) for system in entry["system"]),
        tuple(_published(column) for column in entry.get("published", ())),
        tuple(entry.get("notes", ())),
        entry.get("training", ""),
    )


def _system(entry: Mapping[str, Any], folder: Path) -> System:
    splits = entry.get("splits", ["easy", "medium", "hard", "test"])
    records: dict[Problem, Record] = {}
    for pattern in entry["records"]:
        paths = sorted(folder.glob(pattern))
        if not paths:
            raise InputError(f"{folder / pattern}: no such record file")
        for path in paths:
            records |= {record.name: record for record in read_records(path).records if record.split in splits}
    if "within" in entry:
        records = {name: _within(record, entry["within"]) for name, record in records.items()}
    domains = sorted({name[0] for name in records})
    return System(entry["name"], entry.get("about", ""), records, _training(entry.get("training", {}), domains, folder))


def _within(record: Record, seconds: float) -> Record:
    """The record as if the time limit had been shorter: a plan found later does not count."""
    late = record.solved and (record.seconds_plan or record.seconds or 0.0) > seconds
    return replace(record, outcome=Outcome.TIME) if late else record


def _training(entry: Mapping[str, Any], domains: Sequence[str], folder: Path) -> dict[str, Training]:
    """Cost of training by domain: of bundled policies, or of contests in an archive of runs."""
    found: dict[str, Training] = {}
    if "bundled" in entry:
        for domain in domains:
            try:
                made = read_description(policy_path(domain)).record
            except SaltusError:
                continue
            seconds = training_seconds(made)
            if seconds is not None:
                found[domain] = Training(seconds, made.get("largest_training_problem"))
    if "archive" in entry:
        path = folder / entry["archive"]
        runs = {f"{run}/contest.json": domain for domain, run in entry["contests"].items()}
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member) if member.name in runs else None
                if file is not None:
                    found[runs.pop(member.name)] = Training(float(json.load(file)["used"]))
        if runs:
            raise InputError(f"{path}: no {min(runs)} in the archive")
    return found


def _published(entry: Mapping[str, str]) -> PublishedColumn:
    if entry["source"] not in PUBLISHED:
        raise InputError(f"unknown publication {entry['source']!r}, expected one of {', '.join(PUBLISHED)}")
    paper = read_paper(entry["source"])
    table = paper.main(entry["table"])
    i = table.columns.index(entry["column"])
    return PublishedColumn(
        entry.get("name", entry["column"]),
        f"{entry.get('about', paper.protocol)} ({paper.source})",
        {domain: table.cells[domain, WHOLE][i] for domain in table.domains},
        {domain: table.problems[domain, WHOLE] for domain in table.domains},
        table.cells[WHOLE, TOTAL][i],
        table.problems[WHOLE, TOTAL],
    )


# -- tables ----------------------------------------------------------------------------------------------------------


def solved_table(benchmark: Benchmark) -> Table:
    """Problems solved by domain: a column per system, then the published ones, marked."""
    columns = [Column("domain", text=True)]
    columns += [Column(system.name, "run here: solved / tried", title=system.about) for system in benchmark.systems]
    columns += [
        Column(f"{column.name} {MARK}", "published: solved / of all problems", title=column.about)
        for column in benchmark.published
    ]
    rows = [_solved_row(benchmark, domain) for domain in benchmark.domains]
    rows.append(_solved_row(benchmark, None))
    notes = [*benchmark.notes]
    if benchmark.published:
        notes.append(f"{MARK} Published by their authors: other machines and limits, and all problems of each domain.")
    return Table(f"solved-{benchmark.key}", benchmark.title, tuple(columns), tuple(rows), tuple(notes))


def _solved_row(benchmark: Benchmark, domain: str | None) -> Row:
    cells = [Cell(domain or "sum")]
    cells += [_share(system.solved(domain), len(system.tried(domain))) for system in benchmark.systems]
    for column in benchmark.published:
        if domain is None:
            cells.append(_share(column.total, column.total_problems))
        else:
            cells.append(_share(column.solved.get(domain), column.problems.get(domain, 0)))
    return Row(tuple(cells), "" if domain else "total")


def _share(solved: float | None, of: int) -> Cell:
    return Cell(NOTHING) if solved is None or not of else Cell(f"{solved:,}/{of:,}", share=solved / of)


def size_table(benchmark: Benchmark) -> Table:
    """For every domain the largest problem that the first system solved, and what its training cost."""
    system = benchmark.systems[0]
    columns = [Column("domain", text=True), Column("problem", "largest solved", text=True)]
    columns += [Column(name, "largest solved") for name in ("objects", "actions", "s")]
    columns += [Column(f"{other.name}: objects", "largest solved") for other in benchmark.systems[1:]]
    columns.append(Column("s", "training"))
    sized = any(cost.objects is not None for cost in system.training.values())
    if sized:
        columns.append(Column("largest problem", "training", title="objects"))
    rows: list[Row] = []
    for domain in benchmark.domains:
        record = system.largest(domain)
        cells = [Cell(domain)]
        if record is None:
            cells += [Cell(NOTHING)] * 4
        else:
            cells += [Cell(f"{record.split} {record.problem}"), Cell(_count(record.objects))]
            cells += [Cell(_count(record.plan_length)), Cell(figure(record.seconds))]
        for other in benchmark.systems[1:]:
            theirs = other.largest(domain)
            cells.append(Cell(_count(theirs.objects) if theirs else NOTHING))
        cost = system.training.get(domain)
        cells.append(Cell(figure(cost.seconds) if cost else NOTHING))
        if sized:
            cells.append(Cell(_count(cost.objects) if cost else NOTHING))
        rows.append(Row(tuple(cells)))
    notes = (
        f"Sizes in objects, times in seconds. Largest solved and training: {system.name}. {benchmark.training}".strip(),
    )
    return Table(f"largest-{benchmark.key}", f"How large: {system.name}", tuple(columns), tuple(rows), notes)


def _count(value: int | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def markdown_table(benchmark: Benchmark) -> list[str]:
    """The lines of the table of solved problems for the README: a row per system, a column per domain."""
    table = solved_table(benchmark)
    names = ["system", *benchmark.domains, "sum"]
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    for i, column in enumerate(table.columns[1:], start=1):
        *cells, total = (row.cells[i].text for row in table.rows)
        of = {text.partition("/")[2] for text in cells if "/" in text}
        shown = [text.partition("/")[0] if len(of) == 1 else text for text in cells]
        lines.append(f"| {' | '.join([column.name, *shown, total.replace('/', ' of ')])} |")
    return lines


# -- page ------------------------------------------------------------------------------------------------------------


def headline_page(headline: Headline) -> str:
    """The page: a bar per system, tables by domain, the largest problems and the cost of training."""
    body = [f"<main><h1>{escape(headline.title)}</h1>", f'<p class="lead">{escape(headline.lead)}</p>']
    for benchmark in headline.benchmarks:
        body.append(f'<section id="{escape(benchmark.key)}"><h2>{escape(benchmark.title)}</h2>')
        body.append(f'<p class="soft">{escape(benchmark.about)}</p>')
        body.append(bars(benchmark))
        table = solved_table(benchmark)
        body.append(f"<h3>By domain</h3>\n{table_html(table, table.key)}")
        sizes = size_table(benchmark)
        body.append(f"<h3>Largest problems, and cost of training</h3>\n{table_html(sizes, sizes.key)}</section>")
    body.append(f"<footer>{escape(headline.footer)}</footer></main>")
    return document(headline.title, "\n".join(body), ["page.css"], [], style=STYLE.read_text(encoding="utf-8"))


def bars(benchmark: Benchmark) -> str:
    """A bar per column: the share of problems solved."""
    entries: list[tuple[str, float, int, str, str]] = []
    for i, system in enumerate(benchmark.systems):
        entries.append((system.name, system.solved(), len(system.tried()), system.about, colour_class(i)))
    for column in benchmark.published:
        if column.total is not None:
            entries.append((f"{column.name} {MARK}", column.total, column.total_problems, column.about, "published"))
    lines: list[str] = []
    for name, solved, of, about, kind in entries:
        share = 100 * solved / of if of else 0.0
        lines.append(
            f'<div class="bar-row" title="{escape(about)}"><span class="name">{escape(name)}</span>'
            f'<span class="track"><span class="fill {kind}" style="width:{share:.1f}%"></span></span>'
            f'<span class="count"><b>{solved:,}</b> of {of:,}</span></div>'
        )
    return f'<div class="bars">{"".join(lines)}</div>'


# -- program ---------------------------------------------------------------------------------------------------------


def with_table(readme: str, lines: list[str]) -> str:
    """README with the table in its place."""
    text, count = PLACE.subn(lambda found: "\n".join(lines), readme)
    if count != 1:
        raise SystemExit("README.md: expected one table whose first column is 'system'")
    return text


def take_picture() -> None:
    """The picture of the top of the page, down to the bars of the first benchmark."""
    sys.path.insert(0, str(ROOT))
    from tests.lab.report.browser import open_browser, open_page

    with open_browser() as browser:
        page = open_page(browser, PAGE, width=1100).page
        last = page.locator(".bars").first.bounding_box()
        height = last["y"] + last["height"] + 16
        page.screenshot(path=str(PICTURE), full_page=True, clip={"x": 0, "y": 0, "width": 1100, "height": height})


def main() -> None:
    """Writes all three, or checks two of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something is out of date")
    parser.add_argument("--no-picture", action="store_true", help="leave the picture as it is")
    options = parser.parse_args()
    headline = read_headline(SPEC)
    page = headline_page(headline)
    readme = README.read_text(encoding="utf-8")
    wanted = with_table(readme, markdown_table(headline.benchmarks[0]))
    if options.check:
        stale = [
            path.name for path, text in ((README, wanted), (PAGE, page)) if path.read_text(encoding="utf-8") != text
        ]
        raise SystemExit(f"out of date: {', '.join(stale)}; run tools/headline.py" if stale else 0)
    README.write_text(wanted, encoding="utf-8")
    write_page(PAGE, page)
    if not options.no_picture:
        take_picture()


if __name__ == "__main__":
    main()
