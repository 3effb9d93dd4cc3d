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
from saltus.cli.inspect import FOLDER_HELP, read_task, read_tasks
from saltus.cli.options import DomainFile, Json, ProblemFile
from saltus.errors import plural
from saltus.lookahead import (
    KINDS,
    ROOT_SUCCESSORS,
    LookaheadTree,
    PlaySpec,
    TreeSpec,
    count_actions,
    random_action,
    successor_state,
)
from saltus.lookahead import lookahead as run_lookahead
from saltus.lookahead.free_moves import find_free_moves
from saltus.lookahead.spec import GOAL_IDENTITIES
from saltus.task import Task, find_suites

DEFAULTS = TreeSpec()
LIMITS = PlaySpec()


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
    free_moves: Annotated[
        bool, typer.Option(help="Whether moves of agents that can be undone are free: a jump is a whole errand.")
    ] = DEFAULTS.free_moves,
    max_better: Annotated[
        int | None,
        typer.Option(help="Stop growing once this many states have more goals than the root (default: never)."),
    ] = LIMITS.max_better,
    max_encoded: Annotated[
        int | None,
        typer.Option(help="Maximum number of nodes kept for the network, not counting the root (default: all)."),
    ] = LIMITS.max_encoded,
    max_nodes: Annotated[int, typer.Option(help="Maximum number of nodes in the tree.")] = LIMITS.max_nodes,
    json: Json = False,
) -> None:
    """Run a lookahead from the initial state and show the size of its tree.

    Shown are the number of states in the tree (nodes), of novel states (both include the root) and of actions that the
    kernel generated. With free moves, an edge of the tree stands for an action and the moves before it; the path to a
    node with the most goals is shown, with these moves folded.

    Examples:

        saltus lookahead examples/blocksworld/domain.pddl examples/blocksworld/p100.pddl

        saltus lookahead examples/blocksworld/domain.pddl examples/blocksworld/p100.pddl --kind iw --json

        saltus lookahead examples/gardener/domain.pddl examples/gardener/large.pddl --free-moves
    """
    spec = TreeSpec(
        kind=kind,
        width=width,
        capacity=capacity,
        goal_identity=goal_identity,
        root_successors=root_successors,
        expand_root_successors=expand_root_successors,
        keep_root_successors=keep_root_successors,
        free_moves=free_moves,
    )
    limits = PlaySpec(max_better=max_better, max_encoded=max_encoded, max_nodes=max_nodes)
    task = read_task(domain, problem)
    # The time below excludes copying the task to the kernel and finding free moves, which happens here.
    run_lookahead(task, spec=TreeSpec(kind="flat", free_moves=free_moves), play=PlaySpec(max_nodes=1))
    start = time.perf_counter()
    tree = run_lookahead(task, spec=spec, play=limits)
    seconds = time.perf_counter() - start
    if json:
        names = {"kind": spec.kind, "width": spec.width, "free_moves": spec.free_moves}
        output.print_json({**names, **tree_figures(tree), "seconds": seconds})
    else:
        show_tree(tree, max_nodes, seconds)


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
        "max_length": int(tree.length.max()),
        "goal_nodes": len(tree.goal_nodes),
        "goal_length": None if tree.nearest_goal is None else int(tree.length[tree.nearest_goal]),
        "truncated": tree.truncated,
        "stopped": tree.stopped,
        "left_out": tree.left_out,
    }


def show_tree(tree: LookaheadTree, max_nodes: int, seconds: float) -> None:
    """Prints the size of a tree and a chart of its depths."""
    spec = tree.spec
    console = output.console()
    console.print(Text.assemble((spec.label, "bold"), " from the initial state of ", (tree.task.name, "bold")))
    console.print(f"{len(tree):,} nodes, {tree.novel_count:,} novel, {tree.generated:,} actions generated")
    console.print(f"root: {tree.root_actions:,} applicable actions, successors: {tree.root_successors}")
    reached = f"goal reached in {len(tree.goal_nodes):,} nodes" if len(tree.goal_nodes) else "goal not reached"
    longest = f" (up to {plural(int(tree.length.max()), 'action')})" if spec.free_moves else ""
    console.print(f"depth {int(tree.depth.max())}{longest}, {reached}, {seconds * 1000:.3f} ms")
    if tree.truncated:
        reason = "--max-nodes" if len(tree) + tree.left_out >= max_nodes else "memory"
        console.print(Text.assemble(("the tree was truncated", "bold red"), f" ({reason})"))
    if tree.stopped:
        console.print("the tree stopped growing (--max-better)")
    if tree.left_out:
        console.print(f"{tree.left_out:,} nodes left out (--max-encoded)")
    if spec.free_moves and find_free_moves(tree.task) is None:
        console.print("the problem has no free moves: the tree is the same without --free-moves")
    histogram = np.bincount(tree.depth).tolist()
    largest = max(histogram)
    bars = ["█" * max(1, round(40 * count / largest)) for count in histogram]
    columns = ["depth", "nodes", "actions", ""] if spec.free_moves else ["depth", "nodes", ""]
    rows = [
        (depth, count, *([lengths_text(tree, depth)] if spec.free_moves else []), bar)
        for depth, (count, bar) in enumerate(zip(histogram, bars, strict=True))
    ]
    console.print(output.table("Nodes by depth", columns, rows, left=0, last_left=True))
    if spec.free_moves:
        show_path(tree)


def lengths_text(tree: LookaheadTree, depth: int) -> str:
    """The fewest and the most actions from the root to the nodes of a depth."""
    lengths = tree.length[tree.depth == depth]
    fewest, most = int(lengths.min()), int(lengths.max())
    return f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"


def show_path(tree: LookaheadTree) -> None:
    """Prints the path to the node with the most goals, of several the one with the fewest actions: a jump per line."""
    node = int(np.lexsort((tree.length, -tree.goals))[0])
    if node == 0:
        output.result("no node has more goals than the root")
        return
    reached = f"{plural(int(tree.goals[node]), 'goal')} of {tree.goal_count:,} (root: {int(tree.goals[0]):,})"
    output.result(f"path to {reached}: {plural(int(tree.length[node]), 'action')}")
    nodes = [node]
    while nodes[-1]:
        nodes.append(int(tree.parent[nodes[-1]]))
    for entry in nodes[-2::-1]:
        output.result(f"  {jump_text(tree, entry)}")


def jump_text(tree: LookaheadTree, node: int) -> str:
    """The action that leads to a node, and how many moves come before it."""
    moves = int(tree.length[node] - tree.length[tree.parent[node]]) - 1
    return tree.task.action_name(tree.action_of(node)) + (f" after {plural(moves, 'move')}" if moves else "")


def branching(
    folder: Annotated[Path, typer.Argument(help=FOLDER_HELP)],
    out: Annotated[Path | None, typer.Option(help="CSV file to write (default: standard output).")] = None,
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
