"""Policy files: what is saved is loaded, and whatever is wrong with a file is said in words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.conftest import ROOT

from saltus.cli.main import run
from saltus.domains import DOMAINS
from saltus.errors import ConfigurationError, PolicyError
from saltus.graph import ENCODINGS, EncodingSpec, Vocabulary, assemble
from saltus.lookahead import JUMPS, JumpCost, PlaySpec, TreeSpec, lookahead
from saltus.model import ModelSpec, RelationalNetwork, make_layout
from saltus.model.description import training_seconds
from saltus.model.engine import Engine
from saltus.model.policy_file import PolicyFile, load_policy_file, save_policy
from saltus.pddl import Domain, Source, parse_domain
from saltus.policy import LearnedPolicy
from saltus.policy.catalogue import POLICIES, bundled_policies
from saltus.policy.exit_codes import ExitCode
from saltus.task import load

BLOCKS = ROOT / "examples" / "blocksworld"


def domain_of(name: str) -> Domain:
    return parse_domain(Source.from_file(DOMAINS[name].path))


def make_policy(encoding: EncodingSpec | None = None) -> PolicyFile:
    torch.manual_seed(0)
    encoding = encoding or EncodingSpec()
    domain = domain_of("blocksworld")
    arities = tuple(relation.arity for relation in Vocabulary.of(domain, encoding))
    network = RelationalNetwork(arities, encoding.kind, ModelSpec(layers=4))
    kind = encoding.default_lookahead
    trees, play = TreeSpec(kind=kind, capacity=7), PlaySpec(dead_ends=True, roles=5)
    return PolicyFile.of(network, domain, encoding, trees, {"domain": "blocksworld"}, play=play)


def test_the_shape_of_the_networks_is_stored_and_old_files_have_the_defaults(tmp_path: Path) -> None:
    domain = domain_of("blocksworld")
    arities = tuple(relation.arity for relation in Vocabulary.of(domain, EncodingSpec()))
    network = RelationalNetwork(arities, "ad", ModelSpec(layers=2, hidden_layers=2, object_network=False)).eval()
    path = tmp_path / "policy.safetensors"
    save_policy(path, PolicyFile.of(network, domain, EncodingSpec(), TreeSpec()))
    found = load_policy_file(path, domain).network
    assert (found.spec.hidden_layers, found.spec.object_network) == (2, False)
    assert all(torch.equal(value, found.state_dict()[name]) for name, value in network.state_dict().items())
    old = load_policy_file(bundled_policies()["blocksworld"]).network.spec  # written before the fields existed
    assert (old.hidden_layers, old.object_network) == (1, True)


def test_what_q_values_count_is_stored_and_old_files_count_jumps(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    save_policy(path, replace(make_policy(), cost=JumpCost("actions", 3.5, 0.5)))
    assert load_policy_file(path).cost == JumpCost("actions", 3.5, 0.5)
    assert load_policy_file(saved(tmp_path)).cost == JUMPS
    assert load_policy_file(bundled_policies()["blocksworld"]).cost == JUMPS  # written before the field existed


def test_the_table_of_policies_says_what_they_count_if_not_jumps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path)
    assert run(["policies", str(path)]) == ExitCode.SUCCESS
    assert "counts" not in capsys.readouterr().out
    save_policy(path, replace(make_policy(), cost=JumpCost("actions")))
    assert run(["policies", str(path), "--json"]) == ExitCode.SUCCESS
    assert json.loads(capsys.readouterr().out)[0]["counts"] == "actions"


def saved(tmp_path: Path) -> Path:
    path = tmp_path / "policy.safetensors"
    save_policy(path, make_policy())
    return path


def rewrite(path: Path, change: dict[str, object]) -> None:
    """Replaces parts of a file's description."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    description = {**json.loads(metadata["saltus-policy"]), **change}
    save_file(load_file(path), path, {"saltus-policy": json.dumps(description)})


@pytest.mark.parametrize("kind", sorted(ENCODINGS))
def test_round_trip(tmp_path: Path, kind: str) -> None:
    """Specifications, record and Q-values survive, bit for bit."""
    policy = make_policy(EncodingSpec(kind=kind))
    save_policy(tmp_path / "p.safetensors", policy)
    again = load_policy_file(tmp_path / "p.safetensors", domain_of("blocksworld"))
    assert (again.encoding, again.lookahead, again.record) == (policy.encoding, policy.lookahead, policy.record)
    assert again.network.spec == policy.network.spec
    assert again.vocabulary == policy.vocabulary
    tree = lookahead(load(BLOCKS / "domain.pddl", BLOCKS / "p03.pddl"), spec=policy.lookahead)
    layout = make_layout(assemble([(tree, None)], policy.vocabulary, policy.encoding), policy.network.arities)
    with torch.inference_mode():
        assert torch.equal(again.network(layout).q, policy.network(layout).q)


def test_keys_that_are_gone_are_read_over(tmp_path: Path) -> None:
    """Those of training do not matter, whatever they were."""
    path = tmp_path / "p.safetensors"
    save_policy(path, make_policy(EncodingSpec()))
    encoding = {"kind": "ad", "depth_nodes": True, "tree_atoms": True, "depth_unit": "jumps", "derived": True}
    rewrite(path, {"encoding": encoding, "record": {"configuration": {"training": {"clip": 3.0}}}})
    assert load_policy_file(path).encoding == EncodingSpec()


