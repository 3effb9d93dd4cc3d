"""Commands that plan: `plan`, and `ipc-plan` with the arguments of the IPC's learning track."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.live import Live
from rich.text import Text

from saltus.bench import Job, Result, run_job
from saltus.bench.records import make_record, timestamp
from saltus.bench.run import check_folder
from saltus.bench.supervise import Message
from saltus.cli import output
from saltus.cli.inspect import DomainFile, Json, ProblemFile
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
from saltus.errors import ConfigurationError, InputError
from saltus.policy.catalogue import AUTO, numbered_files
from saltus.policy.outcome import Outcome
from saltus.task import write_plan

ERRORS = {Outcome.INPUT, Outcome.UNSUPPORTED, Outcome.WRONG_POLICY, Outcome.INVALID, Outcome.CRASH}
"""Outcomes whose detail is an error message."""

REFUSED = {Outcome.INPUT, Outcome.UNSUPPORTED, Outcome.WRONG_POLICY}
"""Outcomes that leave plans of an earlier call where they are."""

PROGRAM = "saltus"

FALLBACK = "goal-count"
"""What `ipc-plan` searches with where nothing was learned."""

PlanFile = Annotated[Path, typer.Option(help="File to write; with --improve FILE.1, FILE.2, …")]
Improve = Annotated[
    bool, typer.Option("--improve", help="Shorten the plan until the time limit, or until nothing helps any more.")
]
Threads = Annotated[int | None, typer.Option(help="Threads; one a core without.", min=1)]


def plan(
    domain: DomainFile,
    problem: ProblemFile,
    policy: Annotated[
        str, typer.Option(help="A name, a file, random or goal-count; shipped finds the one that fits the domain.")
    ] = AUTO,
    plan_file: PlanFile = Path("sas_plan"),
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    max_jumps: MaxJumps = None,
    protocol: Protocol = "open",
    search: Search = False,
    improve: Improve = False,
    device: Device = "auto",
    threads: Threads = None,
    seed: Seed = 0,
    json: Json = False,
) -> int:
    """Find a plan with a policy: at every state jump to the best state of its lookahead tree.

    The plan is validated before it is written, one action a line. Plans of an earlier call under the same name are
    removed once problem and policy are read. Limits are kept whatever the program is doing.

    Examples:

        saltus plan examples/blocksworld/domain.pddl examples/blocksworld/p03.pddl

        saltus plan examples/blocksworld/domain.pddl examples/blocksworld/p03.pddl --policy goal-count

        saltus plan examples/blocksworld/domain.pddl examples/blocksworld/p03.pddl --policy random --improve --json
    """
    check_device(device)
    job = Job(
        str(domain),
        str(problem),
        policy=policy,
        limits=limits_of(protocol, time_limit, memory_limit, max_jumps),
        search=search,
        improve=improve,
        device=device,
        seed=seed,
        threads=threads,
    )
    writer = PlanWriter(plan_file, numbered=improve)
    writer.check(domain, problem, Path(policy))
    started = timestamp()
    result = watched(job, writer)
    show_messages(result)
    if json:
        names = (str(domain), "", str(problem))
        output.print_json(
            make_record(
                job,
                result,
                names=names,
                configuration=job.configuration(),
                protocol=protocol,
                plan_file=writer.last_name(),
                started=started,
            )
        )
    else:
        show_result(result, writer)
    return result.exit_code


def ipc_plan(
    knowledge: Annotated[Path, typer.Argument(metavar="DK", help="Prefix of the policy files DK.1, DK.2, …")],
    domain: DomainFile,
    task: ProblemFile,
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="File to write.")],
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    improve: Annotated[bool, typer.Option("--improve", help="Replace PLAN by better plans as they are found.")] = False,
    device: Device = "auto",
    threads: Threads = None,
    seed: Seed = 0,
) -> int:
    """Find a plan as the IPC's learning track asks for it: with the last sound policy of DK.1, DK.2, …

    Where the greedy rollout fails the search goes on; where no policy is sound it starts with the number of goals.
    Without options: 30 minutes and 8 GiB.

    Example:

        saltus ipc-plan examples/blocksworld/dk examples/blocksworld/domain.pddl examples/blocksworld/p03.pddl plan.txt
    """
    check_device(device)
    job = Job(
        str(domain),
        str(task),
        policy=FALLBACK,
        prefix=str(knowledge),
        limits=limits_of("open", time_limit, memory_limit, None),
        search=True,
        improve=improve,
        device=device,
        seed=seed,
        threads=threads,
    )
    writer = PlanWriter(plan_file, numbered=False)
    writer.check(domain, task, *numbered_files(knowledge))
    result = watched(job, writer)
    show_messages(result)
    show_result(result, writer)
    return result.exit_code


class PlanWriter:
    """Plan files: one that is replaced, or `.1`, `.2`, … one after the other, as anytime planners write them."""

    def __init__(self, path: Path, *, numbered: bool) -> None:
        self.path = path
        self.numbered = numbered
        self.written = 0
        self.cleared = False

    def check(self, *inputs: Path) -> None:
        """Refuses a place that cannot be written to, or that of an input."""
        flaw = check_folder(self.path)
        if flaw is not None:
            raise InputError(flaw)
        places = [self.path, *self.earlier()]
        for path in inputs:
            for place in places:
                with suppress(OSError):
                    if path.samefile(place):
                        raise ConfigurationError(f"{place}: the plan would overwrite an input file")

    def earlier(self) -> list[Path]:
        """Plans of an earlier call: the file itself, and numbered ones."""
        numbered = re.compile(re.escape(self.path.name) + r"(\.[0-9]{1,9})?")
        return [path for path in self.path.parent.iterdir() if numbered.fullmatch(path.name) and path.is_file()]

    def clear(self) -> None:
        """Removes plans of an earlier call, so that none is taken for this one's."""
        if self.cleared:
            return
        self.cleared = True
        for old in self.earlier():
            try:
                old.unlink()
            except OSError as error:
                raise InputError(f"{old}: an earlier plan cannot be removed: {error.strerror or error}") from error

    def write(self, result: Result) -> None:
        """Writes the plan of a result."""
        if result.plan is None or result.cost is None:
            return
        self.written += 1
        write_plan(self.last_path(), result.plan, result.cost, unit_cost=result.unit_cost)

    def last_path(self) -> Path:
        """Where the last plan went, or would go."""
        return self.path.with_name(f"{self.path.name}.{max(self.written, 1)}") if self.numbered else self.path

    def last_name(self) -> str | None:
        """Where the last plan went; None if there is none."""
        return str(self.last_path()) if self.written else None


