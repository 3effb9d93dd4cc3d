"""Twins of the kernel's tests for dead ends and for frozen goals: what can be reached if actions delete nothing, or
nothing of a goal, on Python sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from saltus.lookahead.supplies import Quota, with_quotas
from saltus.task import EQUALITY, Effect, Exists, Goal, Literal, State, Task
from saltus.task.applicability import bindings, holds, nested_holds


def is_dead_end_with_negation(task: Task, state: State, goal: Goal) -> bool:
    """Whether the goal is unreachable even if what has been true once stays true and what has been false stays false.

    Derived atoms may always be false. Of what goals use up, enough must be in reach.
    """
    task, quotas = with_quotas(task, state, goal)
    true, gone = set(state), set[int]()

    def may_be(literal: Literal, binding: Sequence[int], wanted: bool) -> bool:
        if literal.predicate == EQUALITY or not task.fluent[literal.predicate]:
            return holds(task, frozenset(), literal, binding) == wanted
        code = task.ground(literal, binding)
        if literal.positive == wanted:
            return code in true
        return literal.predicate in task.derived or code not in state or code in gone

    def may_all_be(
        literals: Sequence[Literal], nested: Sequence[Exists], binding: tuple[int, ...], wanted: bool = True
    ) -> bool:
        """Whether all parts of a conjunction may be true or, if that is not wanted, some part may be false."""
        parts = [may_be(literal, binding, wanted) for literal in literals]
        parts += [may_match(entry, binding, entry.positive == wanted) for entry in nested]
        return all(parts) if wanted else any(parts)

    def may_match(condition: Exists, binding: tuple[int, ...], wanted: bool) -> bool:
        """Whether a nested condition's parts may have a match or, if none is wanted, may have no match."""
        found = (
            may_all_be(condition.literals, condition.nested, (*binding, *rest), wanted)
            for rest in completions(condition.variables)
        )
        return any(found) if wanted else all(found)

    def completions(variables: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
        return product(*(task.objects_of(types).tolist() for types in variables))

    before = -1
    while len(true) + len(gone) > before:
        before = len(true) + len(gone)
        for schema in task.schemas:
            for own in completions(schema.parameters):
                if not may_all_be(schema.precondition, schema.nested, own):
                    continue
                for effect in schema.effects:
                    for binding in ((*own, *rest) for rest in completions(effect.variables)):
                        if may_all_be(effect.condition, effect.nested, binding):
                            true.update(task.ground(literal, binding) for literal in effect.adds)
                            gone.update(task.ground(literal, binding) for literal in effect.deletes)
        for axiom in task.axioms:
            for binding in completions(axiom.variables):
                if may_all_be(axiom.condition, axiom.nested, binding):
                    true.add(task.encode(axiom.predicate, binding[: int(task.arity[axiom.predicate])]))
    return _is_out_of_reach(goal, quotas, true)


def is_dead_end(task: Task, state: State, goal: Goal) -> bool:
    """Whether the goal is unreachable even if actions delete nothing and ignore negative preconditions, and nested ones
    that may change. Of what goals use up, enough must be in reach."""
    task, quotas = with_quotas(task, state, goal)
    return _is_out_of_reach(goal, quotas, _reached(task, state))


def keeps_goals(task: Task, state: State, goal: Goal) -> bool:
    """Whether the goal is reachable in that sense by actions that delete none of its atoms that are true."""
    kept = frozenset(state).intersection(goal.positive.tolist())
    return not _is_out_of_reach(goal, (), _reached(task, state, kept))


def _reached(task: Task, state: State, kept: frozenset[int] = frozenset()) -> set[int]:
    """Atoms that are reached by actions that delete none that is to be kept. An action with conditional effects is one
    for what it does in any case, and one more with each of its effects."""

    def is_static(condition: Exists) -> bool:
        return all(map(is_static, condition.nested)) and not any(
            literal.predicate != EQUALITY and task.fluent[literal.predicate] for literal in condition.literals
        )

    def relaxed(condition: Sequence[Literal]) -> list[Literal]:
        return [
            literal
            for literal in condition
            if literal.positive or literal.predicate == EQUALITY or not task.fluent[literal.predicate]
        ]

    def is_plain(effect: Effect) -> bool:
        return not (effect.variables or effect.condition or effect.nested)

    reached = set(state)
    before = -1
    while len(reached) > before:
        before = len(reached)
        atoms = frozenset(reached)
        for schema in task.schemas:
            always = [effect for effect in schema.effects if is_plain(effect)]
            for extra in ([], *([effect] for effect in schema.effects if not is_plain(effect))):
                condition = relaxed([*schema.precondition, *(entry for effect in extra for entry in effect.condition)])
                nested = [entry for effect in extra for entry in effect.nested if is_static(entry)]
                variables = [*schema.parameters, *(entry for effect in extra for entry in effect.variables)]
                for binding in bindings(task, atoms, variables, condition, (), nested):
                    own = binding[: len(schema.parameters)]
                    if not all(nested_holds(task, atoms, entry, own) for entry in schema.nested if is_static(entry)):
                        continue
                    done = [*always, *extra]
                    added = {task.ground(literal, binding) for effect in done for literal in effect.adds}
                    deleted = {task.ground(literal, binding) for effect in done for literal in effect.deletes}
                    if not kept & (deleted - added):
                        reached |= added
        for axiom in task.axioms:
            nested = [entry for entry in axiom.nested if is_static(entry)]
            for binding in bindings(task, atoms, axiom.variables, relaxed(axiom.condition), (), nested):
                reached.add(task.encode(axiom.predicate, binding[: int(task.arity[axiom.predicate])]))
    return reached


def _is_out_of_reach(goal: Goal, quotas: Sequence[Quota], reached: set[int]) -> bool:
    return (
        goal.impossible
        or not reached.issuperset(goal.positive.tolist())
        or any(len(reached.intersection(atoms.tolist())) < least for atoms, least in quotas)
    )
