"""Stage `lookahead`: groups of agents and their moves, found from the task alone, without any annotation.

A *move* is a schema that adds one atom m(agent, end), deletes one, m(agent, start), and does nothing else. Agents are
the tuples of objects that moves shift; they may be empty, as in `(at-robot ?place)`. Moves whose agents overlap form a
*group*. A group counts if

- an agent never has more than one place: schemas that give it one take one away, or take an atom that stands for being
  nowhere (`_has_one_place`);
- where an agent is matters to other actions only by a positive precondition (`_is_seen_by_preconditions_only`), so that
  it may walk there just before the action.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saltus.task import EQUALITY, Effect, Literal, Schema, Task

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Move:
    """A schema that shifts an agent from the place `start` to the place `end`, both numbers of parameters."""

    schema: int
    literal: int
    """Number of the precondition that says where the agent is."""
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Group:
    """Agents, the predicate that says where they are, and their moves."""

    predicate: int
    place: int
    """Which argument of the predicate is the place; the others are the agent."""
    objects: tuple[Mask, ...] = field(repr=False)
    """[arity][objects]: possible arguments of an agent's place; everything at the place itself."""
    moves: tuple[Move, ...]
    blocked_by_others: bool = False
    """Whether an action may take moves away from an agent that has no part in it. Then the agents' single moves stay in
    the tree as successors of the root, since walking later may be too late."""


def move_schemas(task: Task) -> list[int]:
    """Schemas that only shift an agent, which the domain alone tells; they need not be free."""
    return [move.schema for move, _, _ in _moves(task)]


def located_groups(task: Task) -> list[Group]:
    """Groups of agents that never have more than one place, whatever else depends on it."""
    return [group for group in _groups(task) if _has_one_place(task, group)]


def candidates(task: Task) -> list[Group]:
    """Groups that pass every test but the last: that some move can be undone."""
    groups = located_groups(task)
    while True:  # a group that fails may be what another one depends on
        admitted = [group for group in groups if _is_seen_by_preconditions_only(task, group, groups)]
        if len(admitted) == len(groups):
            break
        groups = admitted
    return [
        Group(group.predicate, group.place, group.objects, group.moves, _is_blocked_by_others(task, group, groups))
        for group in groups
    ]


# -- moves and groups ------------------------------------------------------------------------------------------------


def _moves(task: Task) -> Iterator[tuple[Move, Literal, int]]:
    """Every move with the literal that says where the agent is, and the position of the place in it."""
    if task.uses_adl:  # what else depends on an agent's place is not found in formulas
        return
    for number, schema in enumerate(task.schemas):
        if schema.is_conditional:
            continue
        adds = [literal for effect in schema.effects for literal in effect.adds]
        deletes = [literal for effect in schema.effects for literal in effect.deletes]
        if len(adds) != 1 or len(deletes) != 1 or adds[0].predicate != deletes[0].predicate:
            continue
        added, deleted = adds[0].terms, deletes[0].terms
        places = [i for i, (a, d) in enumerate(zip(added, deleted, strict=True)) if a != d]
        if len(places) != 1:
            continue
        start, end = deleted[places[0]], added[places[0]]
        agent = {*added[: places[0]], *added[places[0] + 1 :]}
        required = [i for i, literal in enumerate(schema.precondition) if literal == _positive(deletes[0])]
        if min(start, end) >= 0 and not agent & {start, end} and required:
            yield Move(number, required[0], start, end), schema.precondition[required[0]], places[0]


def _groups(task: Task) -> list[Group]:
    groups: list[Group] = []
    for move, literal, place in _moves(task):
        masks = list(possible_objects(task, task.schemas[move.schema], literal))
        masks[place] = np.ones(len(task.objects), bool)
        if not all(mask.any() for mask in masks):
            continue
        moves = [move]
        for other in [group for group in groups if (group.predicate, group.place) == (literal.predicate, place)]:
            if all((a & b).any() for a, b in zip(other.objects, masks, strict=True)):
                masks = [a | b for a, b in zip(other.objects, masks, strict=True)]
                moves += other.moves
                groups.remove(other)
        moves.sort(key=lambda entry: entry.schema)
        groups.append(Group(literal.predicate, place, tuple(masks), tuple(moves)))
    # Two arguments of one predicate may be shifted (a table of two columns): then neither is an agent's place.
    places = {(group.predicate, group.place) for group in groups}
    return [group for group in groups if sum(predicate == group.predicate for predicate, _ in places) == 1]


