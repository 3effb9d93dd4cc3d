"""Command line: thin; every command calls the library and prints. Exit codes are in `policy/exit_codes.py`."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, ParamSpec

import typer
from typer.core import TyperCommand, TyperGroup

import saltus
from saltus.cli import output
from saltus.cli.commands import COMMANDS
from saltus.cli.values import take_plain_values
from saltus.errors import InputError, SaltusError, printable
from saltus.files import SIZE_VARIABLE, parse_size
from saltus.policy.exit_codes import ExitCode
from saltus.policy.outcome import Outcome

MARKUP: Final = "markdown"
"""Markup of help texts."""

Parameters = ParamSpec("Parameters")


def guarded(command: Callable[Parameters, int | None]) -> Callable[Parameters, None]:
    """The command with its result as exit code; no error of the library ends in a traceback."""

    @functools.wraps(command)
    def run_command(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            code = command(*args, **kwargs) or ExitCode.SUCCESS
            sys.stdout.flush()
        except SaltusError as error:
            output.error(str(error))
            code = Outcome.of_error(error).exit_code
        except MemoryError as error:
            output.error("out of memory")
            code = Outcome.of_error(error).exit_code
        except KeyboardInterrupt as error:
            output.error("interrupted")
            code = Outcome.of_error(error).exit_code
        except (OSError, UnicodeError) as error:
            code = lost_output(error)
        raise typer.Exit(int(code))

    return run_command


def lost_output(error: OSError | UnicodeError) -> ExitCode:
    """Exit code where standard output takes no more: none of our business if its reader went away, else an error."""
    with contextlib.suppress(OSError, ValueError):  # keep Python from complaining once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return ExitCode.SUCCESS
    if isinstance(error, UnicodeError):
        output.error(f"output cannot be written in the encoding {sys.stdout.encoding}: {error}")
    else:
        place = f"{error.filename}: " if error.filename is not None else "output cannot be written: "
        output.error(f"{place}{error.strerror or error}")
    return ExitCode.INPUT_ERROR


class Command(TyperCommand):
    """A command whose parameters take plain values as they are."""

    def get_params(self, ctx: Any) -> Any:
        """Its parameters."""
        return take_plain_values(super().get_params(ctx))


def load_command(name: str) -> Any:
    """The command of that name with its parameters; its module is imported."""
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=MARKUP)
    single.command(name, cls=Command)(guarded(COMMANDS[name].load()))
    return typer.main.get_command(single)


class Commands(TyperGroup):
    """The commands. Each is a name and a summary, for the help, until it is invoked.

    An argument that is quoted in a usage error is foreign text, too.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = {name: TyperCommand(name, help=entry.summary) for name, entry in COMMANDS.items()}

    def get_params(self, ctx: Any) -> Any:
        """Parameters of the program itself."""
        return take_plain_values(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Name, command and further arguments of a command line; here the command is imported."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if command is None or name is None else load_command(name), rest

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """The context of a command line."""
        with escaped_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """What the command that the context names returns."""
        with escaped_errors():
            return super().invoke(ctx)


@contextlib.contextmanager
def escaped_errors() -> Iterator[None]:
    """Within the block, messages of usage errors are escaped."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "message"):  # click's own, or the copy in typer
            error.message = printable(str(error.message))
        raise


app = typer.Typer(
    name="saltus",
    cls=Commands,
    help="Learns general policies for classical planning: trained on small problems, they solve far larger ones.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=MARKUP,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        output.result(f"saltus {saltus.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version.", callback=_print_version, is_eager=True),
    max_file_size: str | None = typer.Option(
        None,
        envvar=SIZE_VARIABLE,
        metavar="SIZE",
        help="Largest file that is read, such as 64M or 2G (default: 1G for PDDL, less for other files).",
    ),
) -> None:
    del version
    if max_file_size is not None:
        context.with_resource(limited_files(max_file_size))


@contextlib.contextmanager
def limited_files(size: str) -> Iterator[None]:
    """Within the block, another limit on the size of files holds, also in the processes that are started."""
    before = os.environ.get(SIZE_VARIABLE)
    try:
        parse_size(size, "--max-file-size")
    except InputError as error:
        raise typer.BadParameter(str(error)) from None
    os.environ[SIZE_VARIABLE] = size
    try:
        yield
    finally:
        os.environ.pop(SIZE_VARIABLE)
        if before is not None:
            os.environ[SIZE_VARIABLE] = before


def run(arguments: Sequence[str] | None = None) -> int:
    """Exit code of a command line; without arguments, of the process's own."""
    try:
        app(args=list(arguments) if arguments is not None else None)
        sys.stdout.flush()
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # while help was printed
            return lost_output(stop.__context__)
        code = stop.code if isinstance(stop.code, int) else 0
        # Typer's exit code
        return ExitCode.USAGE_ERROR if code == 2 else flushed(code)
    except (OSError, UnicodeError) as error:
        return lost_output(error)
    except KeyboardInterrupt:
        output.error("interrupted")
        return ExitCode.INTERRUPTED
    return ExitCode.SUCCESS


def flushed(code: int) -> int:
    """The exit code, once everything that was printed has left the process."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return lost_output(error)
    return code


def main() -> None:
    """Entry point of the `saltus` program."""
    sys.exit(run())
