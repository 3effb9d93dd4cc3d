"""Stage `lookahead`: what goals use up, for the test for dead ends.

Takes a task; gives a copy whose actions also add *marks*, and says how many marks must be in reach.

Some atoms are deleted by actions and added by none: a spanner works once. If every action that reaches a goal deletes
such an atom, each missing goal takes one of its own, and a state in which fewer of them can still be used is a dead
end. The delete relaxation does not see that, because a relaxed action leaves what it uses as it was. So actions that
reach such goals also add a mark for the atom that they use, and as many different marks must be in reach as goals are
missing. Only the numbers are compared: which goal could take which atom is not asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from saltus.task import Goal, State, Task
from saltus.task.cache import PerObject
from saltus.task.state import difference
from saltus.task.task import Effect, Literal, Schema

Quota = tuple[NDArray[np.int64], int]
"""Atoms, and how many of them must be in reach."""


@dataclass(frozen=True)
class Supply:
    """Atoms that are used up by reaching goals: every action that adds an atom of `goals` deletes one of `used`."""

    goals: frozenset[int]
    """Predicates of goals."""
    used: frozenset[int]
    """Predicates of atoms that were true before and will never be true again."""
    marks: tuple[tuple[int, int], ...]
    """Each predicate of `used`, and the one of its marks in the copy of the task."""


@dataclass(frozen=True)
class Marked:
    """A task with marks; states and goals of the task are states and goals of the copy."""

    task: Task
    supplies: tuple[Supply, ...]

    def quotas(self, state: State, goal: Goal) -> list[Quota]:
        """The marks that must be in reach for the goal not to be out of reach; nothing for supplies that no goal
        needs."""
        return list(self._quotas(state, goal))

    def _quotas(self, state: State, goal: Goal) -> Iterator[Quota]:
        missing = difference(goal.positive, state.codes)
        for supply in self.supplies:
            least = sum(len(self._of(missing, predicate)) for predicate in supply.goals)
            if least:
                offset = self.task.code_offset
                marks = [self._of(state.codes, used) - offset[used] + offset[mark] for used, mark in supply.marks]
                yield np.sort(np.concatenate(marks)), least

    def _of(self, codes: NDArray[np.int64], predicate: int) -> NDArray[np.int64]:
        """Those of some ascending codes that are atoms of a predicate."""
        first, last = np.searchsorted(codes, self.task.code_offset[predicate : predicate + 2])
        return codes[first:last]


def marked(task: Task) -> Marked | None:
    """The task with marks; None if reaching goals uses nothing up."""
    return _MARKED.of(task)


def with_quotas(task: Task, state: State, goal: Goal) -> tuple[Task, list[Quota]]:
    """The task with marks, and those that must be in reach; the task itself and nothing if the goal uses nothing up."""
    copy = marked(task)
    quotas = [] if copy is None else copy.quotas(state, goal)
    return (copy.task, quotas) if copy is not None and quotas else (task, [])


def spent_predicates(task: Task) -> frozenset[int]:
    """Predicates of atoms that actions delete and none adds."""
    effects = [effect for schema in task.schemas for effect in schema.effects]
    added = {literal.predicate for effect in effects for literal in effect.adds}
    return frozenset(literal.predicate for effect in effects for literal in effect.deletes) - added - task.derived


def find_supplies(task: Task) -> list[tuple[frozenset[int], frozenset[int]]]:
    """Predicates of goals, and those of what reaching such a goal uses up, for each supply."""
    effects = [effect for schema in task.schemas for effect in schema.effects]
    added = {literal.predicate for effect in effects for literal in effect.adds}
    spent = spent_predicates(task)
    goals = {task.decode(code)[0] for code in task.goal.positive.tolist()} - task.derived
    # What reaching an atom of a predicate may use up: one set for each effect that adds such atoms.
    choices: dict[int, list[set[int]]] = {goal: [] for goal in sorted(goals & added)}
    shared: set[tuple[int, int]] = set()
    for schema in task.schemas:
        for effect in schema.effects:
            for reached in effect.adds:
                if reached.predicate in choices:
                    literals = _used(schema, effect, spent)
                    choices[reached.predicate].append({literal.predicate for literal in literals})
                    others = (entry for entry in literals if not set(reached.terms) <= set(entry.terms))
                    shared.update((reached.predicate, entry.predicate) for entry in others)
    paid = {goal: sets for goal, sets in choices.items() if all(sets)}
    kinds = {frozenset({used}) for sets in paid.values() for used in set.union(*sets)}
    kinds |= {frozenset(min(own) for own in sets) for sets in paid.values()}
    found: list[tuple[frozenset[int], frozenset[int]]] = []
    for used in sorted(kinds, key=lambda entry: (len(entry), sorted(entry))):
        takers = frozenset(goal for goal, sets in paid.items() if all(own & used for own in sets))
        takers -= _added_together(task, takers)
        # Where atoms name all objects of the only kind of goal, each goal has its own, and the relaxation sees that.
        if len(takers) == 1 and not any((goal, atom) in shared for goal in takers for atom in used):
            continue
        if takers and not any(takers <= others and less <= used for others, less in found):
            found.append((takers, used))
    return found


def _used(schema: Schema, effect: Effect, spent: Collection[int]) -> list[Literal]:
    """Atoms that are true before an action with this effect, and that it uses up when it reaches a goal; nothing for
    effects on many objects, of which one action may reach many goals."""
    if effect.variables:
        return []
    needed = {literal for literal in (*schema.precondition, *effect.condition) if literal.positive}
    sure = [entry for entry in schema.effects if not (entry.variables or entry.condition or entry.nested)]
    deletes = [*effect.deletes, *(literal for entry in sure for literal in entry.deletes)]
    found = [entry for entry in deletes if entry.predicate in spent]
    return [literal for literal in dict.fromkeys(found) if replace(literal, positive=True) in needed]


def _added_together(task: Task, goals: frozenset[int]) -> frozenset[int]:
    """Those of some predicates of which one action may add several atoms, of one or of more of them."""
    found: set[int] = set()
    for schema in task.schemas:
        adds = [literal.predicate for effect in schema.effects for literal in effect.adds]
        adds = [predicate for predicate in adds if predicate in goals]
        if len(adds) > 1:
            found.update(adds)
    return frozenset(found)


def _mark(task: Task) -> Marked | None:
    found = find_supplies(task)
    if not found:
        return None
    predicates, arity = list(task.predicates), task.arity.tolist()
    supplies: list[Supply] = []
    for goals, used in found:
        marks: list[tuple[int, int]] = []
        for predicate in sorted(used):
            marks.append((predicate, len(predicates)))
            predicates.append(f"used {task.predicates[predicate]} {len(supplies)}")
            arity.append(arity[predicate])
        supplies.append(Supply(goals, used, tuple(marks)))
    more = len(predicates) - len(task.predicates)
    sizes = [len(task.objects) ** width for width in arity[len(task.predicates) :]]
    offset = [int(task.code_offset[-1]) + sum(sizes[: i + 1]) for i in range(more)]
    if offset[-1] > np.iinfo(np.int64).max:
        return None
    copy = replace(
        task,
        predicates=tuple(predicates),
        arity=np.array(arity, np.int32),
        fluent=np.append(task.fluent, np.ones(more, np.bool_)),
        code_offset=np.append(task.code_offset, np.array(offset, np.int64)),
        static_atoms=(*task.static_atoms, *(np.zeros((0, width), np.int32) for width in arity[-more:])),
        schemas=tuple(_with_marks(schema, supplies) for schema in task.schemas),
    )
    return Marked(copy, tuple(supplies))


def _with_marks(schema: Schema, supplies: list[Supply]) -> Schema:
    """The schema, which also marks what it uses up where it adds goals."""

    def marks(effect: Effect) -> Iterator[Literal]:
        for supply in supplies:
            mark = dict(supply.marks)
            for goal in effect.adds:
                if goal.predicate in supply.goals:
                    for literal in _used(schema, effect, supply.used):
                        yield Literal(mark[literal.predicate], literal.terms)

    effects = tuple(replace(effect, adds=(*effect.adds, *marks(effect))) for effect in schema.effects)
    return replace(schema, effects=effects)


_MARKED = PerObject(_mark)
