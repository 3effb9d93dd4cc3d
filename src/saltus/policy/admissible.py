"""Stage `policy`: which states of a tree a policy may go on with: the one place that decides it.

Takes a tree and one of its nodes; says whether the state has been visited, is a dead end, is to wait because the jump
shuts off other goals, or is open. Greedy rollouts take the first open candidate in the order of their Q-values,
searches the first open one of their queues; both remember what they have tested here.

With `PlaySpec.frozen_goals`, a state with more goals than its root is tested before a policy jumps to it. Greedy play
puts off a jump that fails the test; a search puts it behind others. Neither drops it: some problems are solved only by
undoing goals. For the same reason the test counts only where the root itself passes it: otherwise some goal must be
undone anyway.

Cost: a look into a set for visited states; a test for dead ends or frozen goals takes from hundredths of a millisecond
to tenths of a second, and is made once per state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray

from saltus.lookahead import LookaheadTree, PlaySpec, is_dead_end, keeps_goals
from saltus.policy.values import MAX_DEAD_ENDS, MAX_POSTPONED
from saltus.task import Goal, State, Task
from saltus.task.state import StateSet


class Verdict(Enum):
    """What is known about a state of a tree."""

    OPEN = auto()
    VISITED = auto()
    DEAD_END = auto()
    HOPELESS = auto()
    """A dead end, and so is the root, and with it every state of the tree."""
    POSTPONED = auto()


class TestedStates:
    """The states that pass a test: `state in tested` tests it and remembers the answer by the state's hash."""

    def __init__(self, test: Callable[[State], bool]) -> None:
        self.test = test
        self.seconds = 0.0
        """Total time that the tests have taken."""
        self._known: dict[int, bool] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, state: State) -> bool:
        key = hash(state)
        known = self._known.get(key)
        if known is None:
            start = time.perf_counter()
            known = self._known[key] = self.test(state)
            self._count += known
            self.seconds += time.perf_counter() - start
        return known


class Admissible:
    """What a rollout or a search may jump to in a task."""

    def __init__(
        self, task: Task, goal: Goal, spec: PlaySpec, *, explores: bool = False, tested: Admissible | None = None
    ) -> None:
        """Who `explores` jumps to dead ends, to learn from them, and ends there. `tested` is another one for the same
        task, whose dead ends are avoided: they are those of its goal, and tests are shared from then on."""
        self.goal = goal
        self.avoids_dead_ends = spec.dead_ends and not explores
        self.ends_in_dead_ends = spec.dead_ends and explores
        self.visited = StateSet()
        """States visited, up to walks if moves are free."""
        self.dead_ends = TestedStates(lambda state: is_dead_end(task, state, goal, roles=spec.roles))
        self.orders_goals = spec.frozen_goals and not explores
        """Whether jumps that reach goals but shut off others wait."""
        self.keeping = TestedStates(lambda state: keeps_goals(task, state, goal))
        """States from which every missing goal is reachable while the reached ones stay."""
        if tested is not None:
            self.dead_ends = tested.dead_ends
            self.keeping = tested.keeping if tested.goal is goal else self.keeping

    @property
    def seconds_dead_ends(self) -> float:
        """Time that the tests for dead ends have taken."""
        return self.dead_ends.seconds

    @property
    def seconds_frozen_goals(self) -> float:
        """Time that the tests for frozen goals have taken."""
        return self.keeping.seconds

    def visit(self, tree: LookaheadTree) -> None:
        """Takes the root of a tree as visited."""
        self.visited.add(tree.up_to_walks(tree.root))

    def is_visited(self, tree: LookaheadTree, state: State) -> bool:
        """Whether a state of a tree has been visited, up to walks if moves are free."""
        return tree.up_to_walks(state) in self.visited

    def is_avoided(self, state: State) -> bool:
        """Whether the state is a dead end that is to be avoided."""
        return self.avoids_dead_ends and state in self.dead_ends

    def is_end(self, state: State) -> bool:
        """Whether exploration ends in the state, which is a dead end."""
        return self.ends_in_dead_ends and state in self.dead_ends

    def verdict(self, tree: LookaheadTree, node: int, state: State, *, is_tested: bool = True) -> Verdict:
        """What is known about the state of a node; without `is_tested`, dead ends are not looked for."""
        if self.is_visited(tree, state):
            return Verdict.VISITED
        if is_tested and self.is_avoided(state):
            return Verdict.HOPELESS if tree.root in self.dead_ends else Verdict.DEAD_END
        return Verdict.POSTPONED if self.orders_goals and self.postpones(tree, node, state) else Verdict.OPEN

    def postpones(self, tree: LookaheadTree, node: int, state: State) -> bool:
        """Whether the jump to a node should wait, given its state.

        It should if it reaches goals and shuts off others, or if it undoes a goal where another jump reaches goals
        without that.
        """
        if tree.goals[node] <= tree.goals[0]:
            return False
        undoes = self._undoes(tree.deleted[tree.deleted_offset[node] : tree.deleted_offset[node + 1]]).any()
        if not undoes and state in self.keeping:
            return False
        return tree.root in self.keeping and bool(not undoes or self._has_keeper(tree))

    def _undoes(self, deleted: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.isin(deleted, self.goal.positive)

    def _has_keeper(self, tree: LookaheadTree) -> bool:
        """Whether some node has more goals than the root and all of the root's."""
        before = np.concatenate([[0], np.add.accumulate(self._undoes(tree.deleted), dtype=np.int64)])
        undone = before[tree.deleted_offset[1:]] > before[tree.deleted_offset[:-1]]
        return bool(((tree.goals > tree.goals[0]) & ~undone).any())

    def first_of(self, tree: LookaheadTree, nodes: Iterable[int]) -> tuple[Verdict, int, State] | None:
        """The first open node of some in the order of preference, or else the first one that should wait, with its
        state; None if there is none. `HOPELESS` with the root as soon as the root proves to be a dead end."""
        before = len(self.dead_ends)
        postponed: list[tuple[Verdict, int, State]] = []
        for node in nodes:
            state = tree.state_of(node)
            verdict = self.verdict(tree, node, state, is_tested=len(self.dead_ends) - before < MAX_DEAD_ENDS)
            if verdict is Verdict.HOPELESS:
                return verdict, 0, tree.root
            if verdict is Verdict.POSTPONED and len(postponed) < MAX_POSTPONED:
                postponed.append((verdict, node, state))
            elif verdict in (Verdict.OPEN, Verdict.POSTPONED):
                return verdict, node, state
        return postponed[0] if postponed else None
