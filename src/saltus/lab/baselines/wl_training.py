"""Stage `lab.baselines`: training of WL-GOOSE, also as a job: a folder of problems in, a heuristic out.

As in its paper, the heuristic learns the distance to the goal of every state along optimal plans of the training
problems, by Gaussian process regression with a linear kernel, which is linear regression with a tiny penalty. Its paper
takes optimal plans of Scorpion with 30 minutes per problem; here A* with LM-cut (Fast Downward) has a shorter limit,
and problems without a plan within it are left out. Validation problems are training problems, too: nothing is chosen.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from saltus.errors import InputError
from saltus.files import make_folder, write_whole
from saltus.lab.baselines.lama import fast_downward
from saltus.lab.baselines.wl_model import (
    FEATURES,
    GRAPH,
    ITERATIONS,
    WLModel,
    WLTask,
    find_wlplan,
    new_features,
    wl_domain,
)
from saltus.lookahead.actions import successor_state
from saltus.pddl import Source, parse_domain
from saltus.pddl.signature import domain_signature
from saltus.process.train_result import LOG, TrainingJob
from saltus.process.worker import Worker
from saltus.task import Plan, Split, State, Task, find_suite, load, read_plan, validate

OPTIMAL = "seq-opt-lmcut"
"""Fast Downward's alias."""
PLANS = "plans"
PLAN_SECONDS = 10.0
"""Default of the time limit for the optimal plan of one problem."""


@dataclass(frozen=True)
class Labelled:
    """States of a task, and the distance of each to the goal."""

    task: Task
    states: tuple[State, ...]
    distances: tuple[int, ...]


def train_wl_goose(
    folder: str | os.PathLike[str],
    *,
    seconds: float = PLAN_SECONDS,
    plans: Path | None = None,
    watch: Callable[[str], None] = lambda message: None,
) -> WLModel:
    """The heuristic for a folder of problems; `seconds` is the time limit for the optimal plan of one problem.

    Plans are kept in the folder `plans`, and those that are there already are not searched for again.
    """
    find_wlplan()
    start = time.monotonic()
    suite = find_suite(folder)
    suite.training_files()  # there must be some
    domain = parse_domain(Source.from_file(suite.domain))
    files = [path for split in (Split.TRAINING, Split.VALIDATION) for path in suite.splits.get(split, ())]
    tasks = sorted(((path, load(domain, path)) for path in files), key=lambda pair: len(pair[1].objects))
    labelled: list[Labelled] = []
    failures = 0
    for number, (path, task) in enumerate(tasks, start=1):
        plan = optimal_plan(suite.domain, path, seconds, None if plans is None else plans / kept_name(path))
        if plan is None:
            failures += 1
        else:
            failures = 0
            labelled.append(label(task, plan))
        found = f"{len(plan)} actions" if plan is not None else "no optimal plan in time"
        watch(f"{number} of {len(tasks)}: {path.stem}: {found}")
        if failures == 4:
            watch(f"{failures} problems in a row without an optimal plan: larger ones are not tried")
            break
    if not labelled:
        raise InputError(f"{os.fspath(folder)}: no training problem has an optimal plan within {seconds:g} s")
    features, weights, samples = fit(labelled)
    features.set_weights(weights.tolist())
    training = {
        "features": f"{FEATURES}, {GRAPH}, {ITERATIONS} iterations",
        "feature_count": len(weights),
        "plans": f"optimal (A* with LM-cut, {seconds:g} s per problem)",
        "problems": len(labelled),
        "problems_given": len(tasks),
        "states": samples,
        "seconds": round(time.monotonic() - start, 1),
    }
    return WLModel(features, domain_signature(domain), training)


