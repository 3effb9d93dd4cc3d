"""The command that runs benchmarks: `bench`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from saltus.bench.benchmark import LocalRunner, Runner, Tally, Trial, make_trials
from saltus.bench.benchmark import bench as run_bench
from saltus.bench.cluster import RayRunner
from saltus.bench.job import LAMA, LAMA_NAME, PLANNERS, POLICY, Job
from saltus.bench.lama import find_driver
from saltus.bench.records import Record, RecordFile, key_of
from saltus.cli import output
from saltus.cli.exit_codes import ExitCode
from saltus.cli.options import (
    Device,
    MaxJumps,
    MemoryLimit,
    Protocol,
    Search,
    Seed,
    TimeLimit,
    check_device,
    limits_of,
)
from saltus.cli.plan import Improve
from saltus.errors import ConfigurationError
from saltus.policy.catalogue import AUTO, find_device
from saltus.policy.outcome import Outcome
from saltus.policy.policies import YARDSTICKS
from saltus.task import find_suites


def bench(
    suite: Annotated[Path, typer.Argument(help="A folder with domain.pddl, or a folder of such.")],
    out: Annotated[Path, typer.Option(help="File of records (JSON lines); runs it has already are not made again.")],
    policy: Annotated[
        str,
        typer.Option(help="A name, a file, random, goal-count; shipped or a folder: whichever policy there fits."),
    ] = AUTO,
    planner: Annotated[str, typer.Option(help="policy, or lama: LAMA's first iteration as a baseline.")] = POLICY,
    split: Annotated[list[str] | None, typer.Option(help="Only this split; may be repeated.")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Problems at a time; 1 without, on a cluster all it can.", min=1)
    ] = None,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    max_jumps: MaxJumps = None,
    protocol: Protocol = "open",
    search: Search = False,
    improve: Improve = False,
    device: Device = "auto",
    threads: Annotated[
        int | None, typer.Option(help="Threads of a process; 1 without, or all cores for one job.", min=1)
    ] = None,
    seed: Seed = 0,
    ray: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Run on a Ray cluster; local starts one.")] = None,
) -> int:
    """Run a policy on every problem of some suites, each in a process of its own, and record what became of it.

    Plans are validated and kept in a folder beside the records. A benchmark that was stopped, killed or has more
    problems now goes on where it was; other options make other records in the same file.

    Example:

        saltus bench examples/blocksworld --policy random --max-jumps 20 --out records.jsonl
    """
    check_device(device)
    if planner not in PLANNERS:
        raise ConfigurationError(f"--planner {planner}: expected one of {', '.join(PLANNERS)}")
    if planner == LAMA:
        find_driver()
        if search or improve or policy != AUTO:
            raise ConfigurationError("--planner lama takes none of --policy, --search and --improve")
    network = planner == POLICY and policy not in YARDSTICKS
    alone = (jobs or 1) == 1 and ray is None
    job = Job(
        "",
        "",
        planner=planner,
        policy=LAMA_NAME if planner == LAMA else policy,
        limits=limits_of(protocol, time_limit, memory_limit, max_jumps),
        search=search,
        improve=improve,
        device=find_device(device) if network else "cpu",
        seed=seed,
        threads=threads if threads is not None or alone else 1,
    )
    runs = make_trials(find_suites(suite), job, split, warn=output.warning)
    runner: Runner = LocalRunner(jobs or 1) if ray is None else RayRunner(ray, jobs)
    with RecordFile(out) as file, shown(len(runs)) as watch:
        try:
            tally = run_bench(runs, file, runner, protocol=protocol, watch=watch)
        except KeyboardInterrupt:
            made = len({run.key for run in runs} & {key_of(record) for record in file.records})
            output.warning(f"{made} of {len(runs)} runs are in {out}; the same command goes on with the others")
            raise
        show_summary(runs, file.records, tally, out)
    return ExitCode.CRITICAL_ERROR if tally.faults else ExitCode.SUCCESS


@contextmanager
def shown(total: int) -> Iterator[Callable[[Tally, Record | None], None]]:
    """Progress on standard error: a bar in a terminal (done, solved, failed, running), a line a run elsewhere."""
    terminal = output.error_console()
    if not terminal.is_terminal:
        yield lambda tally, record: show_record(tally, record, total)
        return
    columns = (
        TextColumn("Solving"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(
            "[green]{task.fields[solved]} solved[/] [red]{task.fields[failed]} failed[/] {task.fields[running]}"
        ),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=terminal, transient=True) as progress:
        bar = progress.add_task("", total=total, solved=0, failed=0, running="")

        def watch(tally: Tally, record: Record | None) -> None:
            del record
            names = [f"{run.domain} {run.problem}".replace("[", "(") for run in tally.running]
            more = f" and {len(names) - 2} more" if len(names) > 2 else ""
            progress.update(
                bar,
                completed=tally.done,
                solved=tally.solved,
                failed=sum(tally.outcomes.values()) - tally.solved,
                running=f"running {', '.join(names[:2])}{more}" if names else "",
            )

        yield watch


def show_record(tally: Tally, record: Record | None, total: int) -> None:
    """A line about a run that has ended."""
    if record is not None:
        names = f"{record['domain']} {record['split']} {record['problem']}"
        output.note(f"{tally.done} of {total}: {names}: {record['outcome']}, {record['seconds']:.1f} s")


def show_summary(runs: Sequence[Trial], records: Sequence[Record], tally: Tally, out: Path) -> None:
    """A line for every domain and split: problems, solved, and what became of the others; faults first."""
    wanted = {run.key for run in runs}
    groups: dict[tuple[str, str], Counter[str]] = {}
    for record in records:
        if key_of(record) in wanted:
            groups.setdefault((record["domain"], record["split"]), Counter())[record["outcome"]] += 1
    rows: list[tuple[object, ...]] = []
    for (domain, split), outcomes in groups.items():
        faults = [str(name) for name in (Outcome.INVALID, Outcome.CRASH) if outcomes[name]]
        others = sorted(name for name in outcomes if name not in (Outcome.FOUND, *faults))
        text = ", ".join(f"{outcomes[name]} {name}" for name in (*faults, *others))
        rows.append((domain, split, sum(outcomes.values()), outcomes[Outcome.FOUND], text))
    columns = ["domain", "split", "problems", "solved", "others"]
    output.console().print(output.table(out.name, columns, rows, left=2, last_left=True))
    new = sum(tally.outcomes.values())
    print(f"{new:,} of {tally.total:,} runs made now, {tally.recorded:,} recorded before")
