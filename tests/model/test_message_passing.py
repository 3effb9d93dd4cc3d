"""The plain twin of message passing by hand and against differences of its values; networks of every shape."""

from __future__ import annotations

import pytest
import torch
from tests.model.networks import ARITIES, network_of, results
from tests.model.random_graphs import random_batch

from saltus.errors import ConfigurationError
from saltus.graph import ENCODINGS
from saltus.model import Layout, ModelSpec, RelationalNetwork, make_layout
from saltus.model.plain import plain_pass_messages
from saltus.model.values import SHARPNESS


def test_gradients_by_finite_differences() -> None:
    """Of the plain twin, with which the fast passes are compared."""
    network = network_of("ad", layers=2)
    layout = make_layout(random_batch(5, ARITIES, "ad"), ARITIES)
    network(layout).q.sum().backward()
    for parameter in (network.message_weights()[1].weight1, network.update.first.weight, network.norm.weight):
        assert_gradient(network, layout, parameter)


def assert_gradient(network: RelationalNetwork, layout: Layout, parameter: torch.nn.Parameter) -> None:
    """One entry of the gradient of the sum of all Q-values, against differences of the plain pass."""
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


def mish(x: torch.Tensor) -> torch.Tensor:
    return x * torch.tanh(torch.log1p(torch.exp(x)))


def test_two_hidden_layers_by_hand() -> None:
    """Two layers on a few atoms P(a, b), spelled out: three linear maps with Mish in between, everywhere."""
    network = network_of("ad", arities=(2,), layers=2, hidden_layers=2)
    layout = make_layout(random_batch(7, (2,), "ad", graphs=1, nodes=5, atoms=8), (2,))
    weights, update, size = network.message_weights()[0], network.update, network.spec.embedding

    def perceptron(x: torch.Tensor) -> torch.Tensor:
        return update.third(mish(update.second(mish(update.first(x)))))  # type: ignore[operator]

    k = SHARPNESS
    x = torch.zeros(layout.node_count, size, dtype=torch.float64)
    rows = layout.groups[0].index.tolist()
    assert rows
    for _ in range(2):
        received: list[list[torch.Tensor]] = [[] for _ in x]
        for row in rows:
            both = torch.cat([x[node] for node in row])
            hidden = mish(mish(both @ weights.weight1[0] + weights.bias1[0]) @ weights.weight2[0] + weights.bias2[0])
            message = hidden @ weights.weight3[0] + weights.bias3[0] + both
            for place, node in enumerate(row):
                received[node].append(message[place * size : (place + 1) * size])
            joined = [torch.logsumexp(k * torch.stack(m), 0) / k if m else torch.zeros(size).double() for m in received]
        change = perceptron(torch.cat([x, torch.stack(joined)], dim=1))
        spread = change.var(dim=1, keepdim=True, correction=0).add(1e-5).sqrt()
        x = x + (change - change.mean(dim=1, keepdim=True)) / spread * network.norm.weight + network.norm.bias
    found = plain_pass_messages(network, layout, 2)
    assert x.detach().abs().max() > 0.1
    assert torch.allclose(found, x, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_two_hidden_layers_learn(encoding: str) -> None:
    """Both passes are the plain one; every weight has the gradient that differences of the values say."""
    network = network_of(encoding, hidden_layers=2)
    batch = random_batch(4, ARITIES, encoding)
    for one, other in zip(results(network, batch, plain=False), results(network, batch, plain=True), strict=True):
        assert torch.equal(one, other)
    layout = make_layout(batch, ARITIES)
    network.zero_grad()
    network(layout).q.sum().backward()
    for parameter in (
        network.message_weights()[1].weight3,
        network.update.third.weight,
        network.readout.third.weight,
    ):
        assert_gradient(network, layout, parameter)


def test_networks_with_one_hidden_layer_are_as_before() -> None:
    """Names and shapes of policy files, and the weights that a seed draws."""
    names = network_of("ad").state_dict()
    assert not any("third" in name or "weight3" in name for name in names)
    assert {name.partition(".")[0] for name in names} == {"messages", "update", "norm", "objects", "readout", "depth"}
    more = network_of("ad", hidden_layers=2).state_dict()
    assert {name for name in more if "third" in name} == {
        f"{part}.third.{kind}" for part in ("update", "objects", "readout") for kind in ("weight", "bias")
    }


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_without_an_object_network_the_readout_sees_the_sum(encoding: str) -> None:
    """Only ext, whose network is for pairs of objects, keeps it."""
    network = network_of(encoding, object_network=False)
    batch = random_batch(6, ARITIES, encoding)
    assert any(name.startswith("objects.") for name in network.state_dict()) == (encoding == "ext")
    if encoding in ("ad", "aa"):
        layout = make_layout(batch, ARITIES)
        embedding = plain_pass_messages(network, layout, network.spec.layers)
        (first,) = (node for node in layout.candidate_node[:1])
        inside = layout.object_node[layout.object_graph == layout.candidate_graph[0]]
        both = torch.cat([embedding[first], embedding[inside].sum(0)])
        assert torch.allclose(network.readout(both), network(layout).q[0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "fields",
    [
        {"hidden_layers": 0},
        {"hidden_layers": 3},
        {"embedding": 0},
        {"layers": 0},
        {"precision": "float8"},
    ],
    ids=str,
)
def test_senseless_specs_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(fields))):
        ModelSpec(**fields)  # type: ignore[arg-type]


def test_a_plain_pass_can_be_stopped() -> None:
    """Before a layer, so that runs of networks without a fast pass end soon, too."""
    network = network_of("ad", hidden_layers=2)
    layout = make_layout(random_batch(3, ARITIES, "ad"), ARITIES)
    calls: list[int] = []

    def stop() -> None:
        calls.append(1)
        if len(calls) == 2:
            raise InterruptedError

    network.before_layer = stop
    with pytest.raises(InterruptedError):
        network(layout)
    assert len(calls) == 2
