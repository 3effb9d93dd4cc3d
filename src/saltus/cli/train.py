"""Commands that train: `train` and `ipc-learn`."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saltus.cli import output
from saltus.cli.options import Device, check_device
from saltus.cli.progress import bar
from saltus.errors import ConfigurationError, plural
from saltus.files import WriteError
from saltus.policy.amounts import seconds_of
from saltus.policy.exit_codes import ExitCode

if TYPE_CHECKING:
    from saltus.learn import Budget, Contest, ContestEvent, Event, Run
    from saltus.learn.folder import NumberedPolicies

Config = Annotated[
    str | None, typer.Option(help="Configuration: a name (aiw-ad, tiny, paper, …) or a TOML file (default: aiw-ad).")
]
OneConfig = Annotated[
    str | None,
    typer.Option(
        "--config",
        help="Train with this configuration alone: a name (aiw-ad, tiny, paper, …) or a TOML file (default: a contest"
        " between several).",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change one value (can be repeated). What matters first: lookahead.kind, lookahead.free_moves,"
        " encoding.kind, model.embedding, model.layers, training.episodes, training.learning_rate, training.cost.",
    ),
]
TimeLimit = Annotated[str | None, typer.Option(help="Stop after this time: 90, 10m, 1h30m; none for no limit.")]
ContestTime = Annotated[
    str | None,
    typer.Option(
        "--time-limit",
        help="Stop after this time: 90, 10m, 1h30m (default for a contest: 10m on a GPU, 1h on a CPU; for a single"
        " configuration: none).",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        help="Number of threads (default: all cores for lookahead, half of them for PyTorch; in a contest, an"
        " equal share of the cores per run).",
        min=1,
    ),
]


def train(
    folder: Annotated[Path, typer.Argument(help="Folder with domain.pddl and training problems.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; its best policy will be OUT/policy.safetensors.")],
    config: OneConfig = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same machine: same weights (default: 0).", min=0)] = None,
    time_limit: ContestTime = None,
    device: Device = "auto",
    threads: Threads = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in OUT.")] = False,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Begin with the weights of this policy: a name, a file or a run folder (default: random weights). No"
            " contest takes place then.",
        ),
    ] = None,
) -> int:
    """Learn a policy from a folder of small problems.

    Several configurations compete: the better half goes on, round by round, and the winner's best policy is kept. With
    --config there is only one. Policies are compared on the problems in FOLDER/validation, or else on the largest
    quarter of the training problems, and on larger problems made for the purpose. Ctrl-C or SIGTERM ends the command at
    once; --resume goes on after the last episode.

    Example:

        saltus train examples/blocksworld --out runs/first --config tiny --set episodes=2
    """
    from saltus.learn import open_contest, open_run  # here, because importing PyTorch takes a second

    seconds = seconds_of("--time-limit", time_limit) if time_limit is not None else None
    check_device(device)
    shared: dict[str, Any] = {"settings": settings or (), "seed": seed, "device": device, "threads": threads}
    shared |= {"resume": resume, "warn": output.warning}
    if is_contest(out, config, start, resume=resume):
        budget = budget_of(time_limit)
        if not resume:
            output.note("reading the problems and making larger ones to choose by")
        contest = open_contest(folder, out, budget=budget, **shared)
        stopped_by = play(contest)
        lines = contest.summary(stopped_by)
        longer = "which counts all of the contest's time" if contest.is_out_of_time else ""
    else:
        run = open_run(folder, out, config=config, start=start, **shared)
        stopped_by = follow(run, seconds)
        lines = run.summary(stopped_by)
        longer = "which counts all of the run's time, or none" if run.stopped_by else ""
    if stopped_by:
        lines.append("to continue: the same command with --resume")
    elif longer:
        lines.append(f"to continue: --resume and a longer --time-limit, {longer}")
    output.result("\n".join(lines))
    return ended_by(stopped_by)


def ended_by(signal_name: str) -> ExitCode:
    """The exit code of training that a signal ended, if one did: a user who presses Ctrl-C does not want what comes
    next in a script; SIGTERM asks for what there is."""
    return ExitCode.INTERRUPTED if signal_name == "SIGINT" else ExitCode.SUCCESS


def is_contest(out: Path, config: str | None, start: str | None, *, resume: bool) -> bool:
    """Whether the command is about a contest rather than a single run."""
    from saltus.learn.contest_state import FILE

    if resume and (out / FILE).exists():
        if config is not None or start is not None:
            option = "--config" if config is not None else "--from"
            raise ConfigurationError(f"--resume: {out} holds a contest, {option} is for single runs")
        return True
    return config is None and start is None and not resume


def budget_of(time_limit: str | None) -> Budget | None:
    """The budget of a contest; None for the default."""
    from saltus.learn import Budget

    if time_limit is None:
        return None
    seconds = seconds_of("--time-limit", time_limit)
    if seconds is None:
        raise ConfigurationError("--time-limit none: a contest divides its time; only --config trains without a limit")
    return Budget(seconds)


def play(contest: Contest) -> str:
    """Plays a contest with progress on standard error; returns the name of the signal that ended it, if one did."""
    saved = "all runs are saved as of their last episode"
    with stop_signals(saved, at_once=True) as caught, contest_shown(contest) as show:
        try:
            contest.play(show)
        except KeyboardInterrupt:
            if not caught:
                raise
    return caught[0] if caught else ""


def follow(run: Run, seconds: float | None) -> str:
    """Trains with progress on standard error; returns the name of the signal that ended the run, if one did."""
    with stop_signals("the run is saved as of the last episode") as stopped, shown(run) as show:
        for event in run.events(lambda: bool(stopped), seconds):
            show(event)
    return stopped[0] if stopped else ""


@contextmanager
def stop_signals(saved: str, *, at_once: bool = False) -> Iterator[list[str]]:
    """A list that receives the name of the first signal to stop, which with `at_once` has the effect of Ctrl-C, too.

    So has every later one.
    """
    caught: list[str] = []

    def catch(number: int, frame: FrameType | None) -> None:
        is_first = not caught
        if is_first:
            caught.append(signal.Signals(number).name)
            output.warning(f"{caught[0]}: {saved}")
        if at_once or not is_first:
            raise KeyboardInterrupt

    with handled(catch, signal.SIGINT, signal.SIGTERM):
        yield caught


@contextmanager
def handled(handler: Callable[[int, FrameType | None], Any], *numbers: signal.Signals) -> Iterator[None]:
    """Within the block, signals call a function; `signal.default_int_handler` gives them the effect of Ctrl-C."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


