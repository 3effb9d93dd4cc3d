"""Twin of the kernel's lookahead: the paper's definitions on Python sets. Both build the same trees, node by node.

    mark the features of the root's atoms as seen
    expand nodes breadth first, with actions in contract order; for every successor:
        it is novel if and only if an added atom has an unseen feature
        mark the features of its added atoms as seen
        it enters the tree if it is novel, or if it is a successor of the root that differs from the root and its
        other successors (the IW(0) step)

`root_successors` may restrict the IW(0) step; `capacity` limits the number of novel nodes at each depth. The paper's
sections "Iterated Width" and "Abstracted IW", and the appendix on BAIW and C-AIW. `max_better` stops the tree from
growing; `max_encoded` limits what is kept of the finished tree (`budget.py`).

Modulo free moves (`free_moves`), the successors of a node are those of `free_moves.py`. An added atom that says
where an agent is has one feature, that the agent is somewhere; unless the goal mentions the atom, or a move that cannot
be undone adds it.

Departure: by default, successors of the root are expanded even if they are not novel (`expand_root_successors`), those
beyond the capacity stay in the tree as leaves (`keep_root_successors`), and very many of them are restricted to one per
class of interchangeable actions (`root_successors`). The paper does none of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from tests.twins.actions import applicable, changes
from tests.twins.budget import choose_encoded
from tests.twins.free_moves import Places, Successor, count_successors, successors

from saltus.lookahead.free_moves import FreeMoves, find_free_moves
from saltus.lookahead.spec import MAX_ROOT_ACTIONS, PLAY, TREES, PlaySpec, TreeSpec
from saltus.lookahead.tree import LookaheadTree
from saltus.task import Action, Goal, Literal, State, Task
from saltus.task.applicability import holds

Feature = tuple[object, ...]
Features = Callable[[Task, int], set[Feature]]


# -- features --------------------------------------------------------------------------------------------------------


def iw_features(task: Task, code: int) -> set[Feature]:
    """IW: the atom itself."""
    return {("atom", code)}


def aiw_features(task: Task, code: int) -> set[Feature]:
    """AIW: for each position, the argument there and the declared types of the others."""
    predicate, *arguments = task.decode(code)
    if len(arguments) <= 1:
        return {("atom", code)}
    types = [int(task.object_type[number]) for number in arguments]
    return {("abstract", predicate, i, number, *types[:i], *types[i + 1 :]) for i, number in enumerate(arguments)}


def baiw_features(task: Task, code: int) -> set[Feature]:
    """BAIW: for each position, the argument there."""
    predicate, *arguments = task.decode(code)
    if len(arguments) <= 1:
        return {("atom", code)}
    return {("abstract", predicate, i, number) for i, number in enumerate(arguments)}


FEATURES: dict[str, Features] = {"iw": iw_features, "aiw": aiw_features, "baiw": baiw_features}


def features(task: Task, goal: Goal, spec: TreeSpec, code: int) -> set[Feature]:
    """Features of an atom for a goal: an atom mentioned in the goal keeps its identity (`goal_identity`)."""
    mentioned = code in goal.positive or code in goal.negative
    abstract = FEATURES[spec.kind](task, code)
    if spec.goal_identity == "off" or not mentioned:
        return abstract
    identity: set[Feature] = {("atom", code)} if spec.kind == "iw" else {("goal", code)}
    return identity | abstract if spec.goal_identity == "also" else identity


class Novelty:
    """Features seen so far; for width 2, also pairs of features of different atoms."""

    def __init__(self, task: Task, goal: Goal, spec: TreeSpec, moves: FreeMoves | None) -> None:
        self.task, self.goal, self.spec, self.moves = task, goal, spec, moves
        self.seen: set[object] = set()

    def of(self, code: int, leaves: bool = False) -> set[Feature]:
        """Features of an atom; `leaves` says that a move that cannot be undone adds it."""
        agent = self.moves.place_of(self.task, code) if self.moves else None
        mentioned = code in self.goal.positive or code in self.goal.negative
        if agent is None or mentioned or leaves:
            return features(self.task, self.goal, self.spec, code)
        return {("somewhere", *agent[:2])}

    def mark_root(self, root: State) -> None:
        """Marks the features of the root's atoms: of places both as such and as being somewhere."""
        self.mark(root, root, leaves=True)
        places = [self.moves.place_of(self.task, code) for code in root] if self.moves else []
        self.seen.update(("somewhere", *agent[:2]) for agent in places if agent is not None)

    def mark(self, added: Iterable[int], atoms: Iterable[int], leaves: bool = False) -> bool:
        """Marks the features (and pairs) that the added atoms contribute to a state with these atoms.

        Returns whether one of them was unseen.
        """
        before = len(self.seen)
        for code in added:
            for feature in self.of(code, leaves):
                self.seen.add(feature)
                if self.spec.width == 2:
                    self.seen.update(
                        frozenset({(feature, 0), (other, int(other == feature))})
                        for companion in atoms
                        if companion != code
                        for other in self.of(companion)
                    )
        return len(self.seen) > before


