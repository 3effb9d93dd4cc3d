"""Two versions of Saltus against each other: reading and looking ahead on STRIPS problems, in CPU time.

    python benchmarks/versions.py --old PYTHON --new PYTHON --ipc DIR [--domain rovers] [--rounds 5] [--repeats 5]

`PYTHON` is an interpreter that imports the version. For the largest problem of every domain (and rovers hard p25), each
version reads the problem and builds the trees of AIW(1) and IW(1) from its initial state, on one thread. The versions
take turns, each time in a process of its own; the best of all CPU times counts. The table shows the new version's
seconds and its time relative to the old one's; below 1 is faster. `--core N` pins everything to one core.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

from measure import best_time
from read import problems

WORK = ("read", "aiw", "iw")
BUDGET = 1.0
"""Seconds after which a timing is not repeated within a process."""


def measure(domain: str, problem: str, repeats: int) -> dict[str, float]:
    """CPU seconds of the version that this interpreter imports."""
    from time import process_time

    import saltus

    task = saltus.load(domain, problem)
    found = {"read": best_time(lambda: saltus.load(domain, problem), repeats, BUDGET, process_time)}
    limits = saltus.PlaySpec(max_nodes=20_000)
    for kind in ("aiw", "iw"):
        spec = saltus.TreeSpec(kind=kind)
        saltus.lookahead(task, spec=spec, play=limits)  # copies the task to the kernel
        found[kind] = best_time(
            lambda spec=spec: saltus.lookahead(task, spec=spec, play=limits), repeats, BUDGET, process_time
        )
    return found


def main() -> int:
    """Prints the table, or one measurement for the parent process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", help="interpreter of the old version")
    parser.add_argument("--new", default=sys.executable, help="interpreter of the new version (default: this one)")
    parser.add_argument("--ipc", type=Path, default=os.environ.get("SALTUS_IPC2023"))
    parser.add_argument("--domain", help="only this domain")
    parser.add_argument("--rounds", type=int, default=5, help="processes per version and problem")
    parser.add_argument("--repeats", type=int, default=5, help="timings per process")
    parser.add_argument("--core", type=int, help="the core to run on (default: any)")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*options.measure, options.repeats)))
        return 0
    if options.old is None or options.ipc is None:
        parser.error("--old and --ipc are needed")
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    print(f"{'problem':32}" + "".join(f"{name:>11}{'ratio':>8}" for name in WORK))
    logs: dict[str, list[float]] = {name: [] for name in WORK}
    for domain, problem in problems(Path(options.ipc), options.domain):
        best: dict[str, dict[str, float]] = {}
        for _ in range(options.rounds):
            for python in (options.old, options.new):
                command = [python, __file__, "--measure", str(domain), str(problem), "--repeats", str(options.repeats)]
                found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
                known = best.setdefault(python, found)
                best[python] = {name: min(found[name], known[name]) for name in WORK}
        label = f"{domain.parent.name}/{problem.relative_to(domain.parent)}".removesuffix(".pddl")
        line = f"{label:32}"
        for name in WORK:
            seconds, ratio = best[options.new][name], best[options.new][name] / best[options.old][name]
            logs[name].append(math.log(ratio))
            line += f"{seconds * 1e3:8.2f} ms{ratio:8.3f}"
        print(line, flush=True)
    means = {name: math.exp(sum(values) / len(values)) for name, values in logs.items()}
    print(f"{'geometric mean':32}" + "".join(f"{means[name]:19.3f}" for name in WORK))
    return 0


if __name__ == "__main__":
    sys.exit(main())
