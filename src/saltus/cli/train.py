"""Commands that train: `train` and `ipc-learn`."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress

from saltus.cli import output
from saltus.cli.inspect import DomainFile
from saltus.cli.options import Device, check_device, seconds_of
from saltus.cli.progress import columns
from saltus.errors import plural
from saltus.files import WriteError

if TYPE_CHECKING:
    from saltus.learn import Event, Run

Config = Annotated[
    str | None, typer.Option(help="Configuration: a name (aiw-ad, tiny, paper, …) or a TOML file (default: aiw-ad).")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one value (can be repeated).")
]
TimeLimit = Annotated[str | None, typer.Option(help="Stop after this time: 90, 10m, 1h30m; none for no limit.")]
Threads = Annotated[
    int | None,
    typer.Option(help="Number of threads (default: all cores for lookahead, half of them for PyTorch).", min=1),
]


def train(
    folder: Annotated[Path, typer.Argument(help="Folder with domain.pddl and training problems.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; its best policy will be OUT/policy.safetensors.")],
    config: Config = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same machine: same weights (default: 0).", min=0)] = None,
    time_limit: TimeLimit = None,
    device: Device = "auto",
    threads: Threads = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in OUT.")] = False,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Begin with the weights of this policy: a name, a file or a run folder (default: random weights).",
        ),
    ] = None,
) -> None:
    """Learn a policy from a folder of small problems.

    The best policy on the problems in FOLDER/validation is kept; without that folder, the largest quarter of the
    training problems is held out. Ctrl-C or SIGTERM ends the run at once; --resume goes on after its last episode.

    Example:

        saltus train examples/blocksworld --out runs/first --config tiny --set episodes=2
    """
    from saltus.learn import open_run  # here, because importing PyTorch takes a second

    seconds = seconds_of("--time-limit", time_limit) if time_limit is not None else None
    check_device(device)
    run = open_run(
        folder,
        out,
        config=config,
        settings=settings or (),
        seed=seed,
        device=device,
        threads=threads,
        resume=resume,
        start=start,
        warn=output.warning,
    )
    stopped_by = follow(run, seconds)
    lines = run.summary(stopped_by)
    if stopped_by:
        lines.append("to continue: the same command with --resume")
    elif run.stopped_by:
        lines.append("to continue: --resume and a longer --time-limit, which counts all of the run's time, or none")
    output.result("\n".join(lines))


def follow(run: Run, seconds: float | None) -> str:
    """Trains with progress on standard error; returns the name of the signal that ended the run, if one did."""
    with stop_signals() as stopped, shown(run) as show:
        for event in run.events(lambda: bool(stopped), seconds):
            show(event)
    return stopped[0] if stopped else ""


@contextmanager
def stop_signals() -> Iterator[list[str]]:
    """A list that receives the names of caught signals; a second Ctrl-C is not caught."""
    caught: list[str] = []

    def catch(number: int, frame: FrameType | None) -> None:
        if caught:
            raise KeyboardInterrupt
        caught.append(signal.Signals(number).name)
        output.warning(f"{caught[0]}: the run is saved as of the last episode")

    before = {number: signal.signal(number, catch) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def shown(run: Run) -> Iterator[Callable[[Event], None]]:
    """A function that shows events on standard error: on a terminal with a bar, else as a line every few seconds."""
    from saltus.learn.progress import PlainProgress

    terminal = output.error_console()
    episodes = run.trainer.spec.episodes
    if not terminal.is_terminal:
        yield PlainProgress(episodes, output.note).show
        return
    with Progress(*columns(terminal), console=terminal, transient=True) as progress:
        bar = progress.add_task(run.problems.name, total=episodes, completed=run.trainer.episode, text="")

        def show(event: Event) -> None:
            if event.kind == "episode":
                text = f"loss {event.loss:.3f}, success {event.success:.0%}"
                progress.update(bar, completed=event.episode, text=text)
            else:
                terminal.print(f"episode {event.episode}: {event}")

        yield show


def ipc_learn(
    knowledge: Annotated[Path, typer.Argument(metavar="DK", help="Prefix of the policy files to write: DK.1, DK.2, …")],
    domain: DomainFile,
    tasks: Annotated[list[Path], typer.Argument(metavar="TASK", help="Problem files to learn from.")],
    config: Config = None,
    settings: Settings = None,
    seed: Annotated[int, typer.Option(help="Same seed, same machine: same weights.", min=0)] = 0,
    time_limit: TimeLimit = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Learn with the interface of the IPC's learning track: every better policy is written as the next of DK.1, DK.2, …

    The largest quarter of the problems, at most thirty, is held out for validation; of fewer than four problems, none
    is. SIGTERM ends the run cleanly.

    Example:

        saltus ipc-learn dk examples/blocksworld/domain.pddl examples/blocksworld/p03.pddl --set episodes=1
    """
    from saltus.learn import open_numbered_run  # here, because importing PyTorch takes a second

    seconds = seconds_of("--time-limit", time_limit) if time_limit is not None else None
    check_device(device)
    run = open_numbered_run(
        knowledge,
        domain,
        tasks,
        config=config,
        settings=settings or (),
        seed=seed,
        device=device,
        threads=threads,
        warn=output.warning,
    )
    follow(run, seconds)
    written = run.output.written
    if not written:
        raise WriteError(f"{run.output.policy}: cannot be written")
    output.result(f"{plural(written, 'policy')}, the last one in {run.output.policy}")
