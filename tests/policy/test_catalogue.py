"""Policies by name, by file, by the domain they fit."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.numpy import save_file
from tests.conftest import ROOT
from tests.tasks import domain_of, task_of

import saltus
from saltus.domains import DOMAINS, generate_problem
from saltus.errors import PolicyError, WrongPolicyError
from saltus.model.description import read_description
from saltus.pddl.signature import signature_differences
from saltus.policy import YARDSTICKS, GoalCountPolicy, LearnedPolicy
from saltus.policy.catalogue import (
    AUTO,
    POLICIES,
    YARDSTICK_NAMES,
    bundled_policies,
    find_policy,
    numbered_files,
    open_learned,
    open_policy,
    policy_file_for,
    policy_folder,
    policy_name,
    policy_path,
)

FILE = ROOT / "examples" / "blocksworld" / "untrained.safetensors"
BLOCKS = (ROOT / "examples" / "blocksworld" / "domain.pddl").read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two copies of one policy."""
    for name in ("towers", "zebra"):
        shutil.copy(FILE, tmp_path / f"{name}.safetensors")
    return tmp_path


def test_a_policy_is_found_by_the_signature_whatever_the_names(folder: Path) -> None:
    renamed = domain_of(BLOCKS.replace("(domain blocksworld)", "(domain something-else)"))
    assert find_policy(renamed, folder) == folder / "towers.safetensors"  # the first by name


def test_names_of_variables_play_no_part(folder: Path) -> None:
    """But which variable stands where does."""
    renamed = BLOCKS.replace("?ob", "?x").replace("?underob", "?ob")
    assert renamed != BLOCKS
    assert find_policy(domain_of(renamed), folder) == folder / "towers.safetensors"
    saltus.load_policy(FILE).check_domain(domain_of(renamed))
    swapped = domain_of(BLOCKS.replace("(on ?ob ?underob)", "(on ?underob ?ob)"))
    with pytest.raises(PolicyError, match="action 'stack' differs"):
        find_policy(swapped, folder)


def test_no_policy_fits(folder: Path, tmp_path: Path) -> None:
    ferry = domain_of(DOMAINS["ferry"].path.read_text())
    with pytest.raises(PolicyError, match=r"no policy in .* fits the domain 'ferry' .*there are towers, zebra"):
        find_policy(ferry, folder)
    with pytest.raises(PolicyError, match="nowhere: this folder holds no policies, neither"):
        find_policy(ferry, tmp_path / "nowhere")
    other = domain_of(BLOCKS.replace("(on-table ?x)", "(on-table ?x) (heavy ?x)", 1))
    with pytest.raises(
        PolicyError, match=r"the nearest is towers, but in this domain predicate \(heavy \?x - object\) is new"
    ):
        find_policy(other, folder)
    edited = BLOCKS.replace("(clear ?x)", "(free ?x)", 1).replace("(on-table ?x)", "(on-table ?x ?y)", 1)
    edited = edited.replace("(clear ", "(free ").replace("(on-table ?ob)", "(on-table ?ob ?ob)")
    with pytest.raises(PolicyError) as caught:
        find_policy(domain_of(edited), folder)
    found = str(caught.value)
    assert "predicate (clear ?x - object) is missing; " in found
    assert "predicate (on-table ?x - object ?y - object) differs, the policy has (on-table ?x - object); " in found
    assert "; and 4 more. `saltus train` learns a policy; " in found


