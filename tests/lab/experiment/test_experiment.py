"""`saltus experiment`: what is missing is trained and played, whatever ended the call before."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.learn.test_run import FAST
from tests.process.doubles import PROGRAM
from tests.process.fake_ray import FakeRay

from saltus.cli.main import run as command
from saltus.domains.suite import write_suite
from saltus.errors import ConfigurationError
from saltus.lab.bench.records import read_records
from saltus.lab.experiment import experiment as module
from saltus.lab.experiment.experiment import Experiment
from saltus.lab.experiment.runs import MARK, PlannedRun, policy_digest
from saltus.lab.experiment.spec import REQUIREMENTS, read_experiment
from saltus.learn import contest_job
from saltus.learn.contest_job import ContestJob, hold
from saltus.learn.train_job import TrainJob, TrainResult
from saltus.policy.outcome import Outcome
from saltus.process import Stop

SETTINGS = [*FAST, "validate_every=3", "stop_after=0"]
FILE = f"""
problems = "suites"

[training]
episodes = 8
settings = {json.dumps(SETTINGS)}

[testing]
splits = ["easy"]
max_jumps = 6
time_limit = "5m"
search = false

[machines]
device = "cpu"
runs = 2
trials = 1

[systems.aiw-ad]
config = "tiny"

[systems.iw-ad]
config = "tiny"
settings = ["lookahead.kind=iw"]

[systems.goal-count]
policy = "goal-count"
"""
TIMES = re.compile(r"seconds|started|peak_memory")
"""Fields of records that differ from call to call."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an experiment and its problems."""
    folder = tmp_path_factory.mktemp("experiment")
    suite = folder / "suites" / "blocksworld"
    for split, count, kept in (("training", 40, 4), ("validation", 40, 1), ("easy", 40, 2)):
        write_suite(suite, "blocksworld", split, count)
        files = sorted((suite / ("testing/easy" if split == "easy" else split)).glob("*.pddl"))
        for path in files[kept:]:
            path.unlink()
    (folder / "x.toml").write_text(FILE)
    return folder


