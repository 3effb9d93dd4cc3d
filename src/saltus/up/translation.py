"""Stage `up`: a problem of unified-planning as PDDL, and plans back.

Takes a problem; gives the text of domain and problem, and turns a plan for them into one with the problem's own actions
and objects. unified-planning's `PDDLWriter` writes the text and knows which name stands for what. Four things are
prepared for it:

- *Plan length.* As a metric it becomes no metric, rather than costs of 1: plans are short where there are no costs, and
  policies for the domain without costs fit.
- *Initial values.* The writer asks for the value of every ground fluent, of which a ternary one over 1,000 objects has
  a thousand million. It is shown the true and the numeric ones only: PDDL takes the others to be false.
- *Goals.* The writer cannot write a goal that is constant. Those that are true are left out; one that is false makes
  the problem unsolvable (`has_false_goal`).
- *Constants.* The writer declares the objects that actions mention in the domain, in the order of a set, and forgets
  those that only costs mention. Here the order is that of the problem, and it is complete. A policy may have been
  trained on a domain with more constants; those can be named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from unified_planning.io import PDDLWriter
from unified_planning.io.pddl_writer import ObjectsExtractor
from unified_planning.model import FNode, Object, Problem
from unified_planning.model.fluent import get_all_fluent_exp
from unified_planning.plans import ActionInstance, SequentialPlan

from saltus.task import Plan


class Translation:
    """A problem of unified-planning as PDDL."""

    def __init__(self, problem: Problem, constants: Sequence[str] = ()) -> None:
        self.source = problem
        """The problem."""
        self._writer = PDDLWriter(problem, rewrite_bool_assignments=True)
        self._writer.problem = _View(problem)
        self._writer.domain_objects = _constants(problem, constants)
        self.domain: str = self._writer.get_domain()
        """Text of the domain file."""
        self.problem: str = self._writer.get_problem()
        """Text of the problem file."""

    def plan_of(self, plan: Plan) -> SequentialPlan:
        """The plan with the problem's own actions and objects."""
        objects = self.source.environment.expression_manager
        named = self._writer.get_item_named
        instances = [
            ActionInstance(named(name), tuple(objects.ObjectExp(named(argument)) for argument in arguments))
            for name, *arguments in plan.steps
        ]
        return SequentialPlan(instances, self.source.environment)


def has_false_goal(problem: Problem) -> bool:
    """Whether a goal is false whatever the state."""
    return any(goal.simplify().is_false() for goal in problem.goals)


class _View:
    """What the writer sees of a problem: all but false initial values, true goals, and plan length as a metric."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.goals = [goal for goal in problem.goals if not goal.simplify().is_true()]
        self.initial_values = dict(_initial_values(problem))
        self.quality_metrics = [
            metric for metric in problem.quality_metrics if not metric.is_minimize_sequential_plan_length()
        ]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)


def _initial_values(problem: Problem) -> Iterator[tuple[FNode, FNode]]:
    """Initial values that are not false, with those of a fluent together."""
    explicit: dict[Any, list[tuple[FNode, FNode]]] = {fluent: [] for fluent in problem.fluents}
    for expression, value in problem.explicit_initial_values.items():
        explicit[expression.fluent()].append((expression, value))
    for fluent, values in explicit.items():
        default = problem.fluents_defaults.get(fluent)
        if default is None or not default.is_false():
            values = [(entry, problem.initial_value(entry)) for entry in get_all_fluent_exp(problem, fluent)]
        yield from ((expression, value) for expression, value in values if value is not None and not value.is_false())


class _Objects(list[Object]):
    """Objects in an order: what the writer needs of a set."""

    def __ior__(self, others: Iterable[Object]) -> _Objects:
        self.extend(entry for entry in others if entry not in self)
        return self


def _constants(problem: Problem, names: Sequence[str]) -> dict[Any, _Objects]:
    """Constants by type: objects with these names in lower case, then all that actions and their costs mention."""
    by_name = {entry.name.lower(): entry for entry in problem.all_objects}
    mentioned = {entry for expression in _action_expressions(problem) for entry in _objects_in(expression)}
    chosen = dict.fromkeys(by_name[name] for name in names if name in by_name)
    chosen |= dict.fromkeys(entry for entry in problem.all_objects if entry in mentioned)
    constants: dict[Any, _Objects] = {}
    for entry in chosen:
        constants.setdefault(entry.type, _Objects()).append(entry)
    return constants


def _action_expressions(problem: Problem) -> Iterator[FNode]:
    """Expressions of all actions: preconditions, effects and costs."""
    for action in problem.actions:
        yield from action.preconditions
        for effect in action.effects:
            yield from (effect.condition, effect.fluent, effect.value)
        for metric in problem.quality_metrics:
            cost = metric.get_action_cost(action) if metric.is_minimize_action_costs() else None
            if cost is not None:
                yield cost


def _objects_in(expression: FNode) -> Iterator[Object]:
    for objects in ObjectsExtractor().get(expression).values():
        yield from objects
