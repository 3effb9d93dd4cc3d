"""Stage `policy`: search around a policy: best-first over jumps, with backtracking, after the greedy rollout failed
or stalled.

A search node is a state that the policy has decided about: its tree and a Q-value for each of the tree's states. The
open list holds the candidates of all such states. Two queues take turns; both order candidates by the cost so far minus
a weight times the Q-value. One has a large weight: it goes on where the policy is most confident, and so repairs
mistakes near the end. The other has weight 1: Q-values are costs to go, so this is the order of A*, which also revises
early jumps. What a jump costs (1, its actions, or their costs) is what the policy's Q-values count (`JumpCost`).
A rollout that has stalled names the nodes to begin with (`prefer`). Neither queue drops a candidate. As long as every
distinct successor of a state is in its tree, the search ends without a plan only if every reachable state has been
decided about or is a dead end (`PlaySpec.dead_ends`); `incomplete` holds the search nodes of whose trees this is
not certain. Candidates that reach goals but shut off others (`PlaySpec.frozen_goals`) are put aside; one of them
is taken every so many decisions.

Cost: one decision per search node. Of a tree only order and values are kept, eight bytes per state, and each queue
holds only the next candidate of every search node. The kernel makes a tree again when one of its states is needed,
unless it is among the last ones used. The order depends on policy, task and weights only: nothing is random.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from saltus.lookahead import LookaheadTree, Situation, lookahead
from saltus.policy.admissible import Admissible, Verdict
from saltus.policy.choose import tolerance
from saltus.policy.rollout import Decision, Policy, cost_of
from saltus.policy.values import CACHED_NODES, KEPT_EVERY, WEIGHTS
from saltus.task import Action, Goal, State, Task
from saltus.task.state import Codes, StateSet, changed_codes

Change: TypeAlias = tuple[Codes, Codes]
"""Atoms added and deleted by a jump."""


@dataclass(frozen=True, eq=False)
class SearchNode:
    """A state that the policy has decided about."""

    number: int
    kept: State | Change = field(repr=False)
    """The node's state, or what has changed since the parent's."""
    parent: SearchNode | None
    depth: int
    """Number of jumps."""
    actions: tuple[Action, ...] = field(repr=False)
    """Actions from the parent's state to this one."""
    cost: float
    """Cost of the jumps so far, as the policy counts it."""
    candidates: NDArray[np.int32] = field(repr=False)
    """Nodes of the tree by descending Q-value; among equal values, in the order of the tree."""
    q: NDArray[np.float32] = field(repr=False)
    """Q-values of the candidates, in the same order."""

    @property
    def state(self) -> State:
        """The state; made anew from that of an ancestor if the node does not keep it."""
        changes: list[Change] = []
        node: SearchNode = self
        while not isinstance(node.kept, State):
            changes.append(node.kept)
            assert node.parent is not None, "a root keeps its state"
            node = node.parent
        if not changes:
            return node.kept
        codes = node.kept.codes
        for change in reversed(changes):
            codes = changed_codes(codes, *change)
        return State(codes)

    def path(self) -> list[Action]:
        """The actions from the initial state to this one."""
        parts: list[tuple[Action, ...]] = []
        node: SearchNode | None = self
        while node is not None:
            parts.append(node.actions)
            node = node.parent
        return [action for part in reversed(parts) for action in part]


class _Queue:
    """The next candidate of every search node, ordered by cost so far minus weight times Q-value."""

    def __init__(self, weight: float) -> None:
        self.weight = weight
        self.heap: list[tuple[float, int, int]] = []

    def push(self, node: SearchNode, position: int) -> None:
        if position < len(node.candidates):
            priority = round(node.cost - self.weight * float(node.q[position]), 4)
            heapq.heappush(self.heap, (priority, node.number, position))

    def pop(self, nodes: Sequence[SearchNode]) -> tuple[SearchNode, int]:
        """The best candidate with its search node, whose next candidate takes its place."""
        _, number, position = heapq.heappop(self.heap)
        self.push(nodes[number], position + 1)
        return nodes[number], int(nodes[number].candidates[position])


_Found: TypeAlias = tuple[State, SearchNode, list[Action], Change]
"""A candidate: its state, the search node that it belongs to, and the jump."""