def test_a_run_folder_stands_for_its_policy(tmp_path: Path, folder: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    domain = domain_of(BLOCKS)
    with pytest.raises(PolicyError, match=r"run: this folder holds no policy\.safetensors; expected the folder of"):
        policy_path(run)
    assert policy_folder(str(run)) == run  # a folder of policies, of which there is none
    shutil.copy(FILE, run / "policy.safetensors")
    assert policy_path(run) == policy_file_for(str(run), domain) == run / "policy.safetensors"
    assert policy_folder(str(run)) is None
    text = f"<LearnedPolicy '{run}/policy.safetensors', aiw-ad, trained on blocksworld, 10 layers, on cpu>"
    assert repr(saltus.load_policy(run, device="cpu")) == text
    assert policy_file_for(str(folder), domain) == folder / "towers.safetensors"
    assert policy_file_for(AUTO, domain) == POLICIES / "blocksworld.safetensors"


def test_finding_a_policy_takes_no_pytorch() -> None:
    code = """
import sys
from saltus.cli.main import run
from saltus.pddl import Source, parse_domain
from saltus.policy.catalogue import find_policy
print(find_policy(parse_domain(Source.from_file(sys.argv[1]))).stem)
assert run(["policies"]) == 0
print('torch' in sys.modules)
"""
    arguments = [sys.executable, "-c", code, str(ROOT / "examples" / "blocksworld" / "domain.pddl")]
    lines = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.splitlines()
    assert (lines[0], lines[-1]) == ("blocksworld", "False")


def test_a_damaged_file_among_the_policies_is_named(folder: Path) -> None:
    (folder / "aaa.safetensors").write_bytes(b"nonsense")
    with pytest.raises(PolicyError, match=r"aaa\.safetensors: not a policy file, or damaged"):
        find_policy(domain_of(BLOCKS), folder)


def test_a_file_of_tensors_is_no_policy(tmp_path: Path) -> None:
    save_file({}, tmp_path / "plain.safetensors")
    with pytest.raises(PolicyError, match="not a policy file, or damaged"):
        read_description(tmp_path / "plain.safetensors")


def test_the_names_of_yardsticks_are_those_of_their_policies() -> None:
    assert tuple(YARDSTICKS) == YARDSTICK_NAMES


def test_names_files_and_what_is_neither(folder: Path) -> None:
    assert policy_path("zebra", folder) == folder / "zebra.safetensors"
    assert policy_path(str(FILE), folder) == FILE
    assert policy_path("none.safetensors", folder) == Path("none.safetensors")  # refused when it is opened
    with pytest.raises(PolicyError, match=r"no policy 'zebro'.*did you mean 'zebra'"):
        policy_path("zebro", folder)
    with pytest.raises(PolicyError, match="known are towers, zebra, random, goal-count"):
        policy_path("qqqqqqqq", folder)
    assert policy_name(POLICIES / "ferry.safetensors") == "ferry"
    assert policy_name(str(FILE)) == str(FILE)
    assert policy_name("goal-count") == "goal-count"


def test_load_policy_plans() -> None:
    task = saltus.load(ROOT / "examples/blocksworld/domain.pddl", ROOT / "examples/blocksworld/p03.pddl")
    policy = saltus.load_policy(FILE)
    assert isinstance(policy, LearnedPolicy)
    assert repr(policy).startswith(f"<LearnedPolicy '{FILE}', aiw-ad, ")
    plan = policy.plan(task, search=True, max_jumps=500)
    assert plan is not None
    assert saltus.validate(task, plan)
    assert all(seconds > 0 for seconds in policy.clock.seconds.values())
    assert isinstance(saltus.load_policy("goal-count", seed=3), GoalCountPolicy)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = saltus.nonsense  # type: ignore[attr-defined]


def test_a_policy_of_another_domain_is_refused() -> None:
    ferry = domain_of(DOMAINS["ferry"].path.read_text())
    with pytest.raises(WrongPolicyError, match="trained on another domain than 'ferry'"):
        open_policy(str(FILE), ferry)
    with pytest.raises(WrongPolicyError, match="trained on another domain"):
        saltus.load_policy(FILE).plan(task_of(ferry, generate_problem("ferry", "training", 0, 5, 0)))


def test_of_numbered_policies_the_last_sound_one_is_taken(tmp_path: Path) -> None:
    domain = domain_of(BLOCKS)
    for number in (1, 9, 10):
        shutil.copy(FILE, tmp_path / f"dk.{number}")
    for name in ("dk.11", "dk.x", "dk.1.tmp", "other.12", "dk"):
        (tmp_path / name).write_bytes(b"half a file")
    assert [path.name for path in numbered_files(tmp_path / "dk")] == ["dk.11", "dk.10", "dk.9", "dk.1"]
    _, name, refused = open_learned(tmp_path / "dk", domain)
    assert name == str(tmp_path / "dk.10")
    assert len(refused) == 1
    assert "dk.11: not a policy file, or damaged" in refused[0]
    with pytest.raises(PolicyError, match=r"no policy: .*dk\.11.*another domain"):
        open_learned(tmp_path / "dk", domain_of(DOMAINS["ferry"].path.read_text()))
    with pytest.raises(PolicyError, match=r"none: no policy; expected .*none\.1"):
        open_learned(tmp_path / "none", domain)


def test_a_yardstick_is_shown_by_kind_and_lookahead() -> None:
    assert repr(saltus.load_policy("goal-count")) == "<GoalCountPolicy AIW(1)>"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("clear block", "(clear ?x - block)"),
        ("handempty", "(handempty)"),
        ("at block or crane place", "(at ?x - (either block crane) ?y - place)"),
        ("q a a a a", "(q ?x1 - a ?x2 - a ?x3 - a ?x4 - a)"),
    ],
)
def test_predicates_are_shown_as_pddl_writes_them(line: str, shown: str) -> None:
    assert signature_differences({"predicates": [line]}, {}) == [f"predicate {shown} is missing"]


def test_a_description_names_the_same_method_as_its_policy() -> None:
    """Records of a problem that cannot be read have the name from the file; all others that of the policy."""
    methods = {name: read_description(path).method for name, path in bundled_policies().items()}
    assert methods == {name: saltus.load_policy(name).method for name in methods}
    assert any(method.endswith("-free") for method in methods.values())
