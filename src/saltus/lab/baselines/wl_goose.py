"""Stage `lab.baselines`: WL-GOOSE: greedy best-first search with a heuristic learned on the same problems.

The search is eager, as in the paper of WL-GOOSE: every new state is evaluated when it is generated, and of the states
with the lowest estimate, rounded to a whole number, the one generated first is expanded. States come from Saltus's
kernel, estimates from `wlplan`. Models are trained by `wl_training.py`.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from saltus.errors import NoPolicyError
from saltus.lab.baselines.wl_model import WL_GOOSE, WLTask, find_wlplan, load_model, read_model_entry
from saltus.lookahead.actions import applicable_actions, successor_state
from saltus.pddl import Domain
from saltus.pddl.signature import check_signature
from saltus.policy.figures import Figures
from saltus.policy.outcome import Outcome
from saltus.policy.planning import plan_of
from saltus.process import PlanJob
from saltus.process.plan_job import file_hash, plan_message
from saltus.process.plan_work import read_task
from saltus.process.worker import Worker
from saltus.task import Action, Plan, State, Task, validate


@dataclass(frozen=True)
class WLGooseJob(PlanJob):
    """A problem for WL-GOOSE with a model file, and limits; `policy` is the file, or a folder with one per domain."""

    work: ClassVar[str] = "saltus.lab.baselines.wl_goose:solve"
    planner: ClassVar[str] = WL_GOOSE

    def policy_facts(self) -> dict[str, Any]:
        """The bytes of the model."""
        return {"policy": file_hash(self.policy), "seed": None}

    def policy_label(self, result: object) -> str:
        """The name of the model file."""
        return Path(self.policy).name

    def method(self) -> str:
        """The name of the baseline."""
        return WL_GOOSE


def model_for(place: str, name: str, domain: Domain) -> str:
    """The model file for a domain: the file itself, or `NAME.json` in a folder; one that does not fit is an error."""
    path = Path(place)
    if path.is_dir():
        path = path / f"{name}.json"
        if not path.is_file():
            raise NoPolicyError(f"{path}: no model of WL-GOOSE; 'saltus wl-goose' trains one")
    check_signature(read_model_entry(path)["signature"], domain)
    return os.fspath(path)


def solve(worker: Worker) -> Mapping[str, Any]:
    """Searches and validates the plan; returns outcome and detail."""
    job = WLGooseJob.from_json(worker.job)
    find_wlplan()
    start = time.monotonic()
    task = read_task(job)
    seconds_read = time.monotonic() - start
    worker.send("read", objects=task.object_count, warnings=list(task.problem.warnings))
    model = load_model(job.policy)
    check_signature(model.signature, task.domain)
    worker.send("policy", policy=Path(job.policy).name, method=WL_GOOSE, device="cpu", warnings=[])
    heuristic = model.heuristic(WLTask(task))
    last = time.monotonic()
    figures = Figures(seconds_read=seconds_read, search_decisions=0, goal_count=task.goal.size)

    def expanded(count: int) -> None:
        nonlocal figures, last
        figures = figures.plus(search_decisions=count)
        if time.monotonic() - last > 1.0:  # not for every state
            last = time.monotonic()
            worker.send("figures", **figures.to_json())

    plan = greedy_search(task, heuristic, expanded)
    seconds = time.monotonic() - worker.started
    if plan is None:
        worker.send("figures", **figures.to_json())
        return {"outcome": Outcome.FAILED, "detail": "the search has exhausted all reachable states"}
    verdict = validate(task, plan)
    if not verdict:
        return {"outcome": Outcome.INVALID, "detail": verdict.reason}
    worker.send("figures", **replace(figures, seconds_plan=seconds).to_json())
    worker.send("plan", **plan_message(plan, verdict.cost, unit_cost=verdict.unit_cost))
    return {"outcome": Outcome.FOUND, "detail": ""}


Heuristic = Callable[[State], float]


def greedy_search(
    task: Task, heuristic: Heuristic, expanded: Callable[[int], None] = lambda count: None
) -> Plan | None:
    """A plan by eager greedy best-first search; None if no goal state can be reached.

    Ties are broken in favour of the state generated first. `expanded` is called with 1 whenever a state is expanded.
    """
    start = task.initial_state
    parents: dict[State, tuple[State, Action] | None] = {start: None}
    waiting: list[tuple[int, int, State]] = [(round(heuristic(start)), 0, start)]
    number = 0
    while waiting:
        *_, state = heapq.heappop(waiting)
        if task.goal.holds(state):
            return traced(task, parents, state)
        expanded(1)
        for action in applicable_actions(task, state):
            after = successor_state(task, state, action)
            if after in parents:
                continue
            parents[after] = state, action
            number += 1
            heapq.heappush(waiting, (round(heuristic(after)), number, after))
    return None


def traced(task: Task, parents: Mapping[State, tuple[State, Action] | None], state: State) -> Plan:
    """The plan that leads to a state."""
    actions: list[Action] = []
    while (link := parents[state]) is not None:
        state, action = link
        actions.append(action)
    return plan_of(task, actions[::-1])