class JumpSearch:
    """A search that can start from the decisions of a rollout."""

    def __init__(
        self,
        policy: Policy,
        task: Task,
        *,
        goal: Goal | None = None,
        weights: Sequence[float] = WEIGHTS,
        tested: Admissible | None = None,
    ) -> None:
        """`tested` is what has been tested before in the task, for its own goal."""
        self.policy = policy
        self.cost = cost_of(policy)
        self.task = task
        self.goal = task.goal if goal is None else goal
        self.nodes: list[SearchNode] = []
        self.solution: list[Action] | None = None
        self.incomplete: set[int] = set()
        """Numbers of the search nodes whose tree may lack successors: cut off, nodes left out, one per class only."""
        self.admissible = Admissible(task, self.goal, policy.play_spec, tested=tested)
        """What has been decided about, and what is not to be."""
        self._hopeless: set[int] = set()
        """Numbers of search nodes that are dead ends, and with them all of their candidates."""
        self._queues = [_Queue(weight) for weight in weights]
        self._turn = 0
        self._postponed: deque[tuple[SearchNode, int]] = deque()
        """Candidates that were put aside, the first ones first."""
        self._put_aside = StateSet()
        self._first: deque[SearchNode] = deque()
        self._trees: OrderedDict[int, LookaheadTree] = OrderedDict()
        self._cached = 0

    def add(
        self,
        decision: Decision,
        parent: SearchNode | None,
        actions: Sequence[Action],
        change: Change | None = None,
    ) -> SearchNode:
        """The search node of a decision; `actions` lead to its state from the parent's, and `change` is what they
        change, if that is known."""
        tree = decision.tree
        order = _ranking(decision.q)
        cost = 0.0 if parent is None else parent.cost + self.cost.of_actions(self.task, actions)
        depth = 0 if parent is None else parent.depth + 1
        node = SearchNode(
            len(self.nodes),
            tree.root if parent is None or change is None or depth % KEPT_EVERY == 0 else change,
            parent,
            depth,
            tuple(actions),
            cost,
            order + 1,
            decision.q[order].astype(np.float32),
        )
        self.nodes.append(node)
        self.admissible.visit(tree)
        if not tree.has_all_successors:
            self.incomplete.add(node.number)
        for queue in self._queues:
            queue.push(node, 0)
        if self.solution is None and tree.nearest_goal is not None:
            self.solution = node.path() + tree.path_to(tree.nearest_goal)
        return node

    def expand(
        self, state: State, parent: SearchNode | None, actions: Sequence[Action], change: Change | None = None
    ) -> tuple[SearchNode, Decision]:
        """The search node of a state, about which the policy decides now."""
        decision = self.policy.decide([Situation(self.task, state, self.goal)])[0]
        node = self.add(decision, parent, actions, change)
        self._keep(node, decision.tree)
        return node, decision

    def prefer(self, nodes: Sequence[SearchNode]) -> None:
        """Lets the search begin with the best new candidate of each of these nodes, in this order."""
        self._first.extend(nodes)

    def run(self) -> Iterator[tuple[SearchNode, Decision]]:
        """Search nodes as they are made, until `solution` is set or no candidate is left. The caller may stop at any
        time."""
        return (made for made in self.pieces() if made is not None)

    def pieces(self) -> Iterator[tuple[SearchNode, Decision] | None]:
        """The same, with None after each candidate that proved to be a dead end or was put aside: nearly all may be."""
        if not self.nodes:
            yield self.expand(self.task.initial_state, None, ())
        for found in self._candidates():
            if self.solution is not None:
                return
            yield None if found is None else self.expand(*found)

    def _candidates(self) -> Iterator[_Found | None]:
        """The best candidates with new states, each from the queue whose turn it is; None after each that is a dead end
        or put aside."""
        while self.solution is None:
            yield from self._preferred()
            # one decision in eight is about a candidate that was put aside, if there is one
            found = self._next_postponed() if len(self.nodes) % 8 == 0 else None
            queue = self._queues[self._turn]
            while found is None and queue.heap:
                taken = self._take(*queue.pop(self.nodes))
                if not isinstance(taken, Verdict):
                    found = taken
                    self._turn = (self._turn + 1) % len(self._queues)
                elif taken is not Verdict.VISITED:
                    yield None
            if found is None and (found := self._next_postponed()) is None:
                return  # an empty queue has offered every candidate
            yield found

    def _preferred(self) -> Iterator[_Found | None]:
        """The best new candidate of each preferred node."""
        while self._first:
            node = self._first.popleft()
            for candidate in node.candidates.tolist():
                taken = self._take(node, candidate)
                if not isinstance(taken, Verdict):
                    yield taken
                    break
                if taken is not Verdict.VISITED:
                    yield None

    def _take(self, node: SearchNode, candidate: int) -> _Found | Verdict:
        """A candidate to go on with, or why not; one that cannot be told from visited ones counts as visited."""
        if node.number in self._hopeless:
            return Verdict.VISITED
        tree = self._tree(node)
        if candidate >= len(tree):  # made again with less memory left, and truncated earlier
            self.incomplete.add(node.number)
            return Verdict.VISITED
        state = tree.state_of(candidate)
        verdict = self.admissible.verdict(tree, candidate, state)
        if verdict is Verdict.OPEN:
            return state, node, tree.path_to(candidate), tree.change_to(candidate)
        if verdict is Verdict.HOPELESS:
            self._hopeless.add(node.number)
        elif verdict is Verdict.POSTPONED:
            key = tree.up_to_walks(state)
            if key not in self._put_aside:
                self._put_aside.add(key)
                self._postponed.append((node, candidate))
        return verdict

    def _next_postponed(self) -> _Found | None:
        """The first candidate that was put aside and is still new; None if there is none."""
        while self._postponed:
            node, candidate = self._postponed.popleft()
            tree = self._tree(node)
            if candidate >= len(tree):
                self.incomplete.add(node.number)
                continue
            state = tree.state_of(candidate)
            if not self.admissible.is_visited(tree, state):
                return state, node, tree.path_to(candidate), tree.change_to(candidate)
        return None

    def _tree(self, node: SearchNode) -> LookaheadTree:
        tree = self._trees.get(node.number)
        if tree is None:
            tree = lookahead(self.task, node.state, self.policy.lookahead, self.goal, self.policy.play_spec)
            self._keep(node, tree)
        else:
            self._trees.move_to_end(node.number)
        return tree

    def _keep(self, node: SearchNode, tree: LookaheadTree) -> None:
        self._trees[node.number] = tree
        self._cached += _size(tree)
        while self._cached > CACHED_NODES and len(self._trees) > 1:
            _, dropped = self._trees.popitem(last=False)
            self._cached -= _size(dropped)


