"""Stage `lab.report`: the drawing of a lookahead tree: which of its nodes are shown, and where.

Depths are columns from left to right. At every depth the candidates with the best Q-values are shown, and the whole
path of the jump; a node whose parent is hidden is attached to its nearest ancestor that is shown. Within a column,
nodes are ordered by their parents, so that edges between adjacent columns do not cross. The path of the jump is
straight, and so are other branches as far as their neighbours allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saltus.lookahead import LookaheadTree


@dataclass(frozen=True)
class Drawing:
    """The nodes shown, in ascending order, the root first; lists have one entry per shown node unless stated."""

    nodes: list[int]
    parents: list[int]
    """Index in these lists of the nearest ancestor that is shown; -1 for the root."""
    rows: list[float]
    """Vertical position; the least is 0, and neighbours in a column are at least 1 apart."""
    hidden: list[int]
    """Number of nodes not shown, per depth."""


def draw(tree: LookaheadTree, q: NDArray[np.float32], jump: int, per_depth: int) -> Drawing:
    """The best `per_depth` nodes of every depth, and the path to the node `jump`."""
    depths = int(tree.depth.max()) + 1
    most = max(min(3, per_depth), min(per_depth, 700 // depths))  # 700 nodes at most, about: deep trees show fewer each
    shown = {0}
    order = np.lexsort((np.arange(len(q)), -q, tree.depth[1:])) + 1  # by depth, then descending Q, then number
    starts = np.searchsorted(tree.depth[order], np.arange(1, depths + 1))
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        shown.update(order[begin : min(end, begin + most)].tolist())
    node = jump
    while node > 0:
        shown.add(node)
        node = int(tree.parent[node])
    nodes = sorted(shown)
    place = {node: i for i, node in enumerate(nodes)}
    parents = [-1]
    for node in nodes[1:]:
        ancestor = int(tree.parent[node])
        while ancestor not in place:
            ancestor = int(tree.parent[ancestor])
        parents.append(place[ancestor])
    depth = tree.depth[nodes]
    counts = np.bincount(tree.depth, minlength=depths) - np.bincount(depth, minlength=depths)
    values = [float("inf"), *(float(q[node - 1]) for node in nodes[1:])]
    rows = place_rows(parents, depth.tolist(), values, place[jump])
    return Drawing(nodes, parents, rows, counts.tolist())


def place_rows(parents: Sequence[int], depths: Sequence[int], values: Sequence[float], jump: int) -> list[float]:
    """The vertical positions of nodes, given their parents, depths and values; better values are higher up.

    One child of every node is level with it: the one on the path of the jump, or else the one with the most nodes below
    it. Its siblings are placed around it.
    """
    weight = [1.0] * len(parents)
    for i in range(len(parents) - 1, 0, -1):
        weight[parents[i]] += weight[i]
    node = jump
    while node > 0:
        weight[node] += 1000.0 * len(parents)  # far more than all other nodes together
        node = parents[node]
    rows = [0.0] * len(parents)
    for depth in range(1, max(depths) + 1):
        column = [i for i, found in enumerate(depths) if found == depth]
        column.sort(key=lambda i: (rows[parents[i]], parents[i], -values[i], i))
        siblings: dict[int, list[int]] = {}
        for i in column:
            siblings.setdefault(parents[i], []).append(i)
        wished: list[float] = []
        for parent, children in siblings.items():
            straight = max(range(len(children)), key=lambda j: (weight[children[j]], -j))
            wished += [rows[parent] + j - straight for j in range(len(children))]
        for i, row in zip(column, spread(wished, [weight[i] for i in column]), strict=True):
            rows[i] = row
    least = min(rows)
    return [round(row - least, 3) for row in rows]


def spread(wished: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Positions at least 1 apart, in the given order, with the least weighted sum of squares to the wished ones.

    With its index subtracted, no position may be below the one before: isotonic regression, by merging neighbours.
    """
    blocks: list[tuple[float, float, int]] = []  # mean, weight and size
    for i, (wish, weight) in enumerate(zip(wished, weights, strict=True)):
        mean, size = wish - i, 1
        while blocks and blocks[-1][0] >= mean:
            before, heavy, count = blocks.pop()
            mean = (mean * weight + before * heavy) / (weight + heavy)
            weight, size = weight + heavy, size + count
        blocks.append((mean, weight, size))
    level = [mean for mean, _, size in blocks for _ in range(size)]
    return [mean + i for i, mean in enumerate(level)]
