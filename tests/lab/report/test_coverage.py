"""Coverage compared with the paper, unexplained errors, outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.lab.report.samples import paper_records, record, series_of

from saltus.lab.report.coverage import coverage_tables, outcome_table, unexplained_table
from saltus.lab.report.paper import read_paper
from saltus.lab.report.tables import Table


def tables_of(*files: Sequence[dict[str, Any]]) -> dict[str, Table]:
    """Coverage tables by key."""
    return {table.key: table for table in coverage_tables(series_of(*files), read_paper())}


def column(table: Table, name: str, group: str = "") -> list[str]:
    """Texts of a column."""
    (number,) = [i for i, entry in enumerate(table.columns) if entry.name == name and entry.group.startswith(group)]
    return [row.cells[number].text for row in table.rows]


def test_the_papers_columns_are_the_papers_cell_by_cell() -> None:
    paper = read_paper()
    tables = tables_of([record("ferry", "hard")], [record("logistics", "test")])
    assert list(tables) == [
        *(table.key for table in paper.tables if table.benchmark == "ipc2023"),
        *(table.key for table in paper.tables if table.benchmark == "extended"),
    ]
    for source in paper.tables:
        shown = tables[source.key]
        for i, name in enumerate(source.columns):
            star = "*" if name in source.search else ""
            expected = [
                "n/a" if cells[i] is None else f"{cells[i]}/{source.problems[place]}"
                for place, cells in source.cells.items()
            ]
            assert column(shown, name + star, "published, paper") == expected


def test_records_like_the_papers_give_the_papers_column() -> None:
    tables = tables_of(paper_records("AIW-AD"))
    table = tables["ipc2023"]
    assert column(table, "aiw-ad", "ours") == column(table, "AIW-AD", "published, paper")
    assert table.rows[-1].cells[1].text == "668/900"
    assert all(row.cells[1].sign == "" for row in table.rows)
    assert not any("Problems tried" in note for note in table.notes)
    assert column(table, "best")[-1] == "737/900"
    assert [key for key, entry in tables.items() if entry.main] == ["ipc2023"]


def test_better_and_worse_than_the_same_method_in_the_paper() -> None:
    records = paper_records("IW-AD")  # with the method aiw-ad
    table = tables_of(records)["ipc2023"]
    signs = {(row.level, row.cells[0].text): row.cells[1].sign for row in table.rows if row.level in ("whole", "total")}
    assert signs["whole", "blocksworld"] == "worse"
    assert signs["whole", "miconic"] == ""
    assert signs["total", "total"] == "worse"
    medium = next(row for i, row in enumerate(table.rows) if row.cells[0].text == "medium" and i > 16 and i < 20)
    assert medium.cells[1].text == "30/30"
    assert medium.cells[1].sign == "better"  # transport: 29 in the paper
    searching = tables_of([entry | {"search": True} for entry in records])["ipc2023"]
    assert all(row.cells[1].sign == "" for row in searching.rows)  # search is no policy of the paper


def test_partial_sets_say_how_many_were_tried() -> None:
    entries = [record("ferry", "easy", f"p{i}") for i in range(4)]
    entries += [record("ferry", "hard", "p1", outcome="time limit"), record("ferry", "hard", "p2")]
    table = tables_of(entries)["ipc2023"]
    rows = {(row.level, row.cells[0].text): row for row in table.rows[20:24]}
    assert [row.cells[1].text for row in rows.values()] == ["5/6", "4/4", "-", "1/2"]
    assert [row.tried for row in rows.values()] == [True, True, False, True]
    assert rows["split", "hard"].cells[1].share == 0.5
    assert "time limit: 1" in rows["split", "hard"].cells[1].title
    assert "AIW-AD in the paper: 20/30" in rows["split", "hard"].cells[1].title
    assert all(row.cells[1].sign == "" for row in table.rows)
    assert table.notes[0] == "Problems tried, of the paper's 900: aiw-ad 6."


def test_ablations_are_shown_for_methods_in_them() -> None:
    tables = tables_of([record(method="baiw-ad")])
    assert [key for key, entry in tables.items() if entry.main] == ["ipc2023", "ipc2023-lookaheads"]


def test_other_problems_have_a_table_of_their_own() -> None:
    tables = tables_of([record("mine", "easy"), record("ferry", "validation", outcome="policy failed")])
    assert list(tables) == ["other"]
    assert tables["other"].texts() == [
        ["ferry", "validation", "0/1"],
        ["mine", "easy", "1/1"],
        ["total", "", "1/2"],
    ]


def test_the_extended_satellite_is_not_the_ipcs() -> None:
    tables = tables_of(
        [record("satellite", "hard"), record("satellite-paper", "test"), record("satellite-paper", "easy")]
    )
    assert column(tables["ipc2023"], "aiw-ad", "ours")[-1] == "1/1"
    assert column(tables["extended"], "aiw-ad", "ours")[-1] == "1/1"
    assert tables["other"].texts()[0] == ["satellite-paper", "easy", "1/1"]


def test_unexplained_errors_worst_first() -> None:
    outcomes = [
        "plan found",
        "input error",
        "invalid plan",
        "policy failed",
        "interrupted",
        "crash",
        "odd",
        "time limit",
    ]
    entries = [record(problem=f"p{i}", outcome=outcome) for i, outcome in enumerate(outcomes)]
    entries[5]["detail"] = "Segmentation\nfault"
    entries.append(record(problem="p9", plan_length=None))
    table = unexplained_table(series_of(entries))
    assert table is not None
    assert [row[0] for row in table.texts()] == [
        "odd",
        "plan found",
        "crash",
        "invalid plan",
        "input error",
        "interrupted",
    ]
    assert table.texts()[2] == ["crash", "aiw-ad", "ferry", "easy", "p5", "Segmentation fault", "file0.jsonl:6"]
    assert table.texts()[1][5] == "a plan without a length"
    assert table.notes[0].startswith("6 records to explain (plan found: 1, crash: 1, ")
    assert unexplained_table(series_of(entries[:1])) is None


def test_outcomes_are_counted() -> None:
    entries = [record(), record(problem="p2", outcome="crash"), record(problem="p3", outcome="time limit")]
    table = outcome_table(series_of(entries, [record(method="lama-first")]))
    assert table.texts() == [
        ["plan found", "1", "1"],
        ["time limit", "1", "-"],
        ["crash", "1", "-"],
        ["records", "3", "1"],
    ]


def test_plans_found_by_search_are_told_apart() -> None:
    entries = [record(search=True), record(problem="p2", search=True, found_by="search")]
    table = outcome_table(series_of(entries, [record(method="lama-first", found_by=None)]))
    assert table.texts()[:2] == [["plan found", "2", "1"], ["by search", "1", "-"]]
    row = tables_of(entries)["ipc2023"].rows[-1]
    assert row.cells[1].title == "plan found: 2; 1 plan found by search"


def test_records_of_mooses_benchmark_stand_next_to_its_published_figures() -> None:
    records = [record("barman", "hard"), record("ferry", "easy"), record("ferry", "hard", outcome="time limit")]
    (table,) = coverage_tables(series_of(records), read_paper("moose"))
    assert {column.group for column in table.columns[2:]} == {"published, MOOSE"}
    rows = {row.cells[0].text: [cell.text for cell in row.cells] for row in table.rows}
    assert rows["barman"] == ["barman", "1/1", "49/90", "0/90", "90/90", "90/90"]
    assert rows["ferry"] == ["ferry", "1/2", "69/90", "67/90", "90/90", "90/90"]
    assert rows["total"] == ["total", "2/3", "558/720", "n/a", "719.6/720", "719.6/720"]
