"""Runs and contests of earlier versions, whose keys of play stood in other sections: they mean what they meant."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT

from saltus.errors import ConfigurationError, InputError
from saltus.learn.config import (
    Configuration,
    configuration_of,
    from_older,
    load_configuration,
    newer,
    plain_values,
    saved_settings,
)
from saltus.learn.contest_state import KINDS, VERSION, Budget, ContestState, Round
from saltus.learn.final import Placing
from saltus.learn.folder import RunFolder
from saltus.lookahead import PlaySpec, TreeSpec
from saltus.lookahead.spec import names_of
from saltus.model.older import removed

ARCHIVES = {
    "2026-11-16-adl": 0,
    "2026-11-16-any-domain": 1,
    "2026-11-16-paper": 0,
    "2026-11-18-paper-cpu": 0,
    "2026-11-19-any-domain": 0,
    "2026-11-19-finals": 4,
}
"""Experiments with archives of runs and contests of earlier versions; how many contests need a key that is gone."""


def older(configuration: Configuration) -> dict[str, Any]:
    """The values of a configuration as earlier versions wrote them."""
    values = plain_values(configuration)
    play = values.pop("play")
    values["training"] |= {"take_goals": False, "validation_takes_goals": play.pop("take_goals")}
    values["lookahead"] |= {**play, "max_atoms": 100_000_000, "max_root_actions": 20_000, "derived_novelty": True}
    values["lookahead"] |= {"dead_ends": "relaxed" if play["dead_ends"] else "successors"}
    return values


PLAYS = [
    PlaySpec(),
    PlaySpec(dead_ends=True, take_goals=False),
    PlaySpec(frozen_goals=True, roles=8, max_better=32, max_encoded=2000, max_nodes=10),
    PlaySpec(goals_in_sight=1, take_goals=False),
]


@pytest.mark.parametrize("play", PLAYS)
def test_the_configuration_of_an_older_run(play: PlaySpec, tmp_path: Path) -> None:
    wanted = replace(load_configuration("iw-ad", ["free_moves=true", "episodes=7"]), play=play)
    values = older(wanted)
    assert "play" not in values
    text = {"version": 1, "problems": "folder", "seed": 3, "start": None, **values}
    (tmp_path / "config.json").write_text(json.dumps(text))
    found = RunFolder(tmp_path).describe()
    assert (found.configuration, found.seed, found.problems) == (wanted, 3, "folder")
    RunFolder(tmp_path).write_description(found)
    assert json.loads((tmp_path / "config.json").read_text())["play"] == asdict(play)
    assert RunFolder(tmp_path).describe() == found


def test_an_older_run_by_hand(tmp_path: Path) -> None:
    sections = {
        "lookahead": {"kind": "iw", "dead_ends": "relaxed", "max_encoded": 500},
        "encoding": {},
        "model": {"layers": 4},
        "training": {"take_goals": False, "validation_takes_goals": False, "episodes": 5},
    }
    values = {"version": 1, "problems": "x", "seed": 0, "start": None, **sections}
    (tmp_path / "config.json").write_text(json.dumps(values))
    found = RunFolder(tmp_path).describe().configuration
    assert found.lookahead == TreeSpec(kind="iw")
    assert found.play == PlaySpec(dead_ends=True, take_goals=False, max_encoded=500)
    assert (found.model.layers, found.training.episodes) == (4, 5)


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("lookahead", "max_atoms", 3, "made with play.max_atoms=3, which this version does not have"),
        ("play", "max_root_actions", 3, "made with play.max_root_actions=3"),
        ("lookahead", "derived_novelty", False, "made with lookahead.derived_novelty=false"),
        ("lookahead", "colour", 3, "unknown key 'colour'"),
        ("lookahead", "dead_ends", "all", "play: dead_ends is '.*', expected true or false"),
        ("training", "takes_goals", True, "unknown key 'takes_goals'"),
        ("play", "dead_ends", "relaxed", "play: dead_ends is '.*', expected true or false"),
        ("play", "kind", "iw", "it is a key of lookahead"),
    ],
)
def test_what_is_wrong_stays_wrong(section: str, key: str, value: object, message: str, tmp_path: Path) -> None:
    values = {"version": 1, "problems": "x", "seed": 0, "start": None, section: {key: value}}
    (tmp_path / "config.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match=message):
        RunFolder(tmp_path).describe()


def test_values_of_today_are_left_as_they_are() -> None:
    values = plain_values(load_configuration("dead-ends", ["take_goals=false", "roles=3"]))
    assert from_older(values) == values
    assert configuration_of(from_older(values)).play == PlaySpec(dead_ends=True, take_goals=False, roles=3)


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [
        ("lookahead.dead_ends=relaxed", "play.dead_ends=true"),
        ("dead_ends=successors", "play.dead_ends=false"),
        ("lookahead.roles=8", "play.roles=8"),
        ("lookahead.frozen_goals=strong", "play.frozen_goals=true"),
        ("frozen_goals=weak", "play.frozen_goals=true"),
        ("play.frozen_goals=off", "play.frozen_goals=false"),
        ("validation_takes_goals=false", "play.take_goals=false"),
        ("training.validation_takes_goals=true", "play.take_goals=true"),
    ],
)
def test_settings_of_older_contests(setting: str, wanted: str) -> None:
    assert newer(setting) == wanted == newer(wanted)
    section, _, key = wanted.partition("=")[0].partition(".")
    found = plain_values(load_configuration(None, [newer(setting)]))[section][key]
    assert str(found).lower() == wanted.partition("=")[2]


@pytest.mark.parametrize("section", ["lookahead.", "play.", ""])
def test_settings_of_limits_that_are_gone(section: str) -> None:
    assert saved_settings([f"{section}max_atoms=100000000", "lookahead.derived_novelty=true"]) == []
    with pytest.raises(ConfigurationError, match=r"made with play.max_atoms=8, which this version does not have"):
        saved_settings([f"{section}max_atoms=8"])


@pytest.mark.parametrize(
    "setting", ["lookahead.kind=iw", "kind=iw", "max_encoded=500", "dead_ends=true", "training.searches=4", "odd"]
)
def test_settings_that_stay(setting: str) -> None:
    assert newer(setting) == setting


def candidate(name: str, start: str, *settings: str) -> dict[str, Any]:
    """A candidate as version 1 wrote it."""
    return {"name": name, "config": "dead-ends", "settings": list(settings), "seed": 2, "start": start}


def older_contest() -> dict[str, Any]:
    """A contest of version 1 in which ways to play had runs of their own, two of them one after the other."""
    scores = {"done": [], "dropped": [], "scores": ["a score"]}
    placing = {"episode": 7, "solved": 3, "problems": 4, "length": 10.5, "seconds": 2.5}
    return {
        "version": 1,
        "problems": "folder",
        "seed": 2,
        "settings": ["dead_ends=relaxed"],
        "budget": {"amount": 60.0, "unit": "seconds"},
        "candidates": [
            candidate("iw", "", "lookahead.kind=iw", "lookahead.max_encoded=10000"),
            candidate("aiw", ""),
            candidate("iw-one-goal", "iw", "lookahead.goals_in_sight=1"),
            candidate("iw-one-goal-roles", "iw-one-goal", "lookahead.roles=8"),
        ],
        "contestants": ["iw-one-goal-roles", "iw"],
        "used": 55.5,
        "rounds": [
            {
                "kind": "halving",
                "targets": {"iw": 9.0, "aiw": 9.0},
                **scores,
                "done": ["iw", "aiw"],
                "dropped": ["aiw"],
            },
            {"kind": "sight", "targets": {"iw-one-goal": 4.0}, **scores},
            {"kind": "restart", "targets": {"iw": 12.0, "iw-one-goal": 6.0}, **scores, "dropped": ["iw-one-goal"]},
            {"kind": "final", "targets": {}, **scores},
        ],
        "finished": ["iw", "iw-one-goal"],
        "stable": ["iw-one-goal"],
        "failed": {"aiw": "boom", "iw-one-goal-roles": "boom"},
        "winner": "iw-one-goal-roles",
        "reason": "why",
        "ended_by": "done",
        "placings": [{"run": "iw-one-goal-roles", **placing}, {"run": "iw", **placing}],
    }


def test_an_older_contest_by_hand(tmp_path: Path) -> None:
    """Ways to play are no runs any more; what was before them stays."""
    (tmp_path / "contest.json").write_text(json.dumps(older_contest()))
    state = ContestState.read(tmp_path)
    assert [(entry.name, entry.settings) for entry in state.candidates] == [
        ("iw", ("lookahead.kind=iw", "play.max_encoded=10000")),
        ("aiw", ()),
    ]
    assert state.settings == ["play.dead_ends=true"]
    assert (state.contestants, state.winner, state.reason, state.digest) == (["iw"], "iw", "why", "")
    assert state.rounds == [
        Round("halving", {"iw": 9.0, "aiw": 9.0}, ["iw", "aiw"], ["aiw"], ["a score"]),
        Round("winner", {"iw": 12.0}, [], [], ["a score"]),
        Round("final", {}, [], [], ["a score"]),
    ]
    assert (state.finished, state.stable, state.failed) == (["iw"], [], {"aiw": "boom"})
    assert state.placings == [Placing("iw", 7, 3, 4, 10.5, 2.5)]
    assert (state.budget, state.used, state.ended_by) == (Budget(60.0), 55.5, "done")


def test_contests_are_written_as_those_of_today(tmp_path: Path) -> None:
    (tmp_path / "contest.json").write_text(json.dumps(older_contest()))
    state = ContestState.read(tmp_path)
    state.placings.insert(0, Placing("iw", 8, 4, 4, 9.0, 1.0, ("goals_in_sight=1", "roles=8")))
    state.write(tmp_path)
    written = json.loads((tmp_path / "contest.json").read_text())
    assert written["version"] == VERSION == 2
    assert written["placings"][0]["play"] == ["goals_in_sight=1", "roles=8"]
    assert not any("start" in entry for entry in written["candidates"])
    assert ContestState.read(tmp_path) == state


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("candidates", 3, "expected a contest of version 1"),
        ("candidates", [{"name": "a"}], "missing 3 required positional arguments"),
        ("rounds", [{"kind": "halving"}], "expected a contest of version 1"),
        ("winner", "nobody", "no candidate 'nobody'"),
        ("candidates", [candidate("iw", "aiw"), candidate("aiw", "iw")], "candidates: expected some"),
        ("budget", None, "budget"),
    ],
)
def test_damaged_older_contests_are_refused(key: str, value: object, message: str, tmp_path: Path) -> None:
    (tmp_path / "contest.json").write_text(json.dumps({**older_contest(), key: value}))
    with pytest.raises(InputError, match=message):
        ContestState.read(tmp_path)


def archived(name: str) -> Iterator[tuple[str, bytes]]:
    """The files of runs and contests in an experiment's archive."""
    with tarfile.open(ROOT / "experiments" / name / "figures.tar.xz") as archive:
        for member in archive:
            file = Path(member.name).name
            content = archive.extractfile(member) if file in ("config.json", "contest.json") else None
            if content is not None:
                yield file, content.read()