@contextmanager
def shown(run: Run) -> Iterator[Callable[[Event], None]]:
    """A function that shows events on standard error: on a terminal with a bar, else as lines."""
    from saltus.learn.progress import say

    episodes = run.trainer.spec.episodes
    with bar(run.problems.name, episodes, run.trainer.episode) as line:

        def show(event: Event) -> None:
            if line is None:
                say(event, episodes, output.note)
            elif event.kind == "episode":
                line.update(event.episode, f"loss {event.loss:.3f}, success {event.success:.0%}")
            else:
                line.say(f"episode {event.episode}: {event}")

        yield show


@contextmanager
def contest_shown(contest: Contest) -> Iterator[Callable[[ContestEvent], None]]:
    """A function that shows a contest on standard error: lines, and on a terminal also the time and who is ahead."""
    with bar(contest.name, round(contest.state.budget.amount)) as line:

        def show(event: ContestEvent) -> None:
            if line is not None:
                leader = f", best: {contest.state.winner}" if line.is_wide and contest.state.winner else ""
                line.update(round(event.used), f"round {event.round}{leader}")
            if event.kind == "episode":
                return
            if line is not None:
                line.say(event.text)
            else:
                output.note(f"{event.used:,.0f} of {event.limit:,.0f} s: {event.text}")

        yield show


def ipc_learn(
    knowledge: Annotated[Path, typer.Argument(metavar="DK", help="Prefix of the policy files to write: DK.1, DK.2, …")],
    domain: Annotated[Path, typer.Argument(help="PDDL domain file.")],
    tasks: Annotated[list[Path], typer.Argument(metavar="TASK", help="Problem files to learn from.")],
    config: OneConfig = None,
    settings: Settings = None,
    seed: Annotated[int, typer.Option(help="Same seed, same machine: same weights.", min=0)] = 0,
    time_limit: ContestTime = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Learn with the interface of the IPC's learning track: every better policy is written as the next of DK.1, DK.2, …

    Several configurations compete, as with train; with --config there is only one. The largest quarter of the problems,
    at most 24, is held out for validation; of fewer than four problems, none is. SIGTERM ends the command cleanly.

    Example:

        saltus ipc-learn dk examples/blocksworld/domain.pddl examples/blocksworld/p03.pddl --config tiny
    """
    from saltus.learn import open_numbered_contest, open_numbered_run  # here: importing PyTorch takes a second

    seconds = seconds_of("--time-limit", time_limit) if time_limit is not None else None
    check_device(device)
    shared: dict[str, Any] = {"settings": settings or (), "seed": seed, "device": device, "threads": threads}
    shared["warn"] = output.warning
    policies: NumberedPolicies
    if config is None:
        contest, policies = open_numbered_contest(knowledge, domain, tasks, budget=budget_of(time_limit), **shared)
        play(contest)
    else:
        run, policies = open_numbered_run(knowledge, domain, tasks, config=config, **shared)
        follow(run, seconds)
    if not policies.written:
        raise WriteError(f"{policies.policy}: cannot be written")
    output.result(f"{plural(policies.written, 'policy')}, the last one in {policies.policy}")
