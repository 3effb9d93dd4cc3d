"""Configurations: precedence, errors, and the named files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.conftest import ROOT
from tests.learn.small import small_tasks
from tools.docs_pages import configuration_page, field_texts

from saltus.cli.main import run
from saltus.errors import ConfigurationError
from saltus.learn import values
from saltus.learn.candidates import CANDIDATES, shared_settings
from saltus.learn.config import (
    FIRST_KEYS,
    SECTIONS,
    Configuration,
    configuration_of,
    load_configuration,
    named_configurations,
    plain_values,
    saved_configuration,
    saved_settings,
)
from saltus.model.older import ANY, REMOVED, without_removed

METHODS = {
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
"""What each of the paper's methods sets, on top of the configuration that it extends."""

PAPER_TEXT = {
    # IW(1): "a standard Breadth-First Search that prunes any state with novelty > k"; "primitive successors guaranteed
    # by a prior IW(0) search"; the extension that expands them: "we did not evaluate it further"
    "lookahead.width": 1,
    "lookahead.root_successors": "all",
    "lookahead.expand_root_successors": False,
    "lookahead.goal_identity": "instead",  # AIW "does not abstract an atom if it is mentioned in the goal"
    "lookahead.keep_root_successors": False,  # C-AIW: "at any depth … at most retain C novel successors"
    "encoding.nullary": "drop",  # messages go to "the objects they involve"
    "model.hidden_layers": 2,  # "Each MLP consists of two hidden layers with Mish activations"
    "model.object_network": False,  # Q = MLP(f(o_s'), sum of f(o))
    "model.embedding": 32,
    "training.learning_rate": 1e-3,
    "training.learning_rate_episodes": 300,
    "training.temperature": 1.0,
    "training.steps": 32,
    "training.batch": 32,
    "training.replay": 100,
    "training.horizon": 20,
    "training.average": 0.0,
    "play.take_goals": False,  # "maximizes the Q-value among all valid successors"
    "training.selection": "paper",
    "training.larger_problems": 0,
    "training.generated_problems": 0,
    "training.searches": 0,
    "training.curriculum": 0,
}
"""What the paper says."""

AUTHORS_SCRIPT = {
    "model.layers": 60,
    "training.layers_least": 30,
    "training.dead_end": -10000.0,
    "training.hindsight_groundings": 1,
    "play.dead_ends": False,
}
"""What the paper leaves open."""

FLAT = {"training.horizon": 200, "training.replay": 1000}
"""The paper's other values for flat policies."""


def differences(configuration: Configuration) -> dict[str, object]:
    """Values that are not the defaults."""
    before, after = plain_values(Configuration()), plain_values(configuration)
    return {
        f"{section}.{key}": value
        for section, entries in after.items()
        for key, value in entries.items()
        if value != before[section][key]
    }


@pytest.mark.parametrize("name", sorted(METHODS))
def test_baselines_and_ablations_are_small_deltas(name: str) -> None:
    assert differences(load_configuration(name)) == METHODS[name]


def papers_name(method: str) -> str:
    """Name of the configuration that is the paper's method to the letter."""
    return "paper" if method == "aiw-ad" else f"paper-{method}"


def test_every_named_configuration_is_known_to_the_tests() -> None:
    assert set(named_configurations()) == {*METHODS, *map(papers_name, METHODS), "tiny", "dead-ends"}


@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_papers_methods_are_the_paper_to_the_letter(method: str) -> None:
    """Every value that the paper or the authors' script gives; the method's own values come last."""
    values = plain_values(load_configuration(papers_name(method)))
    wanted = {**PAPER_TEXT, **AUTHORS_SCRIPT, **(FLAT if method.startswith("flat") else {}), **METHODS[method]}
    found = {key: values[key.partition(".")[0]][key.partition(".")[2]] for key in wanted}
    assert found == wanted
    changed = differences(load_configuration(papers_name(method)))
    assert set(changed) <= {*wanted, "training.episodes"}  # of which neither says anything


def test_the_papers_selection_says_how_the_paper_trains() -> None:
    papers, ours = load_configuration("paper").training, load_configuration().training
    assert (papers.prefetch, papers.validate_seconds, papers.validation_problems) == (0, 0, 0)
    assert (ours.prefetch, ours.validate_seconds, ours.validation_problems) == (4, 60, 24)


def test_there_are_few_keys() -> None:
    assert sum(len(kind.__dataclass_fields__) for kind in SECTIONS.values()) <= 50


def test_settings_override_the_file_and_the_file_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('extends = "tiny"\n[training]\nepisodes = 7\nbatch = 5\n[lookahead]\nkind = "iw"\n')
    found = load_configuration(str(path), ["episodes=9", "lookahead.capacity=10", "training.lean=true"])
    assert (found.training.episodes, found.training.batch, found.model.embedding) == (9, 5, 16)
    assert (found.lookahead.kind, found.lookahead.capacity, found.training.lean) == ("iw", 10, True)


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
        ('[training]\nlean = "yes"\n', ["lean", "true or false"]),
        ("[training]\nepisodes = 0\n", ["episodes", "at least 1"]),
        ("[training]\nlearning_rate = -1.0\n", ["learning_rate", "more than 0"]),
        ("[training]\naverage = -0.5\n", ["average", "at least 0"]),
        ("[training]\ndead_end = 5.0\n", ["dead_end"]),
        ('[play]\ndead_ends = "all"\n', ["play: dead_ends", "true or false"]),
        ("[play]\ndead_end = true\n", ["dead_end", "is a key of training"]),
        ("[lookahead]\ndead_ends = true\n", ["dead_ends", "is a key of play"]),
        ('[play]\nfrozen_goals = "all"\n', ["frozen_goals", "true or false"]),
        ("[training]\nreplay = 100000000\n", ["replay", "at most 10,000,000"]),
        ("[training]\nsteps = 10000000000000\n", ["steps", "at most 1,000,000,000,000"]),
        ("[training]\nvalidation_limit = nan\n", ["validation_limit", "at least 0"]),
        ("[training]\naverage = 1.0\n", ["average", "never change"]),
        ('[training]\nselection = "much"\n', ["selection", "larger, paper"]),
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


