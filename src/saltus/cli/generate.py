"""Commands about Saltus's own domains: `domains` lists them, `generate` writes problems."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from saltus.cli import output
from saltus.cli.options import Json
from saltus.cli.progress import bar
from saltus.cli.values import is_number
from saltus.domains import DOMAINS, SPLIT_NAMES
from saltus.domains.suite import check_suite, write_suite
from saltus.errors import ConfigurationError, plural, shorten
from saltus.task import Split


def domains(json: Json = False) -> None:
    """List the domains that come with Saltus.

    For every domain, the tables show the sizes that `saltus generate --set` can fix, and the smallest and the largest
    problem of each split.

    Example:

        saltus domains
    """
    if json:
        output.print_json(
            [
                {
                    "name": entry.name,
                    "summary": entry.summary,
                    "domain_file": str(entry.path),
                    "splits": {split: [asdict(sizes) for sizes in entry.ends(split)] for split in entry.splits},
                }
                for entry in DOMAINS.values()
            ]
        )
        return
    console = output.console()
    rows = [(entry.name, entry.summary, ", ".join(entry.sizes.__dataclass_fields__)) for entry in DOMAINS.values()]
    console.print(output.table("Domains", ["domain", "problems", "sizes (--set)"], rows, left=3))
    splits = [
        (entry.name, split, *(", ".join(f"{k}={v}" for k, v in asdict(sizes).items()) for sizes in entry.ends(split)))
        for entry in DOMAINS.values()
        for split in entry.splits
    ]
    console.print(output.table("Splits", ["domain", "split", "smallest problem", "largest problem"], splits, left=4))


def generate(
    name: Annotated[str, typer.Argument(help="Name of a domain, as listed by 'saltus domains'.")],
    out: Annotated[Path, typer.Option(help="Folder for domain.pddl and one folder per split.")],
    split: Annotated[
        list[str] | None,
        typer.Option(help=f"Split: {', '.join(SPLIT_NAMES)} (default: training); can be repeated."),
    ] = None,
    count: Annotated[int, typer.Option(help="Problems per split, from the smallest to the largest.")] = 100,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same files.")] = 0,
    sizes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SIZE=VALUE", help="Value for one of the domain's sizes (can be repeated)."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing problems of the same domain.")] = False,
) -> None:
    """Generate solvable problems of a domain, from small to large.

    Examples:

        saltus generate blocksworld --split training --split validation --count 20 --seed 7 --out problems/blocksworld

        saltus generate blocksworld --split hard --count 1 --set blocks=100 --out problems/large
    """
    overrides = parse_sizes(sizes or [])
    wanted = list(dict.fromkeys(split or [Split.TRAINING.value]))
    for entry in wanted:
        check_suite(out, name, entry, count, seed, overrides, force)
    for entry in wanted:
        with bar(f"{name} {entry}", count) as shown:
            tell = None if shown is None else shown.update
            written = write_suite(out, name, entry, count, seed, overrides, force, tell)
        output.result(f"{plural(len(written), 'problem')} in {written[0].parent}")


def parse_sizes(texts: list[str]) -> dict[str, int]:
    """Values of the repeated option `--set SIZE=VALUE`."""
    result: dict[str, int] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        digits = value.strip().removeprefix("-")
        if not sign or not key or not is_number(digits):
            raise ConfigurationError(f"--set {shorten(text)}: expected SIZE=VALUE, where VALUE is a whole number")
        result[key.strip()] = int(value)
    return result
