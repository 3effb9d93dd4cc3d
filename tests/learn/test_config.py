"""Configurations: precedence, errors, and the named files."""

from __future__ import annotations

from pathlib import Path

import pytest

from saltus.errors import ConfigurationError
from saltus.learn.config import (
    Configuration,
    configuration_of,
    load_configuration,
    named_configurations,
    plain_values,
)

PAPER = {
    "aiw-ad": {},
    "iw-ad": {"lookahead.kind": "iw"},
    "aiw-ext": {"encoding.kind": "ext"},
    "iw-ext": {"lookahead.kind": "iw", "encoding.kind": "ext"},
    "flat-aa": {"lookahead.kind": "flat", "encoding.kind": "aa", "training.horizon": 200},
    "flat-ad": {"lookahead.kind": "flat", "training.horizon": 200},
    "baiw-ad": {"lookahead.kind": "baiw"},
    "c-aiw-ad": {"lookahead.capacity": 1000},
    "aiw-int": {"encoding.kind": "int"},
    "aiw-id": {"encoding.kind": "id"},
    "no-depth-nodes": {"encoding.depth_nodes": False},
    "no-tree-atoms": {"encoding.tree_atoms": False},
    "no-depth-no-tree": {"encoding.depth_nodes": False, "encoding.tree_atoms": False},
    "reduced-goals": {"lookahead.goal_identity": "off"},
}


def differences(configuration: Configuration) -> dict[str, object]:
    """Values that are not the defaults."""
    before, after = plain_values(Configuration()), plain_values(configuration)
    return {
        f"{section}.{key}": value
        for section, entries in after.items()
        for key, value in entries.items()
        if value != before[section][key]
    }


@pytest.mark.parametrize("name", sorted(PAPER))
def test_baselines_and_ablations_are_small_deltas(name: str) -> None:
    assert differences(load_configuration(name)) == PAPER[name]


def test_every_named_configuration_is_known_to_the_tests() -> None:
    assert set(named_configurations()) == {*PAPER, "paper", "tiny", "dead-ends"}


def test_the_papers_values() -> None:
    paper = load_configuration("paper")
    spec = paper.training
    assert (spec.learning_rate, spec.learning_rate_end, spec.learning_rate_episodes) == (1e-3, 1e-5, 300)
    assert (spec.temperature, spec.temperature_end, spec.temperature_episodes) == (1.0, 0.1, 1000)
    assert (spec.discount, spec.steps, spec.batch, spec.replay, spec.rollouts) == (0.999, 32, 32, 100, 4)
    assert (spec.horizon, spec.selection, paper.model.embedding, paper.model.layers) == (20, "paper", 32, 30)


def test_settings_override_the_file_and_the_file_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('extends = "tiny"\n[training]\nepisodes = 7\nbatch = 5\n[lookahead]\nkind = "iw"\n')
    found = load_configuration(str(path), ["episodes=9", "lookahead.capacity=10", "training.bounds=false"])
    assert (found.training.episodes, found.training.batch, found.model.embedding) == (9, 5, 16)
    assert (found.lookahead.kind, found.lookahead.capacity, found.training.bounds) == ("iw", 10, False)


def test_files_extend_files_next_to_them(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("[training]\nepisodes = 3\n")
    (tmp_path / "own.toml").write_text('extends = "base.toml"\n[training]\nbatch = 2\n')
    spec = load_configuration(str(tmp_path / "own.toml")).training
    assert (spec.episodes, spec.batch) == (3, 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[training]\nepisode = 3\n", ["episode", "did you mean 'episodes'"]),
        ("[trainings]\nepisodes = 3\n", ["trainings", "did you mean 'training'"]),
        ("[training]\nepisodes = 3.5\n", ["episodes", "whole number"]),
        ("[training]\nepisodes = true\n", ["episodes", "whole number"]),
        ('[training]\nbounds = "yes"\n', ["bounds", "true or false"]),
        ("[training]\nepisodes = 0\n", ["episodes", "at least 1"]),
        ("[training]\nlearning_rate = -1.0\n", ["learning_rate", "more than 0"]),
        ("[training]\ndiscount = 1.5\n", ["discount", "0 to 1"]),
        ("[training]\ndead_end = 5.0\n", ["dead_end"]),
        ("[training]\nleast_target = -0.5\n", ["least_target", "at most -1"]),
        ("[training]\nepisodes = 20\ncurriculum = 21\n", ["curriculum is 21", "more than episodes, 20"]),
        ('[lookahead]\ndead_ends = "all"\n', ["dead_ends", "successors, relaxed"]),
        ("[training]\naverage = 1.0\n", ["average", "never change"]),
        ('[training]\nhindsight = "much"\n', ["hindsight", "lifted"]),
        ('[lookahead]\nkind = "deep"\n', ["kind", "deep"]),
        ('[encoding]\nkind = "aa"\n', ["aa", "flat"]),
        ("[training]\nlayers_least = 99\n", ["layers_least", "layers"]),
        ("[training\n", ["own.toml"]),
        ('extends = "own.toml"\n', ["extends itself"]),
        ('extends = "nowhere"\n', ["nowhere", "no such file"]),
        ("episodes = 3\n", ["unknown key", "episodes"]),
    ],
)
def test_wrong_files_are_refused_with_the_key(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(str(path))
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("episodes", ["key=value"]),
        ("=3", ["key=value"]),
        ("epsiodes=3", ["epsiodes", "episodes"]),
        ("training.epsiodes=3", ["epsiodes", "episodes"]),
        ("kind=iw", ["ambiguous", "lookahead.kind", "encoding.kind"]),
        ("trainer.episodes=3", ["trainer", "training"]),
        ("episodes=many", ["episodes", "whole number"]),
    ],
)
def test_wrong_settings_are_refused(setting: str, words: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(None, [setting])
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_plain_values_restore_a_configuration() -> None:
    configuration = load_configuration("c-aiw-ad", ["episodes=3", "layers=7"])
    assert configuration_of(plain_values(configuration)) == configuration


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(ConfigurationError, match="aiw-ad"):
        load_configuration("aiw-adx")


def test_a_configuration_is_a_source_of_its_own(tmp_path: Path) -> None:
    configuration = load_configuration("tiny")
    assert load_configuration(configuration) == configuration
    assert load_configuration(configuration, ["episodes=3"]).training.episodes == 3
    (tmp_path / "own.toml").write_text('extends = "tiny"\n')
    assert load_configuration(tmp_path / "own.toml") == configuration
