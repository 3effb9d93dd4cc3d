"""The headline page: made from records alone, published figures marked, README in agreement."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tarfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.lab.report.samples import record, write_records
from tools.headline import MARK, headline_page, markdown_table, read_headline, size_table, solved_table

from saltus.errors import InputError

SPEC = """
title = "Title <b>"
lead = "Lead"
[[benchmark]]
key = "ipc"
title = "Problems"
about = "About"
notes = ["A note."]
[[benchmark.system]]
name = "ours"
records = ["first*.jsonl", "second.jsonl"]
[[benchmark.system]]
name = "ours, 1 min"
within = 60
records = ["first*.jsonl", "second.jsonl"]
[[benchmark.system]]
name = "LAMA"
records = ["lama.jsonl"]
[[benchmark.published]]
source = "paper"
table = "ipc2023"
column = "Distincter"
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A description with records of two domains."""
    write_records(
        tmp_path / "first-1.jsonl",
        [record("ferry", "easy", "p1", objects=5), record("ferry", "hard", "p1", objects=90, outcome="time limit")],
    )
    write_records(tmp_path / "first-2.jsonl", [record("miconic", "training", "p9"), record("miconic", "easy", "p1")])
    write_records(
        tmp_path / "second.jsonl", [record("ferry", "hard", "p1", objects=90, seconds=70.0, plan_length=1234)]
    )
    write_records(tmp_path / "lama.jsonl", [record("ferry", "hard", "p1", outcome="time limit", method="lama-first")])
    path = tmp_path / "headline.toml"
    path.write_text(SPEC)
    return path


def test_solved_by_domain(spec: Path) -> None:
    (benchmark,) = read_headline(spec).benchmarks
    table = solved_table(benchmark)
    assert [column.name for column in table.columns] == ["domain", "ours", "ours, 1 min", "LAMA", f"Distincter {MARK}"]
    assert table.texts() == [
        ["ferry", "2/2", "1/2", "0/1", "83/90"],
        ["miconic", "1/1", "1/1", "-", "90/90"],
        ["sum", "3/3", "2/3", "0/1", "589/900"],
    ]
    assert table.notes[0] == "A note."
    assert MARK in table.notes[-1]


def test_cost_of_contests_is_that_of_the_named_runs(spec: Path) -> None:
    with tarfile.open(spec.parent / "runs.tar.xz", "w:xz") as archive:
        for name, used in (("first/m-ferry", 100), ("second/m-ferry", 7)):
            content = json.dumps({"used": used}).encode()
            member = tarfile.TarInfo(f"runs/{name}/contest.json")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    named = 'training = { archive = "runs.tar.xz", contests = { ferry = "runs/RUN/m-ferry" } }\n'
    description = SPEC.replace('records = ["lama.jsonl"]\n', 'records = ["lama.jsonl"]\n' + named)
    spec.write_text(description.replace("RUN", "first"))
    assert read_headline(spec).benchmarks[0].systems[-1].training["ferry"].seconds == 100.0
    spec.write_text(description.replace("RUN", "third"))
    with pytest.raises(InputError, match=r"runs\.tar\.xz: no runs/third/m-ferry/contest\.json in the archive"):
        read_headline(spec)


def test_largest_problems(spec: Path) -> None:
    (benchmark,) = read_headline(spec).benchmarks
    assert size_table(benchmark).texts() == [
        ["ferry", "hard p1", "90", "1,234", "70", "5", "-", "-"],
        ["miconic", "easy p1", "20", "30", "0.5", "20", "-", "-"],
    ]


def test_the_page_marks_what_is_published(spec: Path) -> None:
    page = headline_page(read_headline(spec))
    assert "Title &lt;b&gt;" in page
    assert page.count('class="fill published"') == 1
    assert "<b>589</b> of 900" in page
    assert "default-src 'none'" in page


def test_bad_descriptions_are_errors(spec: Path) -> None:
    for text, message in (
        ("title = ", "not a TOML file"),
        ("title = 'x'", "not a description of a headline page"),
        (SPEC.replace("lama.jsonl", "missing.jsonl"), r"missing\.jsonl: no such record file"),
        (SPEC.replace('source = "paper"', 'source = "rumour"'), "unknown publication 'rumour'"),
    ):
        spec.write_text(text)
        with pytest.raises(InputError, match=message):
            read_headline(spec)


class Tables(HTMLParser):
    """Texts of all cells of a page's tables, by the id of the table."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.table = ""
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begins a table, a row or a cell."""
        if tag == "table":
            self.table = dict(attrs).get("id") or ""
            self.rows[self.table] = []
        elif tag == "tr":
            self.rows[self.table].append([])
        elif tag in ("td", "th"):
            self.rows[self.table][-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        """Ends a cell."""
        self.inside &= tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        """Adds to a cell."""
        if self.inside:
            self.rows[self.table][-1][-1] += data


def test_readme_and_page_agree() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"\n\n(\| system \|.*?\|)\n\n", readme, re.DOTALL)
    shown = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    systems = {row[0]: dict(zip(shown[0][1:], row[1:], strict=True)) for row in shown[2:]}
    page = Tables()
    page.feed((ROOT / "docs" / "headline.html").read_text(encoding="utf-8"))
    _, names, *rows = page.rows["solved-ipc2023"]
    assert list(systems) == names[1:]
    assert [row[0] for row in rows] == shown[0][1:]
    for row in rows:
        for name, cell in zip(names[1:], row[1:], strict=True):
            solved, of = cell.split("/")
            assert systems[name][row[0]] == (f"{solved} of {of}" if row[0] == "sum" else solved)


def test_readme_and_page_are_those_of_the_records() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "headline.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_markdown_table_has_a_row_per_system(spec: Path) -> None:
    (benchmark,) = read_headline(spec).benchmarks
    assert markdown_table(benchmark) == [
        "| system | ferry | miconic | sum |",
        "|---|---|---|---|",
        "| ours | 2/2 | 1/1 | 3 of 3 |",
        "| ours, 1 min | 1/2 | 1/1 | 2 of 3 |",
        "| LAMA | 0 | - | 0 of 1 |",
        f"| Distincter {MARK} | 83 | 90 | 589 of 900 |",
    ]