def possible_objects(task: Task, schema: Schema, literal: Literal, effect: Effect | None = None) -> list[Mask]:
    """Objects that may stand at each position of a literal, by types and by static conditions on single objects."""
    variables = [*schema.parameters, *(effect.variables if effect else ())]
    conditions = [*schema.precondition, *(effect.condition if effect else ())]
    return [_possible(task, term, variables, conditions) for term in literal.terms]


def _possible(task: Task, term: int, variables: Sequence[tuple[int, ...]], conditions: Sequence[Literal]) -> Mask:
    mask = np.zeros(len(task.objects), bool)
    if term < 0:
        mask[~term] = True
        return mask
    mask[task.objects_of(variables[term])] = True
    for literal in conditions:
        if literal.predicate != EQUALITY and not task.fluent[literal.predicate] and literal.terms == (term,):
            known = np.zeros(len(task.objects), bool)
            known[task.static_atoms[literal.predicate].ravel()] = True
            mask &= known if literal.positive else ~known
    return mask


def _positive(literal: Literal) -> Literal:
    return Literal(literal.predicate, literal.terms)


def _agent_terms(group: Group, literal: Literal) -> tuple[int, ...]:
    return (*literal.terms[: group.place], *literal.terms[group.place + 1 :])


def may_be_place(task: Task, group: Group, schema: Schema, literal: Literal, effect: Effect | None = None) -> bool:
    """Whether an instance of the literal may be the place of one of the group's agents."""
    if literal.predicate != group.predicate:
        return False
    masks = possible_objects(task, schema, literal, effect)
    return all((a & b).any() for a, b in zip(group.objects, masks, strict=True))


# -- one place per agent ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """Atoms that stand for an agent's whereabouts: a predicate, and which of its arguments is which of the agent's."""

    predicate: int
    agent: tuple[int, ...]

    def terms(self, literal: Literal) -> tuple[int, ...]:
        return tuple(literal.terms[i] for i in self.agent)


def _has_one_place(task: Task, group: Group) -> bool:
    """Whether no agent can ever have more than one of the atoms that stand for its whereabouts."""
    owner = tuple(i for i in range(len(group.objects)) if i != group.place)
    masks = [mask for i, mask in enumerate(group.objects) if i != group.place]
    return one_place_parts(task, Part(group.predicate, owner), masks) is not None


def one_place_parts(task: Task, first: Part, masks: Sequence[Mask]) -> list[Part] | None:
    """Kinds of atoms, `first` among them, of which every agent (one object per mask) has at most one at any time.

    Starts with the first kind alone. Where a schema adds one without taking one away, the atoms of another predicate
    that it takes away instead (being on board of something, say) are counted as well, and everything is checked anew.
    None if that does not come to an end, or if an agent has several in the initial state or none has any.
    """
    parts = [first]
    while True:
        unbalanced = _unbalanced(task, masks, parts)
        if unbalanced is None:
            break
        schema, effect, agent = unbalanced
        taken = [
            part
            for literal in _taken(schema, effect)
            if (part := _part_for(literal, agent)) is not None and part not in parts
        ]
        if not taken or len(parts) == 4:  # a place, being on board of something, and so on
            return None
        parts.append(taken[0])
    counts: dict[tuple[int, ...], int] = {}
    for code in task.initial_state:
        predicate, *arguments = task.decode(code)
        for part in parts:
            owner = tuple(arguments[i] for i in part.agent) if part.predicate == predicate else None
            if owner is not None and all(mask[i] for mask, i in zip(masks, owner, strict=True)):
                counts[owner] = counts.get(owner, 0) + 1
    return parts if max(counts.values(), default=0) == 1 else None


def _unbalanced(
    task: Task, masks: Sequence[Mask], parts: Sequence[Part]
) -> tuple[Schema, Effect, tuple[int, ...]] | None:
    """A schema, effect and agent for which the effect adds more atoms of the parts than are taken away."""
    for schema in task.schemas:
        for effect in schema.effects:
            taken = list(_taken(schema, effect))
            for literal in effect.adds:
                for part in parts:
                    if part.predicate != literal.predicate:
                        continue
                    objects = possible_objects(task, schema, literal, effect)
                    if not all((objects[i] & mask).any() for i, mask in zip(part.agent, masks, strict=True)):
                        continue
                    agent = part.terms(literal)
                    balance = [
                        other
                        for other in taken
                        if any(p.predicate == other.predicate and p.terms(other) == agent for p in parts)
                    ]
                    if not balance:
                        return schema, effect, agent
                    taken.remove(balance[0])
    return None


