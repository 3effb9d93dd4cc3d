"""Sample records and training runs: made up, by seed, in the formats that benchmarks and training write."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from saltus.lab.bench.record import VERSION, parse_record
from saltus.lab.bench.records import RecordList
from saltus.lab.report.paper import BENCHMARKS, TOTAL, WHOLE, PaperTable, read_paper
from saltus.lab.report.series import Series, make_series

SPLITS = {"easy": 1.0, "medium": 0.8, "hard": 0.35}
"""Splits and the chance of a good policy there."""


def record(domain: str = "ferry", split: str = "easy", problem: str = "p01", **changes: Any) -> dict[str, Any]:
    """One record as `bench` writes it, some fields changed."""
    fields: dict[str, Any] = {
        "format": "saltus-record",
        "version": VERSION,
        "domain": domain,
        "split": split,
        "problem": problem,
        "objects": 20,
        "policy": domain,
        "method": "aiw-ad",
        "configuration": "9f2c00aa11bb",
        "protocol": "open",
        "search": False,
        "improve": False,
        "outcome": "plan found",
        "detail": "",
        "exit_code": 0,
        "jumps": 12,
        "plan_length": 30,
        "plan_cost": 30.0,
        "found_by": "greedy",
        "greedy_outcome": "plan found",
        "tree_nodes": 1234,
        "largest_tree": 99,
        "seconds": 0.5,
        "seconds_read": 0.1,
        "seconds_lookahead": 0.1,
        "seconds_graph": 0.1,
        "seconds_network": 0.2,
        "peak_memory_mb": 612.0,
        "limits": {"seconds": 1800, "memory_mb": 8192, "max_jumps": None},
        "device": "cpu",
        "plan_file": None,
        "versions": {"saltus": "0.1.0", "python": "3.12.3", "torch": "2.13.0"},
        "started": "2026-11-15T12:00:00Z",
        "host": "",
    }
    fields.update(changes)
    if fields["outcome"] != "plan found" and "plan_length" not in changes:
        fields.update(plan_length=None, plan_cost=None, found_by=None, exit_code=12)
    return fields


def paper_records(column: str, **changes: Any) -> list[dict[str, Any]]:
    """Records of all 900 IPC problems that solve exactly as many as a column of the paper's main table."""
    table = read_paper().main("ipc2023")
    i = table.columns.index(column)
    records: list[dict[str, Any]] = []
    for domain in table.domains:
        for split in splits_of(table):
            solved = table.cells[domain, split][i]
            assert solved is not None
            for number in range(1, 31):
                outcome = "plan found" if number <= solved else "policy failed"
                records.append(record(domain, split, f"p{number:02}", outcome=outcome, **changes))
    return records


def random_records(method: str, seed: int, domains: Iterable[str], speed: float = 1.0) -> list[dict[str, Any]]:
    """Records of six problems a split with growing sizes, times and lengths; some are not solved."""
    rng = random.Random(f"{method}/{seed}")
    records: list[dict[str, Any]] = []
    for domain in domains:
        for split, chance in SPLITS.items():
            for number in range(5, 31, 5):
                size = int(10 + number * {"easy": 1, "medium": 4, "hard": 12}[split])
                solved = rng.random() < chance
                records.append(
                    record(
                        domain,
                        split,
                        f"p{number:02}",
                        method=method,
                        objects=size,
                        outcome="plan found" if solved else rng.choice(["policy failed", "time limit"]),
                        plan_length=int(size * rng.uniform(1.5, 3)) if solved else None,
                        seconds=round(speed * size**1.5 / 100 * rng.uniform(0.6, 1.6), 4),
                    )
                )
    return records


def series_of(*files: Sequence[dict[str, Any]]) -> list[Series]:
    """The series of lists of records."""
    read = []
    for number, entries in enumerate(files):
        name = f"file{number}.jsonl"
        records = [parse_record(json.dumps(entry).encode(), name, i + 1) for i, entry in enumerate(entries)]
        read.append(RecordList(name, tuple(records)))
    return make_series(read)[0]


def write_records(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    """The path, with the records in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in records), encoding="utf-8")
    return path


def write_run(
    folder: Path, seed: int, *, config: Mapping[str, Any] | None = None, episodes: int = 100, every: int = 25
) -> Path:
    """The folder, with the log of a made-up training run in it."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = []
    for episode in range(1, episodes + 1):
        done = episode / episodes
        loss = 2.0 * 0.05**done * rng.uniform(0.7, 1.4)
        lines.append(
            {
                "kind": "episode",
                "episode": episode,
                "loss": loss,
                "td": loss * 0.8,
                "bounds": loss * 0.1,
                "rank": loss * 0.1,
                "success": min(1.0, done * rng.uniform(0.2, 0.6)),
                "steps_per_second": 80.0,
                "seconds": episode * 0.9,
            }
        )
        if episode % every == 0:
            lines.append(
                {
                    "kind": "validation",
                    "episode": episode,
                    "solved": min(30, int(30 * done**0.4 * rng.uniform(0.8, 1.1))),
                    "problems": 30,
                    "jumps": rng.randint(400, 900),
                    "larger_solved": min(12, int(12 * done * rng.uniform(0.5, 1.1))),
                    "larger_problems": 12,
                    "larger_jumps": 900,
                    "seconds": episode * 0.9,
                }
            )
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def splits_of(table: PaperTable) -> tuple[str, ...]:
    """The splits that have rows of their own."""
    return tuple(split for split in BENCHMARKS[table.benchmark] if (table.domains[0], split) in table.cells)


def total_of(table: PaperTable) -> tuple[float | None, ...]:
    """The paper's own totals."""
    return table.cells[WHOLE, TOTAL]
