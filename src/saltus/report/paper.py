"""Stage `report`: the paper's coverage tables, from `paper.toml` next to this file.

The figures, including totals, are the paper's own. `disagreements` reports totals and domains that are not the sum of
their parts; both figures are kept. Problems of our records are matched with the paper's rows by domain and split: easy,
medium and hard belong to the IPC's set, `test` to the extended one.
"""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

WHOLE = "all"
"""Split of a row about a whole domain."""
TOTAL = "total"
"""Split of the last row of a table."""
BENCHMARKS = {"ipc2023": ("easy", "medium", "hard"), "extended": ("test",)}
"""Sets of problems and the splits of their test problems."""
OTHER_NAMES = {"satellite-paper": "satellite"}
"""Domains of the extended set that are renamed here, because the IPC has a domain with the same name."""

Cell = int | None
"""Number of problems solved; None if the paper has no figure."""


@dataclass(frozen=True)
class PaperTable:
    """One table: cells by domain and split."""

    key: str
    benchmark: str
    title: str
    label: str
    columns: tuple[str, ...]
    methods: tuple[str, ...]
    """Methods of our records that the columns correspond to; empty for none."""
    search: tuple[str, ...]
    """Columns of planners that search at test time."""
    notes: tuple[str, ...]
    problems: dict[tuple[str, str], int]
    """Number of problems of every row, by domain and split."""
    cells: dict[tuple[str, str], tuple[Cell, ...]]

    @property
    def domains(self) -> list[str]:
        """Domains in the paper's order."""
        return [domain for domain, split in self.cells if split == WHOLE]

    @property
    def splits(self) -> tuple[str, ...]:
        """Splits that have rows of their own."""
        return tuple(split for split in BENCHMARKS[self.benchmark] if (self.domains[0], split) in self.cells)

    @property
    def total(self) -> tuple[Cell, ...]:
        """The paper's own totals."""
        return self.cells[WHOLE, TOTAL]

    @property
    def is_main(self) -> bool:
        """Whether it is the benchmark's main table and not an ablation."""
        return self.key == self.benchmark

    def sums(self) -> tuple[Cell, ...]:
        """Our sums over the domains, one per column; None if a domain has no figure."""
        return tuple(_sum(self.cells[domain, WHOLE][i] for domain in self.domains) for i in range(len(self.columns)))

    def disagreements(self) -> Iterator[str]:
        """A sentence for every total or domain that is not the sum of its parts."""
        for column, claimed, found in zip(self.columns, self.total, self.sums(), strict=True):
            if found is not None and claimed != found:
                yield f"{self.title}: the paper's total of {column} is {claimed}, its domains add up to {found}"
        if sum(self.problems[domain, WHOLE] for domain in self.domains) != self.problems[WHOLE, TOTAL]:
            yield f"{self.title}: the paper's domains do not add up to {self.problems[WHOLE, TOTAL]} problems"
        for domain in self.domains if self.splits else ():
            for i, column in enumerate(self.columns):
                claimed = self.cells[domain, WHOLE][i]
                found = _sum(self.cells[domain, split][i] for split in self.splits)
                if found is not None and claimed != found:
                    yield f"{self.title}: {column} in {domain} is {claimed} in the paper, its splits add up to {found}"


@dataclass(frozen=True)
class Paper:
    """All tables and their source."""

    title: str
    authors: tuple[str, ...]
    year: int
    protocol: str
    tables: tuple[PaperTable, ...]

    @property
    def source(self) -> str:
        """The paper in one line."""
        return f"{', '.join(self.authors)}: {self.title} ({self.year})"

    def main(self, benchmark: str) -> PaperTable:
        """Main table of a benchmark."""
        return next(table for table in self.tables if table.key == benchmark)

    def best(self, benchmark: str, domain: str, split: str) -> Cell:
        """Most problems solved in a row by any column of any table of a benchmark."""
        found = [
            cell
            for table in self.tables
            if table.benchmark == benchmark
            for cell in table.cells.get((domain, split), ())
            if cell is not None
        ]
        return max(found, default=None)


def place_of(domain: str, split: str) -> tuple[str, str] | None:
    """Benchmark and the paper's domain name for problems of ours; None if the paper does not have them."""
    name = OTHER_NAMES.get(domain, domain)
    for benchmark, splits in BENCHMARKS.items():
        if split in splits and name in read_paper().main(benchmark).domains and (domain == name or split == "test"):
            return benchmark, name
    return None


@cache
def read_paper() -> Paper:
    """The tables of `paper.toml`."""
    text = (importlib.resources.files("saltus.report") / "paper.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    tables: list[PaperTable] = []
    for entry in content["table"]:
        rows = {(row[0], row[1]): row[2:] for row in entry.pop("rows")}
        problems = {place: row[0] for place, row in rows.items()}
        cells = {place: tuple(None if cell == "n/a" else int(cell) for cell in row[1:]) for place, row in rows.items()}
        entry |= {name: tuple(entry[name]) for name in ("columns", "methods", "search", "notes")}
        tables.append(PaperTable(**entry, problems=problems, cells=cells))
    source = content["source"]
    authors = tuple(source.pop("authors"))
    return Paper(**source, authors=authors, tables=tuple(tables))


def _sum(cells: Iterator[Cell]) -> Cell:
    total = 0
    for cell in cells:
        if cell is None:
            return None
        total += cell
    return total