# -- the tree --------------------------------------------------------------------------------------------------------


@dataclass
class Node:
    """A node of the tree under construction."""

    parent: int
    depth: int
    length: int
    action: Action | None
    state: State
    novel: bool
    expand: bool


class _FullError(Exception):
    """The tree has reached `max_nodes`."""


def lookahead(
    task: Task,
    state: State | None = None,
    spec: TreeSpec = TREES,
    goal: Goal | None = None,
    play: PlaySpec = PLAY,
) -> LookaheadTree:
    """Tree from a state, as `saltus.lookahead.lookahead` builds it; without roles."""
    root = state if state is not None else task.initial_state
    goal = goal if goal is not None else task.goal
    moves = find_free_moves(task) if spec.free_moves else None
    novelty = Novelty(task, goal, spec, moves)
    places = Places(task, moves, frozenset(root)) if moves else None
    ahead = list(_successors(task, goal, moves, root, is_root=True))
    root_actions = count_successors(task, moves, places) if moves and places else len(ahead)
    mode = spec.root_successors
    if mode == "auto":
        mode = "classes" if spec.width == 1 and root_actions > MAX_ROOT_ACTIONS else "all"
    nodes = [Node(-1, 0, 0, None, root, True, True)]
    truncated = stopped = False
    try:
        if spec.kind != "flat":
            novelty.mark_root(root)
        _expand_root(task, goal, spec, play, mode, ahead, nodes, novelty)
        level = 1
        _bound_level(goal, spec, mode, nodes, level)
        while spec.kind != "flat" and level < len(nodes) and not stopped:
            end = len(nodes)
            for number in range(level, end):
                if nodes[number].expand:
                    stopped = has_enough(goal, play, nodes)
                    if stopped:
                        break
                    _expand(task, goal, play, number, nodes, novelty)
            _bound_level(goal, spec, mode, nodes, end)
            level = end
    except _FullError:
        truncated = True
        _bound_level(goal, spec, mode, nodes, next(i for i, n in enumerate(nodes) if n.depth == nodes[-1].depth))
    return _finish(task, root, goal, spec, play, nodes, root_actions, mode, truncated, stopped)


def _append(play: PlaySpec, nodes: list[Node], node: Node) -> None:
    if len(nodes) >= play.max_nodes:
        raise _FullError
    nodes.append(node)


def _successors(task: Task, goal: Goal, moves: FreeMoves | None, state: State, *, is_root: bool) -> Iterator[Successor]:
    atoms = frozenset(state)
    if moves is not None:
        yield from successors(task, moves, goal, Places(task, moves, atoms), is_root)
        return
    for action in applicable(task, state):
        adds, deletes = changes(task, atoms, action)
        yield Successor([], action, adds, (atoms - deletes) | adds, False, False)


