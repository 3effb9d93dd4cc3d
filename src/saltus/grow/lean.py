"""Stage `grow`: problems with nothing to spare.

Some objects are used up: an atom about such an object alone is deleted and never comes back, as with bread that becomes
a sandwich, or a spanner that works once. Problems often have more of them than needed, and a policy may learn to count
on it. A *lean* problem has only those that a plan uses; the plan shows that it is solvable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from saltus.lookahead.supplies import spent_predicates
from saltus.pddl.structures import Literal
from saltus.policy.planning import plan_of
from saltus.policy.tidy import tidied
from saltus.task import Action, Plan, Task, validate
from saltus.task.compile import build_task


def supplies(task: Task) -> frozenset[int]:
    """Objects that are used up, and that a problem could have fewer of: no constants, not in the goal, and not tied to
    other objects by static atoms or values of functions, as the cells of a map are."""
    domain, number, spent = task.domain, task.object_number, spent_predicates(task)
    found: set[int] = set()
    tied = set(range(len(domain.constants)))
    if not spent:
        return frozenset()
    for predicate, *names in task.problem.initial_atoms(domain):
        if task.predicate_number[predicate] in spent and len(names) == 1:
            found.add(number[names[0]])
        if len(names) > 1 and not task.fluent[task.predicate_number[predicate]]:
            tied.update(number[name] for name in names)
    for _, *names in task.problem.values:
        if len(names) > 1:
            tied.update(number[name] for name in names)
    for codes in (task.goal.positive, task.goal.negative):
        for code in codes.tolist():
            tied.update(task.decode(code)[1:])
    return frozenset(found - tied)


def lean(task: Task, plan: Sequence[Action]) -> tuple[Task, Plan] | None:
    """The task without the supplies that a plan for it does not need, and that plan; None if it needs all of them."""
    spare = supplies(task)
    if not spare or task.has_derived_goals:
        return None
    kept = tidied(task, plan)
    spare -= {argument for action in kept for argument in action.arguments}
    if not spare:
        return None
    found = without(task, spare)
    actions = plan_of(task, kept)
    return (found, actions) if validate(found, actions).valid else None


def without(task: Task, objects: Collection[int]) -> Task:
    """The task without some objects, neither constants nor in the goal, and without all that is said about them."""
    problem, names = task.problem, {task.objects[number] for number in objects}
    renumbered = {old: new for new, old in enumerate(i for i in range(len(task.objects)) if i not in objects)}
    predicates: list[int] = []
    arguments: list[int] = []
    given, start = problem.init_argument.tolist(), 0
    for predicate in problem.init_predicate.tolist():
        end = start + int(task.arity[predicate])
        if all(number in renumbered for number in given[start:end]):
            predicates.append(predicate)
            arguments += [renumbered[number] for number in given[start:end]]
        start = end
    found = replace(
        problem,
        objects=tuple(entry for entry in problem.objects if entry.name not in names),
        init_predicate=np.array(predicates, np.int32),
        init_argument=np.array(arguments, np.int32),
        values={key: value for key, value in problem.values.items() if names.isdisjoint(key[1:])},
        goal=tuple(_fluent_goal(task)),  # a literal that never changes may be about what is left out
        file=f"<part of {problem.file}>",
    )
    return build_task(task.domain, found)


def _fluent_goal(task: Task) -> Iterator[Literal]:
    for positive, codes in ((True, task.goal.positive), (False, task.goal.negative)):
        for predicate, *objects in map(task.decode, codes.tolist()):
            yield Literal(task.predicates[predicate], tuple(task.objects[number] for number in objects), positive)
