"""The paper's tables: sums against the paper's own totals, and every cell against the paper's source."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.report.samples import splits_of, total_of

from saltus.lab.report.paper import TOTAL, WHOLE, PaperTable, place_of, read_paper

TABLES = read_paper().tables
by_key = pytest.mark.parametrize("table", TABLES, ids=[table.key for table in TABLES])


def added(cells: Iterable[float | None]) -> float | None:
    """The sum of some cells; None if one of them has no figure."""
    total: float = 0
    for cell in cells:
        if cell is None:
            return None
        total = round(total + cell, 6)
    return total


def sums(table: PaperTable) -> tuple[float | None, ...]:
    """Sums over the domains for each column; None if a domain has no figure."""
    return tuple(added(table.cells[domain, WHOLE][i] for domain in table.domains) for i in range(len(table.columns)))


def disagreements(table: PaperTable) -> Iterator[str]:
    """A sentence for every total, or figure of a domain, that is not the sum of its parts."""
    for column, claimed, found in zip(table.columns, total_of(table), sums(table), strict=True):
        if found is not None and claimed is not None and claimed != found:
            yield f"{table.title}: the paper's total of {column} is {claimed}, but its domains add up to {found}"
    if sum(table.problems[domain, WHOLE] for domain in table.domains) != table.problems[WHOLE, TOTAL]:
        yield f"{table.title}: the paper's domains do not add up to {table.problems[WHOLE, TOTAL]} problems"
    for domain in table.domains if splits_of(table) else ():
        for i, column in enumerate(table.columns):
            claimed = table.cells[domain, WHOLE][i]
            found = added(table.cells[domain, split][i] for split in splits_of(table))
            if found is not None and claimed != found:
                figures = f"{claimed} in the paper, but its splits add up to {found}"
                yield f"{table.title}: {column} in {domain} is {figures}"


def test_all_seven_coverage_tables_are_there() -> None:
    assert [table.label for table in TABLES] == [
        "tab:coverage:all",
        "tab:coverage:custom-main",
        "tab:coverage:riw-variants",
        "tab:coverage:custom-ablation",
        "tab:coverage:main-ablation",
        "tab:coverage:main-encoding-ablation",
        "tab:coverage:main-encoding-ablation-custom",
    ]


@by_key
def test_shape(table: PaperTable) -> None:
    width = len(table.columns)
    assert len(table.methods) == width
    assert all(len(cells) == width for cells in table.cells.values())
    assert set(table.search) <= set(table.columns)
    assert len(table.domains) == (10 if table.benchmark == "ipc2023" else 11)
    assert splits_of(table) == (("easy", "medium", "hard") if table.benchmark == "ipc2023" else ())
    for place, cells in table.cells.items():
        assert all(cell is None or 0 <= cell <= table.problems[place] for cell in cells), place


@by_key
def test_cells_add_up_to_the_papers_own_totals(table: PaperTable) -> None:
    assert sums(table) == total_of(table)
    assert list(disagreements(table)) == []


def test_known_totals() -> None:
    tables = {table.key: total_of(table) for table in TABLES}
    assert tables["ipc2023"] == (668, 529, 457, 463, 519, 586, 589, 502)
    assert tables["ipc2023-lookaheads"] == (668, 659, 619, 542, 519)
    assert tables["extended"] == (1570, 1573, 1166, 1113, 1103, 1437)


def test_a_wrong_total_is_told() -> None:
    table = TABLES[0]
    wrong = replace(
        table,
        cells={
            **table.cells,
            (WHOLE, TOTAL): (669, *total_of(table)[1:]),
            ("ferry", "hard"): (20, 15, *table.cells["ferry", "hard"][2:]),
        },
    )
    assert list(disagreements(wrong)) == [
        "IPC 2023 Learning Track: the paper's total of AIW-AD is 669, but its domains add up to 668",
        "IPC 2023 Learning Track: IW-AD in ferry is 76 in the paper, but its splits add up to 75",
    ]


def test_the_best_of_all_columns() -> None:
    paper = read_paper()
    best = {domain: paper.best("ipc2023", domain, WHOLE) for domain in paper.main("ipc2023").domains}
    assert best["childsnack"] == 70  # C-AIW, not in the main table
    assert sum(found for found in best.values() if found is not None) == 737


@pytest.mark.parametrize(
    ("domain", "split", "place"),
    [
        ("ferry", "hard", ("ipc2023", "ferry")),
        ("ferry", "validation", None),
        ("ferry", "test", None),
        ("satellite", "hard", ("ipc2023", "satellite")),
        ("satellite", "test", ("extended", "satellite")),
        ("satellite-paper", "test", ("extended", "satellite")),
        ("satellite-paper", "easy", None),
        ("logistics", "test", ("extended", "logistics")),
        ("logistics", "easy", None),
        ("mine", "easy", None),
    ],
)
def test_our_problems_are_found_in_the_paper(domain: str, split: str, place: tuple[str, str] | None) -> None:
    assert place_of(domain, split) == place


@pytest.fixture(scope="module")
def source() -> str:
    """The paper's LaTeX; tests that need it skip where SALTUS_PAPER does not name its folder."""
    folder = os.environ.get("SALTUS_PAPER")
    files = sorted(Path(folder).glob("*")) if folder and Path(folder).is_dir() else []
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files if path.is_file()]
    found = [text for text in texts if "tab:coverage:all" in text]
    if not found:
        pytest.skip("SALTUS_PAPER does not name the folder of the paper's source")
    return found[0]


@by_key
def test_every_cell_is_the_papers(table: PaperTable, source: str) -> None:
    (text,) = [part for part in source.split(r"\begin{table*}")[1:] if f"\\label{{{table.label}}}" in part]
    text = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    found: dict[tuple[str, str], tuple[tuple[int | None, ...], int]] = {}
    domain = ""
    for row in text.split(r"\\"):
        head = re.search(r"([A-Za-z]+)\*? \((\d+)\)", row)
        if head is None:
            continue
        name, problems = head.group(1), int(head.group(2))
        cells: list[int | None] = []
        for cell in row[head.end() :].split("&")[1:]:
            figure = re.search(r"\\coverage\{(\d+)\}\{(\d+)\}", cell)
            assert figure is not None or "n/a" in cell
            cells.append(int(figure.group(1)) if figure else None)
            if figure:  # the paper's percentage is that of its count
                assert int(figure.group(2)) == int(100 * int(figure.group(1)) / problems + 0.5)
        if name in ("easy", "medium", "hard"):
            found[domain, name] = tuple(cells), problems
        elif name == "Total":
            found[WHOLE, TOTAL] = tuple(cells), problems
        else:
            domain = name
            found[domain, WHOLE] = tuple(cells), problems
    assert {place: row for place, (row, _) in found.items()} == table.cells
    assert {place: problems for place, (_, problems) in found.items()} == table.problems
    assert list(found) == list(table.cells)


def test_moose_has_one_table_whose_cells_add_up() -> None:
    moose = read_paper("moose")
    (table,) = moose.tables
    assert moose.benchmarks == ["moose"]
    assert (len(table.domains), total_of(table)) == (8, (558, None, 719.6))
    assert list(disagreements(table)) == []
    assert sums(table) == (558, 296.8, 719.6)
    assert place_of("barman", "hard", moose) == ("moose", "barman")
    assert place_of("barman", "hard") is None
    assert place_of("ferry", "easy", moose) == ("moose", "ferry")
    assert place_of("blocksworld", "easy", moose) is None
