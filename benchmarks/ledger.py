"""The ledger: every mechanism on and off, with the same policies or the same contests, and what it costs in lines.

Three verbs. Each goes on where it was stopped: what is in the file of records is not run again.

    python benchmarks/ledger.py problems OUT FOLDER … [--generated DOMAIN …] [--count 8] [--times 4]
        Problems to measure with: grown from the training problems of some folders, and generated ones of domains that
        have a generator. No test problem is used.
    python benchmarks/ledger.py play RECORDS SUITES POLICIES [--seconds 20] [--jobs 2] [--only NAME …]
        Policies (SUITES/DOMAIN is played by POLICIES/DOMAIN*.safetensors) with each mechanism of play on and off.
    python benchmarks/ledger.py train RECORDS SUITES FOLDER … [--limit 8m] [--seed 0 …] [--only NAME …]
        Contests on the training problems of folders, with each mechanism of training on and off; their policies play
        the suites of the same names.
    python benchmarks/ledger.py table RECORDS …
        A row per mechanism: problems solved with it and without, domains in which either solves more, actions and CPU
        time of the plans that both found (with it, as a share of without it), and its lines of code.

A mechanism stays if it brings more than the spread of seeds in two domains, or costs next to nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from saltus.policy.catalogue import load_policy
from saltus.policy.outcome import Limits
from saltus.policy.planning import plan_stepwise
from saltus.policy.portfolio import DRAWN, GOAL_BY_GOAL, GOAL_SEARCH, MEMBERS, RELAXED_SEARCH, SEARCH
from saltus.task import find_suite, load

ROOT = Path(__file__).resolve().parent.parent
MEMORY = 6 * 2**30
AS_IT_IS = ""
"""The arm in which nothing is changed."""


@dataclass(frozen=True)
class Mechanism:
    """What can be switched on and off."""

    name: str
    files: tuple[str, ...]
    """The files that go with it, for its lines."""
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    """Settings of play, `key=value`; of those that a policy has anyway, nothing changes."""
    member: str = ""
    """A searcher that is left out."""
    patch: tuple[tuple[str, Any], ...] = ()
    """Names in the package, and what they are without it."""
    training: tuple[str, ...] = ()
    """Settings of a contest without it."""


MECHANISMS = (
    Mechanism(
        "dead ends", ("kernel/relaxation.cpp", "kernel/relaxation.hpp"), ("dead_ends=true",), ("dead_ends=false",)
    ),
    Mechanism(
        "what goals use up",
        ("src/saltus/lookahead/supplies.py",),
        patch=(("saltus.lookahead.actions.with_quotas", lambda task, state, goal: (task, [])),),
    ),
    Mechanism(
        "frozen goals",
        (),
        ("frozen_goals=true", "goals_in_sight=none"),
        ("frozen_goals=false",),
    ),
    Mechanism(
        "one goal in sight",
        ("src/saltus/policy/sight.py",),
        ("goals_in_sight=1", "frozen_goals=false"),
        ("goals_in_sight=none",),
    ),
    Mechanism("roles", ("kernel/roles.*", "src/saltus/lookahead/roles*.py"), ("roles=8",), ("roles=none",)),
    Mechanism("32 better states end a tree", (), ("max_better=32",), ("max_better=none",)),
    Mechanism("at most 10,000 nodes for the network", (), ("max_encoded=10000",), ("max_encoded=none",)),
    Mechanism(DRAWN, ("src/saltus/policy/drawn.py",), member=DRAWN),
    Mechanism(GOAL_BY_GOAL, ("src/saltus/policy/goal_by_goal.py",), member=GOAL_BY_GOAL),
    Mechanism(
        "objects put away",
        ("src/saltus/task/part.py", "src/saltus/lookahead/view.py"),
        patch=(("saltus.policy.goal_by_goal.can_be_parted", lambda task: False),),
    ),
    Mechanism(
        "more work for who leads", (), patch=(("saltus.policy.portfolio.Portfolio._leads", lambda self, entry: False),)
    ),
    Mechanism(SEARCH, ("src/saltus/policy/search.py",), member=SEARCH),
    Mechanism(GOAL_SEARCH, (), member=GOAL_SEARCH),
    Mechanism(
        RELAXED_SEARCH,
        ("kernel/relaxed_search.*", "src/saltus/policy/relaxed*.py"),
        member=RELAXED_SEARCH,
    ),
    Mechanism(
        "tidying",
        ("kernel/tidy.*", "src/saltus/policy/tidy*.py"),
        patch=(("saltus.policy.planning.tidied", lambda task, plan: list(plan)),),
    ),
    Mechanism("lean problems", ("src/saltus/grow/lean.py",), training=("training.lean=false",)),
    Mechanism("curriculum", ("src/saltus/learn/curriculum.py",), training=("training.curriculum=0",)),
    Mechanism("average of weights", (), training=("training.average=0",)),
    Mechanism("restarts of the learning rate", (), training=("training.learning_rate_restarts=false",)),
    Mechanism("searches while training", (), training=("training.searches=0",)),
    Mechanism(
        "free moves",
        ("kernel/free_moves.*", "kernel/places.*", "src/saltus/lookahead/free_*.py"),
        training=("lookahead.free_moves=false",),
    ),
)
"""Everything that is not the paper's method; a new one is one entry."""


