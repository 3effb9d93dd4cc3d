"""`tools/bundle_policy.py`: the bundled policies and their cards are what it makes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.learn.small import small_tasks
from tools.bundle_policy import SOURCE, curve_table, describe, main

from saltus.learn.candidates import candidates_for
from saltus.learn.contest_state import FINAL, HALVING, Budget, ContestState, Round
from saltus.model.policy_file import load_policy_file
from saltus.policy.catalogue import POLICIES, bundled_policies

NAMED = {"floortile", "rovers"}
"""Domains whose run was named, after further generated problems."""

OWN = {
    "delivery",
    "depots",
    "driverlog",
    "freecell",
    "goldminer",
    "grid",
    "grippers",
    "logistics",
    "reward",
    "visitall",
}
"""Domains whose training problems are generated."""

GENERATED = "our own generators"
"""Where these come from."""


@pytest.mark.parametrize("name", sorted(bundled_policies()))
def test_cards_agree_with_their_policies(name: str) -> None:
    card = (POLICIES / f"{name}.md").read_text(encoding="utf-8")
    policy = load_policy_file(POLICIES / f"{name}.safetensors")
    source = GENERATED if name in OWN else SOURCE
    assert card.startswith(describe(name, policy, source, is_named=name in NAMED))
    assert card.endswith(curve_table(policy))
    assert f"| {policy.record['episode']} | " in card


def place_run(runs: Path, name: str, run: str, domain: str = "") -> None:
    """A run whose best policy is a bundled one, in the folder of a domain."""
    folder = runs / (domain or name) / run
    folder.mkdir(parents=True)
    shutil.copy(POLICIES / f"{name}.safetensors", folder / "policy.safetensors")


def test_folders_name_the_domains(tmp_path: Path) -> None:
    place_run(tmp_path / "runs", "ferry", "seed-1", "boats")
    main([str(tmp_path / "runs"), "boats=seed-1", "--out", str(tmp_path / "out")])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["boats.md", "boats.safetensors"]


def test_the_best_run_of_every_domain_is_bundled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place_run(tmp_path / "runs", "ferry", "seed-1")
    place_run(tmp_path / "runs", "childsnack", "seed-2")
    main([str(tmp_path / "runs"), "--out", str(tmp_path / "out")])
    assert "childsnack seed-2 30 of 30 validation problems" in capsys.readouterr().out
    assert set(bundled_policies(tmp_path / "out")) == {"ferry", "childsnack"}
    weights, made = (
        load_policy_file(folder / "ferry.safetensors").network.state_dict() for folder in (POLICIES, tmp_path / "out")
    )
    assert weights.keys() == made.keys()
    assert all(weights[name].equal(made[name]) for name in weights)
    assert re.search(r"^\| seed-1 \| defaults \|", (tmp_path / "out" / "ferry.md").read_text(), re.MULTILINE)


def test_the_card_of_a_contest_shows_its_rounds(tmp_path: Path) -> None:
    place_run(tmp_path / "runs", "depots", "contest")
    state = ContestState("problems", 0, [], Budget(60.0), candidates_for(small_tasks("depots", 2), "cpu"), ["aiw"])
    state.rounds = [Round(HALVING, {}, scores=["aiw: 5 of 5, 93 actions", "iw: 4 of 5, 90 actions"])]
    state.rounds.append(Round(FINAL, {}, scores=[f"aiw, episode {number}: 4 of 4" for number in range(9)]))
    state.write(tmp_path / "runs" / "depots" / "contest")
    main([str(tmp_path / "runs"), "--out", str(tmp_path / "out"), "--source", GENERATED])
    card = (tmp_path / "out" / "depots.md").read_text()
    assert "| 1 | aiw: 5 of 5, 93 actions; iw: 4 of 5, 90 actions |" in card
    places = [f"aiw, episode {number}: 4 of 4" for number in range(4)]
    assert f"| 2, final | {'; '.join(places)} |" in card
    assert "it began with the policy of aiw-dead-ends at episode 100" in card


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