def optimal_plan(domain: Path, problem: Path, seconds: float, kept: Path | None = None) -> Plan | None:
    """An optimal plan of a problem; None if there is none within the time limit. `kept` is a file that keeps it."""
    if kept is not None and kept.is_file():
        return read_plan(kept)
    with tempfile.TemporaryDirectory(prefix="saltus-") as folder:
        limit = ["--overall-time-limit", f"{max(1, round(seconds))}s"]
        command = fast_downward(OPTIMAL, Path(folder), limit, domain, problem)
        done = subprocess.run(command, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        found = Path(folder) / "plan"
        if done.returncode != 0 or not found.is_file():
            return None
        if kept is not None:
            make_folder(kept.parent)
            write_whole(kept, found.read_bytes())
        return read_plan(found)


def kept_name(problem: Path) -> str:
    """Name of the file that keeps the plan of a problem; problems of two splits may have the same name."""
    return f"{problem.parent.name}-{problem.stem}.plan"


def label(task: Task, plan: Plan) -> Labelled:
    """The states along a valid plan, the last of which is a goal state, with the numbers of actions that follow."""
    verdict = validate(task, plan)
    if not verdict:
        raise InputError(f"{task.name}: invalid optimal plan: {verdict.reason}")
    states = [task.initial_state]
    for step in plan.steps:
        states.append(successor_state(task, states[-1], task.action(" ".join(step))))
    return Labelled(task, tuple(states), tuple(range(len(plan), -1, -1)))


def fit(labelled: Sequence[Labelled]) -> tuple[Any, NDArray[np.float64], int]:
    """Features of all states, the weights that predict their distances, and the number of states."""
    datasets = importlib.import_module("wlplan.data")
    domain = labelled[0].task.domain
    parts: list[Any] = []
    for entry in labelled:
        task = WLTask(entry.task)
        parts.append(datasets.ProblemDataset(task.problem, [task.state(state) for state in entry.states]))
    whole = datasets.DomainDataset(wl_domain(domain), parts)
    features = new_features(domain)
    with silence():
        features.collect(whole)
        rows = np.array(features.embed(whole), np.float64)  # [states, features]
    distances = np.array([distance for entry in labelled for distance in entry.distances], np.float64)
    return features, linear_weights(rows, distances), len(rows)


def linear_weights(rows: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of least squares with the penalty on their squares: the mean of a Gaussian process with linear kernel."""
    count, width = rows.shape
    weights: NDArray[np.float64]
    noise = 1e-7  # its variance, as in the authors' program
    if width <= count:
        weights = np.linalg.solve(rows.T @ rows + noise * np.eye(width), rows.T @ targets).astype(np.float64)
    else:
        weights = (rows.T @ np.linalg.solve(rows @ rows.T + noise * np.eye(count), targets)).astype(np.float64)
    return weights


@contextmanager
def silence() -> Iterator[None]:
    """Within the block, nothing is written to standard output: the C++ code of `wlplan` does so without being asked."""
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


@dataclass(frozen=True)
class WLTrainJob(TrainingJob):
    """The model for one folder of problems.

    Optimal plans, which take nearly all of the time, are kept in `plans/` next to the model: a job that was killed does
    not search for them again. Everything that the process says goes to `train.log` there.
    """

    work: ClassVar[str] = "saltus.lab.baselines.wl_training:train"
    starts_processes: ClassVar[bool] = True

    folder: str
    """Folder of the problems."""
    out: str
    """Model file."""
    plan_seconds: float = PLAN_SECONDS
    """Time limit for the optimal plan of one problem."""


def train(worker: Worker) -> Mapping[str, Any]:
    """Trains the model and writes its file; returns a summary."""
    job = WLTrainJob.from_json(worker.job)
    out = Path(job.out)
    worker.log_to(out.parent / LOG)
    model = train_wl_goose(job.folder, seconds=job.plan_seconds, plans=out.parent / PLANS, watch=worker.note)
    model.save(out)
    worker.note(model.summary)
    return {"summary": model.summary, "is_finished": True, "is_stable": False, "stopped_by": ""}