def set_by_somebody() -> set[tuple[str, str]]:
    """Keys that a named configuration, an experiment or a contest sets."""
    files = [*named_configurations().values(), *(ROOT / "experiments").glob("*/configs/*.toml")]
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in files]
    found = {(section, name) for section in SECTIONS for table in tables for name in table.get(section, {})}
    for path in (ROOT / "experiments").glob("*.toml"):
        texts = re.findall(r'"([a-z]+)\.([a-z_]+)=', path.read_text(encoding="utf-8"))
        found |= {(section, name) for section, name in texts if section in SECTIONS}
    task = small_tasks("ferry", 1)[0]
    made_up = SimpleNamespace(has_costs=False, goal=SimpleNamespace(negative=[0]), objects=task.objects)
    own = [text for _, changes in CANDIDATES.values() for text in changes]
    for text in (*own, *shared_settings([made_up], "cpu")):  # type: ignore[list-item]
        section, _, name = text.partition("=")[0].partition(".")
        found.add((section, name))
    return found


def test_every_key_is_set_by_somebody() -> None:
    """In sections where one is not, its text says why it is a key."""
    found = set_by_somebody()
    unset = {
        (section, name)
        for section, kind in SECTIONS.items()
        for name in kind.__dataclass_fields__
        if (section, name) not in found
    }
    assert not {name for section, name in unset if section in ("training", "encoding")}
    for section, name in sorted(unset):
        assert "A key: " in field_texts(SECTIONS[section])[name], f"{section}.{name}"


def test_the_keys_that_matter_first_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(FIRST_KEYS) == len(set(FIRST_KEYS)) == 8
    for name in FIRST_KEYS:
        section, _, key = name.partition(".")
        assert key in SECTIONS[section].__dataclass_fields__
    assert run(["train", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert f"What matters first: {', '.join(FIRST_KEYS)}" in shown
    page = configuration_page()
    first = page[page.index("## What matters first") : page.index("## [lookahead]")]
    assert all(f"`{name}`" in first for name in FIRST_KEYS)


# -- keys that are gone ----------------------------------------------------------------------------------------------


def test_removed_keys_are_gone_and_have_the_value_that_holds_now() -> None:
    for section, entries in REMOVED.items():
        assert not entries.keys() & SECTIONS[section].__dataclass_fields__.keys()
        assert without_removed(section, {key: entry.value for key, entry in entries.items()}) == {}
    for key, value in PAPER_VALUES.items():
        assert getattr(values, key.upper()) == value
        assert key not in REMOVED["training"] or REMOVED["training"][key].value == value


PAPER_VALUES = {
    "rollouts": 4,
    "learning_rate_end": 1e-5,
    "temperature_end": 0.1,
    "temperature_episodes": 1000,
    "discount": 0.999,
    "mellowmax": 10.0,
    "alpha": 0.6,
    "beta": 0.4,
    "beta_samples": 100_000,
    "hindsight_atoms": 10,
    "hindsight_variants": 2,
    "hindsight_trajectories": 100,
}
"""Values of the paper and the authors' script that are no keys, by what they were called as keys."""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("training.clip=1.0", "training: clip was removed: gradients have no limit"),
        ("discount=0.9", "training: discount was removed: it is always 0.999"),
        ("encoding.depth_unit=jumps", "encoding: depth_unit was removed: depth nodes count jumps"),
    ],
)
def test_users_are_told_what_became_of_a_key(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        load_configuration(None, [text])
    section, _, key = text.partition("=")[0].rpartition(".")
    path = tmp_path / "own.toml"
    path.write_text(f"[{section or 'training'}]\n{key} = 1\n")
    with pytest.raises(ConfigurationError, match=f"own.toml: {words}"):
        load_configuration(str(path))


def test_saved_configurations_of_earlier_versions_are_read() -> None:
    own = load_configuration("tiny", ["episodes=7"])
    saved = plain_values(own)
    for section, entries in REMOVED.items():
        saved[section] |= {key: entry.value if entry.value is not ANY else 3 for key, entry in entries.items()}
    assert saved_configuration(saved) == own
    saved["training"]["search_by"] = "goal-count"  # without searches it made no difference
    assert saved_configuration(saved) == own
    saved["training"]["searches"] = 2
    with pytest.raises(ConfigurationError, match=r'made with training.search_by="goal-count", which this version does'):
        saved_configuration(saved)
    saved["training"] |= {"searches": 0, "prefetch": 0}
    with pytest.raises(ConfigurationError, match=r"made with training.prefetch=0, which this version does not have"):
        saved_configuration(saved)
    saved["training"] |= {"selection": "paper"}
    assert saved_configuration(saved).training.prefetch == 0
    saved["training"] |= {"clip": 0.5}
    with pytest.raises(ConfigurationError, match=r"made with training.clip=0.5, which this version does not have"):
        saved_configuration(saved)


def test_saved_settings_of_earlier_versions_are_read() -> None:
    assert saved_settings(["training.paced=true", "paced=true", "episodes=3"]) == ["episodes=3"]
    with pytest.raises(ConfigurationError, match=r"made with training.clip=2"):
        saved_settings(["clip=2"])
