"""The tables of docs/results.md, from the records of this experiment.

    python experiments/2026-11-15-ipc2023/table.py [--greedy FILE]

For every domain, the number solved of 42 test problems (30 easy, 6 medium, 6 hard): by the policy alone, with a search
if it fails, and by LAMA's first iteration; plan lengths on the problems that both the policy and LAMA solved. Then, for
every domain, the largest problem that the policy alone solved. FILE has other trials of the policies alone, such as
`../2026-11-18-bundled/records/greedy.jsonl`.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from saltus.lab.bench.record import Record
from saltus.lab.bench.records import read_records

RECORDS = Path(__file__).parent / "records"
SPLITS = ("easy", "medium", "hard")
SHORT = 120.0
"""LAMA's time limit in seconds."""

Trials = dict[tuple[str, str, str], Record]


def read(*paths: Path) -> Trials:
    """Records by domain, split and problem; those of a later file replace those of an earlier one."""
    found: Trials = {}
    for path in paths:
        for record in read_records(path).records if path.exists() else ():
            if record.split in SPLITS:
                found[record.name] = record
    return found


def is_solved(record: Record | None, seconds: float = float("inf")) -> bool:
    """Whether there is a validated plan, found in time."""
    return record is not None and record.solved and (record.seconds_plan or 0.0) <= seconds


def main() -> None:
    """Prints the table and its sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--greedy", type=Path)
    given = parser.parse_args().greedy
    names = ("greedy-2min", "greedy", "search", "lama-2min")
    short, long, searched, baseline = (RECORDS / f"{name}.jsonl" for name in names)
    greedy, search, lama = read(given) if given else read(short, long), read(searched), read(baseline)
    domains = sorted({key[0] for key in greedy} | {key[0] for key in lama})
    total: dict[str, int] = defaultdict(int)
    print("| domain | easy, medium, hard | of 42 | in 2 min | with search | LAMA-first, 2 min | length vs. LAMA's |")
    print("|---|---|---|---|---|---|---|")
    for domain in domains:
        keys = sorted({key for key in {**greedy, **lama} if key[0] == domain})
        parts = []
        for split in SPLITS:
            tried_here = [greedy[key] for key in keys if key[1] == split and key in greedy]
            solved = sum(is_solved(record) for record in tried_here)
            wanted = 30 if split == "easy" else 6
            parts.append(
                f"{solved}"
                if len(tried_here) == wanted
                else f"{solved} of {len(tried_here)} run"
                if tried_here
                else "-"
            )
        counts = {
            "all": sum(is_solved(greedy.get(key)) for key in keys),
            "short": sum(is_solved(greedy.get(key), SHORT) for key in keys),
            "search": sum(is_solved(greedy.get(key)) or is_solved(search.get(key)) for key in keys),
            "lama": sum(is_solved(lama.get(key)) for key in keys),
        }
        for name, count in counts.items():
            total[name] += count
        both = [key for key in keys if is_solved(greedy.get(key)) and is_solved(lama.get(key))]
        ours, theirs = (sum(trials[key].plan_length or 0 for key in both) for trials in (greedy, lama))
        ratio = f"{ours / theirs:.2f} ({len(both)})" if both else "-"
        tried = sum(key in lama for key in keys)
        lama_text = f"{counts['lama']}" if tried == 42 else f"{counts['lama']} of {tried} run" if tried else "-"
        cells = [", ".join(parts), counts["all"], counts["short"], counts["search"], lama_text, ratio]
        print(f"| {domain} | {' | '.join(map(str, cells))} |")
    print(f"| **sum** | | {total['all']} | {total['short']} | {total['search']} | {total['lama']} | |")
    print_largest(greedy)


def print_largest(greedy: Trials) -> None:
    """Prints the largest solved problem of every domain, and what it took."""
    print("\n| domain | largest solved | objects | jumps | actions | seconds | per jump | memory |")
    print("|---|---|---|---|---|---|---|---|")
    solved = sorted(filter(is_solved, greedy.values()), key=lambda record: (record.domain, record.objects or 0))
    for domain, record in {record.domain: record for record in solved}.items():
        jumps, seconds = record.jumps or 0, record.seconds or 0.0
        cells = [f"{record.split} {record.problem}", record.objects, jumps, record.plan_length, f"{seconds:,.0f}"]
        cells += [f"{1000 * seconds / jumps:,.0f} ms", f"{(record.peak_memory_mb or 0.0) / 1000:.1f} GB"]
        print(f"| {domain} | {' | '.join(f'{cell:,}' if isinstance(cell, int) else cell for cell in cells)} |")


if __name__ == "__main__":
    main()