def _expand_root(
    task: Task,
    goal: Goal,
    spec: TreeSpec,
    play: PlaySpec,
    mode: str,
    ahead: Sequence[Successor],
    nodes: list[Node],
    novelty: Novelty,
) -> None:
    root = nodes[0].state
    atoms = frozenset(root)

    def up_to_walks(state: State) -> State:
        return Places(task, novelty.moves, frozenset(state)).canonical(goal) if novelty.moves else state

    distinct = {up_to_walks(root)}
    for successor in first_of_classes(task, root, goal, ahead) if mode == "classes" else ahead:
        child = State(successor.atoms)
        novel = spec.kind == "flat" or novelty.mark(successor.adds - atoms, child, successor.leaves)
        kept = up_to_walks(child)
        if kept in distinct or (mode == "novel" and not novel):
            continue
        distinct.add(kept)
        length = len(successor.walks) + 1
        _append(play, nodes, Node(0, 1, length, successor.action, child, novel, novel or spec.expand_root_successors))
    if mode == "classes" and spec.kind != "flat":  # the other members of the classes count as seen, too
        for successor in ahead:
            novelty.mark(successor.adds, (), successor.leaves)


def _expand(task: Task, goal: Goal, play: PlaySpec, number: int, nodes: list[Node], novelty: Novelty) -> None:
    node = nodes[number]
    atoms = frozenset(node.state)
    for successor in _successors(task, goal, novelty.moves, node.state, is_root=False):
        child = State(successor.atoms)
        if novelty.mark(successor.adds - atoms, child, successor.leaves):
            length = node.length + len(successor.walks) + 1
            _append(play, nodes, Node(number, node.depth + 1, length, successor.action, child, True, True))


def _bound_level(goal: Goal, spec: TreeSpec, mode: str, nodes: list[Node], first: int) -> None:
    """Keeps at most `capacity` novel nodes from `first` on: those with the most satisfied goals, ties in order."""
    novel = [i for i in range(first, len(nodes)) if nodes[i].novel]
    if spec.capacity is None or spec.kind == "flat" or len(novel) <= spec.capacity:
        return
    novel.sort(key=lambda i: -goal.count(nodes[i].state))
    dropped = set(novel[spec.capacity :])
    if nodes[first].depth == 1 and mode != "novel" and spec.keep_root_successors:  # they stay in the tree, as leaves
        for i in dropped:
            nodes[i].expand = False
    else:
        nodes[first:] = [node for i, node in enumerate(nodes[first:], start=first) if i not in dropped]


def has_enough(goal: Goal, play: PlaySpec, nodes: Sequence[Node]) -> bool:
    """Whether the tree holds so many nodes with more satisfied goals than its root that no further one is expanded."""
    if play.max_better is None:
        return False
    at_root = goal.count(nodes[0].state)
    return sum(goal.count(node.state) > at_root for node in nodes) >= play.max_better


def _finish(
    task: Task,
    root: State,
    goal: Goal,
    spec: TreeSpec,
    play: PlaySpec,
    nodes: list[Node],
    root_actions: int,
    mode: str,
    truncated: bool,
    stopped: bool,
) -> LookaheadTree:
    made = len(nodes)
    if play.max_encoded is not None:
        parents = [node.parent for node in nodes]
        goals = [goal.count(node.state) for node in nodes]
        total = goal.size
        kept = choose_encoded(parents, goals, total, play.max_encoded)
        nodes = [replace(nodes[i], parent=kept.index(parents[i]) if i else -1) for i in kept]
    arguments = [list(node.action.arguments) if node.action else [] for node in nodes]
    added = [np.setdiff1d(node.state.codes, root.codes) for node in nodes]
    deleted = [np.setdiff1d(root.codes, node.state.codes) for node in nodes]
    return LookaheadTree(
        task=task,
        root=root,
        goal=goal,
        spec=spec,
        parent=np.array([node.parent for node in nodes], np.int32),
        depth=np.array([node.depth for node in nodes], np.int32),
        length=np.array([node.length for node in nodes], np.int32),
        schema=np.array([node.action.schema if node.action else -1 for node in nodes], np.int32),
        argument_offset=np.cumsum([0, *map(len, arguments)]).astype(np.int64),
        argument=np.array([number for entry in arguments for number in entry], np.int32),
        novel=np.array([node.novel for node in nodes], bool),
        goals=np.array([goal.count(node.state) for node in nodes], np.int32),
        added_offset=np.cumsum([0, *map(len, added)]).astype(np.int64),
        added=np.concatenate(added).astype(np.int64),
        deleted_offset=np.cumsum([0, *map(len, deleted)]).astype(np.int64),
        deleted=np.concatenate(deleted).astype(np.int64),
        generated=0,
        root_actions=root_actions,
        root_successors=mode,
        truncated=truncated,
        stopped=stopped,
        left_out=made - len(nodes),
    )


