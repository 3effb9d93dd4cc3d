"""Benchmark of the lookahead on one thread: tables from one run; times are the best of several.

1. Complete IW(1) from the initial state, ours against `pymimir`'s own C++ search (extra `bench`), each in a process of
   its own. Targets: 200 times faster on satellite and transport medium p15, 20 times on blocksworld medium p15.
2. AIW(1) with the default options from the initial state of the largest problem of each domain: time, and the peak
   memory that it adds to the process.
3. The slope of log time over log objects for AIW(1) in each domain, over all test problems in the folder.

With `--rollout N`, another table alone: each domain's bundled policy plays the largest problem, and every lookahead
along its first N jumps is timed, in CPU time. A jump that takes far longer than the first one for a tree of the same
size is a cliff; "worst" is the greatest time per generated action, compared with the first jump's.

    python benchmarks/lookahead.py --ipc DIR [--domain rovers] [--repeats 5] [--timeout 120] [--rollout 30]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from measure import MEGABYTE, best_time, memory, reset_peak_memory

if TYPE_CHECKING:
    from saltus.lookahead import Situation

PEER_PROBLEMS = {
    "satellite/testing/medium/p15.pddl": 200,
    "transport/testing/medium/p15.pddl": 200,
    "blocksworld/testing/medium/p15.pddl": 20,
}
BUDGET = 20.0
"""Seconds after which a timing is not repeated."""


def saltus_iw(domain: str, problem: str, repeats: int) -> dict[str, float]:
    """Our complete IW(1), with novel states only."""
    import saltus

    task = saltus.load(domain, problem)
    spec = saltus.TreeSpec(kind="iw", root_successors="novel", expand_root_successors=False)
    tree = saltus.lookahead(task, spec=spec)
    seconds = best_time(lambda: saltus.lookahead(task, spec=spec), repeats, BUDGET)
    return {"seconds": seconds, "nodes": tree.novel_count, "generated": tree.generated}


def pymimir_iw(domain: str, problem: str, repeats: int) -> dict[str, float]:
    """Mimir's IW(1). It never forgets states, so every run gets a fresh problem; the timed runs have no callbacks."""
    import pymimir

    with tempfile.TemporaryDirectory() as folder:
        # Mimir refuses a domain without :typing if its problem says "- object", as the IPC's own blocksworld does.
        text = Path(domain).read_text()
        changed = Path(folder) / "domain.pddl"
        changed.write_text(text if ":typing" in text else text.replace(":strips", ":strips :typing"))

        def fresh() -> tuple[object, object]:
            loaded = pymimir.Problem(pymimir.Domain(changed), Path(problem), mode="lifted")
            return loaded, loaded.get_initial_state()

        generated = 0

        def count(*_: object) -> None:
            nonlocal generated
            generated += 1

        pymimir.iw(*fresh(), 1, on_generate_state=count)
        best = float("inf")
        for _ in range(repeats):
            loaded = fresh()
            best = min(best, best_time(lambda loaded=loaded: pymimir.iw(*loaded, 1), 1))
    return {"seconds": best, "nodes": 0, "generated": generated}


def saltus_aiw(domain: str, problem: str, repeats: int) -> dict[str, float]:
    """Our AIW(1) with the default options; copying the task to the kernel is not measured."""
    import saltus

    task = saltus.load(domain, problem)
    saltus.lookahead(task, spec=saltus.TreeSpec(kind="flat"), play=saltus.PlaySpec(max_nodes=1))
    reset_peak_memory()
    before = memory()
    tree = saltus.lookahead(task)
    added = memory() - before
    seconds = best_time(lambda: saltus.lookahead(task), repeats, BUDGET)
    return {
        "seconds": seconds,
        "bytes": added,
        "nodes": len(tree),
        "generated": tree.generated,
        "objects": task.object_count,
        "root_actions": tree.root_actions,
        "classes": tree.root_successors == "classes",
    }


JOBS: dict[str, Callable[[str, str, int], dict[str, float]]] = {
    "saltus_iw": saltus_iw,
    "pymimir_iw": pymimir_iw,
    "saltus_aiw": saltus_aiw,
}


