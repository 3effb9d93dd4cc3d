"""Twin of the kernel's encoding budget: which nodes of a finished tree are kept for the network, if not all may be.

order the nodes: goal states, then nodes with more satisfied goals than the root, then all others; within each, in
the order they were found
keep each node with those of its ancestors that are not kept yet, unless all of them together no longer fit
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def choose_encoded(parents: Sequence[int], goals: Sequence[int], total: int, most: int) -> list[int]:
    """Nodes to keep, ascending: the root, which does not count, and at most `most` others.

    `parents` and `goals` have the parent and the number of satisfied goal literals of every node; `total` is the number
    of the goal's literals.
    """

    def rank(node: int) -> int:
        if goals[node] == total:
            return 0
        return 1 if goals[node] > goals[0] else 2

    def path(node: int) -> Iterator[int]:
        while node != 0:
            yield node
            node = parents[node]

    kept: set[int] = set()
    for node in sorted(range(1, len(parents)), key=rank):
        wanted = kept.union(path(node))
        if len(wanted) <= most:
            kept = wanted
    return [0, *sorted(kept)]
