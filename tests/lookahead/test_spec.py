"""Specifications as texts `key=value`, and back; values of earlier versions, field by field."""

from __future__ import annotations

from dataclasses import asdict, fields

import pytest

from saltus.errors import ConfigurationError
from saltus.lookahead import PlaySpec, TreeSpec
from saltus.lookahead.spec import split_older

TREES = TreeSpec(
    kind="iw",
    width=2,
    capacity=7,
    goal_identity="off",
    root_successors="novel",
    expand_root_successors=False,
    keep_root_successors=False,
)
PLAY = PlaySpec(
    dead_ends=True,
    frozen_goals=True,
    take_goals=False,
    max_better=3,
    max_encoded=4,
    roles=3,
    max_nodes=5,
)
EXCLUDED = {"free_moves", "goals_in_sight"}
"""By other settings of the two."""


@pytest.mark.parametrize("spec", [TreeSpec(), TREES, TreeSpec(free_moves=True), PlaySpec(), PLAY, PlaySpec(roles=2)])
def test_a_round_trip(spec: TreeSpec | PlaySpec) -> None:
    assert type(spec).of(spec.settings) == spec


@pytest.mark.parametrize("spec", [TREES, PLAY])
def test_every_field_can_be_set(spec: TreeSpec | PlaySpec) -> None:
    names = {setting.partition("=")[0] for setting in spec.settings}
    assert names == {entry.name for entry in fields(spec)} - EXCLUDED


def test_settings_are_what_differs_from_the_default() -> None:
    assert TreeSpec().settings == PlaySpec().settings == ()
    assert TreeSpec.of(["kind=aiw", "capacity=none"]) == TreeSpec()
    assert PlaySpec.of(["max_better=none", "max_encoded=0"]) == PlaySpec()
    assert TreeSpec.of([" free_moves = true ", "kind=iw"]).settings == ("kind=iw", "free_moves=true")
    assert TreeSpec.of(["kind=iw", "kind=flat"]).settings == ("kind=flat",)


def test_settings_change_what_there_is() -> None:
    assert PLAY.changed(["roles=none"]) == PlaySpec(**{**asdict(PLAY), "roles": None})
    assert PLAY.changed([]) == PLAY


def test_the_label_says_that_moves_are_free() -> None:
    assert TreeSpec(kind="iw").label == "IW(1)"
    assert TreeSpec(kind="flat", free_moves=True).label == "FLAT modulo free moves"


@pytest.mark.parametrize(
    ("spec", "setting", "message"),
    [
        (TreeSpec, "free_moves=maybe", "free_moves is 'maybe', expected true or false"),
        (TreeSpec, "free_moves=True", "free_moves is 'True', expected true or false"),
        (TreeSpec, "kind=wide", "kind is 'wide', expected one of flat, iw, aiw, baiw"),
        (TreeSpec, "kind=", "kind is '', expected one of"),
        (PlaySpec, "max_better=-1", "max_better is '-1', expected a whole number"),
        (PlaySpec, "max_encoded=1e3", "max_encoded is '1e3', expected a whole number"),
        (PlaySpec, "max_encoded=", "max_encoded is '', expected a whole number"),
        (PlaySpec, "max_nodes=none", "max_nodes is 'none', expected a whole number"),
        (PlaySpec, "max_nodes=0", "max_nodes is 0, expected at least 1"),
        (PlaySpec, "max_nodes=²", "max_nodes is '²', expected a whole number"),
        (PlaySpec, "max_nodes=" + "9" * 19, "expected less than 2^62"),
        (PlaySpec, "max_nodes=" + "9" * 5000, "expected a whole number"),
        (PlaySpec, "dead_ends=relaxed", "dead_ends is 'relaxed', expected true or false"),
        (TreeSpec, "width=3", "width is 3, expected 1 or 2"),
        (TreeSpec, "fre_moves=true", "unknown key 'fre_moves'; did you mean 'free_moves'?"),
        (TreeSpec, "label=x", "unknown key 'label'; known are kind, width"),
        (TreeSpec, "roles=2", "unknown key 'roles': it is a key of play"),
        (PlaySpec, "kind=iw", "unknown key 'kind': it is a key of lookahead"),
        (TreeSpec, "x" * 5000 + "=1", "unknown key 'xxx"),
        (TreeSpec, "free_moves", "lookahead: found 'free_moves', expected key=value"),
        (PlaySpec, "=true", "play: found '=true', expected key=value"),
        (PlaySpec, "", "found '', expected key=value"),
    ],
)
def test_nonsense_is_refused_by_name(spec: type[TreeSpec] | type[PlaySpec], setting: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        spec.of([setting])
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


def test_free_moves_and_pairs_do_not_go_together() -> None:
    with pytest.raises(ConfigurationError, match="free_moves needs width=1"):
        TreeSpec.of(["free_moves=true", "width=2"])


def test_values_of_earlier_versions_are_mapped_field_by_field() -> None:
    older = {**asdict(TREES), **asdict(PLAY), "dead_ends": "relaxed"}
    trees, play = split_older(older)
    assert (TreeSpec(**trees), PlaySpec(**play)) == (TREES, PLAY)
    assert split_older({"dead_ends": "successors", "kind": "iw"}) == ({"kind": "iw"}, {"dead_ends": False})
    assert split_older({"max_atoms": 3, "max_root_actions": 4}) == ({}, {"max_atoms": 3, "max_root_actions": 4})
    assert split_older({"dead_ends": "maybe", "new": 1}) == ({"new": 1}, {"dead_ends": "maybe"})
