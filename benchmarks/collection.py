"""A collection of domains, one folder each: what is read, looked ahead in, and planned for.

    python benchmarks/collection.py FOLDER [--only NAME …] [--lama SECONDS] [--plan SECONDS] [--timeout 10]

Every folder holds a `domain.pddl` and a `problem.pddl`. For each, in a process of its own: the seconds of reading it
and of building the trees of AIW(1) and IW(1) from the initial state, with their sizes; or why it is refused. Together
they have `--timeout` seconds. With `--lama`, LAMA's first iteration (extra `baselines`) plans for so many seconds, and
the judge validates its plan. With `--plan`, `saltus plan` does the same with the yardstick goal-count and its search,
and its plan is also replayed in the task that Fast Downward's translator makes (`fast_downward.py --plan`): accepted,
not accepted, or not translated within a minute. Ends with 1 if a folder is refused, too slow, or has an invalid plan.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

TRANSLATION = 60.0
"""Seconds for Fast Downward's translator and the replay of a plan."""


def look(folder: Path) -> dict[str, object]:
    """Seconds and sizes of one folder, or the reason why it is refused."""
    import saltus

    start = time.perf_counter()
    try:
        task = saltus.load(folder / "domain.pddl", folder / "problem.pddl")
    except saltus.SaltusError as error:
        return {"refused": str(error).replace(f"{folder}/", "")}
    found: dict[str, object] = {"read": time.perf_counter() - start, "adl": task.uses_adl, "axioms": len(task.axioms)}
    for kind in ("aiw", "iw"):
        start = time.perf_counter()
        found[f"{kind} nodes"] = len(saltus.lookahead(task, spec=saltus.TreeSpec(kind=kind)))
        found[kind] = time.perf_counter() - start
    found["warnings"] = len(task.problem.warnings)
    return found


def run(command: list[str], seconds: float) -> tuple[int, str]:
    """Exit code and output of a command; -1 if it takes longer, and then what it started is ended, too."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            text, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return -1, ""
    return process.returncode, text


def judged(folder: Path, plan: Path) -> str:
    """Length of a valid plan, or why it is invalid."""
    import saltus

    task = saltus.load(folder / "domain.pddl", folder / "problem.pddl")
    verdict = saltus.validate(task, saltus.read_plan(plan))
    return f"{verdict.length}" if verdict else f"INVALID: {verdict.reason}"


def lama_plan(folder: Path, seconds: float) -> str:
    """What came of LAMA's first iteration."""
    from saltus.lab.baselines.lama import LAMA, find_driver

    with tempfile.TemporaryDirectory() as place:
        plan = Path(place) / "plan"
        command = [sys.executable, str(find_driver()), "--alias", LAMA, "--plan-file", str(plan)]
        command += ["--sas-file", f"{place}/output.sas", "--overall-time-limit", f"{seconds:g}s"]
        code, _ = run([*command, str(folder / "domain.pddl"), str(folder / "problem.pddl")], seconds + 10)
        return judged(folder, plan) if plan.is_file() else f"no plan ({code})"


def own_plan(folder: Path, seconds: float) -> str:
    """What came of `saltus plan` with goal-count."""
    with tempfile.TemporaryDirectory() as place:
        plan = Path(place) / "plan"
        command = [
            sys.executable,
            "-c",
            "from saltus.cli.main import main; main()",
            "plan",
            str(folder / "domain.pddl"),
            str(folder / "problem.pddl"),
        ]
        command += ["--policy", "goal-count", "--time-limit", f"{seconds:g}", "--plan-file", str(plan)]
        code, _ = run(command, seconds + 20)
        if not plan.is_file():
            return f"no plan ({code})"
        return f"{judged(folder, plan)} {replayed(folder, plan)}"


def replayed(folder: Path, plan: Path) -> str:
    """What Fast Downward's translator makes of a plan."""
    script = Path(__file__).with_name("fast_downward.py")
    files = [str(folder / "domain.pddl"), str(folder / "problem.pddl"), str(plan)]
    _, text = run([sys.executable, str(script), "--plan", *files], TRANSLATION)
    last = text.strip().splitlines()[-1:]
    return last[0] if last in (["accepted"], ["not accepted"]) else "not translated"


def kind_of(result: str) -> str:
    """What a result counts as."""
    if "INVALID" in result or "not accepted" in result:
        return "invalid"
    return "no plan" if "no plan" in result else "valid, not translated" if "not translated" in result else "valid"


def main() -> int:
    """Prints a line per folder and a summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", help="only this folder; may be repeated")
    parser.add_argument("--adl", action="store_true", help="only folders with formulas or derived predicates")
    parser.add_argument("--lama", type=float, help="seconds for LAMA's first iteration")
    parser.add_argument("--plan", type=float, help="seconds for a plan of our own")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for reading and looking ahead")
    parser.add_argument("--look", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.look:
        print(json.dumps(look(options.folder)))
        return 0
    ends: Counter[str] = Counter()
    for domain in sorted(options.folder.glob("*/domain.pddl")):
        folder = domain.parent
        if options.only and folder.name not in options.only:
            continue
        code, text = run([sys.executable, __file__, str(folder), "--look"], options.timeout)
        found = json.loads(text) if code == 0 else {"refused": "too slow" if code < 0 else text.strip()[-200:]}
        if options.adl and not found.get("adl"):
            continue
        if "refused" in found:
            ends["refused"] += 1
            print(f"{folder.name:34} {found['refused']}", flush=True)
            continue
        ends["looked ahead"] += 1
        line = f"{folder.name:34} read {found['read']:6.3f} s"
        line += "".join(f"  {kind} {found[kind]:6.3f} s {found[f'{kind} nodes']:6,}" for kind in ("aiw", "iw"))
        line += f"  {'adl' if found['adl'] else '   '}  {found['axioms']:3} rules  {found['warnings']:2} warnings"
        for name, seconds, plan in (("LAMA", options.lama, lama_plan), ("saltus", options.plan, own_plan)):
            if seconds is not None:
                result = plan(folder, seconds)
                ends[f"{name}: {kind_of(result)}"] += 1
                line += f"  {name} {result}"
        print(line, flush=True)
    print("; ".join(f"{name} {count}" for name, count in sorted(ends.items())))
    return int(any(name == "refused" or "invalid" in name for name in ends))


if __name__ == "__main__":
    sys.exit(main())
