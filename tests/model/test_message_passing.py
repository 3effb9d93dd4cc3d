"""The fast passes against the plain twin: values and all gradients, for every encoding and aggregation."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.networks import ARITIES, assert_close, network_of, results
from tests.model.random_graphs import random_batch

from saltus.errors import ConfigurationError
from saltus.graph import ENCODINGS
from saltus.model import AGGREGATIONS, ModelSpec, make_layout, message_passing


@pytest.mark.kernel
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_fast_equals_plain(encoding: str, aggregation: str) -> None:
    """Forward and all gradients, 1e-10 in float64: the two differ only in the order of sums."""
    for seed in range(4):
        network = network_of(encoding, aggregation, seed=seed)
        batch = random_batch(seed, ARITIES, encoding)
        assert_close(results(network, batch, plain=False), results(network, batch, plain=True), 1e-10)


@given(st.integers(0, 10**6), st.sampled_from(sorted(ENCODINGS)), st.sampled_from(AGGREGATIONS))
@settings(max_examples=25)
def test_fast_equals_plain_on_many_batches(seed: int, encoding: str, aggregation: str) -> None:
    """Few atoms and small graphs: silent nodes, one-node graphs, relations without atoms."""
    network = network_of(encoding, aggregation, seed=seed, norm=bool(seed % 2))
    batch = random_batch(seed, ARITIES, encoding, graphs=2, atoms=3, nodes=3)
    assert_close(results(network, batch, plain=False), results(network, batch, plain=True), 1e-9)


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_without_gradient_nothing_changes(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inference gives the training pass's values, in chunks too."""
    network = network_of(encoding)
    layout = make_layout(random_batch(3, ARITIES, encoding), ARITIES)
    wanted = network(layout).q.detach()
    with torch.inference_mode():
        assert torch.allclose(network(layout).q, wanted, rtol=1e-12, atol=1e-12)
        monkeypatch.setattr(message_passing, "CHUNK_ROWS", 3)
        assert torch.allclose(network(layout).q, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.kernel
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_shared_first_layers_change_nothing(aggregation: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inference of relations with many atoms a node, against the plain twin; all relations, and chunks."""
    before = torch.get_num_threads()
    monkeypatch.setattr(message_passing, "SHARED", 0)
    monkeypatch.setattr(message_passing, "CACHED_ROWS", 3)
    try:
        torch.set_num_threads(threads)
        for seed in range(4):
            network = network_of("ad", aggregation, seed=seed)
            layout = make_layout(random_batch(seed, ARITIES, "ad"), ARITIES)
            with torch.inference_mode():
                wanted = network(layout, plain=True).q
                assert torch.allclose(network(layout).q, wanted, rtol=1e-10, atol=1e-10)
    finally:
        torch.set_num_threads(before)


def test_gradients_by_finite_differences() -> None:
    """The plain twin itself is checked against differences of its values."""
    network = network_of("ad", layers=2)
    layout = make_layout(random_batch(5, ARITIES, "ad"), ARITIES)
    network(layout).q.sum().backward()
    for parameter in (network.message_weights()[1].weight1, network.update.first.weight, network.norm.weight):
        with torch.no_grad():
            place = tuple(size // 2 for size in parameter.shape)
            step = 1e-6
            parameter[place] += step
            above = network(layout, plain=True).q.sum()
            parameter[place] -= 2 * step
            below = network(layout, plain=True).q.sum()
            parameter[place] += step
        assert parameter.grad is not None
        assert float(parameter.grad[place]) == pytest.approx(float((above - below) / (2 * step)), rel=1e-4, abs=1e-7)


def test_number_of_layers_can_be_asked_for() -> None:
    network = network_of("ad", layers=2)
    layout = make_layout(random_batch(1, ARITIES, "ad"), ARITIES)
    same = network(layout, 2).q
    assert torch.equal(network(layout).q, same)
    assert not torch.allclose(network(layout, 5).q, same)


def test_float32_is_close() -> None:
    """Single precision loses five digits at most over thirty layers."""
    network = network_of("ad", layers=30)
    batch = random_batch(2, ARITIES, "ad")
    wanted = network(make_layout(batch, ARITIES)).q
    found = network.float()(make_layout(batch, ARITIES)).q.double()
    assert ((found - wanted).norm() / wanted.norm()) < 1e-4


@pytest.mark.parametrize(
    "fields", [{"embedding": 0}, {"layers": 0}, {"aggregation": "median"}, {"sharpness": 0.0}], ids=str
)
def test_senseless_specs_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(fields))):
        ModelSpec(**fields)  # type: ignore[arg-type]
