"""Stage `lab.report`: self-contained HTML pages: style and script are part of the page, and nothing is fetched.

The page's content security policy forbids the browser to fetch anything; all text is escaped here.
"""

from __future__ import annotations

import importlib.resources
import json
import os
from collections.abc import Sequence
from html import escape
from itertools import groupby

from saltus.files import write_whole
from saltus.lab.report.tables import Cell, Column, Table

ICON = (
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>"
    "<path d='M1 13Q8-7 15 13' fill='none' stroke='%232064b0' stroke-width='3'/></svg>"
)
"""The page's icon: a leap."""
WIDE = ("detail",)
"""Columns whose text may wrap."""


def document(
    title: str, body: str, styles: Sequence[str], scripts: Sequence[str], content: object = None, style: str = ""
) -> str:
    """A whole page; its scripts find `content` as JSON in the element `content`. `style` follows the style sheets."""
    style = "\n".join(filter(None, [*map(_asset, styles), style]))
    script = "\n".join(_asset(name) for name in scripts)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en-GB">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'; img-src data:\">",
        f"<title>{escape(title)}</title>",
        f'<link rel="icon" href="{escape(ICON)}">',
        f"<style>\n{style}</style>",
        "</head>",
        "<body>",
        body,
    ]
    if content is not None:
        parts.append(f'<script type="application/json" id="content">{embedded_json(content)}</script>')
    return "\n".join([*parts, f"<script>\n{script}</script>", "</body>", "</html>", ""])


def embedded_json(value: object) -> str:
    """JSON in which no text can end the script element around it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _asset(name: str) -> str:
    return (importlib.resources.files("saltus.lab.report") / name).read_text(encoding="utf-8")


def write_page(path: str | os.PathLike[str], text: str) -> None:
    """Writes a page; the file is complete or unchanged."""
    write_whole(path, text.encode("utf-8", errors="backslashreplace"))


def table_html(table: Table, name: str = "", *, tall: bool = False) -> str:
    """A table with its notes; `name` is its id in the page, and `tall` bounds its height."""
    starts = _group_starts(table.columns)
    frame = "scroll" + (" tall" if tall else "") + (" narrow" if len(table.columns) <= 5 else "")
    identity = f' id="{escape(name)}"' if name else ""
    lines = [f'<div class="{frame}"><table{identity}>', "<thead>"]
    if any(column.group for column in table.columns):
        lines.append(f'<tr class="groups">{_groups(table.columns)}</tr>')
    lines.append("<tr>")
    for i, column in enumerate(table.columns):
        classes = _classes("text" if column.text else "", "edge" if i in starts else "")
        lines.append(f"<th{classes}{_title(column.title)}>{escape(column.name)}</th>")
    lines += ["</tr>", "</thead>", "<tbody>"]
    for row in table.rows:
        cells = "".join(
            _cell(cell, column, i in starts)
            for i, (cell, column) in enumerate(zip(row.cells, table.columns, strict=True))
        )
        lines.append(f"<tr{_classes(row.level)}>{cells}</tr>")
    lines += ["</tbody>", "</table></div>"]
    if table.notes:
        notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
        lines.append(f'<ul class="notes">{notes}</ul>')
    return "\n".join(lines)


def _group_starts(columns: Sequence[Column]) -> set[int]:
    """The columns that begin a group, except the first column."""
    return {i for i in range(1, len(columns)) if columns[i].group != columns[i - 1].group}


def _groups(columns: Sequence[Column]) -> str:
    cells: list[str] = []
    for i, (group, members) in enumerate(groupby(columns, key=lambda column: column.group)):
        edge = ' class="edge"' if i else ""
        cells.append(f'<th colspan="{len(list(members))}"{edge}>{escape(group)}</th>')
    return "".join(cells)


def _cell(cell: Cell, column: Column, edge: bool) -> str:
    shared = cell.share is not None
    wide = "wide" if column.name in WIDE else ""
    classes = _classes(
        "text" if column.text else "", wide, "edge" if edge else "", "share" if shared else "", cell.sign
    )
    style = f' style="--s:{cell.share:.3f}"' if cell.share is not None else ""
    number, slash, of = cell.text.partition("/") if shared else (cell.text, "", "")
    text = escape(number) + (f'<span class="of">/{escape(of)}</span>' if slash else "")
    return f"<td{classes}{style}{_title(cell.title)}>{text}</td>"


def _classes(*names: str) -> str:
    found = " ".join(name for name in names if name)
    return f' class="{found}"' if found else ""


def _title(text: str) -> str:
    return f' title="{escape(text)}"' if text else ""
