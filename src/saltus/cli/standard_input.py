"""Standard input in place of a file: where a command takes a file to read, `-` stands for it, once.

Commands that read in this process take its bytes. A worker has another standard input, so commands that plan put the
bytes into a temporary file, and messages name standard input all the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from saltus.errors import ConfigurationError
from saltus.files import PDDL_BYTES, STANDARD_INPUT, read_standard_input

DASH = Path("-")
"""What stands for standard input."""


def check_inputs(*paths: Path | None) -> None:
    """Rejects arguments of which several are standard input."""
    if paths.count(DASH) > 1:
        raise ConfigurationError("only one file can be -, which is standard input")


def input_name(path: Path) -> str:
    """The name of a file in messages and records."""
    return STANDARD_INPUT if path == DASH else str(path)


@contextmanager
def plain_files(*paths: Path) -> Iterator[list[Path]]:
    """The files, with a temporary one in place of standard input as long as the block lasts."""
    check_inputs(*paths)
    if DASH not in paths:
        yield list(paths)
        return
    text = read_standard_input(PDDL_BYTES)
    with tempfile.TemporaryDirectory(prefix="saltus-") as folder:
        file = Path(folder, "standard-input.pddl")
        file.write_bytes(text)
        yield [file if path == DASH else path for path in paths]