def records_in(folder: Path) -> dict[str, dict[str, Any]]:
    """Records of an experiment without times, by system and problem, each with its plan."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((folder / "records").glob("*.jsonl")):
        read = read_records(path)
        assert read.warnings == ()
        for record in read.records:
            values = {key: value for key, value in record.to_json().items() if not TIMES.match(key)}
            if record.plan_file is not None:
                values["plan"] = (path.parent / record.plan_file).read_text()
            name = f"{path.name} {' '.join(record.name)}"
            assert name not in found
            found[name] = values
    return found


def lines_in(folder: Path, pattern: str) -> int:
    """Lines of all files of a pattern."""
    return sum(path.read_text().count("\n") for path in folder.glob(pattern))


def test_killed_twice_it_makes_the_same_records(place: Path, tmp_path: Path) -> None:
    """Once while runs train, once while problems are played; the third call ends what is left."""
    arguments = [*PROGRAM, "experiment", str(place / "x.toml"), "--out", "out"]
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    out = tmp_path / "killed" / "out"
    # Three episodes, two of which are saved; and the first of six records.
    for pattern, count in (("runs/*/*/*/log.jsonl", 3), ("records/*.jsonl", 1)):
        process = subprocess.Popen(
            arguments, cwd=tmp_path / "killed", stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        try:
            while lines_in(out, pattern) < count and process.poll() is None:  # however long a busy machine takes
                time.sleep(0.02)
            assert process.poll() is None, "it ended before it could be killed"
        finally:
            process.kill()
            process.wait()
    for name in ("whole", "killed"):
        done = subprocess.run(arguments, cwd=tmp_path / name, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "warning" not in done.stderr
    whole, killed = records_in(tmp_path / "whole" / "out"), records_in(out)
    assert len(whole) == 6
    assert killed == whole
    assert {values["method"] for values in whole.values()} == {"aiw-ad", "iw-ad", "goal-count"}
    logs = [tmp_path / name / "out/runs/blocksworld/iw-ad/seed-0/log.jsonl" for name in ("whole", "killed")]
    assert [path.read_text().count('"kind": "episode"') for path in logs] == [8, 8]
    policies = {policy_digest(path.parent / "policy.safetensors") for path in logs}
    assert len(policies) == 1
    assert "iw-ad" in (out / "report.html").read_text()


class Trainings:
    """Stands for `run_job`: a job ends at once, leaves an untrained policy, and is remembered."""

    def __init__(self, policy: bytes, outcome: Outcome | None = None, stopped_by: str = "") -> None:
        self.policy = policy
        self.outcome = outcome
        self.stopped_by = stopped_by
        self.jobs: list[TrainJob] = []

    def __call__(self, job: TrainJob, stop: Stop) -> TrainResult:
        self.jobs.append(job)
        Path(job.out).mkdir(parents=True, exist_ok=True)
        (Path(job.out) / "policy.safetensors").write_bytes(self.policy)
        return TrainResult("done", self.outcome, stopped_by=self.stopped_by)


POLICY = Path("examples/blocksworld/untrained.safetensors")


@pytest.fixture
def trainings(root: Path) -> Trainings:
    """Jobs that end at once."""
    return Trainings((root / POLICY).read_bytes())


def opened(place: Path, out: Path, **changes: Any) -> Experiment:
    """The experiment in another folder, with other budgets."""
    spec = read_experiment(place / "x.toml")
    training = replace(spec.training, **changes)
    systems = tuple(replace(system, training=replace(system.training, **changes)) for system in spec.systems)
    return Experiment(replace(spec, training=training, systems=systems), out)


def test_only_what_is_missing_is_trained(place: Path, tmp_path: Path, trainings: Trainings) -> None:
    first = opened(place, tmp_path).train(run_job=trainings)
    assert (first.done, first.total, len(trainings.jobs)) == (2, 2, 2)
    assert opened(place, tmp_path).train(run_job=trainings).done == 2
    assert len(trainings.jobs) == 2
    other = opened(place, tmp_path)
    other.runs = [replace(run, system=replace(run.system, config="aiw-ad")) for run in other.runs]
    assert [run.is_trained() for run in other.runs] == [False, False]
    opened(place, tmp_path, episodes=9).train(run_job=trainings)
    assert [job.settings[-1] for job in trainings.jobs[2:]] == ["training.episodes=9"] * 2
    (tmp_path / "runs/blocksworld/aiw-ad/seed-0/policy.safetensors").unlink()
    (tmp_path / "runs/blocksworld/iw-ad/seed-0" / MARK).write_text("{")
    assert opened(place, tmp_path, episodes=9).train(run_job=trainings).total == 2
    assert len(trainings.jobs) == 6


@pytest.mark.parametrize(("outcome", "stopped_by"), [(Outcome.MEMORY, ""), (None, "SIGTERM")])
def test_a_run_that_did_not_end_by_itself_is_tried_again(
    place: Path, tmp_path: Path, trainings: Trainings, outcome: Outcome | None, stopped_by: str
) -> None:
    trainings.outcome, trainings.stopped_by = outcome, stopped_by
    tally = opened(place, tmp_path).train(run_job=trainings)
    assert tally.done == 0
    assert len(tally.failed) == (2 if outcome else 0)
    standings = {entry.system.name: entry for entry in opened(place, tmp_path).standings()}
    assert [str(run) for run in standings["iw-ad"].missing] == ["iw-ad blocksworld seed 0"]
    assert opened(place, tmp_path)._known_trials(lambda text: None)[0][1].method == "goal-count"
    opened(place, tmp_path).train(run_job=trainings)
    assert len(trainings.jobs) == 4


def test_no_run_begins_once_time_is_over(place: Path, tmp_path: Path, trainings: Trainings) -> None:
    tally = opened(place, tmp_path).train(is_over=lambda: True, run_job=trainings)
    assert (tally.done, trainings.jobs) == (0, [])


def test_systems_that_play_alike_have_records_of_their_own(place: Path, tmp_path: Path, trainings: Trainings) -> None:
    """Both systems have the same policy here, and their trials different keys."""
    experiment = opened(place, tmp_path)
    experiment.train(run_job=trainings)
    tally = experiment.play()
    assert (tally.total, tally.done) == (6, 6)
    solved = {entry.system.name: (entry.trials, entry.played) for entry in experiment.standings()}
    assert solved == dict.fromkeys(("aiw-ad", "iw-ad", "goal-count"), (2, 2))
    assert experiment.play().recorded == 6
    records = read_records(tmp_path / "records" / "aiw-ad-seed-0.jsonl").records
    assert {(record.method, record.seed, record.protocol) for record in records} == {("aiw-ad", 0, "open")}
    # Another policy: its trials are missing again, and the old records are pointed out.
    (tmp_path / "runs/blocksworld/aiw-ad/seed-0/policy.safetensors").write_bytes(
        (Path(__file__).parents[3] / "src/saltus/policies/blocksworld.safetensors").read_bytes()
    )
    notes: list[str] = []
    again = opened(place, tmp_path)
    again.warn = notes.append
    assert again.play().outcomes.total() == 2
    assert [note for note in notes if "2 records of other policies or limits" in note]


def test_a_planner_that_is_not_installed_leaves_no_records(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise ConfigurationError("LAMA needs a package")

    monkeypatch.setitem(REQUIREMENTS, "lama", refuse)
    spec = read_experiment(place / "x.toml")
    spec = replace(spec, systems=(replace(spec.systems[2], name="lama", policy=None, planner="lama"),))
    with pytest.raises(ConfigurationError, match="LAMA needs"):
        Experiment(spec, tmp_path).play()
    assert not (tmp_path / "records").exists()


def test_only_one_process_at_a_time(place: Path, tmp_path: Path) -> None:
    experiment = opened(place, tmp_path)
    with experiment.held(), pytest.raises(ConfigurationError, match="another experiment"), experiment.held():
        pass


def test_the_command_says_what_is_missing(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["experiment", str(place / "x.toml"), "--out", str(tmp_path / "out")]
    assert command([*arguments, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "to train: iw-ad blocksworld seed 0\n" in shown
    assert "missing: 2 runs, 6 records\n" in shown
    assert not (tmp_path / "out").exists()
    assert command([*arguments, "--system", "goal-count", "--only", "play"]) == 0
    assert "2 of 2 played: goal-count blocksworld easy" in capsys.readouterr().err
    assert command([*arguments, "--dry-run"]) == 0
    assert "missing: 2 runs, 4 records\n" in capsys.readouterr().out
    assert command([*arguments, "--only", "report"]) == 0
    assert "page written to" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "trial"], "--only trial: expected one of train, play, report"),
        (["--system", "iw"], "--system iw: not in .*; it has aiw-ad, iw-ad, goal-count"),
        (["--domain", "ferry"], "--domain ferry: not in"),
        (["--time-limit", "2m"], r"--time-limit 120 s: a single problem may take 300 s \(\[testing\] time_limit\)"),
    ],
)
def test_bad_options_are_refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert command(["experiment", str(place / "x.toml"), "--out", str(tmp_path / "out"), *arguments]) == 33
    assert re.search(message, capsys.readouterr().err)


def test_the_time_limit_stops_training_and_leaves_it_to_the_next_call(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The limit is over before the workers have started: their runs stop at once."""
    arguments = ["experiment", str(place / "x.toml"), "--out", str(tmp_path), "--only", "train", "--time-limit", "0.1"]
    assert command(arguments) == 23
    shown = capsys.readouterr()
    assert "stopped by the time limit" in shown.err
    assert "0 of 1" in shown.out


