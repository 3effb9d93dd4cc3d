"""Commands about lookahead trees and branching: `lookahead` and `branching`."""

from __future__ import annotations

import csv
import io
import random
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.text import Text

from saltus.cli import output
from saltus.cli.inspect import FOLDER_HELP, DomainFile, Json, ProblemFile, read_task, read_tasks
from saltus.errors import InputError
from saltus.files import write_whole
from saltus.lookahead import (
    KINDS,
    ROOT_SUCCESSORS,
    LookaheadSpec,
    LookaheadTree,
    count_actions,
    random_action,
    successor_state,
)
from saltus.lookahead import lookahead as run_lookahead
from saltus.lookahead.spec import GOAL_IDENTITIES
from saltus.task import Task, find_suites

DEFAULTS = LookaheadSpec()


def lookahead(
    domain: DomainFile,
    problem: ProblemFile,
    kind: Annotated[str, typer.Option(help=f"Kind of lookahead: {', '.join(KINDS)}.")] = DEFAULTS.kind,
    width: Annotated[int, typer.Option(help="Novelty of atoms (1) or of pairs of atoms (2).")] = DEFAULTS.width,
    capacity: Annotated[
        int | None, typer.Option(help="Maximum number of novel states kept per depth (default: all).")
    ] = DEFAULTS.capacity,
    goal_identity: Annotated[
        str, typer.Option(help=f"Identity of goal atoms as a feature: {', '.join(GOAL_IDENTITIES)}.")
    ] = DEFAULTS.goal_identity,
    root_successors: Annotated[
        str, typer.Option(help=f"Root successors in the tree: {', '.join(ROOT_SUCCESSORS)}.")
    ] = DEFAULTS.root_successors,
    expand_root_successors: Annotated[
        bool, typer.Option(help="Whether to expand root successors that are not novel.")
    ] = DEFAULTS.expand_root_successors,
    keep_root_successors: Annotated[
        bool, typer.Option(help="Whether root successors beyond the capacity stay in the tree as leaves.")
    ] = DEFAULTS.keep_root_successors,
    max_better: Annotated[
        int | None,
        typer.Option(help="Stop growing once this many states have more goals than the root (default: never)."),
    ] = DEFAULTS.max_better,
    max_encoded: Annotated[
        int | None,
        typer.Option(help="Maximum number of nodes kept for the network, not counting the root (default: all)."),
    ] = DEFAULTS.max_encoded,
    max_nodes: Annotated[int, typer.Option(help="Maximum number of nodes in the tree.")] = DEFAULTS.max_nodes,
    json: Json = False,
) -> None:
    """Run a lookahead from the initial state and show the size of its tree.

    Shown are the number of states in the tree (nodes), of novel states (both include the root) and of actions that the
    kernel generated.

    Examples:

        saltus lookahead examples/blocksworld/domain.pddl examples/blocksworld/p100.pddl

        saltus lookahead examples/blocksworld/domain.pddl examples/blocksworld/p100.pddl --kind iw --json
    """
    spec = LookaheadSpec(
        kind=kind,
        width=width,
        capacity=capacity,
        goal_identity=goal_identity,
        root_successors=root_successors,
        expand_root_successors=expand_root_successors,
        keep_root_successors=keep_root_successors,
        max_better=max_better,
        max_encoded=max_encoded,
        max_nodes=max_nodes,
    )
    task = read_task(domain, problem)
    # The time below excludes copying the task to the kernel, which happens here.
    run_lookahead(task, spec=LookaheadSpec(kind="flat", max_nodes=1))
    start = time.perf_counter()
    tree = run_lookahead(task, spec=spec)
    seconds = time.perf_counter() - start
    if json:
        output.print_json({"kind": spec.kind, "width": spec.width, **tree_figures(tree), "seconds": seconds})
    else:
        show_tree(tree, spec, seconds)


def tree_figures(tree: LookaheadTree) -> dict[str, object]:
    """Counts of a tree by name."""
    return {
        "nodes": len(tree),
        "novel": tree.novel_count,
        "generated": tree.generated,
        "root_actions": tree.root_actions,
        "root_successors": tree.root_successors,
        "max_depth": int(tree.depth.max()),
        "depths": np.bincount(tree.depth).tolist(),
        "goal_nodes": len(tree.goal_nodes),
        "truncated": tree.truncated,
        "stopped": tree.stopped,
        "left_out": tree.left_out,
    }


