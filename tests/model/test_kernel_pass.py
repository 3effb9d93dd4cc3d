"""Message passing in the kernel against its twin: values and all gradients."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples
from tests.learn.test_trainer import small_tasks
from tests.model.networks import ARITIES, assert_close, network_of, results
from tests.model.random_graphs import RandomBatch, random_batch

from saltus import _kernel
from saltus.graph import ENCODINGS
from saltus.learn.config import load_configuration
from saltus.learn.trainer import EpisodeReport, Trainer
from saltus.model import RelationalNetwork, kernel_pass, make_layout
from saltus.model.kernel_pass import KernelPass, is_trained_by_kernel
from saltus.model.message_passing import message_passing_weights

pytestmark = pytest.mark.kernel


def is_available(instructions: str) -> bool:
    try:
        _kernel.TrainingPass(instructions)
    except ValueError:
        return False
    return True


@pytest.fixture(params=["portable", "avx2", "avx512", "neon"])
def instructions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Every instruction set that the machine has."""
    if not is_available(request.param):
        pytest.skip(f"this machine has no {request.param}")
    monkeypatch.setattr(kernel_pass, "INSTRUCTIONS", request.param)
    kernel_pass._FREE.clear()
    yield request.param
    kernel_pass._FREE.clear()


def trained(network: RelationalNetwork) -> RelationalNetwork:
    """The network in float32, with messages passed by the kernel."""
    found = copy.deepcopy(network).float()
    found.trained_by_kernel = True
    layout = make_layout(random_batch(0, network.arities, network.encoding), network.arities)
    assert is_trained_by_kernel(found, layout, message_passing_weights(found))
    return found


def assert_same(network: RelationalNetwork, batch: RandomBatch, tolerance: float = 1e-4) -> None:
    """Against the plain twin in float64."""
    found = [part.double() for part in results(trained(network), batch, plain=False)]
    assert_close(found, results(network, batch, plain=True), tolerance)


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_kernel_equals_twin(encoding: str, instructions: str) -> None:
    for seed, size in enumerate((16, 32, 48)):
        network = network_of(encoding, seed=seed, embedding=size)
        assert_same(network, random_batch(seed, ARITIES, encoding))


@given(st.integers(0, 10**6), st.sampled_from(sorted(ENCODINGS)))
@settings(max_examples=examples(25), deadline=None)
def test_kernel_equals_twin_on_many_batches(seed: int, encoding: str) -> None:
    """Few atoms and small graphs: silent nodes, one-node graphs, relations without atoms."""
    network = network_of(encoding, seed=seed, embedding=16, layers=1 + seed % 3)
    assert_same(network, random_batch(seed, ARITIES, encoding, graphs=2, atoms=3, nodes=3))


def test_many_atoms(instructions: str) -> None:
    """Several tiles and chunks of atoms and of nodes, the last ones not full."""
    network = network_of("ad", embedding=16, layers=2, arities=(1, 2, 3))
    assert_same(network, random_batch(3, (1, 2, 3), "ad", graphs=5, atoms=450, nodes=220))


def test_large_messages_do_not_overflow() -> None:
    network = network_of("ad", embedding=16)
    with torch.no_grad():
        for part in network.message_weights():
            part.bias2.mul_(300.0)
    assert_same(network, random_batch(5, ARITIES, "ad"))


def test_the_number_of_threads_changes_nothing() -> None:
    network = trained(network_of("ad", embedding=32, layers=2, arities=(2, 3)))
    batch = random_batch(1, (2, 3), "ad", graphs=4, atoms=2500, nodes=150)
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            layout = make_layout(batch, network.arities)
            assert layout.slot_count > 2**14
            passed = KernelPass(network, layout, message_passing_weights(network), keep=True)
            x = passed.run(2)
            found.append([x, *passed.gradients(torch.linspace(-1, 1, x.numel()).view_as(x))])
    finally:
        torch.set_num_threads(before)
    for others in found[1:]:
        assert all(torch.equal(one, other) for one, other in zip(found[0], others, strict=True))


def test_memory_is_reused() -> None:
    """What larger batches, other networks and passes without gradients left does not matter."""
    one, other = (trained(network_of("ad", embedding=size, seed=size)) for size in (16, 32))
    batches = [random_batch(seed, ARITIES, "ad", atoms=atoms) for seed, atoms in enumerate((5, 60, 5))]
    expected = [results(network, batch, plain=False) for network in (one, other) for batch in batches]
    with torch.no_grad():
        other(make_layout(batches[1], ARITIES))
    found = [results(network, batch, plain=False) for network in (one, other) for batch in batches]
    for values, others in zip(expected, found, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(values, others, strict=True))


def test_two_passes_at_a_time() -> None:
    """Gradients of two batches, both passed before the first gradient is taken."""
    network = trained(network_of("ad", embedding=16))
    layouts = [make_layout(random_batch(seed, ARITIES, "ad"), ARITIES) for seed in (1, 2)]
    sum(network(layout).q.sum() for layout in layouts).backward()
    together = [p.grad.clone() for p in network.parameters() if p.grad is not None]
    network.zero_grad()
    for layout in layouts:
        network(layout).q.sum().backward()
    apart = [p.grad for p in network.parameters() if p.grad is not None]
    assert_close(together, apart, 1e-5)


def test_without_gradient_nothing_changes() -> None:
    network = trained(network_of("ad", embedding=16))
    layout = make_layout(random_batch(3, ARITIES, "ad"), ARITIES)
    with torch.no_grad():
        values = network(layout).q
    assert torch.equal(network(layout).q.detach(), values)


