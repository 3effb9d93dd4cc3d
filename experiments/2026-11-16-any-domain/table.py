"""The tables of docs/results.md about contests: what each chose, and what the policies solve.

    python experiments/2026-11-16-any-domain/table.py

The contests come from `runs.tar.xz`, the rest from the records in `records/`.
"""

from __future__ import annotations

import json
import tarfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from saltus.bench import Record, read_records

HERE = Path(__file__).parent
SUITES = {"m": "MOOSE's", "o": "ours", "i": "IPC 2023"}
"""Where the training problems come from, by the first letter of a contest's name."""


def contests() -> dict[str, dict[str, Any]]:
    """The state of every contest, by name."""
    found: dict[str, dict[str, Any]] = {}
    with tarfile.open(HERE / "runs.tar.xz") as archive:
        for member in archive:
            if member.name.endswith("contest.json"):
                file = archive.extractfile(member)
                assert file is not None
                found[Path(member.name).parent.name] = json.load(file)
    return dict(sorted(found.items()))


def solved() -> dict[str, tuple[Record, ...]]:
    """The records of every file."""
    files = sorted((HERE / "records").glob("*.jsonl"))
    return {path.stem: read_records(path).records for path in files}


def main() -> None:
    """Prints the tables."""
    print("| contest | problems | chosen | validation and larger problems solved | seconds |\n|---|---|---|---|---|")
    for name, state in contests().items():
        score = state["reason"].split("; next:")[0].split(": ", 1)[1]
        print(f"| {name[2:]} | {SUITES[name[0]]} | {state['winner']} | {score} | {state['used']:,.0f} |")
    print("\n| test problems | solved | greedily | slowest | actions |\n|---|---|---|---|---|")
    for name, records in solved().items():
        kinds: dict[bool, list[Record]] = defaultdict(list)
        for record in records:
            kinds[record.solved].append(record)
        slowest = max((record.seconds or 0.0 for record in kinds[True]), default=0.0)
        greedy = sum(record.found_by == "greedy" for record in kinds[True])
        actions = sum(record.plan_length or 0 for record in kinds[True])
        print(f"| {name} | {len(kinds[True])} of {len(records)} | {greedy} | {slowest:,.0f} s | {actions:,} |")


if __name__ == "__main__":
    main()
