"""Stage `bench`: all problems of some suites, each once.

Takes suites, options and a file of records; runs what the file does not have yet, several processes at a time, and
writes a record as soon as a run ends. A run that was interrupted leaves no record, so that the next call makes it
again; everything else does, whatever became of it.
"""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Protocol

from saltus.bench.job import LAMA, Job, Result
from saltus.bench.records import Key, Record, RecordFile, make_record, timestamp
from saltus.bench.run import run_job
from saltus.errors import ConfigurationError, InputError, NoPolicyError, PolicyError, suggestion
from saltus.pddl import Source, parse_domain
from saltus.policy.catalogue import AUTO, find_policy, policy_folder, policy_path
from saltus.policy.outcome import Outcome
from saltus.policy.policies import YARDSTICKS
from saltus.task import Suite


@dataclass(frozen=True)
class Trial:
    """A job and its place in a suite."""

    domain: str
    split: str
    problem: str
    job: Job = field(repr=False)
    configuration: str
    """Of the job, as the policy file was when the benchmark began."""

    @property
    def names(self) -> tuple[str, str, str]:
        """Domain, split and problem."""
        return self.domain, self.split, self.problem

    @property
    def key(self) -> Key:
        """What makes it this run."""
        return self.configuration, self.domain, self.split, self.problem


def make_trials(
    suites: Sequence[Suite],
    job: Job,
    splits: Sequence[str] | None = None,
    *,
    warn: Callable[[str], None] = lambda message: None,
) -> list[Trial]:
    """A run for every problem; `job` says everything but domain, problem and, where it is to be found, the policy.

    Suites that no policy is found for are left out, with a warning; if that leaves none, it is a `NoPolicyError`.
    """
    known = dict.fromkeys(split for suite in suites for split in suite.splits)
    for split in splits or ():
        if split not in known:
            raise ConfigurationError(
                f"there is no split {split!r}{suggestion(split, known)}; there are {', '.join(known)}"
            )
    runs: list[Trial] = []
    missing: list[str] = []
    for suite in suites:
        wanted = {split: paths for split, paths in suite.splits.items() if not splits or split in splits}
        if not wanted:
            continue
        try:
            prepared = replace(job, domain=str(suite.domain), policy=policy_for(suite, job))
        except NoPolicyError as error:
            missing.append(str(error))
            continue
        configuration = prepared.configuration()
        for split, paths in wanted.items():
            stems = Counter(path.stem for path in paths)
            for path in paths:
                name = path.stem if stems[path.stem] == 1 else f"{path.parent.name}-{path.stem}"
                runs.append(Trial(suite.name, split, name, replace(prepared, problem=str(path)), configuration))
    if missing and not runs:
        raise NoPolicyError("\n".join(missing))
    for reason in missing:
        warn(f"left out: {reason}")
    return runs


def policy_for(suite: Suite, job: Job) -> str:
    """Policy of a suite: a yardstick's name or a file; one that must be found and is not is a `PolicyError`."""
    if job.planner == LAMA or job.policy in YARDSTICKS:
        return job.policy
    folder = policy_folder(job.policy)
    if job.policy == AUTO or folder is not None:
        domain = parse_domain(Source.from_file(suite.domain))
        return str(find_policy(domain) if job.policy == AUTO else find_policy(domain, folder))
    path = policy_path(job.policy)
    if not path.is_file():
        raise PolicyError(f"{path}: cannot be read: no such file")
    return str(path)


Ended = tuple[Trial, str, Result]
"""A run, the time it started, and what came of it."""


class Runner(Protocol):
    """Whatever runs jobs: threads of this process, or a cluster."""

    def __call__(self, runs: Sequence[Trial], begin: Callable[[Trial], None]) -> Generator[Ended]:
        """Runs as they end; `begin` is called as they start. Closing the generator stops those that are running."""


@dataclass
class Tally:
    """How far a benchmark has come."""

    total: int
    """Runs of this benchmark, those recorded before included."""
    recorded: int
    """Before it started."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Of the runs recorded since."""
    running: list[Trial] = field(default_factory=list)

    @property
    def done(self) -> int:
        """Runs with a record."""
        return self.recorded + sum(self.outcomes.values())

    @property
    def solved(self) -> int:
        """Runs that found a plan since the start."""
        return self.outcomes[Outcome.FOUND]

    @property
    def faults(self) -> int:
        """Crashes and invalid plans since the start: faults of the program."""
        return self.outcomes[Outcome.CRASH] + self.outcomes[Outcome.INVALID]


def bench(
    runs: Sequence[Trial],
    file: RecordFile,
    runner: Runner,
    *,
    protocol: str,
    watch: Callable[[Tally, Record | None], None] | None = None,
) -> Tally:
    """The tally once every run has a record; `watch` is called at every start, and with the record at every end."""
    keys = {run.key: run for run in runs}
    if len(keys) != len(runs):
        raise InputError("two problems of the suites have the same domain, split and name")
    missing = [run for key, run in keys.items() if key not in file.done]
    tally = Tally(len(runs), len(runs) - len(missing))
    lock = threading.Lock()

    def begin(run: Trial) -> None:
        with lock:
            tally.running.append(run)
            if watch is not None:
                watch(tally, None)

    with closing(runner(missing, begin)) as ended:
        for run, started, result in ended:
            record: Record | None = None
            if result.outcome is not Outcome.INTERRUPTED:
                record = make_record(
                    run.job,
                    result,
                    names=run.names,
                    configuration=run.configuration,
                    protocol=protocol,
                    plan_file=file.store_plan(result, run.key),
                    started=started,
                )
                file.append(record)
            with lock:
                tally.running.remove(run)
                if record is not None:
                    tally.outcomes[result.outcome] += 1
                if watch is not None:
                    watch(tally, record)
    return tally


class LocalRunner:
    """So many processes at a time on this machine, each watched by a thread."""

    def __init__(self, jobs: int, run: Callable[..., Result] = run_job) -> None:
        if jobs < 1:
            raise ConfigurationError(f"jobs is {jobs}, expected at least 1")
        self.jobs = jobs
        self.run = run

    def __call__(self, runs: Sequence[Trial], begin: Callable[[Trial], None]) -> Generator[Ended]:
        """Runs as they end. A process dies with the thread that started it, so a thread stays until they have ended."""
        waiting: queue.SimpleQueue[Trial] = queue.SimpleQueue()
        for run in runs:
            waiting.put(run)
        ended: queue.SimpleQueue[Ended | BaseException] = queue.SimpleQueue()
        stop = threading.Event()

        def labour() -> None:
            try:
                while not stop.is_set():
                    try:
                        run = waiting.get_nowait()
                    except queue.Empty:
                        return
                    started = timestamp()
                    begin(run)
                    ended.put((run, started, self.run(run.job, stop=stop)))
            except BaseException as error:
                ended.put(error)

        threads = [threading.Thread(target=labour, daemon=True) for _ in range(min(self.jobs, len(runs)))]
        try:
            for thread in threads:
                thread.start()
            for _ in runs:
                result = ended.get()
                if isinstance(result, BaseException):
                    raise result
                yield result
        finally:
            stop.set()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
