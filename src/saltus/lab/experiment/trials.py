"""Stage `lab.experiment`: the trials of an experiment, and the files of their records.

    records/SYSTEM-seed-N.jsonl       records of a trained system
    records/SYSTEM.jsonl              records of one without seeds
    records/….plans/                  plans

A record's method is the name of its system. Its configuration depends on the policy's weights rather than on its file,
so that a policy that is trained once more in the same way makes the same records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from saltus.errors import plural
from saltus.files import make_folder
from saltus.lab.bench.benchmark import Trial, make_trials
from saltus.lab.bench.records import RecordFile
from saltus.lab.experiment.runs import PlannedRun
from saltus.lab.experiment.spec import PLANNERS, ExperimentSpec, System
from saltus.model.device import find_device
from saltus.policy.catalogue import YARDSTICK_NAMES
from saltus.process import PlanJob
from saltus.task import Suite


@dataclass(frozen=True)
class PlannedTrials:
    """A system that is tried on the problems of a domain."""

    system: System
    suite: Suite
    seed: int
    file: Path
    """Record file."""
    run: PlannedRun | None
    """The run whose policy plays; None for a system that is not trained."""
    problems: int
    """Number of trials."""


def planned_trials(spec: ExperimentSpec, out: Path, runs: Sequence[PlannedRun]) -> list[PlannedTrials]:
    """All trials of an experiment, whether its runs are trained or not."""
    by_place = {(run.system.name, run.suite.name, run.seed): run for run in runs}
    found: list[PlannedTrials] = []
    for system in spec.systems:
        for seed in system.seeds:
            ending = f"-seed-{seed}" if system.has_seeds or len(system.seeds) > 1 else ""
            file = out / "records" / f"{system.name}{ending}.jsonl"
            for domain in system.domains:
                suite = tested(spec, domain)
                count = sum(map(len, suite.splits.values()))
                run = by_place.get((system.name, domain, seed))
                found.append(PlannedTrials(system, suite, seed, file, run, count))
    return found


def tested(spec: ExperimentSpec, domain: str) -> Suite:
    """The suite of a domain with nothing but the problems that are played."""
    suite, testing = spec.suite(domain), spec.testing
    splits = {
        split: tuple(path for path in paths if not testing.problems or path.stem in testing.problems)
        for split, paths in suite.splits.items()
        if split in testing.splits
    }
    return replace(suite, splits={split: paths for split, paths in splits.items() if paths})


def trials_of(spec: ExperimentSpec, planned: PlannedTrials, warn: Callable[[str], None]) -> list[Trial]:
    """The trials of a system on a domain, whose policy must be trained."""
    if not planned.problems:
        return []
    system, testing = planned.system, spec.testing
    policy = str(planned.run.policy) if planned.run is not None else system.policy
    job: PlanJob
    if system.planner is not None:
        job = PLANNERS[system.planner](
            "", "", limits=testing.limits, device="cpu", seed=planned.seed, threads=spec.machines.threads
        )
        job = job if policy is None else replace(job, policy=policy)
    else:
        assert policy is not None
        job = PlanJob(
            "",
            "",
            policy=policy,
            limits=testing.limits,
            search=system.search,
            improve=testing.improve,
            play=(*testing.rules.play, *system.play),
            device="cpu" if policy in YARDSTICK_NAMES else find_device(spec.machines.test_device),
            seed=planned.seed,
            lookahead=system.lookahead,
            threads=spec.machines.threads,
        )

    rules = None if testing.has_own_time else testing.rules
    trials = make_trials([planned.suite], job, rules=rules, warn=warn)
    configuration = ""
    if planned.run is not None and trials:
        # A name that no file has stands for itself in the hash.
        named = replace(trials[0].job, problem="", policy=f"weights {planned.run.policy_digest()}")
        configuration = named.configuration()
    return [_renamed(trial, planned, configuration or trial.configuration) for trial in trials]


def _renamed(trial: Trial, planned: PlannedTrials, configuration: str) -> Trial:
    """The trial under the name of its system; two systems may play in the same way."""
    text = f"{planned.system.name} {planned.seed} {configuration}"
    own = hashlib.sha256(text.encode()).hexdigest()[:12]
    return replace(trial, configuration=own, method=planned.system.name)


@contextmanager
def opened_records(trials: Sequence[tuple[Path, Trial]]) -> Iterator[list[tuple[RecordFile, Trial]]]:
    """Some trials with their record files, open for more records."""
    with ExitStack() as stack:
        files: dict[Path, RecordFile] = {}
        for path in dict.fromkeys(path for path, _ in trials):
            make_folder(path.parent)
            files[path] = stack.enter_context(RecordFile(path))
        yield [(files[path], trial) for path, trial in trials]


def strangers(trials: Sequence[tuple[RecordFile, Trial]]) -> Iterator[str]:
    """What to say about records that are of no trial: other policies, limits or problems than those of today."""
    known = {trial.key for _, trial in trials}
    for file in dict.fromkeys(file for file, _ in trials):
        others = len(file.done - known)
        if others:
            yield f"{file.path}: {plural(others, 'record')} of other policies or limits, which the report shows, too"
