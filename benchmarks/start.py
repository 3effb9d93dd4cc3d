"""Benchmark of starting: CPU time of whole commands, from the start of the process to its end.

User and system time of the process and of all its descendants, the best of several runs, in milliseconds. The ratio is
that to an empty Python program in the same run, because times depend on the machine. Bytecode is cached, as it is for
an installed program. One run prints the whole table:

    python benchmarks/start.py [--repeats 10]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCKS = Path(__file__).resolve().parent.parent / "examples" / "blocksworld"
UNKNOWN_DOMAIN = """(define (domain chain) (:predicates (at ?x) (link ?x ?y))
 (:action go :parameters (?x ?y) :precondition (and (at ?x) (link ?x ?y)) :effect (and (at ?y) (not (at ?x)))))"""
UNKNOWN_PROBLEM = """(define (problem three) (:domain chain) (:objects a b c d)
 (:init (at a) (link a b) (link b c) (link c d)) (:goal (at d)))"""


def commands(folder: Path) -> dict[str, list[str]]:
    """What is measured, by the name that is printed."""
    python, program = sys.executable, str(Path(sys.executable).with_name("saltus"))
    (folder / "domain.pddl").write_text(UNKNOWN_DOMAIN)
    (folder / "problem.pddl").write_text(UNKNOWN_PROBLEM)
    unknown = [str(folder / "domain.pddl"), str(folder / "problem.pddl")]
    blocks = [str(BLOCKS / "domain.pddl"), str(BLOCKS / "p03.pddl")]
    return {
        "python, nothing": [python, "-c", "pass"],
        "python, import numpy": [python, "-c", "import numpy"],
        "python, import saltus": [python, "-c", "import saltus"],
        "saltus --version": [program, "--version"],
        "saltus --help": [program, "--help"],
        "saltus plan --help": [program, "plan", "--help"],
        "saltus plan, goal-count": [program, "plan", *blocks, "--policy", "goal-count"],
        "saltus plan, no policy fits": [program, "plan", *unknown],
        "saltus plan, bundled policy": [program, "plan", *blocks],
    }


def cpu_seconds(command: list[str], folder: Path) -> float:
    """User and system time of a command and all its descendants; a command that fails is an error."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10, help="runs of each command")
    repeats = parser.parse_args().repeats
    empty = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{'command':30}{'CPU ms':>10}{'ratio':>8}")
        for label, command in commands(folder).items():
            seconds = min(cpu_seconds(command, folder) for _ in range(repeats))
            empty = empty or seconds
            print(f"{label:30}{1000 * seconds:10.0f}{seconds / empty:8.1f}", flush=True)


if __name__ == "__main__":
    main()
