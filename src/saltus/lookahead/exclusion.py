"""Stage `lookahead`: what the test for frozen goals knows about a goal before it sees a state.

- Exclusions: groups of atoms of which at most one is true at any time. A box is at one place; a cell holds one box, or
  is clear. Found as the one place of an agent is (`one_place_parts` in `free_moves.py`).
- Own objects: the objects that a goal atom is about. Where `(at box cell)` is one of a group of atoms that all belong
  to the box, it is about the box alone.
- `walkers`: agents that get about by their free moves alone. What else shifts them goes where a move could have gone
  as well: pushing a box takes the pusher to a cell that it could walk to once the box is away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from saltus.lookahead.free_groups import Group, Mask, Move, Part, may_be_place, one_place_parts, possible_objects
from saltus.lookahead.free_moves import find_free_moves
from saltus.task import EQUALITY, Effect, Goal, Literal, Schema, Task
from saltus.task.cache import PerObject

Key = tuple[int, tuple[int, ...]]
"""Number of an exclusion and objects of the owner: of the atoms with one key, at most one is true."""


@dataclass(frozen=True)
class Exclusion:
    """Kinds of atoms that an owner, a tuple of objects of these types, has at most one of."""

    types: tuple[int, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class GoalAnalysis:
    """What is known about a goal in any state."""

    exclusions: tuple[Exclusion, ...]
    own: tuple[tuple[int, ...], ...]
    """Own objects of every positive goal atom, in the goal's order."""

    def keys(self, task: Task, code: int) -> Iterator[Key]:
        """The keys of an atom."""
        predicate, *arguments = task.decode(code)
        for number, exclusion in enumerate(self.exclusions):
            for part in exclusion.parts:
                if part.predicate == predicate:
                    owner = tuple(arguments[i] for i in part.agent)
                    if tuple(task.object_type[list(owner)].tolist()) == exclusion.types:
                        yield number, owner


def analyse_goal(task: Task, goal: Goal) -> GoalAnalysis:
    """Exclusions that concern the goal's atoms, and own objects of each."""
    exclusions: dict[Exclusion, None] = {}
    own: list[tuple[int, ...]] = []
    for code in goal.positive.tolist():
        predicate, *arguments = task.decode(code)
        best: tuple[int, int] | None = None
        for counted in (None, *range(len(arguments))):
            owner = tuple(i for i in range(len(arguments)) if i != counted)
            types = tuple(int(task.object_type[arguments[i]]) for i in owner)
            found = _exclusion(task, Part(predicate, owner), types) if owner else None
            if found is not None:
                exclusions.setdefault(found)
                if counted is not None:
                    best = min(best or (len(found.parts), -counted), (len(found.parts), -counted))
        own.append(tuple(sorted({number for i, number in enumerate(arguments) if best is None or i != -best[1]})))
    return GoalAnalysis(tuple(exclusions), tuple(own))


def _exclusion(task: Task, first: Part, types: tuple[int, ...]) -> Exclusion | None:
    known = _EXCLUSIONS.of(task)
    if (first, types) not in known:
        parts = one_place_parts(task, first, [task.object_type == number for number in types])
        known[first, types] = (
            None
            if parts is None
            else Exclusion(types, tuple(sorted(parts, key=lambda part: (part.predicate, part.agent))))
        )
    return known[first, types]


def _none_known(task: Task) -> dict[tuple[Part, tuple[int, ...]], Exclusion | None]:
    return {}


_EXCLUSIONS = PerObject(_none_known)


# -- agents that walk ------------------------------------------------------------------------------------------------


def walkers(task: Task) -> tuple[Group, ...]:
    """Groups of agents that get about by their free moves alone."""
    return _WALKERS.of(task)


def _find_walkers(task: Task) -> tuple[Group, ...]:
    moves = find_free_moves(task)
    return tuple(group for group in (moves.groups if moves else ()) if _walks(task, group))


_WALKERS = PerObject(_find_walkers)


def _walks(task: Task, group: Group) -> bool:
    own = {move.schema for move in group.moves}
    for number, schema in enumerate(task.schemas):
        if number in own:
            continue
        for effect in schema.effects:
            for literal in effect.adds:
                if may_be_place(task, group, schema, literal, effect) and not (
                    not schema.is_conditional and _could_have_walked(task, group, schema, literal)
                ):
                    return False
    return True


def _could_have_walked(task: Task, group: Group, schema: Schema, place: Literal) -> bool:
    """Whether an action that takes an agent to a place leaves a state in which a move could have done so."""
    adds = list(chain.from_iterable(effect.adds for effect in schema.effects))
    deletes = list(chain.from_iterable(effect.deletes for effect in schema.effects))
    after = [*schema.precondition, *adds, *(Literal(entry.predicate, entry.terms, False) for entry in deletes)]
    left = {entry.terms for entry in deletes if entry.predicate == place.predicate}
    for start in schema.precondition:
        if start.predicate != place.predicate or not start.positive or start.terms not in left:
            continue
        if any(start.terms[i] != term for i, term in enumerate(place.terms) if i != group.place):
            continue
        for move in group.moves:
            if _fits(task, move, schema, start, place.terms[group.place], after):
                return True
    return False


def _fits(task: Task, move: Move, schema: Schema, start: Literal, end: int, known: Sequence[Literal]) -> bool:
    """Whether what is known implies the precondition of the move from a place to another."""
    walk = task.schemas[move.schema]

    def bind(binding: dict[int, int], terms: Sequence[int], values: Sequence[int]) -> dict[int, int] | None:
        bound = dict(binding)
        for term, value in zip(terms, values, strict=True):
            if (term if term < 0 else bound.setdefault(term, value)) != value:
                return None
        return bound

    def extend(binding: dict[int, int], left: Sequence[Literal]) -> bool:
        if not left:
            return len(binding) == len(walk.parameters) and _is_typed(task, walk, schema, binding)
        literal = left[0]
        for entry in known:
            if (entry.predicate, entry.positive) == (literal.predicate, literal.positive):
                bound = bind(binding, literal.terms, entry.terms)
                if bound is not None and extend(bound, left[1:]):
                    return True
        return False

    here = walk.precondition[move.literal]
    binding = bind({}, here.terms, start.terms)
    if binding is None or binding.setdefault(move.end, end) != end:
        return False
    # An equality is left out if it says that the two places differ: then there was no need to walk.
    apart = {Literal(EQUALITY, pair, False) for pair in ((move.start, move.end), (move.end, move.start))}
    goes_without_saying = {*apart, Literal(here.predicate, _moved(here, move), False)}
    return extend(binding, [entry for entry in walk.precondition if entry != here and entry not in goes_without_saying])


def _moved(here: Literal, move: Move) -> tuple[int, ...]:
    return tuple(move.end if term == move.start else term for term in here.terms)


def _is_typed(task: Task, walk: Schema, schema: Schema, binding: dict[int, int]) -> bool:
    """Whether every object that the other schema may bind has the type that the walk asks for."""

    def objects(entry: Schema, term: int, effect: Effect | None = None) -> Mask:
        return possible_objects(task, entry, Literal(0, (term,)), effect)[0]

    return all(not (objects(schema, term) & ~objects(walk, number)).any() for number, term in binding.items())
