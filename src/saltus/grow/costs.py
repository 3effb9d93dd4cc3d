"""Stage `grow`: whether the actions of a made problem have costs.

Costs may be values of functions, such as lengths of roads, and a problem gives them for the actions that can be needed.
A made problem in which one is missing was made badly, and a plan that needs it has no cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from saltus.grow.values import MOST_LISTED
from saltus.lookahead.actions import applicable_arrays
from saltus.pddl.structures import NumericTerm
from saltus.policy.relaxed import can_search, ground_task
from saltus.task import EQUALITY, Task


def costs_are_known(task: Task, check: Callable[[], None] = lambda: None) -> bool:
    """Whether all actions that can be reached have costs, if nothing becomes false.

    True where that is not known: if they are too many, or conditions or effects are more than lists of literals.
    """
    if not task.has_costs:
        return True
    priced = [
        number
        for number, schema in enumerate(task.domain.schemas)
        if any(isinstance(cost, NumericTerm) for cost in schema.costs)
    ]
    if not priced or _have_costs(task, priced, _statically_possible(task, priced)):
        return True
    if not can_search(task):
        return True
    ground = ground_task(task, check, MOST_LISTED)
    if ground is None:
        return True
    return _have_costs(task, priced, [ground.arguments_of(number).tolist() for number in priced])


def _statically_possible(task: Task, priced: list[int]) -> Iterable[NDArray[np.int64]] | None:
    """Arguments of the actions of some schemas whose static conditions hold; None if they are too many."""
    schemas = tuple(
        replace(
            task.schemas[number],
            precondition=tuple(
                one
                for one in task.schemas[number].precondition
                if one.predicate == EQUALITY or not task.fluent[one.predicate]
            ),
            effects=(),
            nested=(),
        )
        for number in priced
    )
    listed, arguments = applicable_arrays(replace(task, schemas=schemas), task.initial_state, MOST_LISTED + 1)
    return None if len(listed) > MOST_LISTED else arguments


def _have_costs(task: Task, priced: list[int], arguments: Iterable[Iterable[Iterable[int]]] | None) -> bool:
    """Whether actions of some schemas, by schema, all have costs; False if they are not known."""
    if arguments is None:
        return False
    values = task.problem.values
    for number, rows in zip(priced, arguments, strict=True):
        schema = task.domain.schemas[number]
        place = {parameter.name: i for i, parameter in enumerate(schema.parameters)}
        terms = [cost for cost in schema.costs if isinstance(cost, NumericTerm)]
        for row in rows:
            own = list(row)
            for cost in terms:
                names = (task.objects[own[place[term]]] if term in place else term for term in cost.terms)
                if (cost.function, *names) not in values:
                    return False
    return True
