"""What a policy does on test problems, judged by us and by Fast Downward's view of the task.

    python experiments/2026-11-16-adl/play.py POLICY FOLDER RECORDS [--seconds 60]

Plays every problem in FOLDER/testing greedily, and with the search around the policy where that fails. Every plan is
validated by our judge and replayed in the task that Fast Downward's translator makes (extra `baselines`). Appends a
JSON line per problem to RECORDS, skips problems that are there already, and prints how many were solved of each size.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import saltus
from fast_downward import replay


def play(policy: str, domain: Path, problem: Path, seconds: float) -> dict[str, object]:
    """The record of a problem; lengths are None where there is no plan."""
    planner = saltus.load_policy(policy)
    task = saltus.load(domain, problem)
    goals = len(task.goal.positive)
    record: dict[str, object] = {"problem": problem.stem, "goals": goals, "greedy": False}
    begin = time.process_time()
    plan = planner.plan(task, search=False, max_jumps=20 * goals, time_limit=seconds)
    record["greedy"] = plan is not None
    if plan is None:
        plan = planner.plan(task, time_limit=seconds)
    record |= {"cpu_seconds": round(time.process_time() - begin, 2), "actions": None}
    if plan is not None:
        with tempfile.TemporaryDirectory() as place:
            file = Path(place) / "plan"
            saltus.write_plan(file, plan, len(plan.steps), unit_cost=True)
            accepted = replay(domain, problem, file, Path(place))
        verdict = saltus.validate(task, plan)
        record |= {"actions": verdict.length, "valid": bool(verdict), "accepted_by_fast_downward": accepted}
    return record


def main() -> int:
    """Plays all problems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy")
    parser.add_argument("folder", type=Path)
    parser.add_argument("records", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    records = [json.loads(line) for line in options.records.open()] if options.records.is_file() else []
    known = {record["problem"] for record in records}
    for problem in sorted((options.folder / "testing").glob("*.pddl")):
        if problem.stem not in known:
            records.append(play(options.policy, options.folder / "domain.pddl", problem, options.seconds))
            with options.records.open("a") as file:
                file.write(json.dumps(records[-1]) + "\n")
            print(records[-1], flush=True)
    for size in sorted({record["goals"] for record in records}):
        rows = [record for record in records if record["goals"] == size]
        solved = [record for record in rows if record["actions"] is not None]
        greedy, valid = sum(record["greedy"] for record in rows), sum(record["valid"] for record in solved)
        accepted = sum(record["accepted_by_fast_downward"] for record in solved)
        print(
            f"{size} goals: {greedy} of {len(rows)} greedily, {len(solved)} with search; "
            f"{valid} plans valid, {accepted} accepted by Fast Downward"
        )
    return int(any(not r["valid"] or not r["accepted_by_fast_downward"] for r in records if r["actions"] is not None))


if __name__ == "__main__":
    sys.exit(main())
