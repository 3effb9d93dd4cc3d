"""The command that runs experiments: `experiment`."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from saltus.cli import output
from saltus.cli.bench import shown as trials_shown
from saltus.cli.options import Ray
from saltus.cli.progress import bar, running_text
from saltus.cli.train import handled
from saltus.errors import ConfigurationError, plural, shorten
from saltus.lab.experiment.experiment import Experiment, Standing, TrainingTally, WatchTraining
from saltus.lab.experiment.runs import PlannedRun
from saltus.lab.experiment.spec import ExperimentSpec, read_experiment
from saltus.policy.amounts import seconds_of
from saltus.policy.exit_codes import ExitCode
from saltus.process.train_result import TrainResult

TRAIN, PLAY, REPORT = "train", "play", "report"
PARTS = (TRAIN, PLAY, REPORT)


def experiment(
    file: Annotated[Path, typer.Argument(help="TOML file with systems, domains, seeds, budgets and limits.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for runs, records and the report (default: runs/NAME of the file).")
    ] = None,
    problems: Annotated[
        Path | None, typer.Option(help="Folder of the problems (default: the one that the file names).")
    ] = None,
    only: Annotated[str | None, typer.Option(help=f"Do one part only: {', '.join(PARTS)} (default: all).")] = None,
    time_limit: Annotated[
        str | None, typer.Option(help="Stop after this time: 90, 10m, 1h30m. The same command goes on.")
    ] = None,
    system: Annotated[list[str] | None, typer.Option(help="This system only (can be repeated).")] = None,
    domain: Annotated[list[str] | None, typer.Option(help="This domain only (can be repeated).")] = None,
    ray: Ray = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what is missing, and do nothing.")] = False,
) -> int:
    """Train and compare systems on domains as a file describes it: what is missing is trained and played.

    The folder then holds the training runs, a record of every problem and a report. An experiment that was stopped or
    killed goes on with the same command: runs from their last save, problems without a record from their start.

    Examples:

        saltus experiment experiments/smoke.toml --dry-run

        saltus experiment experiments/smoke.toml --system goal-count --only play
    """
    if only is not None and only not in PARTS:
        raise ConfigurationError(f"--only {shorten(only)}: expected one of {', '.join(PARTS)}")
    seconds = seconds_of("--time-limit", time_limit) if time_limit is not None else None
    spec = read_experiment(file, problems, for_training=only in (None, TRAIN), for_playing=only != TRAIN)
    spec = chosen(spec, system or [], domain or [])
    if ray is not None:
        spec = replace(spec, machines=replace(spec.machines, ray=ray))
    check_time(spec, seconds, only)
    folder = out or Path("runs") / file.stem
    work = Experiment(spec, folder, output.warning)
    if dry_run:
        show_standings(spec, work.standings(), missing=True)
        return ExitCode.SUCCESS
    deadline = None if seconds is None else time.monotonic() + seconds

    def is_over() -> bool:
        return deadline is not None and time.monotonic() >= deadline

    code = 0
    with work.held(), handled(signal.default_int_handler, signal.SIGTERM):
        try:
            if only in (None, TRAIN):
                with runs_shown(len(work.runs)) as watch:
                    trained = work.train(watch, is_over)
                code = next((result.exit_code for result in trained.failed.values()), 0)
            if only in (None, PLAY) and not is_over():
                problems_to_play = sum(planned.problems for planned in work.trials)
                with trials_shown(problems_to_play, systems=True) as watch_trials:
                    tally = work.play(watch_trials, is_over)
                code = ExitCode.CRITICAL_ERROR if tally.faults else code
        except KeyboardInterrupt:
            output.warning(f"what is done is in {folder}; the same command continues with the rest")
            raise
        standings = work.standings()
        page = work.report() if only != TRAIN else None
    show_standings(spec, standings)
    if page is not None:
        output.result(f"page written to {page}")
    if is_over() and not is_complete(standings, only):
        output.warning("stopped by the time limit; the same command continues")
        return code or ExitCode.OUT_OF_TIME
    return code


def chosen(spec: ExperimentSpec, systems: Sequence[str], domains: Sequence[str]) -> ExperimentSpec:
    """The experiment with some of its systems and domains only; without any names, all."""
    for option, names, known in (
        ("--system", systems, [system.name for system in spec.systems]),
        ("--domain", domains, [suite.name for suite in spec.suites]),
    ):
        for name in names:
            if name not in known:
                raise ConfigurationError(f"{option} {shorten(name)}: not in {spec.path}; it has {', '.join(known)}")
    kept = tuple(
        replace(system, domains=tuple(name for name in system.domains if not domains or name in domains))
        for system in spec.systems
        if not systems or system.name in systems
    )
    return replace(spec, systems=kept)


def check_time(spec: ExperimentSpec, seconds: float | None, only: str | None) -> None:
    """Refuses a time limit in which not a single trial may end: the experiment would never be done."""
    longest = spec.testing.limits.seconds
    if seconds is None or only in (TRAIN, REPORT):
        return
    if longest is None or longest > seconds:
        raise ConfigurationError(
            f"--time-limit {seconds:,.0f} s: a single problem may take "
            + (f"{longest:,.0f} s" if longest is not None else "any time")
            + " ([testing] time_limit), and one that is cut off starts anew; --only train is not limited by it"
        )


def is_complete(standings: Sequence[Standing], only: str | None) -> bool:
    """Whether nothing is missing of the parts that were asked for."""
    trained = all(not standing.missing for standing in standings)
    played = all(standing.played == standing.trials for standing in standings)
    return (only == PLAY or trained) and (only == TRAIN or played)


@contextmanager
def runs_shown(total: int) -> Iterator[WatchTraining]:
    """Progress on standard error: a bar in a terminal, a line per run elsewhere."""
    with bar("Training", total) as line:

        def watch(tally: TrainingTally, run: PlannedRun | None, result: TrainResult | None) -> None:
            ended = f"{run}: {result.summary}" if result is not None else ""
            if line is not None:
                line.update(tally.done, training_text(tally, line.terminal.width))
                if ended:
                    line.say(ended)
            elif ended:
                output.note(f"{tally.done} of {total} trained: {ended}")

        yield watch


def training_text(tally: TrainingTally, width: int) -> str:
    """How many runs have failed and, as far as a terminal has room, which ones are running."""
    failed = f"{len(tally.failed)} failed " if tally.failed else ""
    return failed + (running_text(list(map(str, tally.running)), width, 30) or f"{len(tally.running)} running")


def show_standings(spec: ExperimentSpec, standings: Sequence[Standing], *, missing: bool = False) -> None:
    """Prints a line per system; with `missing`, also the runs that are not trained yet."""
    rows = [
        (
            standing.system.name,
            f"{standing.trained:,} of {standing.runs:,}" if standing.runs else "",
            f"{standing.played:,} of {standing.trials:,}",
            ", ".join(f"{solved:,}" for solved in standing.solved.values()) if standing.played else "",
        )
        for standing in standings
    ]
    output.console().print(output.table(spec.title, ["system", "runs trained", "problems played", "solved"], rows))
    if not missing:
        return
    left = [run for standing in standings for run in standing.missing]
    for run in left[:20]:
        output.result(f"to train: {run}{progress_of(run)}")
    if more := left[20:]:
        output.result(f"to train: {plural(len(more), 'more run')}")
    trials = sum(standing.trials - standing.played for standing in standings)
    output.result(f"missing: {plural(len(left), 'run')}, {plural(trials, 'record')}")


def progress_of(run: PlannedRun) -> str:
    """How far a run has come that is not trained yet; empty if it has not begun."""
    from saltus.learn.log import read_log  # here, because importing PyTorch takes a second

    path = run.folder / "log.jsonl"
    if run.system.contest or not path.is_file():
        return ", begun" if run.folder.is_dir() else ""
    log = read_log(path)
    return f", {plural(log.episodes, 'episode')} and {log.seconds:,.0f} s so far"