def test_a_policy_is_small(tmp_path: Path) -> None:
    assert saved(tmp_path).stat().st_size < 2_000_000


def test_foreign_domain_is_refused_with_the_difference(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"another domain than 'ferry'.*type 'car - object' is new to the policy"):
        load_policy_file(saved(tmp_path), domain_of("ferry"))


def test_the_same_domain_under_another_name_is_accepted(tmp_path: Path) -> None:
    text = (BLOCKS / "domain.pddl").read_text().replace("(domain blocksworld)", "(domain bricks)")
    load_policy_file(saved(tmp_path), parse_domain(Source.from_bytes(text.encode())))


def test_a_changed_effect_is_another_domain(tmp_path: Path) -> None:
    text = (BLOCKS / "domain.pddl").read_text().replace("(on-table ?ob) (not (holding ?ob))", "(not (holding ?ob))")
    with pytest.raises(PolicyError, match="action 'putdown' differs"):
        load_policy_file(saved(tmp_path), parse_domain(Source.from_bytes(text.encode())))


def damage(path: Path, kind: str) -> None:
    content = path.read_bytes()
    if kind == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "garbage":
        path.write_bytes(bytes(range(256)) * 40)
    elif kind == "plain tensors":
        save_file({"x": torch.zeros(3)}, path)
    elif kind == "future":
        rewrite(path, {"version": 99})
    elif kind == "unknown field":
        rewrite(path, {"model": {"embedding": 32, "colour": 3}})
    elif kind == "other sizes":
        rewrite(path, {"model": {"embedding": 16}})
    elif kind == "not a number":
        tensors = load_file(path)
        tensors["update.first.bias"][0] = float("nan")
        from safetensors import safe_open

        with safe_open(path, framework="pt") as file:
            metadata = file.metadata()
        save_file(tensors, path, metadata)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("truncated", "damaged"),
        ("empty", "damaged"),
        ("garbage", "damaged"),
        ("plain tensors", "not a policy file"),
        ("future", "format version 99, this program reads up to 2"),
        ("unknown field", "unknown field 'colour'"),
        ("other sizes", r"weights messages\.0\.weight1: expected F16 or F32 .*, found F32 "),
        ("not a number", "not finite numbers"),
    ],
)
def test_damaged_files(tmp_path: Path, kind: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A clear message, and exit code 31 on the command line."""
    path = saved(tmp_path)
    damage(path, kind)
    for read in (load_policy_file, Engine.load, LearnedPolicy.load):
        with pytest.raises(PolicyError, match=message):
            read(path)  # type: ignore[operator]
    assert run(["policies", str(path)]) == ExitCode.INPUT_ERROR
    assert "Traceback" not in capsys.readouterr().err


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="no such file"):
        load_policy_file(tmp_path / "none.safetensors")


def test_a_network_of_other_relations_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="not made for this domain"):
        PolicyFile.of(RelationalNetwork((1, 2), "ad"), domain_of("ferry"), EncodingSpec(), TreeSpec())


def test_half_precision_halves_the_file_and_hardly_changes_the_values(tmp_path: Path) -> None:
    policy = load_policy_file(ROOT / "examples/blocksworld/untrained.safetensors")
    for name, half in (("whole", False), ("half", True)):
        save_policy(tmp_path / name, policy, half=half)
    sizes = [(tmp_path / name).stat().st_size for name in ("whole", "half")]
    assert sizes[1] < 0.55 * sizes[0]
    found = load_policy_file(tmp_path / "half")
    for one, two in zip(policy.network.parameters(), found.network.parameters(), strict=True):
        assert two.dtype == torch.float32
        assert torch.allclose(one, two, rtol=1e-3, atol=1e-6)


def test_policies_that_come_along_are_listed_with_their_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["policies", "--json"]) == ExitCode.SUCCESS
    found = json.loads(capsys.readouterr().out)
    assert {entry["policy"] for entry in found} == set(bundled_policies())
    for entry in found:
        assert entry["record"]["training_problems"] > 0
        assert entry["validation"] != "-"
        assert (POLICIES / f"{entry['policy']}.md").is_file()


def test_policies_of_a_domain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without files, the one that fits; where none does, an error that says what to do."""
    domain = ROOT / "examples" / "blocksworld" / "domain.pddl"
    assert run(["policies", "--domain", str(domain), "--json"]) == ExitCode.SUCCESS
    assert [entry["policy"] for entry in json.loads(capsys.readouterr().out)] == ["blocksworld"]
    other = tmp_path / "domain.pddl"
    other.write_text(domain.read_text().replace("holding", "carrying"))
    assert run(["policies", "--domain", str(other)]) == ExitCode.INPUT_ERROR
    assert (
        "the nearest is blocksworld, but in this domain predicate (holding ?x - object) is missing; "
        in capsys.readouterr().err
    )


def test_seconds_of_training_go_back_to_random_weights() -> None:
    assert training_seconds({"seconds": 20}) == 20.0
    assert training_seconds({"seconds": 20.5, "start": None}) == 20.5
    assert training_seconds({"seconds": 20.5, "start": {"policy": "x", "seconds": 100}}) == 120.5
    for unknown in ({}, {"seconds": None}, {"seconds": 1.0, "start": {"policy": "x"}}):
        assert training_seconds(unknown) is None
