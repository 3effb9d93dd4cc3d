"""Commands that plan: `plan`, and `ipc-plan` with the arguments of the IPC's learning track."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from saltus.cli import output
from saltus.cli.fork import can_fork, fork_worker, is_program
from saltus.cli.options import (
    Device,
    DomainFile,
    Json,
    Lookahead,
    MaxJumps,
    MemoryLimit,
    Play,
    ProblemFile,
    Protocol,
    Search,
    Seed,
    Strict,
    TimeLimit,
    check_device,
    limits_of,
    lookahead_of,
    play_of,
    protocol_of,
    search_of,
)
from saltus.cli.plan_writer import PlanWriter
from saltus.cli.progress import fitting
from saltus.cli.standard_input import input_name, plain_files
from saltus.errors import ConfigurationError, plural
from saltus.policy.catalogue import AUTO, FALLBACK, FALLBACK_PLAY, FALLBACK_TREES, RUN_POLICY, numbered_files
from saltus.policy.figures import Figures
from saltus.policy.outcome import Outcome
from saltus.process import Message, PlanJob, PlanResult, run_job
from saltus.process.runner import timestamp
from saltus.task.plan import cost_text

STANDARD_OUTPUT = Path("/dev/stdout")

PlanFile = Annotated[
    Path, typer.Option(help="File for the plan; with --improve: FILE.1, FILE.2, …; - for standard output.")
]
Improve = Annotated[
    bool, typer.Option("--improve", help="Improve the plan until the time limit or until nothing helps.")
]
Threads = Annotated[int | None, typer.Option(help="Number of threads (default: one per core).", min=1)]


def plan(
    domain: DomainFile,
    problem: ProblemFile,
    policy: Annotated[
        str,
        typer.Option(help="A bundled policy, a file, a run folder, random or goal-count; auto finds one that fits."),
    ] = AUTO,
    plan_file: PlanFile = Path("sas_plan"),
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    max_jumps: MaxJumps = None,
    protocol: Protocol = "open",
    search: Search = None,
    improve: Improve = False,
    device: Device = "auto",
    threads: Threads = None,
    seed: Seed = 0,
    lookahead: Lookahead = None,
    play: Play = None,
    strict: Strict = False,
    json: Json = False,
) -> int:
    """Find a plan with a policy: in every state, jump to the best state of its lookahead tree.

    Where this greedy rollout fails, or has made no progress for long, a search around the policy goes on from its best
    states. If no bundled policy fits the domain, the yardstick goal-count searches in its place, and a warning says so.
    The plan is validated and then written, one action per line. Plans that an earlier call wrote under the same name
    are removed once problem and policy have been read. Limits hold whatever the program is doing.

    Examples:

        saltus plan examples/blocksworld/domain.pddl examples/blocksworld/p03.pddl

        saltus plan examples/blocksworld/domain.pddl examples/blocksworld/p03.pddl --policy goal-count

        saltus plan examples/blocksworld/domain.pddl examples/blocksworld/p03.pddl --policy random --improve --json
    """
    check_device(device)
    printed = str(plan_file) == "-"
    if printed and json:
        raise ConfigurationError("--plan-file -: --json prints to standard output as well")
    job = PlanJob(
        str(domain),
        str(problem),
        names=(input_name(domain), input_name(problem)),
        policy=policy,
        limits=limits_of(protocol, time_limit, memory_limit, max_jumps),
        search=search_of(search, protocol),
        improve=improve,
        device=device,
        seed=seed,
        lookahead=lookahead_of(lookahead, policy),
        play=play_of(play, protocol),
        threads=threads,
        strict=strict,
    )
    writer = PlanWriter(STANDARD_OUTPUT if printed else plan_file, numbered=improve)
    with plain_files(domain, problem) as files:
        job = replace(job, domain=str(files[0]), problem=str(files[1]))
        job = job.with_flat_limit(protocol_of(protocol)) if time_limit is None else job
        writer.check(*files, Path(policy), Path(policy) / RUN_POLICY)
        started = timestamp()
        result = watched(job, writer)
    show_error(result)
    if json:
        from saltus.lab.bench.record import make_record

        record = make_record(
            job,
            result,
            problem=(input_name(domain), "", input_name(problem)),
            configuration=job.configuration(),
            protocol=protocol,
            plan_file=writer.last_name(),
            started=started,
        )
        output.print_json(record.to_json())
    else:
        show_result(job, result, writer, output.note if printed else output.result)
    return result.exit_code


def ipc_plan(
    knowledge: Annotated[
        Path, typer.Argument(metavar="DK", help="Prefix of the policy files DK.1, DK.2, …, or one such file.")
    ],
    domain: DomainFile,
    task: ProblemFile,
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="File for the plan.")],
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    improve: Annotated[
        bool, typer.Option("--improve", help="Replace PLAN with better plans as they are found.")
    ] = False,
    numbered: Annotated[bool, typer.Option("--numbered", help="Write PLAN.1, PLAN.2, … instead of PLAN.")] = False,
    device: Device = "auto",
    threads: Threads = None,
    seed: Seed = 0,
) -> int:
    """Find a plan with the interface of the IPC's learning track: with the last intact policy of DK.1, DK.2, …, or DK.

    If the greedy rollout fails or makes no progress, a search follows. Without an intact policy, goal-count takes its
    place. The default limits are 30 minutes and 8 GiB.

    Example:

        saltus ipc-plan examples/blocksworld/dk examples/blocksworld/domain.pddl examples/blocksworld/p03.pddl plan.txt
    """
    check_device(device)
    job = PlanJob(
        str(domain),
        str(task),
        names=(input_name(domain), input_name(task)),
        policy=FALLBACK,
        prefix=str(knowledge),
        limits=limits_of("open", time_limit, memory_limit, None),
        search=True,
        improve=improve,
        device=device,
        seed=seed,
        lookahead=FALLBACK_TREES.settings,
        play=FALLBACK_PLAY.settings,
        threads=threads,
    )
    writer = PlanWriter(plan_file, numbered=numbered)
    with plain_files(domain, task) as files:
        job = replace(job, domain=str(files[0]), problem=str(files[1]))
        writer.check(*files, *numbered_files(knowledge), knowledge)
        result = watched(job, writer)
    show_error(result)
    show_result(job, result, writer)
    return result.exit_code


def watched(job: PlanJob, writer: PlanWriter) -> PlanResult:
    """The result of a job; plans are written as they come, and a terminal shows progress on standard error."""
    started = program_start()
    line = ProgressLine(started)

    def watch(message: Message, result: PlanResult) -> None:
        for warning in message.get("warnings", ()):
            line.remove()
            output.warning(warning)
        if message["event"] == "policy":
            writer.clear()
        if message["event"] == "plan":
            writer.write(result)
        line.show(result)

    start: dict[str, Any] = {"command": fork_worker} if can_fork() else {}
    try:
        result = run_job(job, watch, started=started, **start)
        if not result.outcome.is_rejection:
            writer.clear()
    except KeyboardInterrupt:
        line.remove()
        if writer.written:
            output.note(f"the best plan so far is in {writer.last_name()}")
        raise
    finally:
        line.remove()
        writer.drop_earlier()
    return result


class ProgressLine:
    """A line on standard error that says how far planning is, if that is a terminal."""

    def __init__(self, started: float) -> None:
        self.started = started
        self._last = started
        self._is_shown = False

    def show(self, result: PlanResult) -> None:
        """Shows what is known so far: not at first, since most small problems are solved by then, nor every time."""
        now = time.monotonic()
        if output.is_terminal() and now - self._last > 0.3:
            self._last = now
            self._is_shown = True
            output.draw(progress_line(result, now - self.started, shutil.get_terminal_size().columns - 1))

    def remove(self) -> None:
        """Removes the line."""
        if self._is_shown:
            output.draw("")
            self._is_shown = False


def program_start() -> float:
    """When this program was started, as a time of `time.monotonic`: starting up counts towards the time limit.

    If the process is another program that calls this function, or the system does not tell: now.
    """
    now = time.monotonic()
    if not is_program():
        return now
    with suppress(OSError, ValueError, IndexError, AttributeError):
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return now - max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    return now


def progress_line(result: PlanResult, seconds: float, width: int) -> str:
    """Progress in a line of at most `width` characters: seconds, jumps, goals, plan, search, tree size."""
    parts = [f"{seconds:.0f} s"]
    if result.figures.jumps is not None:
        figures = result.figures
        parts.append(rollout_text(figures))
        parts.append(f"{figures.goals or 0:,} of {figures.goal_count or 0:,} goals")
        if result.plan is not None:
            parts.append(f"plan of cost {result.cost:g}")
        if searched := search_text(figures):
            parts.append(searched)
        parts.append(f"trees of up to {figures.largest_tree or 0:,} states")
    else:
        parts.append("loading the policy")
    return fitting(parts, width)


ROLLOUT_ENDS = {
    Outcome.STALLED: "stalled",
    Outcome.FAILED: "failed",
    Outcome.JUMPS: "cut off by the jump limit",
    Outcome.TIME: "cut off by the time limit",
}
"""What became of a rollout after which a search may follow."""


def rollout_text(figures: Figures) -> str:
    """How far the greedy rollout has come, in words; how it ended, if a search followed."""
    jumps = plural(figures.jumps or 0, "jump")
    ended = figures.greedy_outcome
    if ended not in ROLLOUT_ENDS or not search_text(figures):
        return jumps
    return f"greedy {ROLLOUT_ENDS[ended]} after {jumps}"


def search_text(figures: Figures) -> str:
    """How far the searches have come, in words; empty if there was none."""
    policy, goals = figures.search_decisions or 0, figures.goal_search_decisions or 0
    parts = [f"{played:,} jumps goal by goal"] if (played := figures.goal_by_goal_decisions or 0) else []
    if policy or goals:
        parts.append(f"{plural(policy, 'state')} searched" + (f" and {goals:,} by goals" if goals else ""))
    return ", ".join(parts)


def show_error(result: PlanResult) -> None:
    """Prints what went wrong to standard error; warnings were printed as they came."""
    if result.outcome.is_rejection or result.outcome.is_fault:
        prefix = "" if result.outcome in (Outcome.INPUT, Outcome.UNSUPPORTED) else f"{result.outcome}: "
        output.error(f"{prefix}{result.detail}")


def show_result(
    job: PlanJob, result: PlanResult, writer: PlanWriter, show: Callable[[str], None] = output.result
) -> None:
    """Prints the outcome in a line or two."""
    if result.outcome.is_rejection or result.outcome.is_fault:
        return
    figures = result.figures
    jumps = f"{figures.jumps or 0:,} jumps"
    if searched := search_text(figures):
        reached = f"at {figures.greedy_goals or 0:,} of {figures.goal_count or 0:,} goals"
        jumps = f"{rollout_text(figures)} {reached}; {searched}"
    if result.outcome.is_solved and result.plan is not None and result.cost is not None:
        cost = cost_text(result.cost, unit_cost=result.unit_cost)
        better = writer.written - 1
        improved = (
            f"; {f'improved {better:,} times' if better > 0 else 'no better one was found'}" if job.improve else ""
        )
        show(f"plan found ({figures.found_by}): {plural(len(result.plan), 'action')}, cost {cost}{improved}")
        show(f"{jumps}, {result.seconds:.2f} s, policy {result.policy}, written to {writer.last_name()}")
    else:
        reason = f" ({result.detail})" if result.detail else ""
        why = f"{result.outcome}{reason}"
        if result.unsolvable:
            why = f"the problem has none ({result.detail or result.outcome})"
        may_help = not job.search and result.outcome is Outcome.FAILED and not result.unsolvable
        hint = "; try --search" if may_help else ""
        show(f"no plan: {why}; {jumps}, {result.seconds:.2f} s{hint}")
