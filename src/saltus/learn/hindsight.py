"""Stage `learn`: hindsight. What a trajectory happened to reach is relabelled as its goal.

Lifted hindsight (Ståhlberg and Geffner): a sub-goal is a conjunction of connected goal atoms with variables in place of
objects, so that a tower of *any* blocks counts as much as the tower asked for. A trajectory is walked backwards. In
each state, the largest sub-goal that holds is grounded, and the part of the trajectory before it, in which it did not
hold yet, becomes a success.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from saltus.learn.config import TrainingSpec
from saltus.learn.experience import Trajectory, Transition, transitions_of
from saltus.learn.values import (
    DISCOUNT,
    GROUNDING_STEPS,
    HINDSIGHT_ATOMS,
    HINDSIGHT_TRAJECTORIES,
    HINDSIGHT_VARIANTS,
)
from saltus.lookahead import Conjunction
from saltus.task import Goal, Literal, State, Task
from saltus.task.formulas import MAX_VARIABLES


def lifted_subgoals(
    task: Task, rng: np.random.Generator, most_atoms: int = HINDSIGHT_ATOMS, variants: int = HINDSIGHT_VARIANTS
) -> list[Conjunction]:
    """Sub-goals of a task's goal, largest first, at most `variants` of each size.

    A sub-goal grows along shared objects as far as possible, then continues with another part of the goal. Objects
    become variables; constants of the domain stay. Negated goal literals are left out, since almost any state satisfies
    them, and so are sub-goals with more variables than the kernel can bind.
    """
    atoms = [task.decode(int(code)) for code in task.goal.positive]
    result: list[Conjunction] = []
    for size in range(min(most_atoms, len(atoms)), 0, -1):
        known: dict[tuple[tuple[int, ...], ...], Conjunction] = {}
        for _ in range(4 * variants):  # there may be fewer different ones
            if len(known) == variants:
                break
            chosen = [atoms[i] for i in _grow(atoms, size, rng)]
            if len({number for _, *arguments in chosen for number in arguments}) <= MAX_VARIABLES:
                subgoal = _lift(task, chosen)
                known.setdefault(_form(subgoal.literals), subgoal)
        result += known.values()
    return result


def _grow(atoms: Sequence[tuple[int, ...]], size: int, rng: np.random.Generator) -> list[int]:
    """Numbers of `size` atoms, each of which shares an object with an earlier one if possible."""
    chosen: list[int] = []
    reached: set[int] = set()
    left = list(range(len(atoms)))
    while len(chosen) < size:
        linked = [i for i in left if reached.intersection(atoms[i][1:])]
        pool = linked or left
        pick = pool[int(rng.integers(len(pool)))]
        chosen.append(pick)
        left.remove(pick)
        reached.update(atoms[pick][1:])
    return chosen


def _lift(task: Task, atoms: Sequence[tuple[int, ...]]) -> Conjunction:
    """Atoms with variables in place of objects, numbered in order of appearance."""
    constants = len(task.domain.constants)
    variable: dict[int, int] = {}
    literals: list[Literal] = []
    for predicate, *arguments in sorted(atoms):
        terms = [~number if number < constants else variable.setdefault(number, len(variable)) for number in arguments]
        literals.append(Literal(predicate, tuple(terms)))
    types = tuple(int(task.object_type[number]) for number in variable)
    return Conjunction(task, literals, types)


def _form(literals: Sequence[Literal]) -> tuple[tuple[int, ...], ...]:
    return tuple((literal.predicate, *literal.terms) for literal in literals)


def groundings(
    task: Task,
    subgoal: Conjunction,
    state: State,
    rng: np.random.Generator,
    limit: int = TrainingSpec.hindsight_groundings,
) -> Iterator[Goal]:
    """At most `limit` goals that hold in the state: the sub-goal with objects of the right types for its variables."""
    seed = int(rng.integers(2**62))
    for binding in subgoal.find(state, limit=limit, seed=seed, max_steps=GROUNDING_STEPS).tolist():
        yield Goal(task.ground(literal, binding) for literal in subgoal.literals)


def first_without(states: Sequence[State], last: int, goal: Goal) -> int:
    """First state of the part of a trajectory that ends in state `last` and reaches the goal only there.

    The part starts after the latest state that satisfies the goal, and contains no state twice.
    """
    seen = {states[last]}
    first = last
    while first > 0 and not goal.holds(states[first - 1]) and states[first - 1] not in seen:
        first -= 1
        seen.add(states[first])
    return first


def relabelled(
    trajectory: Trajectory,
    task: Task,
    subgoals: Sequence[Conjunction],
    rng: np.random.Generator,
    limit: int = TrainingSpec.hindsight_groundings,
) -> Iterator[tuple[int, int, Goal]]:
    """First state, last state and goal of each success in hindsight, from the end of the trajectory backwards.

    At most `limit` groundings are tried per sub-goal and state.
    """
    states = trajectory.states
    for last in range(len(states) - 1, 0, -1):
        for goal in (goal for entry in subgoals for goal in groundings(task, entry, states[last], rng, limit)):
            first = first_without(states, last, goal)
            if first < last:
                yield first, last, goal
                break


def hindsight_transitions(
    trajectories: Sequence[Trajectory],
    tasks: Sequence[Task],
    subgoals: Sequence[Sequence[Conjunction]],
    limit: int,
    rng: np.random.Generator,
    most: int = HINDSIGHT_TRAJECTORIES,
) -> list[Transition]:
    """Transitions of at most `most` relabelled parts of trajectories; `limit` is that of `relabelled`.

    `most` is shared among the trajectories, so that a long one does not crowd out the others.
    """
    result: list[Transition] = []
    left = most
    for number, trajectory in enumerate(trajectories):
        own = subgoals[trajectory.task]
        share = -(-left // (len(trajectories) - number))
        found = relabelled(trajectory, tasks[trajectory.task], own, rng, limit)
        for first, last, goal in islice(found, share):
            left -= 1
            result += transitions_of(trajectory, goal, first, last, reached=True, discount=DISCOUNT)
    return result
