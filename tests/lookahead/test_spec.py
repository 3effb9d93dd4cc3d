"""Lookaheads as texts `key=value`, and back."""

from __future__ import annotations

from dataclasses import fields

import pytest

from saltus.errors import ConfigurationError
from saltus.lookahead import LookaheadSpec

CHANGED = LookaheadSpec(
    kind="iw",
    width=2,
    capacity=7,
    goal_identity="off",
    derived_novelty=False,
    root_successors="novel",
    expand_root_successors=False,
    keep_root_successors=False,
    dead_ends="relaxed",
    frozen_goals="strong",
    max_better=3,
    max_encoded=4,
    roles=3,
    max_nodes=5,
    max_atoms=6,
    max_root_actions=8,
)


@pytest.mark.parametrize("spec", [LookaheadSpec(), CHANGED, LookaheadSpec(free_moves=True, goals_in_sight=2)])
def test_a_round_trip(spec: LookaheadSpec) -> None:
    assert LookaheadSpec.of(spec.settings) == spec


def test_every_field_can_be_set() -> None:
    names = {setting.partition("=")[0] for setting in CHANGED.settings}
    excluded = {"free_moves", "goals_in_sight"}  # by other settings here
    assert names == {entry.name for entry in fields(LookaheadSpec)} - excluded


def test_settings_are_what_differs_from_the_default() -> None:
    assert LookaheadSpec().settings == ()
    assert LookaheadSpec.of(["kind=aiw", "max_better=none", "max_encoded=0"]) == LookaheadSpec()
    assert LookaheadSpec.of([" free_moves = true ", "kind=iw"]).settings == ("kind=iw", "free_moves=true")
    assert LookaheadSpec.of(["kind=iw", "kind=flat"]).settings == ("kind=flat",)


def test_the_label_says_that_moves_are_free() -> None:
    assert LookaheadSpec(kind="iw").label == "IW(1)"
    assert LookaheadSpec(kind="flat", free_moves=True).label == "FLAT modulo free moves"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("free_moves=maybe", "free_moves is 'maybe', expected true or false"),
        ("free_moves=True", "free_moves is 'True', expected true or false"),
        ("kind=wide", "kind is 'wide', expected one of flat, iw, aiw, baiw"),
        ("kind=", "kind is '', expected one of"),
        ("max_better=-1", "max_better is '-1', expected a whole number"),
        ("max_encoded=1e3", "max_encoded is '1e3', expected a whole number"),
        ("max_encoded=", "max_encoded is '', expected a whole number"),
        ("max_nodes=none", "max_nodes is 'none', expected a whole number"),
        ("max_nodes=0", "max_nodes is 0, expected at least 1"),
        ("max_nodes=²", "max_nodes is '²', expected a whole number"),
        ("max_nodes=" + "9" * 19, "expected less than 2^62"),
        ("max_nodes=" + "9" * 5000, "expected a whole number"),
        ("width=3", "width is 3, expected 1 or 2"),
        ("fre_moves=true", "unknown key 'fre_moves'; did you mean 'free_moves'?"),
        ("label=x", "unknown key 'label'; known are kind, width"),
        ("x" * 5000 + "=1", "unknown key 'xxx"),
        ("free_moves", "found 'free_moves', expected key=value"),
        ("=true", "found '=true', expected key=value"),
        ("", "found '', expected key=value"),
    ],
)
def test_nonsense_is_refused_by_name(setting: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        LookaheadSpec.of([setting])
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


def test_free_moves_and_pairs_do_not_go_together() -> None:
    with pytest.raises(ConfigurationError, match="free_moves needs width=1"):
        LookaheadSpec.of(["free_moves=true", "width=2"])
