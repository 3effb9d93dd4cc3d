"""The tables of docs/results.md about contests: what each chose, and what the policies solve.

    python experiments/2026-11-16-any-domain/table.py

The contests come from `figures.tar.xz`, the rest from the records in `records/`.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from saltus.lab.bench.record import Record
from saltus.lab.bench.records import read_records
from saltus.lab.report.paper import TOTAL, WHOLE, PaperTable, read_paper

HERE = Path(__file__).parent
SUITES = {"m": "MOOSE's", "o": "ours", "i": "IPC 2023", "u": "unseen"}
"""Where the training problems come from, by the first letter of a contest's name."""

LATER = ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
"""Batches after the first one."""

UNSEEN_SECONDS = 20.0
"""Time that LAMA had on the unseen domains."""


def contests() -> dict[tuple[str, str], dict[str, Any]]:
    """The state of every contest, by name and batch."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    with tarfile.open(HERE / "figures.tar.xz") as archive:
        for member in archive:
            if member.name.endswith("contest.json"):
                file = archive.extractfile(member)
                assert file is not None
                _, batch, name, _ = Path(member.name).parts
                found[name, batch] = json.load(file)
    return dict(sorted(found.items()))


def records_of(folder: str) -> dict[str, list[Record]]:
    """The records of test problems in every file of a folder, by the file's name."""
    files = sorted((HERE / folder).glob("*.jsonl"))
    return {
        path.stem: [record for record in read_records(path).records if record.split != "training"] for path in files
    }


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints a Markdown table under a title."""
    print(f"\n{title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |")


def solved(records: Iterable[Record], wanted: Callable[[Record], bool] = lambda record: True) -> list[Record]:
    """The solved ones."""
    return [record for record in records if record.solved and wanted(record)]


def figures(records: Sequence[Record]) -> list[object]:
    """Solved, greedily, in two minutes, slowest, largest problem, actions."""
    found = solved(records)
    greedy = solved(records, lambda record: record.found_by == "greedy")
    quick = solved(records, lambda record: (record.seconds or 0.0) <= 120)
    slowest = max((record.seconds or 0.0 for record in found), default=0.0)
    largest = max((record.objects or 0 for record in found), default=0)
    actions = sum(record.plan_length or 0 for record in found)
    share = f"{len(found)} of {len(records)}"
    return [share, len(greedy), len(quick), f"{slowest:,.0f} s", f"{largest:,}", f"{actions:,}"]


def main() -> None:
    """Prints the tables."""
    rows = []
    for (name, batch), state in contests().items():
        score = state["reason"].split("; next:")[0].split(": ", 1)[1]
        used = f"{state['used']:,.0f}" + ("" if state["ended_by"] else ", cut off")
        rows.append([name[2:], SUITES[name[0]], batch, state["winner"], score, used])
    names = ["contest", "problems", "batch", "chosen", "validation and larger problems solved", "seconds"]
    print_table("Contests", names, rows)

    names = ["test problems", "solved", "greedily", "in 2 min", "slowest", "objects", "actions"]
    for folder in ("records", *(f"records/{batch}" for batch in LATER)):
        shown = "mio" if folder == "records/seventh" else "mi"  # the others' are in the table below
        known = {name: records for name, records in records_of(folder).items() if name[0] in shown and name[1] == "-"}
        print_table(f"Test problems: {folder}", names, [[name, *figures(known[name])] for name in known])

    second = records_of("records/second")
    print_table(
        "The paper's eleven others, generated test problems, greedily",
        [*names, "the paper's AIW-AD"],
        paper_rows(second),
    )
    (table,) = (entry for entry in read_paper().tables if entry.key == "extended")
    print_table(
        "The same in the form of the paper's table: problems solved, the paper's of its own problems",
        ["domain", "ours", "the paper's problems", *table.columns],
        appendix_rows(second, table),
    )
    unseen = ["domain", "problems", "LAMA-first", "ours", "ours in the whole time"]
    unseen.append("actions on those both solved, ours : LAMA's")
    fifth = records_of("records/fifth")
    later = {name: records for name, records in fifth.items() if name.startswith("u-")}
    later["lama-unseen"] = [*second["lama-unseen"], *fifth["lama-library"]]
    for batch, known in (("second", second), ("fifth", later)):
        title = f"Unseen domains, {batch} batch: solved within {UNSEEN_SECONDS:.0f} s, and in the whole time"
        print_table(title, unseen, unseen_rows(known))
    print_table(
        "Improved plans against LAMA's iterations in the same time",
        ["problem", "objects", "LAMA", "ours, improved", "ours : LAMA's"],
        improved_rows(second),
    )


def paper_rows(second: dict[str, list[Record]]) -> Iterable[list[object]]:
    """A row per domain of the paper's extended set."""
    (table,) = (entry for entry in read_paper().tables if entry.key == "extended")
    paper = {
        domain: f"{cells[0]} of {table.problems[domain, split]}"
        for (domain, split), cells in table.cells.items()
        if split == WHOLE
    }
    for name, records in second.items():
        if name.startswith("o-"):
            yield [name[2:], *figures(records), paper.get(name[2:], "-")]


def appendix_rows(second: dict[str, list[Record]], table: PaperTable) -> Iterable[list[object]]:
    """A row per domain in the paper's order, and their sum: ours, then the paper's columns."""
    everything: list[Record] = []
    for domain in table.domains:
        records = second.get(f"o-{domain}", [])
        everything += records
        cells = ["-" if cell is None else cell for cell in table.cells[domain, WHOLE]]
        yield [domain, f"{len(solved(records))} of {len(records)}", table.problems[domain, WHOLE], *cells]
    totals = ["-" if cell is None else f"{cell:,}" for cell in table.total]
    problems = f"{table.problems[WHOLE, TOTAL]:,}"
    yield ["**sum**", f"{len(solved(everything))} of {len(everything)}", problems, *totals]


def unseen_rows(second: dict[str, list[Record]]) -> Iterable[list[object]]:
    """A row per domain that was kept apart until the recipe was fixed."""
    lama = {(record.domain, record.problem): record for record in solved(second["lama-unseen"])}
    for name, records in second.items():
        if not name.startswith("u-"):
            continue
        quick = solved(records, lambda record: (record.seconds or 0.0) <= UNSEEN_SECONDS)
        theirs = [record for record in lama.values() if record.domain == name[2:]]
        both = [
            (record, lama[record.domain, record.problem])
            for record in solved(records)
            if (record.domain, record.problem) in lama
        ]
        ours, other = (sum(pair[i].plan_length or 0 for pair in both) for i in (0, 1))
        yield [
            name[2:],
            len(records),
            len(theirs),
            len(quick),
            len(solved(records)),
            f"{ours:,} : {other:,} ({len(both)})",
        ]


def improved_rows(second: dict[str, list[Record]]) -> Iterable[list[object]]:
    """A row per problem whose plans were improved."""
    lama = {record.key[1:]: record for record in second["improved-lama"]}
    ratios = []
    for record in second["improved-ours"]:
        other = lama[record.key[1:]]
        ratio = "-"
        if record.plan_length and other.plan_length:
            ratios.append(record.plan_length / other.plan_length)
            ratio = f"{ratios[-1]:.2f}"
        lengths = [f"{entry.plan_length:,}" if entry.plan_length else "-" for entry in (other, record)]
        yield [f"{record.domain} {record.split} {record.problem}", record.objects or other.objects, *lengths, ratio]
    if ratios:
        yield ["mean", "", "", "", f"{sum(ratios) / len(ratios):.2f}"]


if __name__ == "__main__":
    main()
