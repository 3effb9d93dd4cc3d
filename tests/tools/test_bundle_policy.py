"""`tools/bundle_policy.py`: the bundled policies and their cards are what it makes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tools.bundle_policy import SOURCE, curve_table, describe, main

from saltus.model.policy_file import load_policy_file
from saltus.policy.catalogue import POLICIES, bundled_policies

NAMED = {"floortile", "rovers", "spanner"}
"""Domains whose run was named, after further generated problems."""


@pytest.mark.parametrize("name", sorted(bundled_policies()))
def test_cards_agree_with_their_policies(name: str) -> None:
    card = (POLICIES / f"{name}.md").read_text(encoding="utf-8")
    policy = load_policy_file(POLICIES / f"{name}.safetensors")
    assert card.startswith(describe(name, policy, SOURCE, is_named=name in NAMED))
    assert card.endswith(curve_table(policy))
    assert f"| {policy.record['episode']} | " in card


def place_run(runs: Path, name: str, run: str) -> None:
    """A run whose best policy is a bundled one."""
    folder = runs / name / run
    folder.mkdir(parents=True)
    shutil.copy(POLICIES / f"{name}.safetensors", folder / "policy.safetensors")


def test_the_best_run_of_every_domain_is_bundled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place_run(tmp_path / "runs", "ferry", "seed-1")
    place_run(tmp_path / "runs", "miconic", "seed-2")
    main([str(tmp_path / "runs"), "--out", str(tmp_path / "out")])
    assert "miconic seed-2 30 of 30 validation problems" in capsys.readouterr().out
    assert set(bundled_policies(tmp_path / "out")) == {"ferry", "miconic"}
    weights, made = (
        load_policy_file(folder / "ferry.safetensors").network.state_dict() for folder in (POLICIES, tmp_path / "out")
    )
    assert weights.keys() == made.keys()
    assert all(weights[name].equal(made[name]) for name in weights)
    assert re.search(r"^\| seed-1 \| defaults \|", (tmp_path / "out" / "ferry.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    ("wanted", "complaint"), [("logistics", "no run of the domain logistics"), ("ferry=seed-9", "there are seed-1")]
)
def test_what_is_not_there_is_refused(
    wanted: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place_run(tmp_path / "runs", "ferry", "seed-1")
    with pytest.raises(SystemExit):
        main([str(tmp_path / "runs"), wanted, "--out", str(tmp_path / "out")])
    assert complaint in capsys.readouterr().err