def _taken(schema: Schema, effect: Effect) -> Iterator[Literal]:
    """Atoms that are required before the effect and absent after it."""
    required = {*schema.precondition, *effect.condition}
    unconditional = [other for other in schema.effects if not other.variables and not other.condition]
    for other in [effect, *(entry for entry in unconditional if entry is not effect)]:
        for literal in other.deletes:
            if _positive(literal) in required and literal not in effect.adds:
                yield literal


def _part_for(literal: Literal, agent: tuple[int, ...]) -> Part | None:
    """The part to which a literal would belong: it names the whole agent and at most one object more."""
    if not agent or len(literal.terms) > len(agent) + 1 or any(term not in literal.terms for term in agent):
        return None
    return Part(literal.predicate, tuple(literal.terms.index(term) for term in agent))


# -- what else depends on places -------------------------------------------------------------------------------------


def _is_seen_by_preconditions_only(task: Task, group: Group, groups: Sequence[Group]) -> bool:
    """Whether places of the group's agents matter only as positive preconditions of actions that are no moves.

    Negative preconditions are fine where the same action also says where the agent is.
    """
    moves = {move.schema: move for other in groups for move in other.moves}
    for number, schema in enumerate(task.schemas):
        move = moves.get(number)
        known = [literal for literal in schema.precondition if literal.positive]
        located = {_agent_terms(group, literal) for literal in known if literal.predicate == group.predicate}
        for i, literal in enumerate(schema.precondition):
            if not may_be_place(task, group, schema, literal):
                continue
            if move is not None:
                is_start = i == move.literal or literal == schema.precondition[move.literal]
                if not is_start and literal not in _ends(schema, move, group):
                    return False
            elif not literal.positive and _agent_terms(group, literal) not in located:
                return False
        for effect in schema.effects:
            if any(may_be_place(task, group, schema, literal, effect) for literal in effect.condition):
                return False
            if any(
                may_be_place(task, group, schema, literal, effect) and _positive(literal) not in known
                for literal in effect.deletes
            ):
                return False
    return True


def _ends(schema: Schema, move: Move, group: Group) -> list[Literal]:
    """The literal that says that a move's agent is not yet at its end, which goes without saying."""
    start = schema.precondition[move.literal]
    if start.predicate != group.predicate or start.terms[group.place] != move.start:
        return []
    terms = (*start.terms[: group.place], move.end, *start.terms[group.place + 1 :])
    return [Literal(start.predicate, terms, positive=False)]


def _is_blocked_by_others(task: Task, group: Group, groups: Sequence[Group]) -> bool:
    """Whether an action that does not say where an agent is may make a move of the agent impossible."""
    moves = {move.schema for other in groups for move in other.moves}
    for move in group.moves:
        schema = task.schemas[move.schema]
        start = schema.precondition[move.literal]
        for needed in schema.precondition:
            if needed.predicate == EQUALITY or not task.fluent[needed.predicate]:
                continue
            if needed == start or needed in _ends(schema, move, group):
                continue
            for number, other in enumerate(task.schemas):
                if number not in moves and _blocks(task, group, schema, start, needed, other):
                    return True
    return False


def _blocks(task: Task, group: Group, schema: Schema, start: Literal, needed: Literal, other: Schema) -> bool:
    """Whether `other` may falsify what a move needs without saying where the move's agent is."""
    wanted = possible_objects(task, schema, needed)
    agent = _agent_terms(group, start)
    masks = [mask for i, mask in enumerate(group.objects) if i != group.place]
    located = [literal for literal in other.precondition if literal.positive and literal.predicate == group.predicate]
    for effect in other.effects:
        for literal in effect.deletes if needed.positive else effect.adds:
            if literal.predicate != needed.predicate or (needed.positive and literal in effect.adds):
                continue
            objects = possible_objects(task, other, literal, effect)
            if not all((a & b).any() for a, b in zip(wanted, objects, strict=True)):
                continue
            # The agent in terms of the other schema: what the falsified atom says about it.
            terms = [literal.terms[needed.terms.index(term)] if term in needed.terms else None for term in agent]
            if not any(
                all(
                    found == term or (term is None and mask.sum() == 1 and not (possible & ~mask).any())
                    for found, term, mask, possible in zip(
                        _agent_terms(group, entry),
                        terms,
                        masks,
                        _without(possible_objects(task, other, entry), group.place),
                        strict=True,
                    )
                )
                for entry in located
            ):
                return True
    return False


def _without(masks: Sequence[Mask], position: int) -> list[Mask]:
    return [mask for i, mask in enumerate(masks) if i != position]
