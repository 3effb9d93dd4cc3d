"""Stage `lab.report`: published coverage tables: those of the paper (`paper.toml`) and of peers (`moose.toml`).

All figures are the authors' own, including the totals; tests add them up. Our records are matched with the rows by
domain and split: easy, medium and hard belong to the IPC's problems, `test` to the extended set. MOOSE's benchmark has
domains and splits of the same names as the IPC's, so a report says which publication its records are compared with.
"""

from __future__ import annotations

import importlib.resources
import tomllib
from dataclasses import dataclass
from functools import cache

from saltus.task import Split

WHOLE = "all"
"""Split of a row for a whole domain."""
TOTAL = "total"
"""Split of a table's last row."""
BENCHMARKS = {
    "ipc2023": (Split.EASY, Split.MEDIUM, Split.HARD),
    "extended": (Split.TEST,),
    "moose": (Split.EASY, Split.MEDIUM, Split.HARD),
}
"""Sets of problems, with the splits of their test problems."""
OTHER_NAMES = {"satellite-paper": "satellite"}
"""Our names for domains of the extended set whose own name is taken by an IPC domain."""

PUBLISHED = ("paper", "moose")
"""Publications whose tables come with Saltus."""

Cell = float | None
"""Number of problems solved, or its mean over runs; None if the paper has no figure."""


@dataclass(frozen=True)
class PaperTable:
    """One table: cells by domain and split."""

    key: str
    benchmark: str
    title: str
    label: str
    columns: tuple[str, ...]
    methods: tuple[str, ...]
    """For each column, the name of its method in our records, or an empty string."""
    search: tuple[str, ...]
    """Columns whose planners search at test time."""
    notes: tuple[str, ...]
    problems: dict[tuple[str, str], int]
    """Number of problems per row, by domain and split."""
    cells: dict[tuple[str, str], tuple[Cell, ...]]

    @property
    def domains(self) -> list[str]:
        """The domains, in the paper's order."""
        return [domain for domain, split in self.cells if split == WHOLE]

    @property
    def is_main(self) -> bool:
        """Whether it is the benchmark's main table rather than an ablation."""
        return self.key == self.benchmark


@dataclass(frozen=True)
class Paper:
    """All tables, and the paper they come from."""

    name: str
    """Short name, for headings."""
    title: str
    authors: tuple[str, ...]
    year: int
    protocol: str
    tables: tuple[PaperTable, ...]

    @property
    def source(self) -> str:
        """The paper in one line."""
        return f"{', '.join(self.authors)}: {self.title} ({self.year})"

    @property
    def benchmarks(self) -> list[str]:
        """Sets of problems that there are tables of."""
        return list(dict.fromkeys(table.benchmark for table in self.tables))

    def main(self, benchmark: str) -> PaperTable:
        """The main table of a benchmark."""
        return next(table for table in self.tables if table.key == benchmark)

    def best(self, benchmark: str, domain: str, split: str) -> Cell:
        """The most problems that any column of a benchmark's tables solves in a row."""
        found = [
            cell
            for table in self.tables
            if table.benchmark == benchmark
            for cell in table.cells.get((domain, split), ())
            if cell is not None
        ]
        return max(found, default=None)


def place_of(domain: str, split: str, paper: Paper | None = None) -> tuple[str, str] | None:
    """The benchmark and the paper's name of the domain; None if the paper does not have these problems."""
    paper = paper or read_paper()
    name = OTHER_NAMES.get(domain, domain)
    for benchmark in paper.benchmarks:
        known = split in BENCHMARKS[benchmark] and name in paper.main(benchmark).domains
        if known and (domain == name or split == Split.TEST):
            return benchmark, name
    return None


@cache
def read_paper(name: str = "paper") -> Paper:
    """The tables of a publication: `paper.toml`, or that of a peer."""
    text = (importlib.resources.files("saltus.lab.report") / f"{name}.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    tables: list[PaperTable] = []
    for entry in content["table"]:
        rows = {(row[0], row[1]): row[2:] for row in entry.pop("rows")}
        problems = {place: row[0] for place, row in rows.items()}
        cells = {place: tuple(None if cell == "n/a" else cell for cell in row[1:]) for place, row in rows.items()}
        entry |= {name: tuple(entry[name]) for name in ("columns", "methods", "search", "notes")}
        tables.append(PaperTable(**entry, problems=problems, cells=cells))
    source = content["source"]
    authors = tuple(source.pop("authors"))
    return Paper(**source, authors=authors, tables=tuple(tables))
