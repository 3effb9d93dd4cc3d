"""Stage `policy`: which states of a tree a policy may go on with: the one place that decides it.

Takes a tree and one of its nodes; says whether the state has been visited, is a dead end, is to wait because the jump
shuts off other goals (`frozen.py`), or is open. Greedy rollouts take the first open candidate in the order of their
Q-values, searches the first open one of their queues; both remember what they have tested here.

Cost: a look into a set for visited states; a test for dead ends takes from hundredths of a millisecond to tenths of a
second, and is made once per state.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from enum import Enum, auto

from saltus.lookahead import LookaheadTree, PlaySpec, is_dead_end
from saltus.policy.frozen import FrozenGoals
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


class DeadEnds:
    """The dead ends of a task: `state in dead_ends` tests a state and remembers the answer by the state's hash."""

    def __init__(self, task: Task, goal: Goal, roles: int | None = None) -> None:
        self.task = task
        self.goal = goal
        self.roles = roles
        """The number of representatives, which is enough for the test, too; None for all objects."""
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
            known = self._known[key] = is_dead_end(self.task, state, self.goal, roles=self.roles)
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
        self.task = task
        self.goal = goal
        self.avoids_dead_ends = spec.dead_ends and not explores
        self.ends_in_dead_ends = spec.dead_ends and explores
        self.visited = StateSet()
        """States visited, up to walks if moves are free."""
        self.dead_ends: DeadEnds = DeadEnds(task, goal, spec.roles) if tested is None else tested.dead_ends
        self.frozen_goals: FrozenGoals | None = None if explores else FrozenGoals.when_playing(spec, task, goal)
        """The test that puts off jumps that reach goals but shut off others; None if there is none."""
        if tested is not None and tested.goal is goal and self.frozen_goals is not None:
            self.frozen_goals = tested.frozen_goals

    @property
    def seconds_dead_ends(self) -> float:
        """Time that the tests for dead ends have taken."""
        return self.dead_ends.seconds

    @property
    def seconds_frozen_goals(self) -> float:
        """Time that the tests for frozen goals have taken."""
        return self.frozen_goals.seconds if self.frozen_goals is not None else 0.0

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
        if self.frozen_goals is not None and self.frozen_goals.postpones(tree, node, state):
            return Verdict.POSTPONED
        return Verdict.OPEN

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
