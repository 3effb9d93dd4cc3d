"""Planning without a policy: goal-count and its search with different trees and queues, as a Markdown table.

    python benchmarks/fallback.py FOLDER
    python benchmarks/fallback.py FOLDER --seconds 20 --only "fallback" "plain trees"

FOLDER holds one folder per domain, each with `domain.pddl` and a problem; of several versions of a domain
(`-opt11-strips`, …) the last is taken, and domains that cannot be read are left out. Every setting plans as
`saltus plan` does, greedily and then by search, in a process of its own, which may take `--seconds` of CPU time: other
load on the machine changes nothing. Plans are validated. The setting named "fallback" is what `--policy auto` uses
where no bundled policy fits.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

import saltus.policy.planning
from saltus.errors import SaltusError
from saltus.lookahead import PlaySpec, TreeSpec
from saltus.policy import GoalCountPolicy, JumpSearch, plan_stepwise
from saltus.policy.catalogue import FALLBACK_PLAY, FALLBACK_TREES
from saltus.policy.values import WEIGHTS
from saltus.task import load

VERSION = re.compile(r"(-renamed)?(-(opt|sat|mco|agl)?\d\d(-(strips|adl))?)?$")
GRACE = 60.0
"""Seconds of wall-clock time per second of CPU time after which a process is ended: it is stuck within a tree."""


@dataclass(frozen=True)
class Setting:
    """Trees, rules and queues of the goal-count policy."""

    lookahead: TreeSpec = FALLBACK_TREES
    play: PlaySpec = FALLBACK_PLAY
    weights: tuple[float, ...] = WEIGHTS


SETTINGS = {
    "fallback": Setting(),
    "plain trees": Setting(replace(FALLBACK_TREES, free_moves=False)),
    "AIW": Setting(replace(FALLBACK_TREES, kind="aiw")),
    "successors only": Setting(replace(FALLBACK_TREES, kind="flat")),
    "dead ends untested": Setting(play=replace(FALLBACK_PLAY, dead_ends=False)),
    "frozen goals": Setting(play=replace(FALLBACK_PLAY, frozen_goals=True)),
    "no max_better": Setting(play=replace(FALLBACK_PLAY, max_better=None)),
    "max_better=4": Setting(play=replace(FALLBACK_PLAY, max_better=4)),
    "queue of weight 10 only": Setting(weights=(10.0,)),
    "queues of weights 100, 1": Setting(weights=(100.0, 1.0)),
}


@dataclass(frozen=True)
class Trial:
    """What came of one problem."""

    solved: bool = False
    seconds: float = 0.0
    decisions: int = 0
    actions: int = 0


def find_problems(folder: Path) -> list[tuple[str, Path, Path]]:
    """Name, domain and problem file of every domain that can be read."""
    found: dict[str, tuple[str, Path, Path]] = {}
    for domain in sorted(folder.glob("*/domain.pddl")):
        files = sorted(path for path in domain.parent.glob("*.pddl") if "domain" not in path.name)
        try:
            load(domain, files[0])
        except (SaltusError, IndexError):
            continue
        name = VERSION.sub("", domain.parent.name)
        found[name] = name, domain, files[0]
    return list(found.values())


def plan(domain: Path, problem: Path, setting: Setting, seconds: float, channel: Connection) -> None:
    """Sends what came of a problem; runs in a process of its own."""
    saltus.policy.planning.JumpSearch = partial(JumpSearch, weights=setting.weights)  # type: ignore[misc, assignment]
    policy = GoalCountPolicy(np.random.default_rng(0), setting.lookahead, setting.play)
    for progress in plan_stepwise(policy, load(domain, problem)):
        decisions = (progress.jumps or 0) + (progress.search_decisions or 0)
        if time.process_time() > seconds:
            break
    actions = len(progress.plan) if progress.plan else 0
    channel.send(Trial(progress.solved, time.process_time(), decisions, actions))


def run(domain: Path, problem: Path, setting: Setting, seconds: float) -> Trial:
    """What came of a problem; a process that is stuck or dies has not solved it."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=plan, args=(domain, problem, setting, seconds, sender))
    process.start()
    sender.close()
    trial = Trial(seconds=seconds)
    try:
        if receiver.poll(GRACE + 10 * seconds):
            trial = receiver.recv()
    except EOFError:
        pass
    process.kill()
    process.join()
    return trial


def print_row(*cells: object) -> None:
    """Prints a row of the table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table, and which domains the settings differ in."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=20.0, help="CPU time per problem")
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS), metavar="SETTING")
    parser.add_argument("--every", type=int, default=1, help="take every so-manyth domain")
    parser.add_argument("--jobs", type=int, default=1, help="problems in parallel")
    options = parser.parse_args(arguments)
    problems = find_problems(options.folder)[:: options.every]
    solved: dict[str, set[str]] = {}
    print_row("setting", f"solved of {len(problems)}", "not by fallback", "CPU s", "decisions", "actions")
    print_row(*["---"] * 6)
    for name in options.only:
        with ThreadPoolExecutor(options.jobs) as pool:
            trials = list(
                pool.map(lambda entry: run(*entry[1:], SETTINGS[name], options.seconds), problems)  # noqa: B023
            )
        solved[name] = {problem[0] for problem, trial in zip(problems, trials, strict=True) if trial.solved}
        others = sorted(solved[name] - solved[options.only[0]])
        seconds = sum(min(trial.seconds, options.seconds) for trial in trials)
        decisions, actions = (sum(getattr(trial, field) for trial in trials) for field in ("decisions", "actions"))
        print_row(name, len(solved[name]), ", ".join(others), f"{seconds:.0f}", f"{decisions:,}", f"{actions:,}")
    never = sorted({name for name, *_ in problems} - set().union(*solved.values()))
    print(f"\nSolved by none: {', '.join(never) or 'no domain'}.")


if __name__ == "__main__":
    main()
