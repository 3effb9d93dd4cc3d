"""Training runs: which belong together, curves, damaged logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.lab.report.samples import write_run

from saltus.errors import InputError
from saltus.lab.report.report import validation_table
from saltus.lab.report.runs import coverage_of, episode_figure, name_run, read_run, read_runs


def test_a_run_is_read(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "ferry", 1))
    assert (run.name, run.domain, run.warnings) == ("ferry", "ferry", ())
    assert len(run.episodes) == 100
    assert sorted(run.validations) == [25, 50, 75, 100]
    assert coverage_of(run)[25] == run.validations[25]["solved"] / 30
    assert coverage_of(run, "larger_")[100] == run.validations[100]["larger_solved"] / 12
    assert len(episode_figure(run, "loss")) == 100


@pytest.mark.parametrize(
    ("folder", "config", "name", "domain"),
    [
        ("runs/ferry/seed-3", {}, "ferry", "ferry"),
        ("runs/ferry/3", {}, "ferry", "ferry"),
        ("runs/ferry/run_3", {}, "ferry", "ferry"),
        ("runs/ferry-seed3", {}, "ferry", "ferry"),
        ("runs/ferry", {}, "ferry", "ferry"),
        ("runs/aiw-1000", {}, "aiw-1000", "aiw-1000"),
        ("runs/x", {"problems": "ipc/ferry", "seed": 1}, "ferry", "ferry"),
        ("runs/x", {"problems": "problems/ferry/domain.pddl"}, "x", "ferry"),
        ("runs/wide/seed-1", {"problems": "ipc/ferry", "seed": 1}, "wide", "ferry"),
        ("runs/x", {"problems": 7}, "x", "x"),
        ("runs/ferry/cool-seed-2", {"problems": "ipc/ferry", "seed": 2}, "cool", "ferry"),
        ("runs/ferry/seed-2", {"problems": "ipc/ferry", "seed": 2}, "ferry", "ferry"),
    ],
)
def test_names_of_runs(folder: str, config: dict[str, object], name: str, domain: str) -> None:
    assert name_run(Path("/") / folder, config) == (name, domain)


def test_seeds_are_one_curve_with_its_spread(tmp_path: Path) -> None:
    for seed, solved in enumerate((10, 20, 30)):
        folder = write_run(tmp_path / "ferry" / f"seed-{seed}", seed, episodes=0)
        lines = [{"kind": "validation", "episode": 25, "solved": solved, "problems": 40}]
        if seed == 0:
            lines.append({"kind": "validation", "episode": 50, "solved": 40, "problems": 40})
        (folder / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    write_run(tmp_path / "miconic" / "seed-0", 0)
    groups, warnings = read_runs([tmp_path])
    assert ([group.domain for group in groups], warnings) == (["ferry", "miconic"], [])
    (curve,) = groups[0].curves(coverage_of)
    assert curve.runs == 3
    first, last = curve.points
    assert (first.episode, first.mean, first.low, first.high, first.runs) == (25, 0.5, 0.25, 0.75, 3)
    assert (last.episode, last.mean, last.runs) == (50, 1.0, 1)


def test_runs_of_one_domain_and_different_names_are_drawn_together(tmp_path: Path) -> None:
    for name in ("narrow", "wide"):
        write_run(tmp_path / name / "seed-0", 0, config={"problems": "ipc/ferry"})
    (group,), _ = read_runs([tmp_path])
    assert [curve.name for curve in group.curves(coverage_of)] == ["narrow", "wide"]


def test_a_run_named_twice_counts_once(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "ferry" / "seed-0", 0)
    (group,), _ = read_runs([tmp_path, folder])
    assert len(group.runs) == 1


def test_what_was_done_again_after_a_restart_counts(tmp_path: Path) -> None:
    lines = [{"kind": "episode", "episode": i, "loss": loss} for i, loss in ((1, 5.0), (2, 4.0), (2, 3.0), (3, 2.0))]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert episode_figure(read_run(tmp_path), "loss") == {1: 5.0, 2: 3.0, 3: 2.0}


def test_damaged_lines_are_warnings(tmp_path: Path) -> None:
    text = (
        '{"kind": "episode", "episode": 1, "loss": NaN, "success": 0.5}\n'
        '{"kind": "episode", "episode": "two"}\n{"kind": "started"}\n\n{"kind": "validation", "epi'
    )
    (tmp_path / "log.jsonl").write_text(text)
    (tmp_path / "config.json").write_text("[")
    run = read_run(tmp_path)
    assert run.episodes == {1: {"episode": 1.0, "success": 0.5}}
    assert run.warnings[0] == f"{tmp_path}/log.jsonl:2: line ignored: episode is 'two', expected a whole number"
    assert run.warnings[1].startswith(f"{tmp_path}/log.jsonl:5: damaged line ignored: ")
    assert run.warnings[2].startswith(f"{tmp_path}/config.json: cannot be read, so the run is named after its folder")


def test_folders_that_are_not_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no training run found: no log\.jsonl in this folder"):
        read_runs([tmp_path])
    with pytest.raises(InputError, match="no such folder"):
        read_runs([tmp_path / "none"])
    (tmp_path / "log.jsonl").write_text("hello\n")
    with pytest.raises(InputError, match=r"log\.jsonl: not a training log: .*log\.jsonl:1: damaged line"):
        read_runs([tmp_path])
    (tmp_path / "log.jsonl").write_text("")
    (group,), warnings = read_runs([tmp_path])
    assert warnings == [f"{tmp_path}: no episodes logged yet"]
    assert group.curves(coverage_of) == []


def test_best_and_last_validation(tmp_path: Path) -> None:
    lines = [
        {"kind": "validation", "episode": episode, "solved": solved, "problems": 30, "jumps": 500 + episode}
        for episode, solved in ((25, 28), (50, 30), (75, 30), (100, 29))
    ]
    (tmp_path / "ferry").mkdir()
    (tmp_path / "ferry" / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    table = validation_table(read_runs([tmp_path])[0])
    assert table is not None
    run = str(tmp_path / "ferry")
    assert table.texts() == [["ferry", "ferry", run, "100", "50", "30/30", "-", "100", "29/30", "-", "550"]]


def test_the_best_validation_is_the_one_that_training_keeps(tmp_path: Path) -> None:
    """Larger problems count, then the actions; the first of equals is the best."""
    figures = {10: (5, 7, 90), 17: (5, 14, 99), 20: (5, 14, 80), 30: (5, 14, 80), 40: (5, 13, 60)}
    lines = [
        {"kind": "validation", "episode": episode, "solved": solved, "problems": 5, "jumps": 1, "actions": actions}
        | {"larger_solved": larger, "larger_problems": 15, "larger_actions": 0}
        for episode, (solved, larger, actions) in figures.items()
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    table = validation_table(read_runs([tmp_path])[0])
    assert table is not None
    assert table.texts()[0][4:7] == ["20", "5/5", "14/15"]
