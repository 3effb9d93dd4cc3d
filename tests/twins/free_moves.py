"""Twin of the kernel's free moves: places, walks and successors modulo free moves, on Python sets.

    edges of an agent: from place to place, by moves that are applicable with the agent at the first place and can be
    undone with the agent at the second; everything else is as in the state
    the places of an agent: those that it reaches along edges
    the closure of a state: the state, with every agent at all of its places at once
    a successor: the result of an action that is applicable in the closure and needs no agent at two places; agents that
    it needs elsewhere walk there first, the others stay where they are
    moves within an agent's places are no successors; a move that leaves them is one
    a place that the goal wants is a successor of its own, reached by the walk alone

Of the root's successors that differ only by walks, only the first is in the tree.
Walks are shortest: places are visited breadth first, moves in contract order. An agent that a state puts at several
places, or nowhere, does not walk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.twins.actions import changes

from saltus.lookahead.free_groups import Group, Move
from saltus.lookahead.free_moves import FreeMoves
from saltus.task import Action, Goal, Literal, State, Task
from saltus.task.applicability import bindings, holds

Agent = tuple[int, tuple[int, ...]]
"""Number of the group, and objects."""


class Successor(NamedTuple):
    """A state one jump away."""

    walks: list[Action]
    action: Action
    adds: set[int]
    """Atoms that the action adds, as opposed to the walks."""
    atoms: frozenset[int]
    leaves: bool
    """Whether the action is a move that leaves the places of its agent."""
    alone: bool
    """Whether walk and action are nothing but a walk to where the goal wants the agent, or away from there."""


class Places:
    """Where the agents of a state are, where they can walk, and how."""

    def __init__(self, task: Task, moves: FreeMoves, atoms: frozenset[int]) -> None:
        self.task, self.moves, self.atoms = task, moves, atoms
        found: dict[Agent, list[int]] = {}
        for code in atoms:
            place = moves.place_of(task, code)
            if place is not None:
                found.setdefault((place[0], place[1]), []).append(place[2])
        self.at: dict[Agent, int] = {agent: places[0] for agent, places in found.items() if len(places) == 1}
        """Agents that can walk, and where they are."""
        self._steps: dict[tuple[Agent, int], list[tuple[int, Action]]] = {}
        for number, group in enumerate(moves.groups):
            for move in group.moves:
                for agent, start, end, action in _steps(task, move, group, atoms):
                    if start != end:
                        self._steps.setdefault(((number, agent), start), []).append((end, action))
        self.reached: dict[Agent, dict[int, Action | None]] = {agent: self._walk(agent) for agent in self.at}
        """For every agent, the places that it reaches, each with the last move of the walk."""

    def code(self, agent: Agent, place: int) -> int:
        """The atom that says that an agent is at a place."""
        group = self.moves.groups[agent[0]]
        return self.task.encode(group.predicate, (*agent[1][: group.place], place, *agent[1][group.place :]))

    def closure(self) -> frozenset[int]:
        """The atoms of the state, with every agent at all of its places."""
        return self.atoms | {self.code(agent, place) for agent, places in self.reached.items() for place in places}

    def walk(self, agent: Agent, place: int) -> list[Action]:
        """The moves that lead an agent to a place."""
        moves: list[Action] = []
        while (action := self.reached[agent][place]) is not None:
            moves.append(action)
            found = self.moves.move_of(action.schema)
            assert found is not None
            place = action.arguments[found[1].start]
        return moves[::-1]

    def canonical(self, goal: Goal) -> State:
        """The state that stands for all states between which agents only walk.

        Every agent is at the first of its places that the goal does not mention, unless the goal mentions the place
        where it is, or others may take its moves away.
        """

        def is_mentioned(code: int) -> bool:
            return code in goal.positive or code in goal.negative

        atoms = set(self.atoms)
        for agent, place in self.at.items():
            here = self.code(agent, place)
            if not is_mentioned(here) and not self.moves.groups[agent[0]].blocked_by_others:
                places = [self.code(agent, other) for other in sorted(self.reached[agent])]
                atoms.remove(here)
                atoms.add(next(code for code in places if not is_mentioned(code)))
        return State(atoms)

    def _walk(self, agent: Agent) -> dict[int, Action | None]:
        reached: dict[int, Action | None] = {self.at[agent]: None}
        queue = [self.at[agent]]
        for place in queue:
            for end, action in self._steps.get((agent, place), ()):
                can_return = any(back == place for back, _ in self._steps.get((agent, end), ()))
                if end not in reached and can_return:
                    reached[end] = action
                    queue.append(end)
        return reached


def is_reversible(task: Task, group: Group) -> bool:
    """Whether static atoms allow some move of the group to be undone by another one."""
    steps = {
        (agent, start, end)
        for move in group.moves
        for agent, start, end, _ in _steps(task, move, group, None)
        if start != end
    }
    return any((agent, end, start) in steps for agent, start, end in steps)


def _steps(
    task: Task, move: Move, group: Group, atoms: frozenset[int] | None
) -> Iterator[tuple[tuple[int, ...], int, int, Action]]:
    """Agent, start, end and action of every instance of a move by start and end, wherever the agent is now.

    Without atoms, only static conditions count.
    """
    schema = task.schemas[move.schema]
    here = schema.precondition[move.literal]
    there = Literal(here.predicate, (*here.terms[: group.place], move.end, *here.terms[group.place + 1 :]), False)
    condition = [
        literal
        for literal in schema.precondition
        if literal not in (here, there)
        and (atoms is not None or literal.predicate < 0 or not task.fluent[literal.predicate])
    ]
    instances = [
        (
            tuple(binding[term] if term >= 0 else ~term for i, term in enumerate(here.terms) if i != group.place),
            binding[move.start],
            binding[move.end],
            Action(move.schema, binding),
        )
        for binding in bindings(task, atoms or frozenset(), schema.parameters, condition)
    ]
    return iter(sorted(instances, key=lambda entry: (entry[2], entry[3])))


def relaxed_precondition(task: Task, moves: FreeMoves, schema: int) -> list[Literal]:
    """Preconditions without those that, as far as types tell, some agent must not be somewhere."""
    parameters = task.schemas[schema].parameters

    def may_be_place(literal: Literal, group: Group) -> bool:
        options = [task.objects_of(parameters[term]) if term >= 0 else [~term] for term in literal.terms]
        return literal.predicate == group.predicate and all(
            mask[entry].any() for mask, entry in zip(group.objects, options, strict=True)
        )

    return [
        literal
        for literal in task.schemas[schema].precondition
        if literal.positive or not any(may_be_place(literal, group) for group in moves.groups)
    ]


def count_successors(task: Task, moves: FreeMoves, places: Places) -> int:
    """Number of actions, other than moves, whose positive preconditions hold in the closure."""
    closure = places.closure()
    return sum(
        1
        for number, schema in enumerate(task.schemas)
        if moves.move_of(number) is None
        for _ in bindings(task, closure, schema.parameters, relaxed_precondition(task, moves, number))
    )


def successors(task: Task, moves: FreeMoves, goal: Goal, places: Places, is_root: bool) -> Iterator[Successor]:
    """Successors modulo free moves: walks alone first, then schemas in domain order, each by the length of its walks.

    Walks away from where the goal does not want an agent, and single moves that others may take away, start at the root
    of a tree only.
    """
    for agent in sorted(places.at):
        yield from _walks_alone(places, goal, agent, is_root)
    closure = places.closure()
    for number, schema in enumerate(task.schemas):
        found = [
            _successor(task, moves, places, Action(number, binding), is_root)
            for binding in bindings(task, closure, schema.parameters, relaxed_precondition(task, moves, number))
        ]
        known = [successor for successor in found if successor is not None]
        yield from sorted(known, key=lambda successor: (len(successor.walks), successor.action))


def _walks_alone(places: Places, goal: Goal, agent: Agent, is_root: bool) -> Iterator[Successor]:
    here = places.at[agent]
    reached = places.reached[agent]
    ends = [place for place in sorted(reached) if place != here and places.code(agent, place) in goal.positive]
    if is_root and places.code(agent, here) in goal.negative:
        ends += [place for place in reached if places.code(agent, place) not in goal.negative][:1]
    for place in ends:
        *walks, action = places.walk(agent, place)
        added = places.code(agent, place)
        atoms = (places.atoms - {places.code(agent, here)}) | {added}
        yield Successor(walks, action, {added}, atoms, False, True)


def _successor(task: Task, moves: FreeMoves, places: Places, action: Action, is_root: bool) -> Successor | None:
    """The successor by an action that is applicable in the closure; None if there is none."""
    schema = task.schemas[action.schema]
    wanted: dict[Agent, int] = {}
    for literal in schema.precondition:
        if not literal.positive or literal.predicate < 0:
            continue
        arguments = [action.arguments[term] if term >= 0 else ~term for term in literal.terms]
        found = moves.place_of(task, task.encode(literal.predicate, arguments))
        if found is not None and found[:2] in places.at and wanted.setdefault(found[:2], found[2]) != found[2]:
            return None
    walking = {agent: place for agent, place in wanted.items() if places.at[agent] != place}
    found_move = moves.move_of(action.schema)
    leaves = False
    if found_move is not None:
        number, move = found_move
        here = schema.precondition[move.literal]
        objects = tuple(
            action.arguments[term] if term >= 0 else ~term
            for i, term in enumerate(here.terms)
            if i != moves.groups[number].place
        )
        agent = (number, objects)
        leaves = True
        if agent in places.at:
            leaves = action.arguments[move.end] not in places.reached[agent]
            if not leaves and (walking or not is_root or not moves.groups[number].blocked_by_others):
                return None
    atoms = places.atoms
    walks: list[Action] = []
    for agent, place in sorted(walking.items()):
        walks += places.walk(agent, place)
        atoms = (atoms - {places.code(agent, places.at[agent])}) | {places.code(agent, place)}
    if not all(holds(task, atoms, literal, action.arguments) for literal in schema.precondition):
        return None
    adds, deletes = changes(task, atoms, action)
    return Successor(walks, action, adds, (atoms - deletes) | adds, leaves, False)


def walks_before(task: Task, moves: FreeMoves, state: State, action: Action) -> list[Action]:
    """The walks that lead from a state to one in which an action of a tree is applicable."""
    successor = _successor(task, moves, Places(task, moves, frozenset(state)), action, True)
    if successor is not None:
        return successor.walks
    places = Places(task, moves, frozenset(state))  # a walk alone: its last move starts within the agent's places
    number, move = moves.move_of(action.schema) or (0, None)
    assert move is not None
    group = moves.groups[number]
    here = task.schemas[action.schema].precondition[move.literal]
    objects = tuple(
        action.arguments[term] if term >= 0 else ~term for i, term in enumerate(here.terms) if i != group.place
    )
    return places.walk((number, objects), action.arguments[move.start])
