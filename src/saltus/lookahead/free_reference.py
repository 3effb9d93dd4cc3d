"""Twin of the kernel's free moves: places, walks and successors modulo free moves, on Python sets.

    edges of an agent: from place to place, by moves that are applicable with the agent at the first place and that can be
    undone with the agent at the second; everything else is as in the state
    the places of an agent: those that it can reach along edges
    the closure of a state: the state, and every agent at each of its places at once
    a successor: the result of an action that is applicable in the closure and needs no agent at two places; the agents
    that it needs elsewhere walk there first, the others stay where they are
    moves within an agent's places are no successors; a move that leaves them for good is one
    a place that the goal wants is a successor of its own: the walk alone

Walks are shortest: places are visited breadth first, moves in contract order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from saltus.lookahead.free_moves import FreeMoves, Group, Move
from saltus.task import Action, Goal, Literal, State, Task
from saltus.task.reference import bindings, holds

Agent = tuple[int, tuple[int, ...]]
"""Number of the group, and objects."""

Edges = dict[tuple[Agent, int], list[tuple[int, Action]]]
"""For an agent at a place: the places one move away, with the first move that leads there."""


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
    """Agent, start, end and action of every instance of a move, wherever the agent is now.

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
    for binding in bindings(task, atoms or frozenset(), schema.parameters, condition):
        agent = tuple(binding[term] if term >= 0 else ~term for i, term in enumerate(here.terms) if i != group.place)
        yield agent, binding[move.start], binding[move.end], Action(move.schema, binding)
