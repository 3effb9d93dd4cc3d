"""Command line: thin; every command calls the library and prints. Exit codes are in `exit_codes.py`."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from typing import ParamSpec

import typer

import saltus
from saltus.cli import explore, generate, graph, inspect, output, policies
from saltus.cli.exit_codes import ExitCode, exit_code_of
from saltus.errors import SaltusError

TYPER_USAGE_ERROR = 2

Parameters = ParamSpec("Parameters")

COMMANDS: dict[str, Callable[..., int | None]] = {
    "info": inspect.info,
    "stats": inspect.stats,
    "validate": inspect.validate,
    "lookahead": explore.lookahead,
    "branching": explore.branching,
    "graph": graph.graph,
    "domains": generate.domains,
    "generate": generate.generate,
    "policies": policies.policies,
}


def guarded(command: Callable[Parameters, int | None]) -> Callable[Parameters, None]:
    """The command with its result as exit code; no error of the library ends in a traceback."""

    @functools.wraps(command)
    def run_command(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            code = command(*args, **kwargs) or ExitCode.SUCCESS
            sys.stdout.flush()
        except SaltusError as error:
            output.error(str(error))
            code = exit_code_of(error)
        except MemoryError:
            output.error("out of memory")
            code = ExitCode.OUT_OF_MEMORY
        except KeyboardInterrupt:
            output.error("interrupted")
            code = ExitCode.INTERRUPTED
        except BrokenPipeError:  # the reader of our output went away; keep Python from complaining at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = ExitCode.SUCCESS
        raise typer.Exit(int(code))

    return run_command


app = typer.Typer(
    name="saltus",
    help="Learns general policies for classical planning: trained on small problems, they solve far larger ones.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _command in COMMANDS.items():
    app.command(_name)(guarded(_command))


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"saltus {saltus.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", help="Show the version.", callback=_print_version, is_eager=True),
) -> None:
    del version


def run(arguments: Sequence[str] | None = None) -> int:
    """Exit code of a command line; without arguments, of the process's own."""
    try:
        app(args=list(arguments) if arguments is not None else None)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
        return ExitCode.USAGE_ERROR if code == TYPER_USAGE_ERROR else code
    return ExitCode.SUCCESS


def main() -> None:
    """Entry point of the `saltus` program."""
    sys.exit(run())
