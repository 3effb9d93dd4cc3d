"""Stage `lab.experiment`: an experiment: training what is missing, playing what is missing, and reporting on it.

    OUT/runs/       training runs (`runs.py`)
    OUT/records/    records (`trials.py`)
    OUT/report.html

Whatever ends an experiment, kill -9 included, the next call goes on: runs from their last save, trials that have no
record from their start. All that must be known for that is in the files of runs and records. Only one process at a time
works in a folder.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from saltus.errors import ConfigurationError, InputError, SaltusError
from saltus.files import SETTINGS_BYTES, lock, make_folder, parse_object, read_whole
from saltus.lab.bench.benchmark import Tally, Trial, run_trials
from saltus.lab.bench.record import Record
from saltus.lab.bench.records import read_records
from saltus.lab.experiment.runs import PlannedRun, planned_runs
from saltus.lab.experiment.spec import REQUIREMENTS, ExperimentSpec, Machines, System
from saltus.lab.experiment.trials import PlannedTrials, opened_records, planned_trials, strangers, trials_of
from saltus.lab.report.html import write_page
from saltus.lab.report.page import report_page
from saltus.lab.report.report import make_report
from saltus.process import LocalRunner, RayRunner, Runner
from saltus.process.limits import cores
from saltus.process.runner import never
from saltus.process.train_result import TrainResult

PAGE = "report.html"


@dataclass(frozen=True)
class Standing:
    """How far a system has come."""

    system: System
    runs: int
    trained: int
    trials: int
    played: int
    solved: dict[int, int]
    """Problems solved, by seed."""
    missing: tuple[PlannedRun, ...] = field(repr=False)
    """Runs that are not trained yet."""


@dataclass
class TrainingTally:
    """How far the training of an experiment has come."""

    total: int
    """Runs of the experiment."""
    done: int
    """Those that are trained."""
    failed: dict[str, TrainResult] = field(default_factory=dict)
    """Those that went wrong, by name."""
    running: list[PlannedRun] = field(default_factory=list)


WatchTraining = Callable[[TrainingTally, PlannedRun | None, TrainResult | None], None]
"""Called whenever a run starts, and with the run and its result when it ends."""
WatchPlaying = Callable[[Tally, Record | None], None]


class Experiment:
    """An experiment in a folder."""

    def __init__(
        self, spec: ExperimentSpec, out: str | os.PathLike[str], warn: Callable[[str], None] = lambda message: None
    ) -> None:
        self.spec = spec
        self.out = Path(out)
        self.warn = warn
        self.runs = planned_runs(spec, self.out)
        self.trials = planned_trials(spec, self.out, self.runs)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within the block, no other process works in the folder."""
        make_folder(self.out)
        handle = os.open(self.out, os.O_RDONLY)
        try:
            free = True
            with suppress(OSError):  # a file system without locks
                free = lock(handle)
            if not free:
                raise ConfigurationError(f"{self.out}: another experiment is running there")
            yield
        finally:
            os.close(handle)

    # -- training ----------------------------------------------------------------------------------------------------

    def train(
        self,
        watch: WatchTraining = lambda tally, run, result: None,
        is_over: Callable[[], bool] = never,
        run_job: Callable[..., TrainResult] | None = None,
    ) -> TrainingTally:
        """The tally once all runs have ended, or `is_over` returns True: runs that this cuts off are saved."""
        missing = [run for run in self.runs if not run.is_trained()]
        check_planners(run.system for run in missing)
        tally = TrainingTally(len(self.runs), len(self.runs) - len(missing))
        for load in sorted({load_of(run) for run in missing}):
            group = [run for run in missing if load_of(run) == load]
            if not is_over():
                self._train_group(group, self._training_runner(*load, run_job), tally, watch, is_over)
        return tally

    def _train_group(
        self,
        group: Sequence[PlannedRun],
        runner: Runner,
        tally: TrainingTally,
        watch: WatchTraining,
        is_over: Callable[[], bool],
    ) -> None:
        for run in group:
            if run.system.planner is None:
                from saltus.learn.folder import wait_until_free  # here, because importing PyTorch takes a second

                wait_until_free(run.folder)

        def begin(number: int) -> None:
            tally.running.append(group[number])
            watch(tally, None, None)

        with closing(runner.run([run.job(self.spec.machines) for run in group], begin, is_over)) as finished:
            for ended in finished:
                run, result = group[ended.number], ended.result
                tally.running.remove(run)
                if result.outcome is not None:
                    tally.failed[str(run)] = result
                elif not result.stopped_by:
                    run.mark(result.summary)
                    tally.done += 1
                watch(tally, run, result)

    def _training_runner(self, is_planner: bool, slots: int, run_job: Callable[..., TrainResult] | None) -> Runner:
        machines = self.spec.machines
        if is_planner:  # which needs a core and no GPU
            machines = replace(machines, device="cpu", runs=min(machines.runs or cores(), cores()))
        if machines.ray is not None:
            return RayRunner(machines.ray, None if machines.runs is None else max(1, machines.runs // slots))
        parallel = max(1, (machines.runs or runs_side_by_side(machines)) // slots)
        return LocalRunner(parallel) if run_job is None else LocalRunner(parallel, run_job)

    # -- playing -----------------------------------------------------------------------------------------------------

    def play(self, watch: WatchPlaying = lambda tally, record: None, is_over: Callable[[], bool] = never) -> Tally:
        """The tally once every trial whose policy is trained has a record, or `is_over` returns True."""
        check_planners(self.spec.systems)
        trials = self._known_trials(self.warn)
        machines = self.spec.machines
        runner: Runner
        if machines.ray is not None:
            runner = RayRunner(machines.ray, machines.trials)
        else:
            runner = LocalRunner(machines.trials or max(1, cores() // machines.threads))
        with opened_records(trials) as opened:
            for note in strangers(opened):
                self.warn(note)
            return run_trials(opened, runner, protocol=self.spec.testing.protocol, watch=watch, is_over=is_over)

    def _known_trials(self, warn: Callable[[str], None]) -> list[tuple[Path, Trial]]:
        """Record file and trial of all problems whose policies are trained."""
        return [(planned.file, trial) for planned in self.trials for trial in self._ready(planned, warn)]

    def _ready(self, planned: PlannedTrials, warn: Callable[[str], None]) -> list[Trial]:
        if planned.run is not None and not planned.run.is_trained():
            return []
        try:
            return trials_of(self.spec, planned, warn)
        except SaltusError as error:
            if planned.run is None:  # the file names a policy that cannot play
                raise
            warn(f"{planned.run}: left out: {error}")
            return []

    # -- results -----------------------------------------------------------------------------------------------------

    def standings(self) -> list[Standing]:
        """How far every system has come, in the order of the file."""
        found: list[Standing] = []
        records: dict[Path, dict[tuple[str, ...], Record]] = {}
        for system in self.spec.systems:
            runs = [run for run in self.runs if run.system is system]
            missing = tuple(run for run in runs if not run.is_trained())
            total = played = 0
            solved: Counter[int] = Counter()
            for planned in self.trials:
                if planned.system is not system:
                    continue
                total += planned.problems
                known = records.setdefault(planned.file, _records_by_key(planned.file))
                ended = [known[trial.key] for trial in self._ready(planned, lambda text: None) if trial.key in known]
                played += len(ended)
                solved[planned.seed] += sum(record.solved for record in ended)
            found.append(Standing(system, len(runs), len(runs) - len(missing), total, played, dict(solved), missing))
        return found

    def report(self) -> Path | None:
        """The page on all records and runs, written anew; None if there are none yet."""
        files = [path for path in dict.fromkeys(planned.file for planned in self.trials) if _records_by_key(path)]
        folders = [folder for run in self.runs for folder in logged_runs(run)]
        if not files and not folders:
            return None
        found = make_report(files, folders)
        for message in found.warnings:
            self.warn(message)
        page = self.out / PAGE
        write_page(page, report_page(found))
        return page


def check_planners(systems: Iterable[System]) -> None:
    """Raises a `ConfigurationError` if a planner is not installed."""
    for planner in dict.fromkeys(system.planner for system in systems if system.planner is not None):
        REQUIREMENTS[planner]()


def load_of(run: PlannedRun) -> tuple[bool, int]:
    """Whether another planner is trained, and how many places a run takes: runs with the same load go together."""
    return run.system.planner is not None, run.system.slots


def logged_runs(run: PlannedRun) -> list[Path]:
    """Folders with the log of a run: its own, or that of the winner of a contest; none if it has not begun."""
    folder = run.folder
    if run.system.contest:
        try:
            winner = parse_object(read_whole(folder / "contest.json", SETTINGS_BYTES)).get("winner")
        except (InputError, ValueError):
            return []
        folder = folder / "candidates" / str(winner)
    return [folder] if (folder / "log.jsonl").is_file() else []


def _records_by_key(path: Path) -> dict[tuple[str, ...], Record]:
    """Records of a file by trial; none if there is no file, or nothing in it."""
    if not path.exists() or path.stat().st_size == 0:
        return {}
    try:
        return {record.key: record for record in read_records(path).records}
    except InputError:
        return {}  # half a line of a killed writer, and nothing else


def runs_side_by_side(machines: Machines) -> int:
    """How many runs this machine trains at a time."""
    from saltus.learn.contest_opening import GPU_BYTES
    from saltus.model.device import find_device

    slots = max(1, cores() // machines.threads)
    if find_device(machines.device) == "cuda":
        import torch

        free, _ = torch.cuda.mem_get_info()
        slots = min(slots, max(1, free // GPU_BYTES))
    return slots
