"""Stage `grow`: whether the actions of a made problem have costs.

Costs may be values of functions, such as lengths of roads, and a problem gives them for the actions that can be needed.
A made problem in which one is missing was made badly, and a plan that needs it has no cost.
"""

from __future__ import annotations

from collections.abc import Callable

from saltus.grow.values import MOST_ACTIONS
from saltus.pddl.structures import NumericTerm
from saltus.policy.relaxed import can_search, ground_task
from saltus.task import Task


def costs_are_known(task: Task, check: Callable[[], None] = lambda: None) -> bool:
    """Whether all actions that can be reached have costs, if nothing becomes false.

    True where that is not known: if they are too many, or conditions or effects are more than lists of literals.
    """
    if not task.has_costs:
        return True
    terms = {
        number: found
        for number, schema in enumerate(task.domain.schemas)
        if (found := [cost for cost in schema.costs if isinstance(cost, NumericTerm)])
    }
    if not terms or not can_search(task):
        return True
    ground = ground_task(task, check, MOST_ACTIONS)
    if ground is None:
        return True
    for number, costs in terms.items():
        place = {parameter.name: i for i, parameter in enumerate(task.domain.schemas[number].parameters)}
        for arguments in ground.arguments_of(number).tolist():
            for cost in costs:
                names = (task.objects[arguments[place[term]]] if term in place else term for term in cost.terms)
                if (cost.function, *names) not in task.problem.values:
                    return False
    return True
