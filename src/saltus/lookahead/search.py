"""Stage `lookahead`: the fast path. One kernel call builds a tree, or a batch of trees on several threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

from saltus import _kernel
from saltus.lookahead.free_moves import find_free_moves
from saltus.lookahead.roles import project
from saltus.lookahead.spec import (
    GOAL_IDENTITIES,
    KINDS,
    MAX_ROOT_ACTIONS,
    PLAY,
    ROOT_SUCCESSORS,
    TREES,
    PlaySpec,
    TreeSpec,
)
from saltus.lookahead.tree import LookaheadTree
from saltus.lookahead.view import View
from saltus.task import Goal, State, Task
from saltus.task.kernel_task import kernel_task

MAX_ATOMS = 100_000_000
"""Largest number of atoms stored as differences in a tree. A larger tree is cut off and marked as truncated. What the
search needs in addition to the tree (pairs of width 2, classes, lists of actions) may take as many bytes as these
atoms, and at least 64 MiB."""

ATOMS_PER_NODE = 1000
"""The same for each node that a tree may have: who wants few nodes wants little memory."""

_ROOT_NAMES = {number: name for name, number in ROOT_SUCCESSORS.items()}


class Situation(NamedTuple):
    """What a lookahead starts from."""

    task: Task
    state: State
    goal: Goal


def lookahead(
    task: Task,
    state: State | None = None,
    spec: TreeSpec = TREES,
    goal: Goal | None = None,
    play: PlaySpec = PLAY,
) -> LookaheadTree:
    """Tree from a state (default: the initial state) for a goal (default: the task's goal).

    `play` says how much of the task is seen, and how large the tree may become.
    """
    state = state if state is not None else task.initial_state
    goal = goal if goal is not None else task.goal
    return lookahead_batch([Situation(task, state, goal)], spec, play, threads=1)[0]


def lookahead_batch(
    situations: Sequence[Situation],
    spec: TreeSpec = TREES,
    play: PlaySpec = PLAY,
    *,
    threads: int | None = None,
) -> list[LookaheadTree]:
    """Trees of many situations. The result does not depend on the number of threads (default: one per core)."""
    views = [_view_of(situation, spec, play) for situation in situations]
    shown = [
        situation if view is None else Situation(view.task, view.state, view.goal)
        for situation, view in zip(situations, views, strict=True)
    ]
    trees = _kernel.lookahead_batch(
        [kernel_task(task) for task, _, _ in shown],
        [state.codes for _, state, _ in shown],
        [goal.positive for _, _, goal in shown],
        [goal.negative for _, _, goal in shown],
        [_kernel_moves(*pair, spec) for pair in zip(situations, views, strict=True)],
        _kernel_spec(spec, play),
        threads or os.cpu_count() or 1,
    )
    return [
        tree if view is None else view.lift(tree, *situation)
        for situation, view, tree in zip(situations, views, map(_wrap, shown, repeat(spec), trees), strict=True)
    ]


def _view_of(situation: Situation, spec: TreeSpec, play: PlaySpec) -> View | None:
    return None if play.roles is None else project(*situation, play.roles, free_moves=spec.free_moves)


def _kernel_moves(situation: Situation, view: View | None, spec: TreeSpec) -> _kernel.FreeMoves | None:
    if not spec.free_moves:
        return None
    task, _, _ = situation
    moves = find_free_moves(task) if view is None else view.moves
    return None if moves is None else moves.kernel


def _kernel_spec(spec: TreeSpec, play: PlaySpec) -> _kernel.Spec:
    return _kernel.Spec(
        KINDS[spec.kind],
        spec.width,
        spec.capacity or 0,
        GOAL_IDENTITIES[spec.goal_identity],
        ROOT_SUCCESSORS[spec.root_successors],
        spec.expand_root_successors,
        spec.keep_root_successors,
        play.max_better or 0,
        play.max_encoded or 0,
        play.max_nodes,
        min(MAX_ATOMS, ATOMS_PER_NODE * play.max_nodes),
        MAX_ROOT_ACTIONS,
    )


def _wrap(situation: Situation, spec: TreeSpec, tree: _kernel.Tree) -> LookaheadTree:
    task, state, goal = situation
    return LookaheadTree(
        task=task,
        root=state,
        goal=goal,
        spec=spec,
        parent=tree.parent,
        depth=tree.depth,
        length=tree.length,
        schema=tree.schema,
        argument_offset=tree.argument_offset,
        argument=tree.argument,
        novel=tree.novel.view(bool),
        goals=tree.goals,
        added_offset=tree.added_offset,
        added=tree.added,
        deleted_offset=tree.deleted_offset,
        deleted=tree.deleted,
        generated=tree.generated,
        root_actions=tree.root_actions,
        root_successors=_ROOT_NAMES[tree.root],
        truncated=tree.truncated,
        stopped=tree.stopped,
        left_out=tree.left_out,
    )
