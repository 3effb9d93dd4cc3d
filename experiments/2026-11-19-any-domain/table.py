"""The tables of docs/results.md about the latest contests: what each chose, and what its policy solves.

    python experiments/2026-11-19-any-domain/table.py [FOLDER]

The contests come from `figures.tar.xz`, the rest from the records in `records/`, of this folder or of another one that
is laid out like it.
"""

from __future__ import annotations

import argparse
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from saltus.lab.bench.record import Record
from saltus.lab.bench.records import read_records

PARTS = {"moose": "MOOSE's benchmark", "ipc": "IPC 2023 Learning Track", "classics": "Five classic domains"}


def contests(folder: Path) -> dict[tuple[str, str, str, str], dict[str, Any]]:
    """The state of every contest, by part, domain, system and seed."""
    found: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    with tarfile.open(folder / "figures.tar.xz") as archive:
        for member in archive:
            path = Path(member.name)
            if path.name == "contest.json":
                file = archive.extractfile(member)
                assert file is not None
                part, system, domain, seed, _ = path.parts
                found[part, domain, "recipe" if system == "runs" else system, seed] = json.load(file)
    return dict(sorted(found.items()))


def records_of(folder: Path, part: str, name: str) -> dict[str, list[Record]]:
    """The records of a file by domain; empty if there is no such file."""
    path = folder / "records" / part / f"{name}.jsonl"
    found: dict[str, list[Record]] = {}
    for record in read_records(path).records if path.exists() else ():
        found.setdefault(record.domain, []).append(record)
    return found


def figures(records: Sequence[Record]) -> list[object]:
    """Solved, by the policy alone, slowest, largest problem, actions."""
    solved = [record for record in records if record.solved]
    greedy = sum(record.found_by == "greedy" for record in solved)
    slowest = max((record.seconds or 0.0 for record in solved), default=0.0)
    largest = max((record.objects or 0 for record in solved), default=0)
    actions = sum(record.plan_length or 0 for record in solved)
    return [f"{len(solved)} of {len(records)}", greedy, f"{slowest:,.0f} s", f"{largest:,}", f"{actions:,}"]


def main() -> None:
    """Prints a table per part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent)
    folder: Path = parser.parse_args().folder
    for part, title in PARTS.items():
        columns = ["domain", "chosen", "chosen by", "contest", "solved", "greedily", "slowest", "objects", "actions"]
        lama = records_of(folder, part, "lama-first")
        if lama:
            columns += ["LAMA-first", "actions where both solved: ours, LAMA's"]
        print(f"\n{title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
        for (own, domain, system, seed), state in contests(folder).items():
            if own != part:
                continue
            records = records_of(folder, part, f"{system}-{seed}").get(domain, [])
            score = state["reason"].split("; next:")[0].split(": ", 1)[1]
            name = domain if seed == "seed-0" else f"{domain} ({seed.replace('-', ' ')})"
            name += "" if system == "recipe" else f", {system.replace('-', ' ')}"
            row = [name, state["winner"], score, f"{state['used']:,.0f} s", *figures(records)]
            if lama:
                theirs = {record.problem: record for record in lama.get(domain, []) if record.solved}
                both = [entry for entry in records if entry.solved and entry.problem in theirs]
                lengths = [sum(entry.plan_length or 0 for entry in both)]
                lengths.append(sum(theirs[entry.problem].plan_length or 0 for entry in both))
                row += [f"{len(theirs)} of {len(lama.get(domain, []))}"]
                row += [f"{lengths[0]:,}, {lengths[1]:,} ({len(both)} problems)"]
            print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
