"""The engine against its PyTorch twin: every encoding and option, every instruction set, real trees."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.model.networks import ARITIES, network_of
from tests.model.random_graphs import RandomBatch, random_batch

from saltus.domains.generated import generated_task
from saltus.errors import ConfigurationError, PolicyError
from saltus.graph import ENCODINGS
from saltus.model import RelationalNetwork, make_layout
from saltus.model.engine import INSTRUCTIONS, INSTRUCTIONS_VARIABLE, Engine
from saltus.model.policy_file import load_policy_file
from saltus.model.torch_scorer import TorchScorer
from saltus.policy import LearnedPolicy, play, run_rollout
from saltus.policy.catalogue import POLICIES

pytestmark = pytest.mark.kernel


def is_available(instructions: str) -> bool:
    """Whether this machine has an instruction set."""
    try:
        return engine_of(network_of("ad"), instructions).instructions == instructions
    except ConfigurationError:
        return False


def engine_of(network: RelationalNetwork, instructions: str | None = "") -> Engine:
    return Engine.of(network, instructions)


def twin_values(network: RelationalNetwork, batch: object) -> NDArray[np.float64]:
    """Q-values by PyTorch, in the precision of the network."""
    with torch.inference_mode():
        layout = make_layout(batch, network.arities)  # type: ignore[arg-type]
        values: NDArray[np.float64] = network(layout, plain=True).q.numpy()
        return values


def assert_same(network: RelationalNetwork, batch: RandomBatch, instructions: str | None = "") -> None:
    wanted = twin_values(network, batch)
    found = engine_of(network, instructions).q_values(batch)
    assert found.dtype == np.float32
    assert len(found) == len(wanted) > 0
    assert np.abs(found - wanted).max() <= 1e-5 * max(1, np.abs(wanted).max())


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_engine_equals_twin(encoding: str, instructions: str) -> None:
    """1e-5 of the largest value: float32 against float64."""
    if not is_available(instructions):
        pytest.skip(f"this machine has no {instructions}")
    for seed in range(4):
        assert_same(network_of(encoding, seed=seed), random_batch(seed, ARITIES, encoding), instructions)


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
@pytest.mark.parametrize(
    "fields",
    [
        {"hidden_layers": 2},
        {"object_network": False},
        {"hidden_layers": 2, "object_network": False},
        {"embedding": 1},
        {"embedding": 17},
        {"embedding": 32, "layers": 10},
        {"embedding": 48, "layers": 1},
    ],
    ids=str,
)
def test_engine_equals_twin_for_every_option(encoding: str, fields: dict[str, object], instructions: str) -> None:
    if not is_available(instructions):
        pytest.skip(f"this machine has no {instructions}")
    for seed in range(2):
        batch = random_batch(seed, ARITIES, encoding, atoms=200, nodes=60)
        assert_same(network_of(encoding, seed=seed, **fields), batch, instructions)  # type: ignore[arg-type]


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("size", [0.05, 20.0])
def test_small_and_large_messages(size: float, instructions: str) -> None:
    """Smooth maxima far from the maximum and next to it, and sums that would overflow relative to the first message."""
    if not is_available(instructions):
        pytest.skip(f"this machine has no {instructions}")
    for seed in range(2):
        network = network_of("ad", seed=seed)
        with torch.no_grad():
            for part in network.message_weights():
                for weight in (part.weight2, part.bias2):
                    weight.mul_(size)
        assert_same(network, random_batch(seed, ARITIES, "ad", atoms=200, nodes=60), instructions)


@given(st.integers(0, 10**6), st.sampled_from(sorted(ENCODINGS)))
@settings(max_examples=25)
def test_engine_equals_twin_on_many_batches(seed: int, encoding: str) -> None:
    """Few atoms and small graphs: silent nodes, one-node graphs, relations without atoms."""
    network = network_of(encoding, seed=seed)
    assert_same(network, random_batch(seed, ARITIES, encoding, graphs=2, atoms=3, nodes=3))


@pytest.mark.parametrize("encoding", ["ad", "ext", "int"])
def test_threads_change_no_bit(encoding: str) -> None:
    """Large enough for several threads to be used; graphs with many atoms per node and with few."""
    for nodes, atoms in ((400, 3000), (4000, 3000)):
        batch = random_batch(1, ARITIES, encoding, graphs=4, atoms=atoms, nodes=nodes)
        assert len(batch.arguments) > 1 << 14
        network = network_of(encoding, layers=2)
        engine = engine_of(network)
        wanted = engine.q_values(batch, threads=1)
        for threads in (2, 5):
            assert engine.q_values(batch, threads=threads).tobytes() == wanted.tobytes()
        assert_same(network, batch)


def copies_of(batch: RandomBatch, copies: int) -> RandomBatch:
    """The one graph of a batch several times; only what the engine reads is set."""
    nodes, slots = batch.node_count, np.split(batch.arguments, batch.argument_offset[1:-1])
    shifts = np.arange(copies, dtype=np.int32)[:, None]
    return replace(
        batch,
        graph_offset=np.arange(copies + 1, dtype=np.int32) * nodes,
        object_count=np.tile(batch.object_count, copies),
        arguments=np.concatenate([(part[None] + nodes * shifts).reshape(-1) for part in slots]).astype(np.int32),
        argument_offset=batch.argument_offset * copies,
        candidate_node=(batch.candidate_node[None] + nodes * shifts).reshape(-1).astype(np.int32),
        candidate_graph=(batch.candidate_graph[None] + shifts).reshape(-1).astype(np.int32),
        source_graph=(batch.source_graph[None] + shifts).reshape(-1).astype(np.int32),
    )


def test_equal_atoms_send_equal_messages() -> None:
    """Their messages are computed once: each copy of a graph gets the same bits, on one thread and on several."""
    network = network_of("ad", layers=5)
    batch = random_batch(4, ARITIES, "ad", graphs=1, atoms=60, nodes=30)
    copies = copies_of(batch, 200)
    assert len(copies.arguments) > 1 << 14
    found = engine_of(network).q_values(copies, threads=1)
    assert found.tobytes() == found[: len(batch.candidate_graph)].tobytes() * 200
    assert engine_of(network).q_values(copies, threads=3).tobytes() == found.tobytes()
    wanted = twin_values(network, batch)
    assert np.abs(found[: len(wanted)] - wanted).max() <= 1e-5 * max(1, np.abs(wanted).max())


def test_threads_change_no_bit_where_messages_do_not_fit_into_memory_at_once() -> None:
    batch = random_batch(1, (2, 3), "ad", graphs=1, atoms=200_000, nodes=5000)
    assert 16 * len(batch.arguments) > 1 << 22
    engine = engine_of(network_of("ad", arities=(2, 3), layers=2))
    assert engine.q_values(batch, threads=2).tobytes() == engine.q_values(batch, threads=1).tobytes()


def test_an_empty_batch() -> None:
    none, start = np.zeros(0, np.int32), np.zeros(1, np.int32)
    batch = replace(
        random_batch(0, ARITIES, "ad"),
        graph_offset=start,
        object_count=none,
        arguments=none,
        argument_offset=np.zeros(len(ARITIES) + 1, np.int64),
        candidate_node=none,
        candidate_graph=none,
    )
    assert len(engine_of(network_of("ad")).q_values(batch)) == 0


def test_a_loaded_engine_is_that_of_the_network() -> None:
    """The file is read without PyTorch."""
    path = POLICIES / "ferry.safetensors"
    policy = load_policy_file(path)
    arities = tuple(relation.arity for relation in policy.vocabulary)
    batch = random_batch(0, arities, policy.encoding.kind)
    assert Engine.load(path).q_values(batch).tobytes() == Engine.of(policy.network).q_values(batch).tobytes()
    program = (
        f"import sys; from saltus.model.engine import Engine; Engine.load({str(path)!r}); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    path.write_bytes(b"no policy")
    with pytest.raises(PolicyError, match="not a policy file"):
        Engine.load(path)
    content = bytearray((POLICIES / "ferry.safetensors").read_bytes())
    content[-4:] = np.array([np.nan], "<f4").tobytes()
    path.write_bytes(content)
    with pytest.raises(PolicyError, match="not finite"):
        Engine.load(path)


def test_layers_of_a_call() -> None:
    network = network_of("ad")
    batch = random_batch(2, ARITIES, "ad")
    with torch.inference_mode():
        wanted = network(make_layout(batch, ARITIES), 7).q.numpy()
    assert np.allclose(engine_of(network).q_values(batch, layers=7), wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("path", sorted(POLICIES.glob("*.safetensors")), ids=lambda path: path.stem)
def test_bundled_policies_on_real_trees(path: Path, instructions: str) -> None:
    """Along rollouts: 1e-4 from the twin, and the same decision unless two Q-values are that close."""
    if not is_available(instructions):
        pytest.skip(f"this machine has no {instructions}")
    file = load_policy_file(path)
    fast = LearnedPolicy.of(file, Engine.of(file.network, instructions))
    slow = LearnedPolicy.of(file, TorchScorer(file.network))
    compared = 0
    for seed in range(2):
        rollout = play(fast, generated_task(path.stem, "validation", 9, 10, seed))
        for step in islice(run_rollout(fast, rollout), 4):
            (wanted,) = slow.values([step.tree])  # the goals in sight
            tolerance = 1e-4 * max(1, np.abs(wanted).max())
            assert np.abs(step.q - wanted).max() <= tolerance
            assert wanted[step.q.argmax()] >= wanted.max() - 2 * tolerance
            compared += len(wanted)
    assert compared > 100


def test_the_environment_names_the_instruction_set(monkeypatch: pytest.MonkeyPatch) -> None:
    network, batch = network_of("ad"), random_batch(0, ARITIES, "ad")
    monkeypatch.setenv(INSTRUCTIONS_VARIABLE, "portable")
    assert Engine.of(network).instructions == "portable"
    assert Engine.of(network).q_values(batch).tobytes() == Engine.of(network, "portable").q_values(batch).tobytes()
    assert_same(network, batch, None)
    monkeypatch.setenv(INSTRUCTIONS_VARIABLE, "mmx")
    with pytest.raises(ConfigurationError, match="SALTUS_INSTRUCTIONS=mmx: this machine has no such instruction set"):
        Engine.of(network)
    fastest = next(name for name in INSTRUCTIONS if is_available(name))
    for ordinary in ("", None):
        monkeypatch.delenv(INSTRUCTIONS_VARIABLE) if ordinary is None else monkeypatch.setenv(INSTRUCTIONS_VARIABLE, "")
        assert Engine.of(network).instructions == fastest


@pytest.mark.parametrize("threads", [1, 2])
def test_a_pass_can_be_ended(threads: int) -> None:
    """It would take days."""

    class Enough(Exception):  # noqa: N818
        pass

    def check() -> None:
        raise Enough

    batch = random_batch(0, ARITIES, "ad", atoms=3000, nodes=400)
    with pytest.raises(Enough):
        engine_of(network_of("ad")).q_values(batch, threads, layers=10**9, check=check)
    assert len(engine_of(network_of("ad")).q_values(batch, threads, check=lambda: None)) > 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("arguments", np.array([10**6], np.int32)),
        ("arguments", np.array([-1], np.int32)),
        ("argument_offset", np.array([0, 1], np.int64)),
        ("argument_offset", np.arange(len(ARITIES) + 1, dtype=np.int64)),
        ("graph_offset", np.array([0, -5], np.int32)),
        ("graph_offset", np.zeros(0, np.int32)),
        ("object_count", np.array([10**6] * 3, np.int32)),
        ("object_count", np.array([1], np.int32)),
        ("candidate_graph", np.array([3], np.int32)),
        ("candidate_node", np.array([0], np.int32)),
        ("candidate_node", np.array([[0]], np.int32)),
        ("candidate_node", np.array(["a"])),
    ],
)
def test_a_bad_batch_is_refused(field: str, value: NDArray[np.int32]) -> None:
    batch = random_batch(0, ARITIES, "ad")
    with pytest.raises(ConfigurationError, match="engine: "):
        engine_of(network_of("ad")).q_values(replace(batch, **{field: value}))  # type: ignore[arg-type]


def test_pairs_of_different_graphs_are_refused() -> None:
    batch = random_batch(0, ARITIES, "ext")
    fewer = batch.object_count.copy()
    fewer[1] -= 1
    with pytest.raises(ConfigurationError, match="different objects"):
        engine_of(network_of("ext")).q_values(replace(batch, object_count=fewer))
    with pytest.raises(ConfigurationError, match="source graph"):
        engine_of(network_of("ext")).q_values(replace(batch, source_graph=batch.source_graph + 3))


def test_bad_weights_are_refused() -> None:
    network = network_of("ad")
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    with pytest.raises(ConfigurationError, match=r"weights update\.first\.bias: expected \[16\], found \[15\]"):
        Engine(ARITIES, "ad", network.spec, {**weights, "update.first.bias": weights["update.first.bias"][1:]})
    del weights["norm.bias"]
    with pytest.raises(ConfigurationError, match=r"norm\.bias: missing"):
        Engine(ARITIES, "ad", network.spec, weights)
    with pytest.raises(ConfigurationError, match="no such instruction set"):
        engine_of(network, "mmx")


def test_spec_without_negative_layers() -> None:
    with pytest.raises(ConfigurationError, match="negative"):
        engine_of(network_of("ad")).q_values(random_batch(0, ARITIES, "ad"), layers=-1)