def test_a_cluster_gets_the_same_jobs(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)  # type: ignore[arg-type]
    spec = read_experiment(place / "x.toml")
    spec = replace(spec, machines=replace(spec.machines, ray="there"))
    experiment = Experiment(spec, tmp_path)
    assert experiment.train(is_over=lambda: bool(ray.jobs)).done == 0
    assert {Path(job.out).parent.name for job in ray.jobs} == {"aiw-ad", "iw-ad"}
    assert ray.connected == ["init", "shutdown"]


# Contests -----------------------------------------------------------------------------------------------------------


class FakeWorker:
    """As much of a worker as the job uses."""

    def __init__(self, job: ContestJob) -> None:
        self.job = json.loads(json.dumps(job.to_json()))
        self.stopped_by = ""
        self.notes: list[str] = []
        self.sent: list[str] = []

    def log_to(self, path: Path) -> None:
        path.parent.mkdir(parents=True)

    def catch_stop(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def note(self, line: str) -> None:
        self.notes.append(line)

    def send(self, event: str, **values: Any) -> None:
        self.sent.append(event)


class FakeContest:
    """A contest that ends at once, or is interrupted by a signal."""

    def __init__(self, interrupt: bool) -> None:
        self.interrupt = interrupt
        self.is_out_of_time = True
        self.played = 0
        self.state = type("State", (), {"ended_by": "the time limit"})()

    def play(self, tell: Any) -> None:
        self.played += 1
        if self.interrupt:
            signal.raise_signal(signal.SIGTERM)
            raise AssertionError("the signal interrupts")

    def summary(self, stopped_by: str) -> list[str]:
        return [f"stopped by {stopped_by}" if stopped_by else "done", "policy: x"]


@pytest.mark.parametrize("interrupt", [False, True])
def test_a_contest_is_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupt: bool) -> None:
    contest, asked = FakeContest(interrupt), {}

    def open_contest(folder: str, out: Path, **options: Any) -> FakeContest:
        asked.update(options, folder=folder)
        return contest

    monkeypatch.setattr(contest_job, "open_contest", open_contest)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    worker = FakeWorker(ContestJob("a", "problems", str(tmp_path / "c"), seed=3, seconds=60, slots=4, threads=8))
    try:
        end = hold(worker)  # type: ignore[arg-type]
        signal.raise_signal(signal.SIGTERM)  # it came too late, or a second time
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert (asked["seed"], asked["slots"], asked["threads"], asked["resume"]) == (3, 4, 2, False)
    assert asked["budget"].amount == 60
    assert end["stopped_by"] == ("SIGTERM" if interrupt else "")
    assert end["summary"] == ("stopped by SIGTERM" if interrupt else "done")
    assert (end["is_finished"], contest.played) == (False, 1)


def test_a_contests_winner_is_in_the_report(place: Path, tmp_path: Path) -> None:
    from saltus.lab.experiment.experiment import logged_runs

    spec = read_experiment(place / "x.toml")
    system = replace(spec.systems[0], config=None, contest=True)
    run = PlannedRun(system, spec.suites[0], 0, tmp_path)
    assert logged_runs(run) == []
    (tmp_path / "contest.json").write_text('{"winner": "iw"}')
    assert logged_runs(run) == []
    (tmp_path / "candidates" / "iw").mkdir(parents=True)
    (tmp_path / "candidates" / "iw" / "log.jsonl").write_text("")
    assert logged_runs(run) == [tmp_path / "candidates" / "iw"]


def test_planners_train_on_cores_and_runs_where_the_file_says(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 4)
    spec = read_experiment(place / "x.toml")
    for runs, expected in ((20, (20, 4)), (3, (3, 3)), (None, (4, 4))):
        work = Experiment(replace(spec, machines=replace(spec.machines, runs=runs)), place / "none")
        runners = [work._training_runner(is_planner, 1, None) for is_planner in (False, True)]
        assert tuple(vars(runner)["parallel"] for runner in runners) == expected
