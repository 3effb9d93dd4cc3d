"""The README's tables of results, from the records of this experiment.

    python experiments/2026-11-15-ipc2023/table.py

Solved problems of the 42 test problems at hand of every domain (30 easy, 6 medium, 6 hard): by the policy alone, with
search where it fails, and by LAMA's first iteration; plan lengths on the problems that both the policy and LAMA solved.
Then the largest problem of every domain that the policy alone solved.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).parent / "records"
SPLITS = ("easy", "medium", "hard")
SHORT = 120.0
"""Seconds that LAMA had."""

Runs = dict[tuple[str, str, str], dict[str, Any]]


def read(*names: str) -> Runs:
    """Records by domain, split and problem; a later file's take the place of an earlier one's."""
    found: Runs = {}
    for name in names:
        path = RECORDS / f"{name}.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            record = json.loads(line)
            if record["split"] in SPLITS:
                found[record["domain"], record["split"], record["problem"]] = record
    return found


def is_solved(record: dict[str, Any] | None, seconds: float = float("inf")) -> bool:
    """Whether there is a validated plan, found in time."""
    return record is not None and record["outcome"] == "plan found" and record["seconds_plan"] <= seconds


def main() -> None:
    """Prints the table and its sums."""
    greedy, search, lama = read("greedy-2min", "greedy"), read("search"), read("lama-2min")
    domains = sorted({key[0] for key in greedy} | {key[0] for key in lama})
    total: dict[str, int] = defaultdict(int)
    print("| domain | easy, medium, hard | of 42 | in 2 min | with search | LAMA-first, 2 min | length to LAMA's |")
    print("|---|---|---|---|---|---|---|")
    for domain in domains:
        keys = sorted({key for key in {**greedy, **lama} if key[0] == domain})
        parts = []
        for split in SPLITS:
            runs = [greedy[key] for key in keys if key[1] == split and key in greedy]
            solved = sum(is_solved(run) for run in runs)
            wanted = 30 if split == "easy" else 6
            parts.append(f"{solved}" if len(runs) == wanted else f"{solved} of {len(runs)} run" if runs else "-")
        counts = {
            "all": sum(is_solved(greedy.get(key)) for key in keys),
            "short": sum(is_solved(greedy.get(key), SHORT) for key in keys),
            "search": sum(is_solved(greedy.get(key)) or is_solved(search.get(key)) for key in keys),
            "lama": sum(is_solved(lama.get(key)) for key in keys),
        }
        for name, count in counts.items():
            total[name] += count
        both = [key for key in keys if is_solved(greedy.get(key)) and is_solved(lama.get(key))]
        ours, theirs = (sum(runs[key]["plan_length"] for key in both) for runs in (greedy, lama))
        ratio = f"{ours / theirs:.2f} ({len(both)})" if both else "-"
        tried = sum(key in lama for key in keys)
        lama_text = f"{counts['lama']}" if tried == 42 else f"{counts['lama']} of {tried} run" if tried else "-"
        cells = [", ".join(parts), counts["all"], counts["short"], counts["search"], lama_text, ratio]
        print(f"| {domain} | {' | '.join(map(str, cells))} |")
    print(f"| **sum** | | {total['all']} | {total['short']} | {total['search']} | {total['lama']} | |")
    print_largest(greedy)


def print_largest(greedy: Runs) -> None:
    """The largest problem that was solved, and what it took."""
    print("\n| domain | largest solved | objects | jumps | actions | seconds | a jump | memory |")
    print("|---|---|---|---|---|---|---|---|")
    solved = sorted((run for run in greedy.values() if is_solved(run)), key=lambda run: (run["domain"], run["objects"]))
    for domain, run in {run["domain"]: run for run in solved}.items():
        jumps, seconds = run["choices"], run["seconds"]
        cells = [f"{run['split']} {run['problem']}", run["objects"], jumps, run["plan_length"], f"{seconds:,.0f}"]
        cells += [f"{seconds / jumps:.2f} s", f"{run['peak_memory_mb'] / 1000:.1f} GB"]
        print(f"| {domain} | {' | '.join(f'{cell:,}' if isinstance(cell, int) else cell for cell in cells)} |")


if __name__ == "__main__":
    main()