def test_other_networks_are_left_to_the_twin() -> None:
    layout = make_layout(random_batch(0, ARITIES, "ad"), ARITIES)
    cases = [network_of("ad", embedding=8).float(), network_of("ad", embedding=16)]
    cases += [network_of("ad", embedding=16, hidden_layers=2).float(), network_of("ad", embedding=16).float()]
    for network in cases[:3]:
        network.trained_by_kernel = True
    for network in cases:
        assert not is_trained_by_kernel(network, layout, message_passing_weights(network))
        assert torch.equal(network(layout).q, network(layout, plain=True).q)


class StoppedError(Exception):
    """Raised by a hook of the tests."""


@pytest.mark.parametrize("calls", [1, 5])
def test_a_pass_can_be_stopped(calls: int) -> None:
    """Before a layer, forward or backward; the next pass is not disturbed."""
    network = trained(network_of("ad", embedding=16, layers=3))
    layout = make_layout(random_batch(3, ARITIES, "ad"), ARITIES)
    wanted = network(layout).q.detach()
    seen = []

    def stop() -> None:
        seen.append(1)
        if len(seen) == calls:
            raise StoppedError

    network.before_layer = stop
    with pytest.raises(StoppedError):
        network(layout).q.sum().backward()
    network.before_layer = None
    assert torch.equal(network(layout).q.detach(), wanted)


def test_what_does_not_fit_is_refused() -> None:
    """An error, and no crash."""
    network = trained(network_of("ad", embedding=16))
    layout = make_layout(random_batch(3, ARITIES, "ad"), ARITIES)
    weights = [weight.detach().numpy() for weight in message_passing_weights(network)]
    groups = [(group.index.numpy(), np.array(group.row_offset, np.int64)) for group in layout.groups]
    nodes = layout.node_count
    good = [nodes, 16, 12.0, groups, weights, True, 1]
    for place, value in (
        (0, 1),
        (0, -1),
        (1, 8),
        (1, 32),
        (3, [(index, offset + 1) for index, offset in groups]),
        (3, [(index, offset[::-1].copy()) for index, offset in groups]),
        (3, [(index, offset[:0]) for index, offset in groups]),
        (3, groups[:-1]),
        (4, weights[:-1]),
        (4, weights[::-1]),
    ):
        tried = _kernel.TrainingPass("")
        arguments = list(good)
        arguments[place] = value
        with pytest.raises(ValueError, match="training"):
            tried.begin(*arguments)
        with pytest.raises(ValueError, match="training"):
            tried.forward()
    with pytest.raises((RuntimeError, TypeError)):
        _kernel.TrainingPass("").begin(*good[:4], [weight.astype(np.float64) for weight in weights], True, 1)
    passed = _kernel.TrainingPass("")
    passed.begin(*good)
    passed.forward()
    for call in (
        lambda: passed.read(np.empty((nodes + 1, 16), np.float32)),
        lambda: passed.begin_backward(np.empty((nodes + 1, 16), np.float32)),
        passed.backward,
        lambda: passed.add_gradients(weights),
    ):
        with pytest.raises(ValueError, match="training"):
            call()
    passed.begin_backward(np.ones((nodes, 16), np.float32))
    passed.backward()
    for call in (passed.backward, lambda: passed.add_gradients(weights[:-1])):
        with pytest.raises(ValueError, match="training"):
            call()
    with pytest.raises(ValueError, match="training"):
        passed.forward()
    passed.begin(*good)  # what an unfinished pass left does not count
    passed.forward()
    for call in (passed.backward, lambda: passed.add_gradients(weights)):
        with pytest.raises(ValueError, match="training"):
            call()
    with pytest.raises(ValueError, match="instruction"):
        _kernel.TrainingPass("sse9")


def test_weights_are_held_until_the_end() -> None:
    """The caller's list may change, and arrays that nobody else knows must not be freed."""
    network = trained(network_of("ad", embedding=16))
    layout = make_layout(random_batch(3, ARITIES, "ad"), ARITIES)
    groups = [(group.index.numpy(), np.array(group.row_offset, np.int64)) for group in layout.groups]
    found = []
    for clears in (False, True):
        weights = [weight.detach().numpy().copy() for weight in message_passing_weights(network)]
        passed, values = _kernel.TrainingPass(""), np.empty((layout.node_count, 16), np.float32)
        passed.begin(layout.node_count, 16, 12.0, groups, weights, True, 1)
        if clears:
            weights.clear()
        passed.forward()
        passed.read(values)
        found.append(values)
    assert np.array_equal(*found)


def test_large_memory_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    network = trained(network_of("ad", embedding=16))
    layout = make_layout(random_batch(3, ARITIES, "ad"), ARITIES)
    kernel_pass._FREE.clear()
    network(layout).q.sum().backward()
    assert [entry.bytes > 0 for entry in kernel_pass._FREE] == [True]
    monkeypatch.setattr(kernel_pass, "MOST_BYTES", kernel_pass._FREE[0].bytes - 1)
    network(layout).q.sum().backward()
    assert kernel_pass._FREE == []


def test_training_uses_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs with the kernel and with its twin go the same way as long as rounding does not tell them apart."""
    tasks = small_tasks("blocksworld", 3)
    configuration = load_configuration("tiny", ["embedding=16", "episodes=2", "steps=2", "batch=6", "layers=3"])
    made: list[KernelPass] = []
    start = KernelPass.__init__

    def noted(self: KernelPass, *arguments: object, **options: object) -> None:
        made.append(self)
        start(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(KernelPass, "__init__", noted)
    losses = []
    for uses_kernel in (True, False):
        trainer = Trainer(configuration, tasks, seed=0)
        trainer.learner.network.trained_by_kernel = uses_kernel
        losses.append([event.loss for event in trainer.train() if isinstance(event, EpisodeReport)])
    assert len(made) == 2 * 2 * 2  # episodes, steps, a pass with gradients and one without
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