@dataclass(frozen=True)
class Entry:
    """A line of the records."""

    mechanism: str
    """Empty for the arm in which nothing is changed."""
    arm: str
    """on, off, or empty."""
    domain: str
    problem: str
    policy: str
    seed: int
    solved: bool
    actions: int
    seconds: float
    """CPU time."""
    found_by: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        """What it is a record of."""
        return self.mechanism, self.arm, self.domain, self.problem, self.policy, self.seed


@dataclass(frozen=True)
class Trial:
    """A problem to be played."""

    mechanism: str
    arm: str
    domain: Path
    problem: Path
    policy: Path
    seed: int
    seconds: float
    play: tuple[str, ...] = ()
    key: tuple[Any, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        folder = self.domain.parent
        names = folder.name, str(self.problem.relative_to(folder).with_suffix("")), self.policy.name
        object.__setattr__(self, "key", (self.mechanism, self.arm, *names, self.seed))


def play(trial: Trial) -> Entry:
    """Plays a problem in this process, whose memory is limited."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    mechanism = next((entry for entry in MECHANISMS if entry.name == trial.mechanism), None)
    off = mechanism if mechanism is not None and trial.arm == "off" else None
    members = tuple(entry for entry in MEMBERS if off is None or entry.name != off.member)
    started, end = time.process_time(), None
    try:
        with contexts(off.patch if off is not None else ()):
            policy = load_policy(trial.policy, device="cpu", play=trial.play)
            policy.threads = 1  # type: ignore[attr-defined]
            task = load(trial.domain, trial.problem)
            for end in plan_stepwise(  # noqa: B007 (the last one counts)
                policy, task, Limits(seconds=trial.seconds), goal_policy=policy.goal_policy(), members=members
            ):
                pass
    except MemoryError:
        end = None
    solved = end is not None and end.solved
    length = len(end.plan) if solved and end is not None and end.plan is not None else 0
    found_by = end.found_by or "" if solved and end is not None else ""
    return Entry(*trial.key, solved, length, round(time.process_time() - started, 3), found_by)


def contexts(patches: Sequence[tuple[str, Any]]) -> ExitStack:
    """A block in which names in the package stand for something else."""
    stack = ExitStack()
    for name, value in patches:
        stack.enter_context(mock.patch(name, value))
    return stack


def arms_of(mechanism: Mechanism, policy: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The arms that differ from how the policy plays anyway, and their settings."""
    own = load_policy(policy, device="cpu").play_spec
    for arm, settings in (("on", mechanism.on), ("off", mechanism.off)):
        if settings and own.changed(settings) != own:
            yield arm, settings
    if mechanism.member or mechanism.patch:
        yield "off", ()


def play_trials(suites: Path, policies: Path, seconds: float, wanted: Sequence[Mechanism]) -> Iterator[Trial]:
    """All trials of play, problem by problem, so that what was run so far can be compared."""
    for folder in sorted(suites.iterdir()):
        suite = find_suite(folder)
        problems = [path for paths in suite.splits.values() for path in paths]
        for policy in sorted(policies.glob(f"{folder.name}*.safetensors")):
            arms = [(AS_IT_IS, "", ())]
            arms += [(entry.name, arm, settings) for entry in wanted for arm, settings in arms_of(entry, policy)]
            for problem in problems:
                for name, arm, settings in arms:
                    yield Trial(name, arm, suite.domain, problem, policy, 0, seconds, settings)


def play_all(options: argparse.Namespace) -> None:
    """Plays everything with each mechanism of play on and off."""
    wanted = [entry for entry in MECHANISMS if not entry.training and (not options.only or entry.name in options.only)]
    run(play_trials(options.suites, options.policies, options.seconds, wanted), options.records, options.jobs)


def known(records: Path) -> dict[tuple[Any, ...], Entry]:
    """The records so far; a line that was cut off by a kill is passed over."""
    found: dict[tuple[Any, ...], Entry] = {}
    for line in records.read_text().splitlines() if records.exists() else ():
        try:
            entry = Entry(**json.loads(line))
        except (ValueError, TypeError):
            continue
        found[entry.key] = entry
    return found


def run(trials: Iterable[Trial], records: Path, jobs: int) -> None:
    """Plays what has not been played, and adds it to the records."""
    done = known(records)
    left = [trial for trial in trials if trial.key not in done]
    print(f"{len(done)} recorded, {len(left)} to play", flush=True)
    with ProcessPoolExecutor(jobs, max_tasks_per_child=1) as pool, records.open("a") as file:
        for ended in as_completed([pool.submit(play, trial) for trial in left]):
            file.write(json.dumps(asdict(ended.result())) + "\n")
            file.flush()


def train(options: argparse.Namespace) -> None:
    """Contests with each mechanism on and off, and their policies on the suites."""
    wanted = [entry for entry in MECHANISMS if entry.training and (not options.only or entry.name in options.only)]
    for folder in options.folders:
        for seed in options.seed:
            for name, settings in [(AS_IT_IS, ()), *((entry.name, entry.training) for entry in wanted)]:
                out = (
                    options.records.parent / "contests" / f"{folder.name}-{name.replace(' ', '-') or 'as-it-is'}-{seed}"
                )
                policy = out / "policy.safetensors"
                if not policy.exists():
                    command = ["saltus", "train", folder, "--out", out, "--seed", seed, "--time-limit", options.limit]
                    command += ["--device", "cpu", "--threads", 1, *(part for s in settings for part in ("--set", s))]
                    subprocess.run([str(part) for part in command], check=False, stdout=subprocess.DEVNULL)
                suite = find_suite(options.suites / folder.name)
                problems = [path for paths in suite.splits.values() for path in paths]
                arm = "off" if name else ""
                trials = [Trial(name, arm, suite.domain, path, policy, seed, options.seconds) for path in problems]
                run(trials if policy.exists() else [], options.records, options.jobs)


def make_problems(options: argparse.Namespace) -> None:
    """Suites of grown and generated problems."""
    for folder in options.folders:
        make(options.out / folder.name, ["grow", folder, "--times", options.times, "--count", options.count])
    for name in options.generated:
        command = ["generate", name, "--split", "validation", "--split", "easy", "--split", "medium"]
        make(options.out / name, [*command, "--count", max(1, options.count // 2), "--seed", 2026])


def make(out: Path, command: Sequence[object]) -> None:
    """One suite, if it is not there."""
    if out.exists():
        return
    with tempfile.TemporaryDirectory(dir=out.parent if out.parent.exists() else None) as place:
        found = subprocess.run(
            ["saltus", *map(str, command), "--out", f"{place}/{out.name}"], check=False, capture_output=True, text=True
        )
        made = Path(place) / out.name
        if found.returncode == 0 and made.exists():
            out.parent.mkdir(parents=True, exist_ok=True)
            inner = made / out.name if (made / out.name).is_dir() else made
            inner.rename(out)
        else:
            print(f"{out.name}: {found.stderr.strip()[-200:]}", flush=True)


# -- the table -------------------------------------------------------------------------------------------------------


def lines_of(mechanism: Mechanism) -> int:
    """Lines of its files."""
    paths = [path for pattern in mechanism.files for path in ROOT.glob(pattern)]
    return sum(len(path.read_text().splitlines()) for path in paths)


def pairs(mechanism: Mechanism, entries: dict[tuple[Any, ...], Entry]) -> Iterator[tuple[Entry, Entry]]:
    """What came of problems with the mechanism and without it."""
    for key, entry in entries.items():
        if entry.mechanism != mechanism.name:
            continue
        plain = entries.get((AS_IT_IS, "", *key[2:]))
        if mechanism.training:
            same = (other for other in entries.values() if other.mechanism == AS_IT_IS and _alike(other, entry))
            plain = next(same, None)
        if plain is not None:
            yield (entry, plain) if entry.arm == "on" else (plain, entry)


def _alike(one: Entry, two: Entry) -> bool:
    """Whether two records of contests are of the same problem and seed."""
    return (one.domain, one.problem, one.seed) == (two.domain, two.problem, two.seed)


def row(mechanism: Mechanism, entries: dict[tuple[Any, ...], Entry]) -> tuple[object, ...] | None:
    """Its row; None if nothing was measured."""
    found = list(pairs(mechanism, entries))
    if not found:
        return None
    more: dict[str, int] = defaultdict(int)
    for with_it, without in found:
        more[with_it.domain] += with_it.solved - without.solved
    both = [pair for pair in found if pair[0].solved and pair[1].solved]
    helps = [f"{name} +{count}" for name, count in sorted(more.items()) if count > 0]
    harms = [f"{name} {count}" for name, count in sorted(more.items()) if count < 0]
    return (
        mechanism.name,
        len(found),
        sum(pair[0].solved for pair in found),
        sum(pair[1].solved for pair in found),
        ", ".join(helps) or "none",
        ", ".join(harms) or "none",
        ratio((pair[0].actions, pair[1].actions) for pair in both),
        ratio((pair[0].seconds, pair[1].seconds) for pair in found),
        lines_of(mechanism) or "",
    )


def ratio(values: Iterable[tuple[float, float]]) -> str:
    """The sum of the first ones as a share of the sum of the second ones."""
    listed = list(values)
    first, second = math.fsum(one for one, _ in listed), math.fsum(two for _, two in listed)
    return f"{first / second:.2f}" if second else ""


def show(paths: Sequence[Path]) -> None:
    """Prints the table."""
    entries: dict[tuple[Any, ...], Entry] = {}
    for path in paths:
        entries |= known(path)
    titles = ("mechanism", "pairs", "solved with", "without", "more solved with it", "fewer", "actions", "CPU", "lines")
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
    for mechanism in MECHANISMS:
        if (cells := row(mechanism, entries)) is not None:
            print(f"| {' | '.join(map(str, cells))} |")


def main() -> None:
    """Runs a verb."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("problems")
    verb.add_argument("out", type=Path)
    verb.add_argument("folders", type=Path, nargs="*")
    verb.add_argument("--generated", nargs="*", default=[])
    verb.add_argument("--count", type=int, default=8)
    verb.add_argument("--times", type=float, default=4.0)
    verb.set_defaults(run=make_problems)
    verb = verbs.add_parser("play")
    verb.add_argument("records", type=Path)
    verb.add_argument("suites", type=Path)
    verb.add_argument("policies", type=Path)
    verb.set_defaults(run=play_all)
    verb = verbs.add_parser("train")
    verb.add_argument("records", type=Path)
    verb.add_argument("suites", type=Path)
    verb.add_argument("folders", type=Path, nargs="+")
    verb.add_argument("--limit", default="8m")
    verb.add_argument("--seed", type=int, nargs="+", default=[0])
    verb.set_defaults(run=train)
    for name in ("play", "train"):
        verbs.choices[name].add_argument("--seconds", type=float, default=20.0)
        verbs.choices[name].add_argument("--jobs", type=int, default=2)
        verbs.choices[name].add_argument("--only", nargs="*", default=[])
    verb = verbs.add_parser("table")
    verb.add_argument("records", type=Path, nargs="+")
    verb.set_defaults(run=lambda options: show(options.records))
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
