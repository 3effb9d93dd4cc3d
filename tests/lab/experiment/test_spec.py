"""The file of an experiment: what it says, and how it is told what is wrong with it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.conftest import IPC_DOMAINS, ROOT

from saltus.domains.suite import write_suite
from saltus.errors import ConfigurationError, InputError, SaltusError
from saltus.lab.experiment.runs import planned_runs
from saltus.lab.experiment.spec import ExperimentSpec, read_experiment
from saltus.lab.experiment.trials import planned_trials
from saltus.policy.outcome import Limits

GOOD = """
problems = "suites"
seeds = 2

[training]
episodes = 300
time_limit = "8m"
settings = ["training.batch=16"]

[testing]
splits = ["easy"]
time_limit = 120
memory_limit = "2G"
search = false

[machines]
device = "cuda"
runs = 16
threads = 2

[systems.aiw-ad]
config = "aiw-ad"
seeds = [3, 1]

[systems.iw-ad]
config = "own.toml"
settings = ["training.batch=8"]
episodes = 20
domains = ["ferry"]

[systems.recipe]
contest = true
settings = ["training.batch=4"]
slots = 8
time_limit = "1h"

[systems.lama]
planner = "lama"

[systems.goals]
policy = "goal-count"
lookahead = ["free_moves=true"]
search = true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two suites with test problems, and a configuration."""
    for name in ("ferry", "miconic"):
        write_suite(tmp_path / "suites" / name, name, "training", 2)
        write_suite(tmp_path / "suites" / name, name, "easy", 2)
    (tmp_path / "own.toml").write_text('extends = "iw-ad"\n')
    return tmp_path


def read(folder: Path, text: str) -> ExperimentSpec:
    """The experiment of a text."""
    (folder / "x.toml").write_text(text)
    return read_experiment(folder / "x.toml")


def test_a_file_says_what_is_compared(folder: Path) -> None:
    spec = read(folder, GOOD)
    first, second, recipe, lama, goals = spec.systems
    assert spec.title == "x"
    assert [suite.name for suite in spec.suites] == ["ferry", "miconic"]
    assert (first.seeds, first.config, first.domains) == ((3, 1), "aiw-ad", ("ferry", "miconic"))
    assert (first.training.episodes, first.training.seconds) == (300, 480.0)
    assert (second.config, second.domains, second.seeds) == (str(folder / "own.toml"), ("ferry",), (0, 1))
    assert (second.training.episodes, second.training.seconds) == (20, 480.0)
    assert second.training.settings == ("training.batch=16", "training.batch=8")
    assert (recipe.contest, recipe.slots, recipe.training.seconds) == (True, 8, 3600.0)
    assert (lama.planner, lama.seeds, lama.is_trained) == ("lama", (0,), False)
    assert (goals.policy, goals.lookahead, goals.search) == ("goal-count", ("free_moves=true",), True)
    assert spec.testing.limits == Limits(120.0, 2048.0, None)
    assert not spec.testing.search
    assert (spec.machines.device, spec.machines.test_device, spec.machines.runs) == ("cuda", "cpu", 16)


def test_runs_and_trials_are_the_product(folder: Path) -> None:
    spec = read(folder, GOOD)
    runs = planned_runs(spec, Path("out"))
    # All systems domain by domain, and everything once before anything is done with another seed.
    assert [str(run) for run in runs] == [
        "aiw-ad ferry seed 3",
        "iw-ad ferry seed 0",
        "recipe ferry seed 0",
        "aiw-ad miconic seed 3",
        "recipe miconic seed 0",
        "aiw-ad ferry seed 1",
        "iw-ad ferry seed 1",
        "recipe ferry seed 1",
        "aiw-ad miconic seed 1",
        "recipe miconic seed 1",
    ]
    assert runs[1].folder == Path("out/runs/ferry/iw-ad/seed-0")
    assert runs[1].settings == ("training.batch=16", "training.batch=8", "training.episodes=20")
    trials = planned_trials(spec, Path("out"), runs)
    assert sum(planned.problems for planned in trials) == 2 * (len(runs) + 2 + 2)
    assert {planned.file.name for planned in trials} == {
        *(f"{name}-seed-{seed}.jsonl" for name in ("iw-ad", "recipe") for seed in (0, 1)),
        *(f"aiw-ad-seed-{seed}.jsonl" for seed in (3, 1)),
        "lama.jsonl",
        "goals.jsonl",
    }


def test_training_needs_no_test_problems(folder: Path) -> None:
    for name in ("ferry", "miconic"):
        shutil.rmtree(folder / "suites" / name / "testing")
    with pytest.raises(ConfigurationError, match="there is no 'easy'"):
        read(folder, GOOD)
    spec = read_experiment(folder / "x.toml", for_playing=False)
    runs = planned_runs(spec, Path("out"))
    assert len(runs) == 10
    assert {planned.problems for planned in planned_trials(spec, Path("out"), runs)} == {0}


def test_jobs_get_what_the_file_says(folder: Path) -> None:
    spec = read(folder, GOOD)
    by_name = {run.system.name: run.job(spec.machines).to_json() for run in planned_runs(spec, Path("out"))}
    single, contest = by_name["iw-ad"], by_name["recipe"]
    assert (single["seconds"], single["threads"], single["device"], single["seed"]) == (480.0, 2, "cuda", 1)
    assert single["settings"][-1] == "training.episodes=20"
    assert (contest["seconds"], contest["slots"], contest["threads"]) == (3600.0, 8, 16)
    assert contest["settings"] == ("training.batch=4",)  # not those for every run


def test_a_planner_that_learns_is_trained_once(folder: Path) -> None:
    text = GOOD.replace('planner = "lama"', 'planner = "wl-goose"\nplan_time = "1m"')
    spec = read(folder, text)
    runs = [run for run in planned_runs(spec, Path("out")) if run.system.planner is not None]
    assert [str(run) for run in runs] == ["lama ferry seed 0", "lama miconic seed 0"]
    job = runs[0].job(spec.machines).to_json()
    assert job["folder"] == str(folder / "suites" / "ferry")
    assert (job["out"], job["plan_seconds"]) == ("out/runs/ferry/lama/seed-0/model.json", 60.0)
    trials = [planned for planned in planned_trials(spec, Path("out"), runs) if planned.run is not None]
    assert {(planned.file, planned.problems) for planned in trials} == {(Path("out/records/lama.jsonl"), 2)}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('problems = "suites"', "", "x.toml: problems is missing"),
        ('problems = "suites"', 'problems = "$NOWHERE/x"', "the environment variable NOWHERE is not set"),
        ('problems = "suites"', 'problems = "nowhere"', "problems: .*nowhere: no such folder"),
        ("seeds = 2", "seeds = 0", "seeds is 0, expected a number from 1"),
        ("seeds = 2", "seds = 2", "unknown key 'seds'; did you mean 'seeds'"),
        ("seeds = 2", 'domains = ["fery"]', "domains: there is no 'fery' in .*; did you mean 'ferry'"),
        ("episodes = 300", 'episodes = "many"', r"\[training\] episodes is 'many', expected a whole number"),
        ('time_limit = "8m"', 'time_limit = "8 parsecs"', r"\[training\] time_limit 8 parsecs: expected a time"),
        ('"8m"', "true", r"\[training\] time_limit is True, expected a number"),
        ('["training.batch=16"]', '"training.batch=16"', r"\[training\] settings is .*, expected a list of texts"),
        ('splits = ["easy"]', 'splits = ["esy"]', r"\[testing\] splits: there is no 'esy'; did you mean 'easy'"),
        ('splits = ["easy"]', 'problems = ["p99"]', r"\[testing\] problems: there is no 'p99'"),
        ("search = false", 'protocol = "closed"', r"\[testing\] protocol is 'closed', expected one of paper, open"),
        ('memory_limit = "2G"', 'memory_limit = "2X"', r"\[testing\] memory_limit 2X: expected a number"),
        ('device = "cuda"', 'device = "tpu"', r"\[machines\] device is 'tpu', expected one of"),
        ('config = "aiw-ad"', 'confg = "aiw-ad"', r"\[systems.aiw-ad\] expected one of config, .*; found none"),
        ('config = "aiw-ad"', 'config = "aiw-ac"', r"\[systems.aiw-ad\] configuration aiw-ac: no such file or name"),
        ("batch=8", "batsh=8", r"\[systems.iw-ad\] training: unknown key 'batsh'; did you mean 'batch'"),
        ("contest = true", "contest = false", r"\[systems.recipe\] contest is False, expected true"),
        ("slots = 8", 'policy = "random"', r"\[systems.recipe\] .*; found contest and policy"),
        ('planner = "lama"', 'planner = "lamma"', r"\[systems.lama\] planner is 'lamma', expected one of lama"),
        ('planner = "lama"', 'planner = "lama"\nseeds = 2', r"\[systems.lama\] seeds cannot be combined with planner"),
        ('planner = "lama"', 'planner = "lama"\nplan_time = 5', r"\[systems.lama\] plan_time: lama does not learn"),
        ('planner = "lama"', 'planner = "wl-goose"\nplan_time = "none"', "plan_time is 'none', expected a time"),
        ('policy = "goal-count"', 'policy = "auto"\nplan_time = 5', "plan_time cannot be combined with policy"),
        ('policy = "goal-count"', 'policy = "auto"\nseeds = 2', r"\[systems.goals\] seeds: a policy that is not"),
        ("[systems.lama]", "[systems.Lama]", r"\[systems.Lama\] expected a name of lower-case letters"),
        ("[systems.lama]", '[systems."../lama"]', "expected a name of lower-case letters"),
        ("[systems.lama]", "[[systems.lama]]", r"\[systems\] lama is .*, expected a table"),
        ("[machines]", "[machines", "x.toml: .*line 16"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, before: str, after: str, message: str) -> None:
    assert before in GOOD
    with pytest.raises(ConfigurationError, match=message):
        read(folder, GOOD.replace(before, after, 1))


def test_a_file_without_systems_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"\[systems\] no system is named"):
        read(folder, 'problems = "suites"\n')


def test_another_folder_of_problems_can_be_given(folder: Path) -> None:
    (folder / "x.toml").write_text(GOOD.replace('"suites"', '"$NOWHERE"'))
    assert len(read_experiment(folder / "x.toml", folder / "suites").suites) == 2
    with pytest.raises(InputError):
        read_experiment(folder / "y.toml")


def test_the_papers_experiment_has_its_systems(ipc: Path) -> None:
    spec = read_experiment(ROOT / "experiments" / "paper.toml", ipc)
    assert [suite.name for suite in spec.suites] == list(IPC_DOMAINS)
    seeds = {system.name: len(system.seeds) for system in spec.systems if system.is_trained}
    assert seeds == {
        **dict.fromkeys(("aiw-ad", "recipe"), 3),
        **dict.fromkeys(("iw-ad", "aiw-ext", "iw-ext", "flat-aa", "flat-ad", "baiw-ad", "c-aiw-ad"), 1),
        **dict.fromkeys(("aiw-int", "aiw-id", "no-depth-nodes", "no-tree-atoms", "no-depth-no-tree"), 1),
        **dict.fromkeys(("reduced-goals", "wl-goose"), 1),
    }
    assert {system.training.episodes for system in spec.systems if system.config} == {300}
    assert {system.training.seconds for system in spec.systems if system.config} == {180.0}
    assert spec.testing.limits.seconds == 120
    trials = planned_trials(spec, Path("out"), planned_runs(spec, Path("out")))
    assert {planned.problems for planned in trials} == {12}


def test_the_experiment_on_a_cpu_has_the_papers_systems(ipc: Path) -> None:
    spec, paper = (read_experiment(ROOT / "experiments" / name, ipc) for name in ("paper-cpu.toml", "paper.toml"))
    assert [suite.name for suite in spec.suites] == [suite.name for suite in paper.suites]
    configs = [{entry.name: entry.config for entry in found.systems if entry.config} for found in (spec, paper)]
    assert configs[0] == configs[1]
    assert spec.testing.problems == paper.testing.problems
    assert spec.machines.device == "cpu"


def test_every_method_of_the_paper_is_a_system(ipc: Path) -> None:
    """The report puts a system next to the paper's column with the method of its name."""
    from saltus.lab.report.paper import read_paper

    spec = read_experiment(ROOT / "experiments" / "paper.toml", ipc)
    methods = {method for table in read_paper().tables for method in table.methods if method}
    assert methods <= {system.name for system in spec.systems}


def test_texts_that_are_no_toml_are_errors(folder: Path) -> None:
    for text in (b"\xff\xfe", b"x = " + b"9" * 5000, b"[" * 3000):
        (folder / "x.toml").write_bytes(text)
        with pytest.raises(SaltusError, match=r"x\.toml"):
            read_experiment(folder / "x.toml")
