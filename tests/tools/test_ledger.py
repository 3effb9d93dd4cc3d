"""The ledger: which arms a policy has, and what the table says of records."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest
from tests.conftest import ROOT
from tests.scripts import script

from saltus.policy.catalogue import POLICIES
from saltus.policy.portfolio import MEMBERS


@pytest.fixture(scope="module")
def ledger() -> ModuleType:
    """The script as a module."""
    return script("benchmarks/ledger.py")


def test_every_mechanism_can_be_switched_and_has_its_files(ledger: ModuleType) -> None:
    names = [entry.name for entry in ledger.MECHANISMS]
    assert len(set(names)) == len(names)
    assert {member.name for member in MEMBERS} <= set(names)
    for entry in ledger.MECHANISMS:
        assert sum((bool(entry.off), bool(entry.member), bool(entry.patch), bool(entry.training))) == 1
        assert bool(entry.on) == bool(entry.off)
        assert all(list(ROOT.glob(pattern)) for pattern in entry.files)
        with ledger.contexts(entry.patch):  # the names exist
            pass


def test_arms_are_what_differs_from_how_a_policy_plays(ledger: ModuleType) -> None:
    found = {
        entry.name: [arm for arm, _ in ledger.arms_of(entry, POLICIES / "spanner.safetensors")]
        for entry in ledger.MECHANISMS
    }
    assert found["dead ends"] == ["off"]
    assert found["one goal in sight"] == ["off"]
    assert found["roles"] == ["on"]
    assert found["goal by goal"] == ["off"]
    assert found["curriculum"] == []


def test_a_trial_is_played_with_and_without(ledger: ModuleType) -> None:
    domain = ROOT / "examples" / "blocksworld" / "domain.pddl"
    policy = POLICIES / "blocksworld.safetensors"
    made = [
        ledger.play(ledger.Trial(name, arm, domain, domain.parent / "p03.pddl", policy, 0, 20.0))
        for name, arm in (("", ""), ("tidying", "off"))
    ]
    assert [entry.solved for entry in made] == [True, True]
    assert made[0].actions <= made[1].actions
    assert {entry.found_by for entry in made} == {"greedy"}


def test_the_table(ledger: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Roles: off in the policy, on in the arm; dead ends: on in the policy. A line that was cut off is passed over."""
    records = tmp_path / "records.jsonl"
    make = ledger.Entry
    entries = [
        make("", "", "a", "p1", "f", 0, True, 10, 2.0),
        make("", "", "a", "p2", "f", 0, False, 0, 8.0),
        make("roles", "on", "a", "p1", "f", 0, True, 12, 1.0),
        make("roles", "on", "a", "p2", "f", 0, True, 30, 4.0),
        make("dead ends", "off", "a", "p1", "f", 0, False, 0, 5.0),
        make("dead ends", "off", "b", "p1", "f", 0, False, 0, 5.0),  # nothing to compare it with
        make("curriculum", "off", "a", "p1", "g", 0, False, 0, 5.0),
    ]
    records.write_text("".join(json.dumps(asdict(entry)) + "\n" for entry in entries) + '{"mechanism": "ro')
    ledger.show([records])
    rows = {line.split(" | ")[0].strip("| "): line for line in capsys.readouterr().out.splitlines()}
    assert "| 2 | 2 | 1 | a +1 | none | 1.20 | 0.50 |" in rows["roles"]
    assert "| 1 | 1 | 0 | a +1 | none |  | 0.40 |" in rows["dead ends"]
    assert "| 1 | 1 | 0 | a +1 | none |  | 0.40 |" in rows["curriculum"]
    assert "tidying" not in rows