# -- classes of interchangeable actions ------------------------------------------------------------------------------


def first_of_classes(task: Task, state: State, goal: Goal, ahead: Iterable[Successor]) -> Iterator[Successor]:
    """First successor of each class, and all walks alone. A class shares the schema, the colours of the arguments, and
    which of them are equal."""
    colours = find_colours(task, state, goal)
    known: set[tuple[object, ...]] = set()
    for successor in ahead:
        action = successor.action
        pattern = tuple(action.arguments.index(number) for number in action.arguments)
        key = (action.schema, tuple(colours[number] for number in action.arguments), pattern)
        if successor.alone or key not in known:
            known |= set() if successor.alone else {key}
            yield successor


def find_colours(task: Task, state: State, goal: Goal) -> list[int]:
    """1-WL colours of the objects over static atoms, state and goal, numbered by the first object of each colour.

    Constants named in schemas have different colours from the start: exchanging them would change what actions do.
    """
    atoms: list[tuple[str, tuple[int, ...]]] = [("static", task.decode(code)) for code in task.static_codes]
    atoms += [("state", task.decode(code)) for code in state]
    atoms += [(f"goal {code in state}", task.decode(code)) for code in goal.positive.tolist()]
    atoms += [(f"negated goal {code in state}", task.decode(code)) for code in goal.negative.tolist()]
    constants = {~term for literal in schema_literals(task) for term in literal.terms if term < 0}
    colours = _numbered([(int(task.object_type[i]), i if i in constants else -1) for i in range(len(task.objects))])
    while True:
        around: list[list[object]] = [[] for _ in colours]
        for role, (predicate, *arguments) in atoms:
            seen = tuple(colours[number] for number in arguments)
            for position, number in enumerate(arguments):
                around[number].append((role, predicate, position, seen))
        refined = _numbered(
            [(colour, tuple(sorted(map(str, near)))) for colour, near in zip(colours, around, strict=True)]
        )
        if max(refined, default=0) == max(colours, default=0):
            return refined
        colours = refined


def schema_literals(task: Task) -> Iterator[Literal]:
    """All literals of all schemas and axioms, at any depth."""
    for schema in task.schemas:
        yield from schema.precondition
        for effect in schema.effects:
            yield from (*effect.condition, *effect.adds, *effect.deletes)
    for axiom in task.axioms:
        yield from axiom.condition
    for entry in task.nested_conditions():
        yield from entry.literals


def _numbered(keys: Sequence[object]) -> list[int]:
    numbers: dict[object, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


# -- conjunctions ----------------------------------------------------------------------------------------------------


def find_bindings(
    task: Task, state: State, literals: Sequence[Literal], types: Sequence[int] | None = None
) -> set[tuple[int, ...]]:
    """All bindings of a lifted conjunction. Different variables are bound to different objects, of the given types if
    there are any. Without variables, the result is the empty binding if the conjunction holds, and nothing if not."""
    variables = max((term + 1 for literal in literals for term in literal.terms if term >= 0), default=0)
    atoms = frozenset(state)
    return {
        binding
        for binding in permutations(range(len(task.objects)), variables)
        if all(holds(task, atoms, literal, binding) for literal in literals)
        and (
            types is None
            or all(task.is_a[task.object_type[i], wanted] for i, wanted in zip(binding, types, strict=True))
        )
    }
