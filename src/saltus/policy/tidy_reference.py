"""Stage `policy`: plans without loops and redundant actions, by sets of atoms: twin of the kernel's.

It also serves tasks with conditional effects, formulas or derived atoms, which the kernel's does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from saltus.lookahead import successor_state
from saltus.task import EQUALITY, Action, State, Task
from saltus.task.reference import changes, is_applicable


def plan_states(task: Task, actions: Sequence[Action]) -> list[State]:
    """The states along a plan, starting with the initial state."""
    states = [task.initial_state]
    for action in actions:
        states.append(successor_state(task, states[-1], action))
    return states


def drop_loops(task: Task, actions: Sequence[Action]) -> list[Action]:
    """The plan without the actions between two visits to a state, and without those after the first goal state."""
    states = plan_states(task, actions)
    end = next((i for i, state in enumerate(states) if task.goal.holds(state)), len(actions))
    last = {state: i for i, state in enumerate(states[: end + 1])}
    kept: list[Action] = []
    i = last[states[0]]
    while i < end:
        kept.append(actions[i])
        i = last[states[i + 1]]
    return kept


@dataclass(frozen=True)
class GroundAction:
    """A ground action as sets of atom codes; effects of a `conditional` one are computed in each state.

    If the task has formulas or derived atoms (`uses_adl`), so is whether it applies.
    """

    action: Action
    wanted: frozenset[int]
    unwanted: frozenset[int]
    adds: frozenset[int]
    deletes: frozenset[int]
    conditional: bool
    uses_adl: bool

    @classmethod
    def of(cls, task: Task, action: Action) -> GroundAction:
        """The action with its fluent preconditions; static preconditions hold, since the action was applicable once."""
        schema = task.schemas[action.schema]
        codes: tuple[set[int], set[int]] = (set(), set())
        for literal in schema.precondition:
            if literal.predicate != EQUALITY and task.fluent[literal.predicate]:
                codes[literal.positive].add(task.ground(literal, action.arguments))
        unwanted, wanted = codes
        adds, deletes = (set(), set()) if schema.is_conditional or task.uses_adl else changes(task, frozenset(), action)
        return cls(
            action,
            frozenset(wanted),
            frozenset(unwanted),
            frozenset(adds),
            frozenset(deletes),
            schema.is_conditional,
            task.uses_adl,
        )

    def applicable(self, task: Task, atoms: set[int]) -> bool:
        if self.uses_adl:
            return is_applicable(task, State(atoms), self.action)
        return self.wanted <= atoms and self.unwanted.isdisjoint(atoms)

    def apply(self, task: Task, atoms: set[int]) -> None:
        if self.uses_adl:
            after = successor_state(task, State(atoms), self.action)
            atoms.clear()
            atoms.update(after)
            return
        adds, deletes = changes(task, frozenset(atoms), self.action) if self.conditional else (self.adds, self.deletes)
        atoms -= deletes
        atoms |= adds


def drop_redundant(task: Task, actions: Sequence[Action], expired: Callable[[], bool] = lambda: False) -> list[Action]:
    """The plan without actions that the goal does not need; stops early when time is up."""
    ground = {action: GroundAction.of(task, action) for action in set(actions)}
    plan = [ground[action] for action in actions]
    positive, negative = frozenset(task.goal.positive.tolist()), frozenset(task.goal.negative.tolist())
    atoms = set(task.initial_state)
    i = 0
    while i < len(plan) and not expired():
        rest: list[GroundAction] = []
        after = set(atoms)
        for step in plan[i + 1 :]:
            if step.applicable(task, after):
                step.apply(task, after)
                rest.append(step)
        if positive <= after and negative.isdisjoint(after):
            plan[i:] = rest
        else:
            plan[i].apply(task, atoms)
            i += 1
    return [step.action for step in plan]