def watched(job: Job, writer: PlanWriter) -> Result:
    """The result of a job whose plans are written as they come, with progress on standard error if a terminal."""
    result = _watched(job, writer)
    if result.outcome not in REFUSED:
        writer.clear()
    return result


def _watched(job: Job, writer: PlanWriter) -> Result:
    terminal = output.error_console()
    started = program_start()
    if not terminal.is_terminal:
        return run_job(job, lambda message, result: _take(message, result, writer), started=started)
    so_far: list[Result] = []

    def line() -> Text:
        return progress_line(so_far[-1] if so_far else None, time.monotonic() - started)

    def watch(message: Message, result: Result) -> None:
        so_far[:] = [result]
        _take(message, result, writer)

    with Live(console=terminal, get_renderable=line, transient=True, refresh_per_second=5):
        return run_job(job, watch, started=started)


def program_start() -> float:
    """When this program was started, as a time of `time.monotonic`: its own start counts towards the time limit.

    Now, where the process is another program that calls this one's functions, or the system does not say.
    """
    now = time.monotonic()
    if Path(sys.argv[0]).stem != PROGRAM:
        return now
    with suppress(OSError, ValueError, IndexError, AttributeError):
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return now - max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    return now


def _take(message: Message, result: Result, writer: PlanWriter) -> None:
    if message["event"] == "policy":
        writer.clear()
    if message["event"] == "plan":
        writer.write(result)


def progress_line(result: Result | None, seconds: float) -> Text:
    """What is known while the work goes on: choices, goals, tree size, seconds."""
    parts: list[str] = []
    if result is not None and result.figures.get("jumps") is not None:
        figures = result.figures
        parts.append(f"{figures['jumps']:,} jumps")
        if searched := states_searched(figures):
            parts.append(searched)
        parts.append(f"{figures['goals']:,} of {figures['goal_count']:,} goals")
        parts.append(f"trees of up to {figures['largest_tree']:,} states")
        if result.plan is not None:
            parts.append(f"plan of cost {result.cost:g}")
    else:
        parts.append("reading" if result is None else "loading the policy")
    return Text(" · ".join([*parts, f"{seconds:.0f} s"]), style="dim")


def states_searched(figures: Mapping[str, Any]) -> str:
    """How far the searches came, in words; nothing where there was none."""
    policy, beside = figures.get("search_decisions") or 0, figures.get("goal_search_decisions") or 0
    if not policy and not beside:
        return ""
    return f"{policy:,} states searched" + (f" and {beside:,} by goals" if beside else "")


def show_messages(result: Result) -> None:
    """Warnings and errors on standard error."""
    for warning in result.warnings:
        output.warning(warning)
    if result.outcome in ERRORS:
        prefix = "" if result.outcome in (Outcome.INPUT, Outcome.UNSUPPORTED) else f"{result.outcome}: "
        output.error(f"{prefix}{result.detail}")


def show_result(result: Result, writer: PlanWriter) -> None:
    """The outcome in a line or two."""
    if result.outcome in ERRORS:
        return
    figures = result.figures
    jumps = f"{figures.get('jumps') or 0:,} jumps"
    if searched := states_searched(figures):
        jumps += f", {searched}"
    if result.outcome is Outcome.FOUND and result.plan is not None:
        kind = "unit cost" if result.unit_cost else "general cost"
        print(f"plan found ({figures['found_by']}): {len(result.plan):,} actions, cost {result.cost:g} ({kind})")
        print(f"{jumps}, {result.seconds:.2f} s, policy {result.policy}, written to {writer.last_name()}")
    else:
        reason = f" ({result.detail})" if result.detail else ""
        print(f"no plan: {result.outcome}{reason}; {jumps}, {result.seconds:.2f} s")
