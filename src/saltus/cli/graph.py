"""The command that shows graphs: `graph`."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from saltus.cli import output
from saltus.cli.inspect import read_task
from saltus.cli.options import DomainFile, ProblemFile
from saltus.errors import ConfigurationError, InputError
from saltus.graph import ENCODINGS, NULLARY, EncodingSpec, Vocabulary, dump
from saltus.graph.encodings import ENCODING_TEXT
from saltus.lookahead import KINDS, LookaheadTree, PlaySpec, TreeSpec, lookahead

FORMATS = {"text": 2_000_000, "json": 2_000_000, "dot": 1_000, "svg": 1_000}
"""Formats, and the default limit on nodes and atoms in each."""

DEFAULTS = EncodingSpec()
FLAT = " and ".join(name for name, encoding in ENCODINGS.items() if encoding.needs_flat_lookahead)
TREE = " and ".join(name for name, encoding in ENCODINGS.items() if encoding.tree)


def graph(
    domain: DomainFile,
    problem: ProblemFile,
    encoding: Annotated[str, typer.Option(help=f"Encoding. {ENCODING_TEXT}.")] = DEFAULTS.kind,
    kind: Annotated[
        str | None,
        typer.Option(help=f"Lookahead: one of {', '.join(KINDS)} (default: {TreeSpec().kind}; flat for {FLAT})."),
    ] = None,
    depth_nodes: Annotated[
        bool, typer.Option(help=f"Add nodes for the depths of the tree ({TREE} only).")
    ] = DEFAULTS.depth_nodes,
    tree_atoms: Annotated[
        bool, typer.Option(help=f"Add atoms for the edges of the tree ({TREE} only).")
    ] = DEFAULTS.tree_atoms,
    nullary: Annotated[
        str, typer.Option(help=f"What to do with atoms without arguments: one of {', '.join(NULLARY)}.")
    ] = DEFAULTS.nullary,
    negative_goals: Annotated[
        bool, typer.Option(help="Add relations for negated goal literals.")
    ] = DEFAULTS.negative_goals,
    max_nodes: Annotated[int, typer.Option(help="Maximum number of nodes in the tree.")] = PlaySpec().max_nodes,
    format: Annotated[  # noqa: A002 (the name of the option)
        str, typer.Option(help=f"One of {', '.join(FORMATS)}; svg needs Graphviz.")
    ] = "text",
    limit: Annotated[
        int | None,
        typer.Option(
            help="Maximum number of nodes and atoms (default: 1,000 for dot and svg, 2,000,000 for text and json).",
            min=1,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write (default: standard output).")] = None,
) -> None:
    """Show the relational graphs of the lookahead from the initial state, as the network sees them.

    Examples:

        saltus graph examples/blocksworld/domain.pddl examples/blocksworld/p03.pddl

        saltus graph examples/blocksworld/domain.pddl examples/blocksworld/p03.pddl --encoding aa --format dot
    """
    if format not in FORMATS:
        raise ConfigurationError(f"--format is {format!r}, expected one of {', '.join(FORMATS)}")
    spec = EncodingSpec(
        encoding,
        depth_nodes=depth_nodes,
        tree_atoms=tree_atoms,
        nullary=nullary,
        negative_goals=negative_goals,
    )
    search = TreeSpec(kind=kind or spec.default_lookahead)
    task = read_task(domain, problem)
    tree = lookahead(task, spec=search, play=PlaySpec(max_nodes=max_nodes))
    limit = limit or FORMATS[format]
    graph_count = 1 if spec.is_joint else len(tree)
    check_size(graph_count * (len(task.objects) + sum(map(len, task.static_atoms))), format, limit)
    graphs = dump.named_graphs((tree, None), Vocabulary.of(task.domain, spec), spec)
    check_size(dump.size(graphs), format, limit)
    output.write(render(tree, spec, graphs, format), out)


def check_size(size: int, form: str, limit: int) -> None:
    """Raises a `ConfigurationError` if there are more nodes and atoms than the limit."""
    if size > limit:
        raise ConfigurationError(
            f"--format {form}: {size:,} nodes and atoms exceed --limit {limit:,}; use --max-nodes for a smaller tree"
        )


def render(tree: LookaheadTree, spec: EncodingSpec, graphs: list[dump.RelationalGraph], form: str) -> str:
    """The graphs in one of `FORMATS`."""
    if form == "text":
        return dump.to_text(tree, spec, graphs)
    if form == "json":
        return json.dumps(dump.to_values(tree, spec, graphs), indent=1) + "\n"
    source = dump.to_dot(tree, spec, graphs)
    return source if form == "dot" else draw(source)


def draw(source: str) -> str:
    """SVG of Graphviz input, made by the program `dot`."""
    program = shutil.which("dot")
    if program is None:
        raise InputError(
            "--format svg needs the Graphviz program 'dot', which was not found; --format dot does not need it"
        )
    done = subprocess.run([program, "-Tsvg"], input=source, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"{program} failed: {done.stderr.strip()}")
    return done.stdout
