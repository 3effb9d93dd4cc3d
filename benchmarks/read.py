"""Benchmark of reading, from disk to task: ours against `pymimir`, `pddl` and `plado` (extra `bench`).

Every reader runs in a process of its own on the largest problem file of each domain, and on rovers hard p25, the
problem that the design names. Time is the best of several reads of domain and problem in a warm process. Memory is what
the first read adds to the process at its peak, so that imports do not count. A reader that is absent, fails or exceeds
the time limit is shown as such. One run prints the whole table:

    python benchmarks/read.py --ipc DIR [--domain rovers] [--repeats 3] [--timeout 60]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from measure import MEGABYTE, memory, reset_peak_memory

DESIGN_PROBLEM = "rovers/testing/hard/p25.pddl"
"""The problem that the design's figures are about."""


def read_with_saltus(domain: str, problem: str) -> object:
    """Our reader."""
    import saltus

    return saltus.load(domain, problem)


def read_with_pymimir(domain: str, problem: str) -> object:
    """Mimir's C++ reader; lifted, because grounding is not part of reading."""
    import pymimir

    return pymimir.Problem(pymimir.Domain(Path(domain)), Path(problem), mode="lifted")


def read_with_pddl(domain: str, problem: str) -> object:
    """A reader in Python with a generated parser."""
    import pddl

    return pddl.parse_domain(domain), pddl.parse_problem(problem)


def read_with_plado(domain: str, problem: str) -> object:
    """A reader in Python, with its checks."""
    from plado.parser import parse

    return parse(domain, problem)


OURS = "saltus"
READERS: dict[str, Callable[[str, str], object]] = {
    OURS: read_with_saltus,
    "pymimir": read_with_pymimir,
    "pddl": read_with_pddl,
    "plado": read_with_plado,
}


def measure(reader: str, domain: str, problem: str, repeats: int, budget: float) -> dict[str, float]:
    """The best seconds and added peak bytes of one reader in this process; stops repeating after `budget` seconds."""
    importlib.import_module(reader)
    read = READERS[reader]
    reset_peak_memory()  # imports do not count
    before = memory("VmRSS")
    begin = time.perf_counter()
    best = float("inf")
    added = 0
    for _ in range(repeats):
        start = time.perf_counter()
        task = read(domain, problem)
        best = min(best, time.perf_counter() - start)
        added = added or memory() - before
        del task
        if time.perf_counter() - begin + best > budget:
            break
    return {"seconds": best, "bytes": added}


def run(reader: str, domain: Path, problem: Path, repeats: int, timeout: float) -> dict[str, float] | str:
    """The measurement of one reader in a process of its own, or the reason why there is none."""
    if importlib.util.find_spec(reader) is None:
        return "absent"
    command = [sys.executable, __file__, "--measure", reader, str(domain), str(problem)]
    command += ["--repeats", str(repeats), "--timeout", str(timeout)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return f"> {timeout:g} s"
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        print(f"  {reader} failed on {problem}: {lines[-1][:200]}", file=sys.stderr)
        return "failed"
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def problems(folder: Path, wanted: str | None) -> list[tuple[Path, Path]]:
    """The domain file and the largest problem file of every domain, and the design's problem."""
    pairs = []
    for domain in sorted(folder.glob("*/domain.pddl")):
        if wanted is not None and domain.parent.name != wanted:
            continue
        files = [path for path in domain.parent.rglob("*.pddl") if path != domain]
        chosen = {max(files, key=lambda path: path.stat().st_size)} if files else set()
        if (folder / DESIGN_PROBLEM).is_file() and domain.parent == (folder / DESIGN_PROBLEM).parents[2]:
            chosen.add(folder / DESIGN_PROBLEM)
        pairs += [(domain, path) for path in sorted(chosen)]
    return pairs


def cell(result: dict[str, float] | str, size: int) -> str:
    """One measurement as text: time, memory, and memory relative to the file size."""
    if isinstance(result, str):
        return result
    added = result["bytes"]
    return f"{result['seconds']:.4f} s {added / MEGABYTE:6.1f} MB {added / size:5.1f}x"


def main() -> int:
    """Prints the table, or one measurement for the parent process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--ipc", type=Path, default=os.environ.get("SALTUS_IPC2023"), help="folder of the IPC 2023 problems"
    )
    parser.add_argument("--domain", help="only this domain")
    parser.add_argument("--repeats", type=int, default=5, help="number of reads; the best counts")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds per reader and file")
    parser.add_argument("--measure", nargs=3, metavar=("READER", "DOMAIN", "PROBLEM"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*options.measure, options.repeats, options.timeout / 2)))
        return 0
    if options.ipc is None or not Path(options.ipc).is_dir():
        parser.error("--ipc or SALTUS_IPC2023 must name the folder of the IPC 2023 Learning Track problems")
    pairs = problems(Path(options.ipc), options.domain)
    if not pairs:
        parser.error(f"no domain found in {options.ipc}")
    print(f"{'problem':34}{'size':>9}  " + "".join(f"{name:28}" for name in READERS) + "fastest peer / ours")
    for domain, problem in pairs:
        size = problem.stat().st_size
        label = f"{domain.parent.name}/{problem.relative_to(domain.parent)}".removesuffix(".pddl")
        print(f"{label:34}{size / MEGABYTE:6.2f} MB  ", end="", flush=True)
        results = {}
        for name in READERS:
            results[name] = run(name, domain, problem, options.repeats, options.timeout)
            print(f"{cell(results[name], size):28}", end="", flush=True)
        ours = results.pop(OURS)
        peers = [result["seconds"] for result in results.values() if not isinstance(result, str)]
        print("-" if isinstance(ours, str) or not peers else f"{min(peers) / ours['seconds']:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
