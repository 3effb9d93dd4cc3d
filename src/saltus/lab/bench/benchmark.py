"""Stage `lab.bench`: every problem of some suites, each tried once.

Takes suites, a job that says how to plan, and a record file; runs the trials that the file does not have yet, and
writes a record as soon as a trial ends. A trial that was interrupted leaves no record, so that the next call runs it
again; every other trial leaves one, however it ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from saltus.errors import (
    ConfigurationError,
    InputError,
    NoPolicyError,
    PolicyError,
    WrongPolicyError,
    suggestion,
)
from saltus.lab.baselines.lama import LamaJob
from saltus.lab.baselines.wl_goose import WLGooseJob, model_for
from saltus.lab.bench.record import Key, Problem, Record, make_record
from saltus.lab.bench.records import RecordFile
from saltus.model.description import read_description
from saltus.pddl import Source, parse_domain
from saltus.pddl.signature import check_signature
from saltus.policy.catalogue import AUTO, FALLBACK, FALLBACK_PLAY, FALLBACK_TREES, fallback_note, policy_file_for
from saltus.policy.outcome import Outcome, PlanningProtocol
from saltus.policy.policies import YARDSTICKS
from saltus.process import PlanJob, Runner
from saltus.process.runner import never
from saltus.task import Suite


@dataclass(frozen=True)
class Trial:
    """A job and its place in a suite."""

    domain: str
    split: str
    problem: str
    job: PlanJob = field(repr=False)
    configuration: str
    """Configuration of the job, with the policy file as it was when the benchmark began."""
    method: str = ""
    """Method in the record; empty for that of the policy."""

    @property
    def name(self) -> Problem:
        """Domain, split and problem."""
        return self.domain, self.split, self.problem

    @property
    def key(self) -> Key:
        """What identifies the trial."""
        return self.configuration, self.domain, self.split, self.problem


def make_trials(
    suites: Sequence[Suite],
    job: PlanJob,
    splits: Sequence[str] | None = None,
    *,
    rules: PlanningProtocol | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> list[Trial]:
    """A trial for every problem; `job` says everything but domain, problem and, if it must be found, the policy.

    `rules` is the protocol whose time limit depends on the policy; without it, that of the job holds for all.
    Suites that no bundled policy fits are run with the fallback, with a warning. Suites that no policy of a given
    folder fits are left out with a warning; if none is left, that is a `NoPolicyError`.
    """
    known = dict.fromkeys(split for suite in suites for split in suite.splits)
    for split in splits or ():
        if split not in known:
            raise ConfigurationError(
                f"there is no split {split!r}{suggestion(split, known) or '; there are ' + ', '.join(known)}"
            )
    trials: list[Trial] = []
    missing: list[str] = []
    for suite in suites:
        wanted = {split: paths for split, paths in suite.splits.items() if not splits or split in splits}
        if not wanted:
            continue
        try:
            prepared = with_policy(suite, job, warn)
            prepared = prepared if rules is None else prepared.with_flat_limit(rules)
        except (NoPolicyError, WrongPolicyError) as error:
            missing.append(str(error))
            continue
        configuration = prepared.configuration()
        for split, paths in wanted.items():
            stems = Counter(path.stem for path in paths)
            for path in paths:
                name = path.stem if stems[path.stem] == 1 else f"{path.parent.name}-{path.stem}"
                trials.append(Trial(suite.name, split, name, replace(prepared, problem=str(path)), configuration))
    if missing and not trials:
        raise NoPolicyError("\n".join(missing))
    for reason in missing:
        warn(f"left out: {reason}")
    return trials


def with_policy(suite: Suite, job: PlanJob, warn: Callable[[str], None]) -> PlanJob:
    """The job for a suite: with its domain and policy, or the fallback where no bundled policy fits."""
    job = replace(job, domain=str(suite.domain))
    try:
        return replace(job, policy=policy_for(suite, job))
    except NoPolicyError:
        if job.policy != AUTO:
            raise
        warn(fallback_note(parse_domain(Source.from_file(suite.domain))))
        play = (*FALLBACK_PLAY.settings, *job.play)
        return replace(job, policy=FALLBACK, lookahead=FALLBACK_TREES.settings, play=play, device="cpu")


def policy_for(suite: Suite, job: PlanJob) -> str:
    """Policy for a suite: the name of a yardstick, or a file; a policy that is not found is a `PolicyError`."""
    if isinstance(job, LamaJob) or job.policy in YARDSTICKS:
        return job.policy
    domain = parse_domain(Source.from_file(suite.domain))
    if isinstance(job, WLGooseJob):
        return model_for(job.policy, suite.name, domain)
    path = policy_file_for(job.policy, domain)
    if not path.is_file():
        raise PolicyError(f"{path}: cannot be read: no such file")
    check_signature(read_description(path).signature, domain)
    return str(path)


@dataclass
class Tally:
    """How far a benchmark has come."""

    total: int
    """Trials of this benchmark, including those recorded before."""
    recorded: int
    """Trials recorded before it started."""
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    """Outcomes of the trials recorded since."""
    running: list[Trial] = field(default_factory=list)

    @property
    def done(self) -> int:
        """Trials with a record."""
        return self.recorded + self.outcomes.total()

    @property
    def solved(self) -> int:
        """Trials solved since the start."""
        return sum(count for outcome, count in self.outcomes.items() if outcome.is_solved)

    @property
    def faults(self) -> int:
        """Crashes and invalid plans since the start: faults of the program."""
        return sum(count for outcome, count in self.outcomes.items() if outcome.is_fault)


def run_trials(
    trials: Sequence[tuple[RecordFile, Trial]],
    runner: Runner,
    *,
    protocol: str,
    watch: Callable[[Tally, Record | None], None] = lambda tally, record: None,
    is_over: Callable[[], bool] = never,
) -> Tally:
    """The tally once every trial has a record in its file, or `is_over` returns True: those cut off leave none.

    `watch` is called whenever a trial starts, and with its record when it ends.
    """
    by_key = {trial.key: (file, trial) for file, trial in trials}
    if len(by_key) != len(trials):
        raise InputError("two problems of the suites have the same domain, split and name")
    missing = [(file, trial) for key, (file, trial) in by_key.items() if key not in file.done]
    tally = Tally(len(trials), len(trials) - len(missing))

    def begin(number: int) -> None:
        tally.running.append(missing[number][1])
        watch(tally, None)

    with closing(runner.run([trial.job for _, trial in missing], begin, is_over)) as finished:
        for ended in finished:
            (file, trial), result = missing[ended.number], ended.result
            record: Record | None = None
            if result.outcome is not Outcome.INTERRUPTED:
                record = make_record(
                    trial.job,
                    result,
                    problem=trial.name,
                    configuration=trial.configuration,
                    method=trial.method,
                    protocol=protocol,
                    plan_file=file.store_plan(result, trial.key),
                    started=ended.started,
                )
                file.append(record)
                tally.outcomes[result.outcome] += 1
            tally.running.remove(trial)
            watch(tally, record)
    return tally