def in_process(job: str, domain: Path, problem: Path, repeats: int, timeout: float) -> dict[str, float] | str:
    """The result of a job in a process of its own, or the reason why there is none."""
    command = [sys.executable, __file__, "--job", job, str(domain), str(problem), "--repeats", str(repeats)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return f"over {timeout:g} s"
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return f"failed: {last[0][:60]}"
    result: dict[str, float] = json.loads(done.stdout)
    return result


def slope(points: list[tuple[float, float]]) -> float:
    """The least-squares slope of log y over log x."""
    import numpy as np

    x, y = np.log(np.array(points)).T
    return float(np.polyfit(x, y, 1)[0])


def compare(ipc: Path, arguments: argparse.Namespace) -> None:
    """Prints table 1."""
    print("IW(1) from the initial state, one thread")
    print(f"{'problem':<28}{'novel':>8}{'ours ms':>10}{'pymimir ms':>12}{'ratio':>9}{'target':>8}")
    for path, target in PEER_PROBLEMS.items():
        domain = ipc / path.split("/")[0] / "domain.pddl"
        ours = in_process("saltus_iw", domain, ipc / path, arguments.repeats, arguments.timeout)
        assert isinstance(ours, dict), ours
        peer: dict[str, float] | str = "absent"
        if importlib.util.find_spec("pymimir"):
            peer = in_process("pymimir_iw", domain, ipc / path, arguments.repeats, arguments.timeout)
        shown = f"{peer['seconds'] * 1e3:.1f}" if isinstance(peer, dict) else peer
        ratio = f"{peer['seconds'] / ours['seconds']:.0f}" if isinstance(peer, dict) else "-"
        name = path.replace("testing/", "").removesuffix(".pddl")
        print(f"{name:<28}{ours['nodes']:>8,}{ours['seconds'] * 1e3:>10.2f}{shown:>12}{ratio:>9}{target:>8}")


def largest(ipc: Path, domains: list[str], arguments: argparse.Namespace) -> None:
    """Prints tables 2 and 3."""
    print("\nAIW(1) from the initial state of the largest problem, and the slope of log time over log objects")
    head = f"{'problem':<26}{'objects':>8}{'root actions':>14}{'nodes':>8}{'generated':>11}{'ms':>9}{'MB':>8}"
    print(f"{head}{'slope':>8}{'problems':>10}")
    for name in domains:
        domain = ipc / name / "domain.pddl"
        problems = sorted((ipc / name / "testing").rglob("*.pddl"), key=lambda path: path.stat().st_size)
        points = []
        for problem in problems:
            result = in_process("saltus_aiw", domain, problem, arguments.repeats, arguments.timeout)
            if isinstance(result, str):
                print(f"{name} {problem.stem}: {result}")
                continue
            points.append((result["objects"], result["seconds"]))
            last = problem, result
        problem, result = last
        label = f"{name} {problem.parent.name} {problem.stem}{' *' if result['classes'] else ''}"
        print(
            f"{label:<26}{result['objects']:>8,}{result['root_actions']:>14,}{result['nodes']:>8,}"
            f"{result['generated']:>11,}{result['seconds'] * 1e3:>9.2f}{result['bytes'] / MEGABYTE:>8.1f}"
            f"{slope(points):>8.2f}{len(points):>10}"
        )
    print("* one root successor per class")


def along_rollout(ipc: Path, domain: str, jumps: int, repeats: int) -> None:
    """Prints a line: times of the lookaheads at the states of the bundled policy's rollout."""
    from saltus.lookahead import lookahead_batch
    from saltus.policy import load_policy, play
    from saltus.task import load

    problem = max((ipc / domain / "testing").rglob("*.pddl"), key=lambda path: path.stat().st_size)
    policy = load_policy(domain, device="cpu")
    policy.threads = 1  # type: ignore[attr-defined]
    task = load(ipc / domain / "domain.pddl", problem)
    rollout = play(policy, task)
    times, generated = [], []
    while rollout.ending is None and len(times) < jumps:
        decision = policy.decide([rollout.situation])[0]

        def look(situation: Situation = rollout.situation) -> object:
            return lookahead_batch([situation], policy.lookahead, policy.play_spec, threads=1)

        times.append(best_time(look, repeats, clock=time.process_time))
        generated.append(max(1, decision.tree.generated))
        rollout.advance(decision)
    slowest = max(range(len(times)), key=times.__getitem__)
    first = times[0] / generated[0]
    worst = max(seconds / count for seconds, count in zip(times, generated, strict=True)) / first
    print(
        f"{f'{domain} {problem.parent.name} {problem.stem}':<26}{len(times):>6}{times[0] * 1e3:>10.2f}"
        f"{statistics.median(times) * 1e3:>10.2f}{times[slowest] * 1e3:>10.2f}{slowest + 1:>9}{worst:>8.1f}",
        flush=True,
    )


def rollouts(ipc: Path, domains: list[str], arguments: argparse.Namespace) -> None:
    """Prints the table of `--rollout`."""
    from saltus.policy.catalogue import bundled_policies

    print("lookaheads along a rollout of the bundled policy, ms of CPU time")
    print(f"{'problem':<26}{'jumps':>6}{'first':>10}{'median':>10}{'slowest':>10}{'at jump':>9}{'worst':>8}")
    for domain in domains:
        if domain in bundled_policies():
            along_rollout(ipc, domain, arguments.rollout, arguments.repeats)


def main() -> None:
    """Runs everything, or one job for the parent process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ipc", default=os.environ.get("SALTUS_IPC2023"), help="folder of the IPC 2023 problems")
    parser.add_argument("--domain", action="append", help="only this domain in tables 2 and 3; may be repeated")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds per process")
    parser.add_argument("--rollout", type=int, metavar="N", help="time lookaheads along N jumps instead")
    parser.add_argument("--job", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        job, domain, problem = arguments.job
        print(json.dumps(JOBS[job](domain, problem, arguments.repeats)))
        return
    if not arguments.ipc:
        parser.error("--ipc or SALTUS_IPC2023 must name the folder of the IPC 2023 Learning Track problems")
    ipc = Path(arguments.ipc)
    domains = arguments.domain or sorted(path.name for path in ipc.iterdir() if (path / "domain.pddl").is_file())
    if arguments.rollout:
        rollouts(ipc, domains, arguments)
        return
    compare(ipc, arguments)
    largest(ipc, domains, arguments)


if __name__ == "__main__":
    main()
