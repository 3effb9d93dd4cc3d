"""Stage `learn`: trajectories from exploration and search, and the transitions to learn from.

Transitions are saved with a run as states and goals; their trees are built again when the run is resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from saltus.learn.config import TrainingSpec
from saltus.learn.values import COST_PER_JUMP
from saltus.lookahead import JUMPS, JumpCost, PlaySpec, TreeSpec, lookahead
from saltus.lookahead.cost import mean_cost
from saltus.policy import Admissible, Boltzmann, Ending, Policy, play, run_rollouts
from saltus.policy.rollout import Decision
from saltus.policy.search import JumpSearch, SearchNode
from saltus.task import Goal, State, Task


class Final(IntEnum):
    """What is known about the successor of a transition."""

    NO = 0
    GOAL = 1
    DEAD_END = 2


@dataclass(frozen=True, eq=False, slots=True)
class Transition:
    """A jump from a state to a successor, with the goal it is judged by."""

    task: int
    """Number of the training problem."""
    state: State
    successor: State
    goal: Goal
    tree_goal: Goal
    """Goal of the lookahead in which the jump was made; the tree for another goal may lack the successor."""
    final: Final
    bound: float
    """Discounted return from the state on, if the trajectory reached the goal; otherwise nan."""
    cost: float
    """Cost of the jump; its reward is minus this. It is that of the path taken: the tree of a relabelled goal may reach
    the successor on another one."""
    trees: list[Any] = field(default_factory=list, repr=False)
    """Small trees built for an earlier batch (`batch.py`); a cache, not part of the transition."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """States of a rollout, starting with its first one."""

    task: int
    goal: Goal
    states: list[State]
    ending: Ending | None
    """None if the horizon was reached."""
    costs: list[float]
    """Cost of each jump."""


def jump_cost(spec: TrainingSpec, tasks: Sequence[Task], trees: TreeSpec, limits: PlaySpec) -> JumpCost:
    """What a run counts: the mean jump from an initial state to a state of its tree costs 1.

    It depends on the tasks alone, of which the first hundred count, not on the policy, and so is the same when the run
    is resumed.
    """
    if spec.cost == "jumps":
        return JUMPS
    made = (lookahead(task, spec=trees, play=limits) for task in tasks[:100])
    return JumpCost(spec.cost, mean_cost(made, spec.cost), COST_PER_JUMP)


def collect(
    policy: Policy,
    tasks: Sequence[Task],
    numbers: Sequence[int],
    *,
    horizon: int,
    temperature: float,
    rng: np.random.Generator,
    cost: JumpCost = JUMPS,
    check: Callable[[], None] = lambda: None,
) -> list[Trajectory]:
    """Trajectories of one rollout per number of a task, run in parallel with Boltzmann exploration.

    `check` is called before every jump; what it raises ends them all.
    """
    explorer = Boltzmann(temperature, rng)
    rollouts = [play(policy, task, explorer=explorer) for task in (tasks[number] for number in numbers)]
    found = [
        Trajectory(number, tasks[number].goal, [rollout.state], None, [])
        for number, rollout in zip(numbers, rollouts, strict=True)
    ]
    for steps in run_rollouts(policy, rollouts, check):
        for i, step in steps:
            found[i].states.append(step.successor)
            found[i].costs.append(cost.of(step.tree, step.node))
        if rollouts and max(rollout.jumps for rollout in rollouts) >= horizon:
            break
    return [replace(entry, ending=rollout.ending) for entry, rollout in zip(found, rollouts, strict=True)]


def search(
    policy: Policy,
    task: Task,
    number: int,
    decisions: int,
    cost: JumpCost = JUMPS,
    check: Callable[[], None] = lambda: None,
) -> Trajectory | None:
    """A trajectory to the goal, found by a best-first search over jumps with at most this many decisions; or None.

    `check` is called after every decision and every dead end; what it raises ends the search.
    """
    tested = Admissible(task, task.goal, policy.play_spec)
    found = JumpSearch(policy, task, tested=tested)
    for node, decision in islice(_checked(found.pieces(), check), decisions):
        tree = decision.tree
        last = tree.nearest_goal
        if found.solution is not None and last is not None:
            states, costs = [tree.state_of(last)], [cost.of(tree, last)]
            step: SearchNode | None = node
            while step is not None:
                states.append(step.state)
                if step.parent is not None:
                    costs.append(cost.of_actions(task, step.actions))
                step = step.parent
            return Trajectory(number, found.goal, states[::-1], Ending.SOLVED, costs[::-1])
    return None


Piece: TypeAlias = tuple[SearchNode, Decision]


def _checked(pieces: Iterable[Piece | None], check: Callable[[], None]) -> Iterator[Piece]:
    """The pieces of a search that are decisions, each piece checked."""
    for piece in pieces:
        check()
        if piece is not None:
            yield piece


def return_to_go(costs: Sequence[float], discount: float) -> float:
    """Discounted return of jumps with these costs, the last of which reaches the goal; the discount is per jump."""
    return -sum(discount**i * cost for i, cost in enumerate(costs))


def transitions_of(
    trajectory: Trajectory, goal: Goal, first: int, last: int, *, reached: bool, discount: float
) -> list[Transition]:
    """Transitions between states `first` and `last` of a trajectory, with a goal that the last state satisfies if
    `reached`."""
    states = trajectory.states
    dead_end = not reached and trajectory.ending is Ending.DEAD_END and last == len(states) - 1
    end = Final.GOAL if reached else Final.DEAD_END if dead_end else Final.NO
    return [
        Transition(
            task=trajectory.task,
            state=states[i],
            successor=states[i + 1],
            goal=goal,
            tree_goal=trajectory.goal,
            final=end if i + 1 == last else Final.NO,
            bound=return_to_go(trajectory.costs[i:last], discount) if reached else float("nan"),
            cost=trajectory.costs[i],
        )
        for i in range(first, last)
    ]


# -- as arrays, to be saved with a run -------------------------------------------------------------------------------

CODES = ("state", "successor", "goal_positive", "goal_negative", "tree_positive", "tree_negative")
"""Arrays of atoms; each comes with an array of offsets."""


def _codes_of(transition: Transition) -> tuple[NDArray[np.int64], ...]:
    goal, tree_goal = transition.goal, transition.tree_goal
    return (
        transition.state.codes,
        transition.successor.codes,
        goal.positive,
        goal.negative,
        tree_goal.positive,
        tree_goal.negative,
    )


def pack_transitions(transitions: Sequence[Transition]) -> dict[str, NDArray[Any]]:
    """Transitions as flat arrays."""
    columns = [_codes_of(transition) for transition in transitions]
    arrays: dict[str, NDArray[Any]] = {
        "task": np.array([transition.task for transition in transitions], np.int64),
        "final": np.array([int(transition.final) for transition in transitions], np.int64),
        "bound": np.array([transition.bound for transition in transitions], np.float64),
        "cost": np.array([transition.cost for transition in transitions], np.float64),
    }
    for i, name in enumerate(CODES):
        parts = [column[i] for column in columns]
        arrays[name] = np.concatenate([np.zeros(0, np.int64), *parts])
        arrays[name + "_offset"] = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)
    return arrays


def unpack_transitions(arrays: dict[str, NDArray[Any]]) -> list[Transition]:
    """Transitions from flat arrays. Equal goals become one object again. Without costs, every jump costs 1."""
    goals: dict[Goal, Goal] = {}

    def part(name: str, i: int) -> NDArray[np.int64]:
        offset = arrays[name + "_offset"]
        values: NDArray[np.int64] = arrays[name][offset[i] : offset[i + 1]]
        return values

    def goal(prefix: str, i: int) -> Goal:
        found = Goal(part(f"{prefix}_positive", i), part(f"{prefix}_negative", i))
        return goals.setdefault(found, found)

    return [
        Transition(
            task=int(arrays["task"][i]),
            state=State(part("state", i)),
            successor=State(part("successor", i)),
            goal=goal("goal", i),
            tree_goal=goal("tree", i),
            final=Final(int(arrays["final"][i])),
            bound=float(arrays["bound"][i]),
            cost=float(arrays["cost"][i]) if "cost" in arrays else 1.0,
        )
        for i in range(len(arrays["task"]))
    ]
