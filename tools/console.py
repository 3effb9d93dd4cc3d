"""The console examples of the README and the documentation: runs them, compares their output, or writes it anew.

    python tools/console.py              # runs every example; exit code 1 if an output differs
    python tools/console.py --update     # puts the present output into the pages

An example is a fenced block marked `console`: lines that start with `$ ` are commands, the lines below one are what it
prints. Commands of a page run in order, in one folder with a copy of `examples/`; all must succeed. Times and memory
are not compared; nor is any number of a block below the comment `<!-- numbers vary -->`. A line `…` stands for any
lines.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

BLOCK = re.compile(r"(?P<varies><!-- numbers vary -->\n+)?(?P<open>^```console\n)(?P<body>.*?)^```$", re.M | re.S)
MEASURED = re.compile(r"\b\d[\d,]*(?:\.\d+)?(?= ?(?:s|ms|MB|GB|steps/s)\b)")
NUMBER = re.compile(r"\b\d[\d,]*(?:\.\d+)?\b")
ANY_LINES = "…"
SECONDS = 300


@dataclass(frozen=True)
class Example:
    """A command of a page and the output that the page shows."""

    command: str
    output: tuple[str, ...]
    varies: bool
    """Whether its numbers depend on the machine."""


def parse_block(body: str, varies: bool) -> list[Example]:
    """The examples of a block; text before the first command is a `ValueError`."""
    examples: list[Example] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            examples.append(Example(line[2:], (), varies))
        elif examples:
            last = examples[-1]
            if last.command.endswith("\\") and not last.output:
                examples[-1] = Example(f"{last.command}\n{line}", (), varies)
            else:
                examples[-1] = Example(last.command, (*last.output, line), varies)
        else:
            raise ValueError(f"a console block starts with {line!r}, not with a command")
    return examples


def examples_of(page: str) -> list[Example]:
    """All examples of a page, in order."""
    return [
        example for block in BLOCK.finditer(page) for example in parse_block(block["body"], block["varies"] is not None)
    ]


def make_folder(folder: Path) -> None:
    """Puts a copy of the repository's examples into a folder for a page's commands."""
    shutil.copytree(ROOT / "examples", folder / "examples")


def run_example(example: Example, folder: Path) -> list[str]:
    """Lines that the command prints, to both streams; one that fails is a `RuntimeError`."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    process = subprocess.run(
        ["bash", "-o", "pipefail", "-c", example.command],
        cwd=folder,
        env={**os.environ, "PATH": programs, "COLUMNS": "100", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if process.returncode:
        raise RuntimeError(f"$ {example.command}\n{process.stdout}exit code {process.returncode}")
    return [line.rstrip() for line in process.stdout.splitlines()]


def fixed_parts(line: str, varies: bool) -> str:
    """A line with the numbers that depend on the machine masked."""
    return " ".join((NUMBER if varies else MEASURED).sub("#", line).split())


def agrees(example: Example, printed: list[str]) -> bool:
    """Whether what was printed is what the page shows."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == ANY_LINES else re.escape(fixed_parts(line, example.varies)) + r"\n"
        for line in example.output
    )
    return re.fullmatch(pattern, "".join(fixed_parts(line, example.varies) + "\n" for line in printed)) is not None


def shortened(example: Example, printed: list[str]) -> list[str]:
    """What was printed, with as many lines before and after `…` as the page has now."""
    marks = [index for index, line in enumerate(example.output) if line.strip() == ANY_LINES]
    if not marks:
        return printed
    after = len(example.output) - marks[-1] - 1
    return [*printed[: marks[0]], ANY_LINES, *(printed[-after:] if after else [])]


def updated(page: str, folder: Path) -> str:
    """The page with the present output of every example that does not agree with it."""

    def render(block: re.Match[str]) -> str:
        lines: list[str] = []
        for example in parse_block(block["body"], block["varies"] is not None):
            printed = run_example(example, folder)
            shown = list(example.output) if agrees(example, printed) else shortened(example, printed)
            lines += [*f"$ {example.command}".splitlines(), *shown]
        return f"{block['varies'] or ''}{block['open']}" + "".join(f"{line}\n" for line in lines) + "```"

    return BLOCK.sub(render, page)


def main() -> None:
    """Compares or updates all pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="put the present output into the pages")
    parser.add_argument("pages", nargs="*", type=Path, default=PAGES, help="pages (default: all)")
    options = parser.parse_args()
    differ = False
    for path in options.pages:
        page = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as name:
            make_folder(Path(name))
            new = updated(page, Path(name))
        if new != page:
            differ = True
            print(f"{path}: {'updated' if options.update else 'differs'}")
            if options.update:
                path.write_text(new, encoding="utf-8")
    sys.exit(differ and not options.update)


if __name__ == "__main__":
    main()