class SearchAround:
    """A search as a searcher (`portfolio.py`). It begins with a state that nobody has decided about, if there is one: a
    search node, the state, and the actions that lead there from the node's."""

    def __init__(
        self, search: JumpSearch, undecided: tuple[SearchNode | None, State, list[Action]] | None = None
    ) -> None:
        self.search = search
        self.work = 0
        self.goals = 0
        self.next_work = 0
        self._undecided = undecided

    @property
    def solution(self) -> list[Action] | None:
        """That of the search."""
        return self.search.solution

    def run(self) -> Iterator[Decision | None]:
        """Decisions as they are made, and None after each test that rules out a candidate, until there is a solution or
        no candidate is left."""
        if self._undecided is not None and self.search.solution is None:
            node, state, jump = self._undecided
            yield self._seen(self.search.expand(state, node, jump))
        for made in self.search.pieces():
            yield self._seen(made)

    def _seen(self, made: tuple[SearchNode, Decision] | None) -> Decision | None:
        if made is None:
            self.work += 1
            return None
        tree = made[1].tree
        self.work += len(tree)
        self.goals = max(self.goals, int(tree.goals[0]))
        return made[1]


def _size(tree: LookaheadTree) -> int:
    """Memory of a tree, counted in nodes; 16 atoms of its root take as much as one."""
    return len(tree) + len(tree.root) // 16


def _ranking(q: NDArray[np.float32]) -> NDArray[np.int32]:
    """Indices of Q-values in descending order; values within rounding error count as equal and keep their order."""
    if not len(q):
        return np.zeros(0, np.int32)
    quantum = tolerance(float(q.max()))
    return np.argsort(-np.rint(q.astype(np.float64) / quantum), kind="stable").astype(np.int32)
