"""The paper's table: what its systems solve here, next to its own figures.

    python experiments/2026-11-16-paper/table.py [FOLDER] [--spec FILE]

FOLDER (default: the script's) has `records/SYSTEM[-seed-N].jsonl` and `figures.tar.xz` with
`runs/DOMAIN/SYSTEM/seed-N/`, in which a contest has the log of its winner, as `candidates/NAME/log.jsonl`.
FILE (default: paper.toml) is the experiment's. `others.toml` in FOLDER may name records of other experiments; of
these, the problems of this one count, as solved if they were within its time limit. Several figures in a cell are those
of several seeds. The paper's figures are of 30 problems per domain and split, ours of those that were tried.
"""

from __future__ import annotations

import argparse
import json
import re
import tarfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from saltus.lab.bench.record import Record
from saltus.lab.bench.records import read_records
from saltus.lab.report.paper import read_paper
from saltus.lab.report.scores import best_lengths, quality_score, time_score
from saltus.policy.amounts import seconds_of
from saltus.policy.outcome import Outcome

HERE = Path(__file__).parent
SPLITS = ("easy", "medium")
OTHERS = "others.toml"
"""Records of other experiments: a table per system, with the names of their files."""
OURS = "aiw-ad"
"""The system whose advantage over the others is the paper's claim."""

Results = dict[str, dict[int, list[Record]]]
"""Records by system and seed, in the order of the experiment's file."""
Validations = dict[tuple[str, str, int], tuple[dict[str, Any], int, float]]
"""The validation of the chosen policy, the last episode and the seconds, by domain, system and seed."""


def read_results(folder: Path, spec: dict[str, Any]) -> Results:
    """All records; files of systems that the experiment does not have are an error."""
    found: Results = {name: {} for name in spec["systems"]}
    for path in sorted((folder / "records").glob("*.jsonl")):
        parts = re.fullmatch(r"(.+?)(?:-seed-(\d+))?", path.stem)
        assert parts is not None
        found[parts[1]][int(parts[2] or 0)] = [entry for entry in read_records(path).records if entry.split in SPLITS]
    return {name: seeds for name, seeds in found.items() if seeds} | read_others(folder, spec["testing"])


def read_others(folder: Path, testing: dict[str, Any]) -> Results:
    """Records of other experiments, of the problems of this one: unsolved after its time limit."""
    path = folder / OTHERS
    if not path.exists():
        return {}
    limit = seconds_of("time_limit", testing["time_limit"])
    found: Results = {}
    for name, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
        records = [record for file in entry["records"] for record in read_records(folder / file).records]
        last = {(record.domain, record.split, record.problem): within(record, limit) for record in records}
        tried = [entry for entry in last.values() if entry.split in SPLITS and entry.problem in testing["problems"]]
        found[f"{name} †"] = {0: tried}
    return found


def within(record: Record, limit: float | None) -> Record:
    """The record as it is, or out of time if it took longer."""
    if limit is None or record.seconds <= limit:
        return record
    return replace(record, outcome=Outcome.TIME, plan_length=None, plan_cost=None)


def read_validations(folder: Path) -> Validations:
    """What the policies were chosen by; empty if there is no archive."""
    found: Validations = {}
    archive = folder / "figures.tar.xz"
    if not archive.exists():
        return found
    with tarfile.open(archive) as file:
        for member in file:
            place = re.fullmatch(r"runs/([^/]+)/([^/]+)/seed-(\d+)/(?:candidates/[^/]+/)?log\.jsonl", member.name)
            content = file.extractfile(member) if place is not None else None
            if place is None or content is None:
                continue
            lines = [json.loads(line) for line in content.read().splitlines()]
            validations = [line for line in lines if line["kind"] == "validation"]
            if validations:
                last = lines[-1]
                entry = max(validations, key=rank), int(last["episode"]), float(last["elapsed"])
                found[place[1], place[2], int(place[3])] = entry
    return found


def rank(validation: dict[str, Any]) -> tuple[int, int]:
    """What policies are chosen by: problems solved, then short plans."""
    solved = validation["solved"] + (validation["larger_solved"] or 0)
    return solved, -(validation["actions"] + (validation["larger_actions"] or 0))


def of_paper(system: str, domain: str, splits: Sequence[str] = SPLITS) -> int | None:
    """How many problems of a domain the paper's system solves; None if the paper has no such figure."""
    for table in read_paper().tables:
        if table.benchmark == "ipc2023" and system in table.methods:
            cells = [table.cells[domain, split][table.methods.index(system)] for split in splits]
            if None not in cells:
                return sum(int(cell) for cell in cells if cell is not None)
    return None


def each_seed(seeds: dict[int, list[Record]], figure: Callable[[list[Record]], str]) -> str:
    """A figure for every seed."""
    return ", ".join(figure(records) for records in seeds.values())


