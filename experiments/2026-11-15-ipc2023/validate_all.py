"""The verdict of the independent validator on the plans of all test problems that the bundled policies solve.

    python experiments/2026-11-15-ipc2023/validate_all.py IPC

Takes the problems that the records call solved, looks up their plans in `plans.tar.xz` (DOMAIN/SPLIT/PROBLEM.plan) and
replays each on the problem in the folder IPC. Prints a line per domain and the total. A plan that is invalid or
missing is named, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import saltus
from saltus.lab.bench.records import read_records
from saltus.task import parse_plan

FOLDER = Path(__file__).parent
RECORDS = (FOLDER / "records" / "greedy-2min.jsonl", FOLDER / "records" / "greedy.jsonl")
SPLITS = ("easy", "medium", "hard")

Name = tuple[str, str, str]
"""Domain, split and problem."""


@dataclass(frozen=True)
class Trial:
    """A problem and the text of its plan; None if the archive has none."""

    name: Name
    ipc: Path
    text: str | None


@dataclass(frozen=True)
class Finding:
    """What came of a plan: its actions, and what is wrong with it (empty for a valid plan)."""

    name: Name
    actions: int
    flaw: str


def solved_problems(files: Sequence[Path]) -> set[Name]:
    """Test problems with a plan, according to records."""
    return {
        record.name
        for file in files
        for record in read_records(file).records
        if record.solved and record.split in SPLITS
    }


def read_plans(archive: Path) -> dict[Name, str]:
    """Texts of the plans in an archive, by problem."""
    plans: dict[Name, str] = {}
    with tarfile.open(archive) as file:
        for member in file:
            domain, split, problem = Path(member.name).parts
            content = file.extractfile(member)
            assert content is not None, f"{member.name} is not a file"
            plans[domain, split, problem.removesuffix(".plan")] = content.read().decode()
    return plans


def judge(trial: Trial) -> Finding:
    """What the validator says."""
    domain, split, problem = trial.name
    if trial.text is None:
        return Finding(trial.name, 0, "no plan in the archive")
    folder = trial.ipc / domain
    try:
        task = saltus.load(folder / "domain.pddl", folder / "testing" / split / f"{problem}.pddl")
        plan = parse_plan(trial.text, f"{domain}/{split}/{problem}.plan")
    except saltus.SaltusError as error:
        return Finding(trial.name, 0, str(error))
    verdict = saltus.validate(task, plan)
    return Finding(trial.name, len(plan), "" if verdict.valid else verdict.reason)


def main() -> int:
    """Prints the lines; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ipc", type=Path, help="folder of the track's problems")
    parser.add_argument("--plans", type=Path, default=FOLDER / "plans.tar.xz", help="archive of the plans")
    parser.add_argument("--records", type=Path, nargs="+", default=RECORDS, help="records of the solved problems")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="plans judged in parallel (default: one per core)"
    )
    options = parser.parse_args()
    plans, wanted = read_plans(options.plans), solved_problems(options.records)
    trials = [Trial(name, options.ipc, plans.get(name)) for name in sorted(wanted | plans.keys())]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        findings = pool.map(judge, trials, chunksize=1)
    for domain in sorted({trial.name[0] for trial in trials}):
        print(line(domain, [finding for finding in findings if finding.name[0] == domain]))
    print(line("total", findings))
    flaws = [finding for finding in findings if finding.flaw]
    for finding in flaws:
        print(f"{'/'.join(finding.name)}: {finding.flaw}", file=sys.stderr)
    return 1 if flaws or not findings else 0


def line(title: str, findings: Sequence[Finding]) -> str:
    """How many of these plans are valid, and their actions together."""
    valid = [finding for finding in findings if not finding.flaw]
    return f"{title}: {len(valid)} of {len(findings)} valid, {sum(finding.actions for finding in valid):,} actions"


if __name__ == "__main__":
    sys.exit(main())
