"""The command that runs benchmarks: `bench`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from saltus.cli import output
from saltus.cli.options import (
    Device,
    Lookahead,
    MaxJumps,
    MemoryLimit,
    Play,
    Protocol,
    Ray,
    Search,
    Seed,
    TimeLimit,
    check_device,
    limits_of,
    lookahead_of,
    play_of,
    protocol_of,
    search_of,
)
from saltus.cli.plan import Improve
from saltus.cli.progress import bar, running_text
from saltus.errors import ConfigurationError
from saltus.lab.baselines.lama import LamaJob, find_driver
from saltus.lab.baselines.wl_goose import WLGooseJob
from saltus.lab.baselines.wl_model import find_wlplan
from saltus.lab.bench.benchmark import Tally, Trial, make_trials, run_trials
from saltus.lab.bench.record import Record
from saltus.lab.bench.records import RecordFile
from saltus.lab.report.scores import best_lengths, quality_score, score_text, time_score
from saltus.model.device import find_device
from saltus.policy.catalogue import AUTO
from saltus.policy.exit_codes import ExitCode
from saltus.policy.outcome import Outcome
from saltus.policy.policies import YARDSTICKS
from saltus.process import LocalRunner, PlanJob, RayRunner, Runner
from saltus.task import find_suites

PLANNERS = (PlanJob.planner, LamaJob.planner, WLGooseJob.planner)


def bench(
    suite: Annotated[Path, typer.Argument(help="Folder with domain.pddl and problems, or a folder of such folders.")],
    out: Annotated[Path, typer.Option(help="Record file (JSON lines); trials that it already contains are skipped.")],
    policy: Annotated[
        str,
        typer.Option(
            help="A bundled policy, a file, a run folder, random or goal-count; auto or a folder: any that fits."
        ),
    ] = AUTO,
    planner: Annotated[
        str,
        typer.Option(
            help="policy, or a baseline: lama (its first iteration; with --improve, all), or wl-goose, with a model of"
            " 'saltus wl-goose', or a folder of such models, as --policy."
        ),
    ] = "policy",
    split: Annotated[list[str] | None, typer.Option(help="Run this split only (can be repeated).")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Problems run in parallel (default: 1; on a cluster, all slots).", min=1)
    ] = None,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    max_jumps: MaxJumps = None,
    protocol: Protocol = "open",
    search: Search = None,
    improve: Improve = False,
    device: Device = "auto",
    threads: Annotated[
        int | None,
        typer.Option(help="Threads per process (default: 1, or one per core if problems run one by one).", min=1),
    ] = None,
    seed: Seed = 0,
    lookahead: Lookahead = None,
    play: Play = None,
    ray: Ray = None,
) -> int:
    """Run a policy on every problem of some suites, each in a process of its own, and record the results.

    Plans are validated and kept in a folder next to the record file. A benchmark that was stopped or killed, or that
    has new problems, continues where it was. Other options make other records in the same file. Domains that no
    bundled policy fits are run with goal-count, with a warning.

    Examples:

        saltus bench examples/blocksworld --policy random --max-jumps 20 --out records.jsonl

        saltus bench examples/gardener --policy goal-count --lookahead free_moves=true --out records.jsonl
    """
    check_device(device)
    if planner not in PLANNERS:
        raise ConfigurationError(f"--planner {planner}: expected one of {', '.join(PLANNERS)}")
    alone = (jobs or 1) == 1 and ray is None
    shared: dict[str, Any] = {"limits": limits_of(protocol, time_limit, memory_limit, max_jumps), "seed": seed}
    shared["threads"] = threads if threads is not None or alone else 1
    job: PlanJob
    if planner == LamaJob.planner:
        find_driver()
        if search is not None or policy != AUTO or lookahead or play:
            raise ConfigurationError(
                "--planner lama cannot be combined with --policy, --search, --greedy, --lookahead or --play"
            )
        job = LamaJob("", "", device="cpu", improve=improve, **shared)
    elif planner == WLGooseJob.planner:
        find_wlplan()
        if policy == AUTO:
            raise ConfigurationError("--planner wl-goose needs --policy: a model file, or a folder with DOMAIN.json")
        if search is not None or improve or lookahead or play:
            raise ConfigurationError(
                "--planner wl-goose cannot be combined with --search, --greedy, --improve, --lookahead or --play"
            )
        job = WLGooseJob("", "", policy=policy, device="cpu", **shared)
    else:
        job = PlanJob(
            "",
            "",
            policy=policy,
            search=search_of(search, protocol),
            improve=improve,
            device=find_device(device) if policy not in YARDSTICKS else "cpu",
            lookahead=lookahead_of(lookahead, policy),
            play=play_of(play, protocol),
            **shared,
        )
    rules = protocol_of(protocol) if time_limit is None else None
    trials = make_trials(find_suites(suite), job, split, rules=rules, warn=output.warning)
    runner: Runner = LocalRunner(jobs or 1) if ray is None else RayRunner(ray, jobs)
    with RecordFile(out) as file, shown(len(trials)) as watch:
        try:
            tally = run_trials([(file, trial) for trial in trials], runner, protocol=protocol, watch=watch)
        except KeyboardInterrupt:
            done = len({trial.key for trial in trials} & file.done)
            output.warning(f"{done} of {len(trials)} trials are in {out}; the same command continues with the others")
            raise
        show_summary(trials, file.records, tally, out)
    return ExitCode.CRITICAL_ERROR if tally.faults else ExitCode.SUCCESS


@contextmanager
def shown(total: int, *, systems: bool = False) -> Iterator[Callable[[Tally, Record | None], None]]:
    """Progress on standard error: a bar in a terminal, a line per trial elsewhere; `systems` adds the method to it."""
    with bar("Solving", total) as line:

        def watch(tally: Tally, record: Record | None) -> None:
            if line is not None:
                line.update(tally.done, tally_text(tally, line.terminal.width))
            elif record is not None:
                played = f" played: {record.method}" if systems else ":"
                output.note(f"{tally.done} of {total}{played} {record_text(record)}")

        yield watch


def tally_text(tally: Tally, width: int) -> str:
    """How many trials were solved and failed and, as far as a terminal has room, which ones are running."""
    counts = f"{tally.solved} solved {tally.outcomes.total() - tally.solved} failed"
    running = running_text([f"{trial.domain} {trial.problem}" for trial in tally.running], width, 20)
    return f"{counts} {running}" if running else counts


def record_text(record: Record) -> str:
    """A trial that has ended, in a line."""
    length = "" if record.plan_length is None else f", {record.plan_length:,} actions"
    return f"{' '.join(record.name)}: {record.outcome}{length}, {record.seconds:.1f} s"


def show_summary(trials: Sequence[Trial], records: Sequence[Record], tally: Tally, out: Path) -> None:
    """Prints a line for every domain and split: problems, solved, actions of all plans, scores, other outcomes.

    Among these, faults come first. The quality score compares with the shortest plans of the record file.
    """
    wanted = {trial.key for trial in trials}
    best = best_lengths(records)
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record.key in wanted:
            groups.setdefault((record.domain, record.split), []).append(record)
    rows: list[tuple[object, ...]] = []
    for (domain, split), found in groups.items():
        outcomes = Counter(record.outcome for record in found)
        faults = [outcome for outcome in Outcome if outcome.is_fault and outcomes[outcome]]
        others = sorted(outcome for outcome in outcomes if outcome not in (Outcome.FOUND, *faults))
        text = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in (*faults, *others))
        quality = score_text(math.fsum(quality_score(record, best) for record in found))
        speed = score_text(math.fsum(map(time_score, found)))
        actions = sum(record.plan_length or 0 for record in found)
        rows.append((domain, split, len(found), outcomes[Outcome.FOUND], f"{actions:,}", quality, speed, text))
    titles = ["domain", "split", "problems", "solved", "actions", "quality", "time", "others"]
    output.console().print(output.table(out.name, titles, rows, left=2, last_left=True))
    output.result(f"{tally.outcomes.total():,} of {tally.total:,} trials run now, {tally.recorded:,} recorded before")