def solved_text(records: Sequence[Record], wanted: int) -> str:
    """The number solved, with the number tried if that is not `wanted`."""
    if not records:
        return "-"
    solved = sum(record.solved for record in records)
    return f"{solved}" if len(records) == wanted else f"{solved} of {len(records)}"


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints a Markdown table under a title."""
    print(f"\n{title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |")


def split_rows(results: Results, splits: Sequence[str], domains: Sequence[str]) -> Iterator[list[object]]:
    """Two rows per system: ours, and the paper's where it has the system; all splits together."""
    everything = [record for seeds in results.values() for found in seeds.values() for record in found]
    wanted = len({(record.split, record.problem) for record in everything if record.split in splits})
    for system, seeds in results.items():
        row: list[object] = [system]
        for domain in [*domains, None]:

            def solved(records: list[Record], domain: str | None = domain) -> str:
                tried = [entry for entry in records if entry.split in splits and domain in (None, entry.domain)]
                return solved_text(tried, wanted * (1 if domain else len(domains)))

            row.append(each_seed(seeds, solved))
        yield row
        paper = [of_paper(system, domain, splits) for domain in domains]
        if None not in paper:
            yield ["*paper*", *paper, sum(cell for cell in paper if cell is not None)]


def score_rows(results: Results) -> Iterator[list[object]]:
    """A row per system: problems solved, and the scores of the IPC."""
    best = best_lengths(record for seeds in results.values() for found in seeds.values() for record in found)
    for system, seeds in results.items():
        yield [
            system,
            each_seed(seeds, lambda records: str(len(records))),
            each_seed(seeds, lambda records: str(sum(record.solved for record in records))),
            each_seed(seeds, lambda records: f"{sum(quality_score(record, best) for record in records):.1f}"),
            each_seed(seeds, lambda records: f"{sum(map(time_score, records)):.1f}"),
        ]


def claim_rows(results: Results, domains: Sequence[str]) -> Iterator[list[object]]:
    """A row per system of the paper: where AIW-AD solves more than it there, and what it does here in these domains."""
    for system in results:
        if system == OURS or any(of_paper(system, domain) is None for domain in domains):
            continue
        claimed = [domain for domain in domains if (of_paper(OURS, domain) or 0) > (of_paper(system, domain) or 0)]
        here: dict[str, list[str]] = {"more": [], "as many": [], "fewer": []}
        for domain in claimed:
            ours, theirs = mean_share(results[OURS], domain), mean_share(results[system], domain)
            if ours is not None and theirs is not None:
                here["more" if ours > theirs else "fewer" if ours < theirs else "as many"].append(domain)
        yield [system, ", ".join(claimed) or "-", *(", ".join(found) or "-" for found in here.values())]


def mean_share(seeds: dict[int, list[Record]], domain: str) -> float | None:
    """Share of the problems of a domain that are solved, all seeds together; None if none was tried."""
    found = [record for records in seeds.values() for record in records if record.domain == domain]
    return sum(record.solved for record in found) / len(found) if found else None


def training_rows(validations: Validations, systems: Iterable[str], domains: Sequence[str]) -> Iterator[list[object]]:
    """A row per system: what its policies were chosen by, and the last episode."""
    for system in dict.fromkeys(name for name in systems for _, other, _ in validations if other == name):
        row: list[object] = [system]
        for domain in domains:
            seeds = [entry for place, entry in sorted(validations.items()) if place[:2] == (domain, system)]
            row.append(", ".join(map(training_text, seeds)) or "-")
        yield row


def training_text(entry: tuple[dict[str, Any], int, float]) -> str:
    """Validation and larger problems solved, and in brackets the number of episodes."""
    validation, episodes, _ = entry
    larger = f" + {validation['larger_solved']}" if validation["larger_problems"] else ""
    return f"{validation['solved']}{larger} ({episodes})"


def main() -> None:
    """Prints the tables, and the command of every row."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, nargs="?", default=HERE)
    parser.add_argument("--spec", type=Path, default=HERE.parent / "paper.toml")
    arguments = parser.parse_args()
    folder = arguments.folder
    spec = tomllib.loads(arguments.spec.read_text(encoding="utf-8"))
    domains = spec["domains"]
    results, validations = read_results(folder, spec), read_validations(folder)
    for splits in (*((split,) for split in SPLITS), SPLITS):
        title = f"Problems solved, {' and '.join(splits)} (the paper's are of {30 * len(splits)} per domain)"
        print_table(title, ["system", *domains, "sum"], split_rows(results, splits, domains))
    print_table("Scores", ["system", "tried", "solved", "quality score", "time score"], score_rows(results))
    if OURS in results:
        columns = ["system", "AIW-AD solves more in the paper", "here: more", "as many", "fewer"]
        print_table("AIW-AD against the others, easy and medium together", columns, claim_rows(results, domains))
    title = "Training: validation + larger problems solved by the policy (episodes)"
    print_table(title, ["system", *domains], training_rows(validations, spec["systems"], domains))
    print("\nCommands\n")
    for system in dict.fromkeys([*results, *(system for _, system, _ in validations)]):
        if system in spec["systems"]:
            print(f"- {system}: `saltus experiment experiments/{arguments.spec.name} --system {system}`")


if __name__ == "__main__":
    main()
