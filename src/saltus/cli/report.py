"""The command that shows results: `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from saltus.cli import output
from saltus.cli.options import Json
from saltus.errors import ConfigurationError, plural, shorten
from saltus.lab.report.html import write_page
from saltus.lab.report.page import report_page
from saltus.lab.report.paper import PUBLISHED
from saltus.lab.report.report import make_report
from saltus.lab.report.tables import Cell, Table


def report(
    records: Annotated[list[Path] | None, typer.Argument(help="Record files written by 'saltus bench'.")] = None,
    html: Annotated[Path | None, typer.Option(help="HTML page to write, with plots; self-contained.")] = None,
    run: Annotated[
        list[Path] | None, typer.Option(help="Folder of one or more training runs (can be repeated).")
    ] = None,
    reference: Annotated[
        list[Path] | None,
        typer.Option(help="Record file whose plans also count as best known in the quality score (can be repeated)."),
    ] = None,
    published: Annotated[
        str,
        typer.Option(
            help="Publication to compare with: paper, or moose for records of the problems of MOOSE's benchmark."
        ),
    ] = "paper",
    tables: Annotated[bool, typer.Option("--all-tables", help="Also print the paper's ablation tables.")] = False,
    json: Json = False,
) -> None:
    """Compare benchmark results with each other and with the paper, and show training curves.

    Unexplained errors come first. Several record files are compared in pairs, on the problems that both solved. Only
    validated plans count as solved. Quality and time scores are those of the IPC.

    Examples:

        saltus report examples/records/goal-count.jsonl examples/records/lama-first.jsonl --html report.html

        saltus report examples/records/goal-count.jsonl --json
    """
    if not records and not run:
        raise ConfigurationError("nothing to report: name a record file, or a training run with --run")
    if published not in PUBLISHED:
        raise ConfigurationError(f"--published {shorten(published)}: expected one of {', '.join(PUBLISHED)}")
    found = make_report(records or [], run or [], reference or [], published)
    if html is not None:
        write_page(html, report_page(found))
    for message in found.warnings:
        output.warning(message)
    if json:
        output.print_json(found.to_json())
        return
    console = output.console()
    for entry in found.series:
        solved = f"{len(entry.solved):,} of {plural(len(entry.records), 'problem')} solved"
        console.print(Text.assemble((entry.label, "bold"), f": {solved} ({', '.join(entry.files)})"))
    if not found.sections["errors"] and found.series:
        console.print("no unexplained errors")
    for table in found.tables():
        if table.main or tables:
            # the page lists all unexplained errors
            print_table(console, table, 30 if table in found.sections["errors"] else None)
    if html is not None:
        console.print(f"page written to {html}", soft_wrap=True)


def print_table(console: Console, table: Table, most: int | None = None) -> None:
    """Prints a table of the report, at most `most` of its rows."""
    result = RichTable(
        title=output.foreign(table.title),
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=box.SIMPLE_HEAD,
    )
    for column in table.columns:
        group = column.group.split(",")[0]
        name = output.foreign(column.name)
        head = Text.assemble(output.foreign(group, "dim"), "\n", name) if group else name
        result.add_column(head, justify="left" if column.text else "right", overflow="fold", vertical="bottom")
    rows = [row for row in table.rows if row.tried or row.level != "split"]
    shown = rows if most is None else rows[:most]
    for row in shown:
        cells = [_cell(cell) for cell in row.cells]
        if row.level == "split":
            cells[0] = output.foreign(f"  {row.cells[0].text}")
        if row.level == "total":
            result.add_section()
        result.add_row(*cells, style={"whole": "bold", "total": "bold", "split": "dim"}.get(row.level, ""))
    console.print(result)
    for note in table.notes:
        console.print(Text(f"  {note}", style="dim"))
    if len(shown) < len(rows):
        console.print(Text(f"  and {len(rows) - len(shown):,} more", style="dim"))


def _cell(cell: Cell) -> Text:
    style = {"better": "green", "worse": "red", "bad": "red"}.get(cell.sign, "")
    mark = {"better": "▲", "worse": "▼"}.get(cell.sign, "") if cell.share is not None else ""
    return output.foreign(cell.text + mark, style)
