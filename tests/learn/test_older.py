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

from saltus.errors import InputError
from saltus.learn.config import Configuration, configuration_of, from_older, load_configuration, newer, plain_values
from saltus.learn.contest_state import ContestState
from saltus.learn.folder import RunFolder
from saltus.lookahead import PlaySpec, TreeSpec
from saltus.lookahead.spec import names_of

ARCHIVES = ("2026-11-16-paper", "2026-11-18-paper-cpu", "2026-11-19-finals")
"""Experiments with archives of runs and contests of earlier versions."""


def older(configuration: Configuration) -> dict[str, Any]:
    """The values of a configuration as earlier versions wrote them."""
    values = plain_values(configuration)
    play = values.pop("play")
    values["training"] |= {"take_goals": False, "validation_takes_goals": play.pop("take_goals")}
    values["lookahead"] |= {**play, "dead_ends": "relaxed" if play["dead_ends"] else "successors"}
    return values


PLAYS = [
    PlaySpec(),
    PlaySpec(dead_ends=True, take_goals=False),
    PlaySpec(frozen_goals="strong", roles=8, max_better=32, max_encoded=2000, max_nodes=10, max_atoms=11),
    PlaySpec(goals_in_sight=1, max_root_actions=3, take_goals=False),
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
        ("lookahead.frozen_goals=strong", "play.frozen_goals=strong"),
        ("validation_takes_goals=false", "play.take_goals=false"),
        ("training.validation_takes_goals=true", "play.take_goals=true"),
    ],
)
def test_settings_of_older_contests(setting: str, wanted: str) -> None:
    assert newer(setting) == wanted == newer(wanted)
    section, _, key = wanted.partition("=")[0].partition(".")
    found = plain_values(load_configuration(None, [newer(setting)]))[section][key]
    assert str(found).lower() == wanted.partition("=")[2]


@pytest.mark.parametrize(
    "setting", ["lookahead.kind=iw", "kind=iw", "max_encoded=500", "dead_ends=true", "training.searches=4", "odd"]
)
def test_settings_that_stay(setting: str) -> None:
    assert newer(setting) == setting


def archived(name: str) -> Iterator[tuple[str, bytes]]:
    """The files of runs and contests in an experiment's archive."""
    with tarfile.open(ROOT / "experiments" / name / "figures.tar.xz") as archive:
        for member in archive:
            file = Path(member.name).name
            content = archive.extractfile(member) if file in ("config.json", "contest.json") else None
            if content is not None:
                yield file, content.read()


@pytest.mark.parametrize("name", ARCHIVES)
def test_archived_runs_and_contests(name: str, tmp_path: Path) -> None:
    """Every value of trees and play that they hold is in the configuration that is read."""
    count = 0
    for file, content in archived(name):
        (tmp_path / file).write_bytes(content)
        written = json.loads(content)
        if file == "config.json":
            found = RunFolder(tmp_path).describe().configuration
            values = {**asdict(found.lookahead), **asdict(found.play), "dead_ends": found.play.dead_ends}
            before = dict(written["lookahead"])
            before["dead_ends"] = before["dead_ends"] == "relaxed"
            assert {key: values[key] for key in before} == before
        else:
            state = ContestState.read(tmp_path)
            before = {old["name"]: old for old in written["candidates"]}
            for entry in state.candidates:
                old = before[entry.name]
                values = {key.rpartition(".")[2]: value for key, _, value in (s.partition("=") for s in entry.settings)}
                for key, value in asdict(entry.configuration.play).items():
                    assert key not in values or str(value).lower() == values[key]
                played = [s for s in old["settings"] if s.partition("=")[0].rpartition(".")[2] in names_of(PlaySpec)]
                assert len(played) == sum(s.startswith("play.") for s in entry.settings)
        count += 1
    assert count > 10
