"""Stage `lookahead`: the tree that a lookahead builds. Nodes are numbered breadth first; node 0 is the root."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from saltus import _kernel
from saltus.errors import SaltusError
from saltus.lookahead.free_moves import canonical_state, walks_before
from saltus.lookahead.spec import TreeSpec
from saltus.task import Action, Goal, Plan, State, Task


@dataclass(frozen=True, eq=False)
class LookaheadTree:
    """States reached from `root`, as differences from it. Arrays have one entry per node unless stated otherwise."""

    task: Task = field(repr=False)
    root: State
    goal: Goal
    spec: TreeSpec
    parent: NDArray[np.int32] = field(repr=False)
    """-1 for the root."""
    depth: NDArray[np.int32] = field(repr=False)
    """Number of edges from the root."""
    length: NDArray[np.int32] = field(repr=False)
    """Number of actions from the root."""
    schema: NDArray[np.int32] = field(repr=False)
    """Schema of the action that leads from the parent to the node; -1 for the root."""
    argument_offset: NDArray[np.int64] = field(repr=False)
    """[nodes + 1]: where the arguments of that action are in `argument`."""
    argument: NDArray[np.int32] = field(repr=False)
    novel: NDArray[np.bool_] = field(repr=False)
    """Whether the state was novel; successors of the root may be in the tree without being novel."""
    goals: NDArray[np.int32] = field(repr=False)
    """Number of satisfied goal literals."""
    added_offset: NDArray[np.int64] = field(repr=False)
    """[nodes + 1]: where the node's atoms that are absent from the root are in `added`, ascending."""
    added: NDArray[np.int64] = field(repr=False)
    deleted_offset: NDArray[np.int64] = field(repr=False)
    """[nodes + 1]: where the root's atoms that are absent from the node are in `deleted`, ascending."""
    deleted: NDArray[np.int64] = field(repr=False)
    generated: int
    """Number of actions generated; it depends on the implementation, not on the tree alone."""
    root_actions: int
    """Number of actions applicable in the root."""
    root_successors: str
    """all, classes or novel: what was used, also where `auto` was asked for."""
    truncated: bool
    """Whether the tree was cut off by `max_nodes`, by its number of atoms, or for lack of memory."""
    stopped: bool
    """Whether states were not expanded because of `max_better`; every successor of the root is in the tree all the
    same."""
    left_out: int
    """Number of nodes left out because of `max_encoded`."""
    small: LookaheadTree | None = field(default=None, repr=False)
    """The same tree in the task of the visible objects (`view.py`), which is encoded; None if none is hidden."""
    objects: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32), repr=False)
    """[objects of the small task]: their numbers in the task; empty if none is hidden."""

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def novel_count(self) -> int:
        """Number of novel nodes, including the root."""
        return int(self.novel.sum())

    @property
    def encoded(self) -> LookaheadTree:
        """The tree that the graph stage encodes: that of the visible objects."""
        return self if self.small is None else self.small

    @property
    def has_all_successors(self) -> bool:
        """Whether it is certain that every distinct successor of the root is in the tree."""
        dropped = self.spec.capacity is not None and not self.spec.keep_root_successors
        lacks_some = self.truncated or self.left_out or dropped or self.small is not None
        return not lacks_some and self.root_successors == "all"

    @property
    def goal_count(self) -> int:
        """Number of goal literals."""
        return self.goal.size

    @cached_property
    def goal_nodes(self) -> NDArray[np.intp]:
        """Nodes whose state satisfies the goal, ascending."""
        if self.goal.impossible:
            return np.zeros(0, np.intp)
        return np.flatnonzero(self.goals == self.goal_count)

    @property
    def nearest_goal(self) -> int | None:
        """The goal node with the fewest actions, the first of several; None if there is none."""
        return int(self.goal_nodes[self.length[self.goal_nodes].argmin()]) if len(self.goal_nodes) else None

    def reaches_goal(self, node: int) -> bool:
        """Whether the node's state satisfies the goal."""
        return not self.goal.impossible and int(self.goals[node]) == self.goal_count

    def added_of(self, node: int) -> NDArray[np.int64]:
        """Atoms of the node that are absent from the root."""
        return self.added[self.added_offset[node] : self.added_offset[node + 1]]

    def deleted_of(self, node: int) -> NDArray[np.int64]:
        """Atoms of the root that are absent from the node."""
        return self.deleted[self.deleted_offset[node] : self.deleted_offset[node + 1]]

    def change_to(self, node: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Atoms added and deleted on the way from the root to a node, copied, so that the tree can be freed."""
        return self.added_of(node).copy(), self.deleted_of(node).copy()

    def state_of(self, node: int) -> State:
        """State of a node."""
        return self.root.changed(self.added_of(node), self.deleted_of(node))

    def up_to_walks(self, state: State) -> State:
        """The state that stands for all states from which agents only have to walk to be in this one."""
        return canonical_state(self.task, state, self.goal) if self.spec.free_moves else state

    def find(self, state: State) -> int:
        """First node with this state, which may be the root; -1 if there is none."""
        return _kernel.find_node(
            self.root.codes, self.added_offset, self.added, self.deleted_offset, self.deleted, state.codes
        )

    def action_of(self, node: int) -> Action:
        """Action that leads to a node from its parent; the root has none."""
        if node == 0:
            raise SaltusError("the root of a lookahead tree has no action")
        arguments = self.argument[self.argument_offset[node] : self.argument_offset[node + 1]]
        return Action(int(self.schema[node]), tuple(arguments.tolist()))

    def jump_to(self, node: int) -> list[Action]:
        """Actions that lead to a node from its parent: the walks, if moves are free, and the action that they serve."""
        action = self.action_of(node)
        parent = int(self.parent[node])
        if int(self.length[node]) == int(self.length[parent]) + 1:
            return [action]
        return [*walks_before(self.task, self.state_of(parent), action), action]

    def path_to(self, node: int) -> list[Action]:
        """Actions from the root to a node."""
        jumps: list[list[Action]] = []
        while node != 0:
            jumps.append(self.jump_to(node))
            node = int(self.parent[node])
        return [action for jump in reversed(jumps) for action in jump]

    def plan_to(self, node: int) -> Plan:
        """Path to a node as a plan."""
        return Plan.of(self.task.action_name(action) for action in self.path_to(node))