def show_tree(tree: LookaheadTree, spec: LookaheadSpec, seconds: float) -> None:
    """Prints the size of a tree and a chart of its depths."""
    console = output.console()
    console.print(Text.assemble((spec.label, "bold"), " from the initial state of ", (tree.task.name, "bold")))
    console.print(f"{len(tree):,} nodes, {tree.novel_count:,} novel, {tree.generated:,} actions generated")
    console.print(f"root: {tree.root_actions:,} applicable actions, successors: {tree.root_successors}")
    reached = f"goal reached in {len(tree.goal_nodes):,} nodes" if len(tree.goal_nodes) else "goal not reached"
    console.print(f"depth {int(tree.depth.max())}, {reached}, {seconds * 1000:.3f} ms")
    if tree.truncated:
        reason = "--max-nodes" if len(tree) + tree.left_out >= spec.max_nodes else "memory"
        console.print(Text.assemble(("the tree was truncated", "bold red"), f" ({reason})"))
    if tree.stopped:
        console.print("the tree stopped growing (--max-better)")
    if tree.left_out:
        console.print(f"{tree.left_out:,} nodes left out (--max-encoded)")
    histogram = np.bincount(tree.depth).tolist()
    largest = max(histogram)
    rows = [(depth, count, "█" * max(1, round(40 * count / largest))) for depth, count in enumerate(histogram)]
    console.print(output.table("Nodes by depth", ["depth", "nodes", ""], rows, left=0, last_left=True))


def branching(
    folder: Annotated[Path, typer.Argument(help=FOLDER_HELP)],
    out: Annotated[Path | None, typer.Option(help="CSV file to write (default: standard output).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Log-log plot to write: PNG, SVG or PDF.")] = None,
    steps: Annotated[int, typer.Option(help="Number of actions per random walk.", min=0)] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the random walks.")] = 0,
) -> None:
    """Estimate the branching factor of every problem in a folder.

    The branching factor is the average number of applicable actions along a random walk. Actions are counted and drawn
    without being listed. The columns are domain, split, problem, objects and branching.

    Example:

        saltus branching examples/blocksworld
    """
    rows: list[tuple[str, str, str, int, float]] = []
    for suite, split, path, task in read_tasks(find_suites(folder), "Walking"):
        average = branching_factor(task, steps, random.Random(f"{seed}/{suite.name}/{split}/{path.name}"))
        rows.append((suite.name, split, path.stem, task.object_count, average))
    if plot is not None:
        plot_branching(rows, plot)
    output.write(to_csv(rows), out)


def branching_factor(task: Task, steps: int, rng: random.Random) -> float:
    """The average number of applicable actions along a random walk, which ends early if no action is applicable."""
    state = task.initial_state
    counts = [count_actions(task, state)]
    for _ in range(steps):
        action = random_action(task, state, rng)
        if action is None:
            break
        state = successor_state(task, state, action)
        counts.append(count_actions(task, state))
    return sum(counts) / len(counts)


def to_csv(rows: list[tuple[str, str, str, int, float]]) -> str:
    """The rows of `branching` as CSV."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["domain", "split", "problem", "objects", "branching"])
    writer.writerows([(*row[:4], f"{row[4]:.2f}") for row in rows])
    return text.getvalue()


def plot_branching(rows: list[tuple[str, str, str, int, float]], path: Path) -> None:
    """Plots branching factors over objects: one series per domain, both axes logarithmic."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("--plot needs matplotlib: pip install 'saltus[plot]'") from error
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for number, name in enumerate(dict.fromkeys(row[0] for row in rows)):
        points = sorted((row[3], row[4]) for row in rows if row[0] == name and row[4] > 0)
        marker = "osD^v<>Ph*X"[number % 11]
        axes.plot(*zip(*points, strict=True), marker, label=name, markersize=4) if points else None
    axes.set(xscale="log", yscale="log", xlabel="objects", ylabel="applicable actions (average over a random walk)")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend(fontsize="small", ncols=2)
    picture = io.BytesIO()
    try:
        figure.savefig(picture, dpi=150, format=path.suffix.removeprefix(".") or "png")
    except ValueError as error:  # a format that is not known
        raise InputError(f"{path}: cannot be written: {error}") from error
    write_whole(path, picture.getvalue())
