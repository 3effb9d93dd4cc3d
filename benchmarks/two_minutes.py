"""Which IPC problems the bundled policies do not solve within two minutes of CPU time on one core.

Every problem is planned as a user would plan it, by `saltus plan DOMAIN PROBLEM --policy auto --threads 1`, in its own
process, whose CPU time is limited: start, reading, planning, validation and the plan file included. Prints a table by
domain, then the problems that were not solved. With `--out`, results are also appended to a file of JSON lines, and
problems that it already holds are not played again: an interrupted run goes on where it was.

    python benchmarks/two_minutes.py --ipc DIR [--domain ferry ...] [--every 5] [--parallel 2] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

DOMAINS = ("blocksworld", "childsnack", "ferry", "floortile", "miconic", "rovers", "satellite", "spanner", "transport")
PROGRAM = "from saltus.cli.main import main; main()"


@dataclass(frozen=True)
class Trial:
    """What came of one problem."""

    problem: str
    solved: bool
    seconds: float
    """CPU time of the whole program."""
    actions: int | None
    message: str
    """The program's last words if it did not solve the problem."""


def play(ipc: Path, problem: str, limit: int) -> Trial:
    """Plans one problem; its processes are killed when they have used up the CPU time."""
    domain = ipc / problem.split("/")[0] / "domain.pddl"

    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan"
        options = ["--policy", "auto", "--threads", "1", "--time-limit", "none", "--plan-file", str(plan)]
        planner = [sys.executable, "-c", PROGRAM, "plan", str(domain), str(ipc / problem), *options]
        command = ["sh", "-c", 'ulimit -t "$0" && exec "$@"', str(limit), *planner]
        words = Path(folder) / "words"
        with words.open("w") as stream:
            process = subprocess.Popen(command, stdout=stream, stderr=stream)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = usage.ru_utime + usage.ru_stime
        solved = process.returncode == 0 and seconds <= limit
        lines = plan.read_text().splitlines() if solved else []
        last = (words.read_text().strip().splitlines() or [f"exit code {process.returncode}"])[-1]
    actions = sum(line.startswith("(") for line in lines) if solved else None
    return Trial(problem, solved, seconds, actions, "" if solved else last)


def listed(ipc: Path, domains: list[str], every: int) -> list[str]:
    """The test problems of some domains, or every n-th of each."""
    return [
        str(path.relative_to(ipc))
        for domain in domains
        for path in sorted((ipc / domain / "testing").rglob("*.pddl"))[every - 1 :: every]
    ]


def earlier(path: Path | None) -> dict[str, Trial]:
    """Trials that a file holds, by problem."""
    if path is None or not path.exists():
        return {}
    trials = (Trial(**json.loads(line)) for line in path.read_text().splitlines())
    return {trial.problem: trial for trial in trials}


def show(trials: list[Trial], limit: int) -> None:
    """Prints the table, and what was not solved."""
    print(f"| domain | solved in {limit} s | median CPU s | most CPU s | actions |\n|---|---|---|---|---|")
    for domain in sorted({trial.problem.split("/")[0] for trial in trials}):
        own = [trial for trial in trials if trial.problem.startswith(f"{domain}/")]
        times = sorted(trial.seconds for trial in own if trial.solved) or [float("nan")]
        actions = sum(trial.actions or 0 for trial in own)
        solved = sum(trial.solved for trial in own)
        median = times[len(times) // 2]
        print(f"| {domain} | {solved} of {len(own)} | {median:.2f} | {times[-1]:.1f} | {actions:,} |")
    missing = [trial for trial in trials if not trial.solved]
    print(f"\n{len(trials) - len(missing)} of {len(trials)} solved; not solved:" if missing else "\nall solved")
    for trial in missing:
        print(f"- {trial.problem}: {trial.seconds:.1f} s, {trial.message}")


def main() -> None:
    """Plays the problems, then prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ipc", default=os.environ.get("SALTUS_IPC2023"), help="folder of the IPC 2023 problems")
    parser.add_argument("--domain", action="append", help="only this domain; may be repeated")
    parser.add_argument("--every", type=int, default=1, help="only every n-th problem of a domain (default: all)")
    parser.add_argument("--limit", type=int, default=120, help="seconds of CPU time per problem")
    parser.add_argument("--parallel", type=int, default=1, help="problems played in parallel, one core each")
    parser.add_argument("--out", type=Path, help="file of JSON lines for results; an existing one is continued")
    options = parser.parse_args()
    if not options.ipc:
        parser.error("--ipc or SALTUS_IPC2023 must name the folder of the IPC 2023 Learning Track problems")
    ipc = Path(options.ipc)
    problems = listed(ipc, options.domain or list(DOMAINS), max(1, options.every))
    known = earlier(options.out)
    with ThreadPoolExecutor(options.parallel) as pool:
        for trial in pool.map(
            lambda problem: play(ipc, problem, options.limit), [name for name in problems if name not in known]
        ):
            known[trial.problem] = trial
            print(f"{trial.problem}: {'solved' if trial.solved else 'not solved'}, {trial.seconds:.1f} s", flush=True)
            if options.out is not None:
                with options.out.open("a") as stream:
                    stream.write(json.dumps(asdict(trial)) + "\n")
    show([known[name] for name in problems], options.limit)


if __name__ == "__main__":
    main()