GONE = ("training.plan_starts=", "training.larger_training=")
"""What some archived contests tried, and no version has any longer."""


def check_contest(state: ContestState, written: dict[str, Any]) -> None:
    """Runs that trained from their own start are there, with every value of play; those that began with another's
    policy are not, and where one was ahead, the run is that it goes back to."""
    starts = {entry["name"]: entry.get("start", "") for entry in written["candidates"]}
    trained = [entry for entry in written["candidates"] if not starts[entry["name"]]]
    for entry, old in zip(state.candidates, trained, strict=True):
        assert (entry.name, entry.seed) == (old["name"], old["seed"])
        values = {key.rpartition(".")[2]: value for key, _, value in (s.partition("=") for s in entry.settings)}
        for key, value in asdict(entry.configuration.play).items():
            wanted = {"strong": "true", "off": "false"}.get(values.get(key, ""), values.get(key))
            assert wanted in (None, str(value).lower())
        played = [s for s in old["settings"] if s.partition("=")[0].rpartition(".")[2] in names_of(PlaySpec)]
        assert len(played) == sum(s.startswith("play.") for s in entry.settings)
    first = written["winner"]
    while starts.get(first):
        first = starts[first]
    assert (state.winner, state.used, state.ended_by) == (first, written["used"], written["ended_by"])
    known = {entry.name for entry in state.candidates}
    assert len(state.placings) == sum(entry["run"] in known for entry in written.get("placings", []))
    assert {entry.kind for entry in state.rounds} <= set(KINDS)


@pytest.mark.parametrize("name", ARCHIVES)
def test_archived_runs_and_contests(name: str, tmp_path: Path) -> None:
    """Every value of trees and play that they hold is in the configuration that is read."""
    count = refused = 0
    for file, content in archived(name):
        (tmp_path / file).write_bytes(content)
        written = json.loads(content)
        if file == "config.json":
            found = RunFolder(tmp_path).describe().configuration
            values = {**asdict(found.lookahead), **asdict(found.play), "dead_ends": found.play.dead_ends}
            before = {key: value for key, value in written["lookahead"].items() if not removed("lookahead", key)}
            before = {key: value for key, value in before.items() if not removed("play", key)}
            before["dead_ends"] = before["dead_ends"] == "relaxed"
            before["frozen_goals"] = before["frozen_goals"] != "off"
            assert {key: values[key] for key in before} == before
        else:
            settings = [setting for entry in written["candidates"] for setting in entry["settings"]]
            if any(setting.startswith(GONE) for setting in settings):
                with pytest.raises(InputError, match="which this version does not have"):
                    ContestState.read(tmp_path)
                refused += 1
            else:
                check_contest(ContestState.read(tmp_path), written)
        count += 1
    assert count > refused == ARCHIVES[name]
