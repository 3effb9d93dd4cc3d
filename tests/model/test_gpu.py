"""The GPU's fused passes against the plain twin in double precision; skipped where there is no GPU."""

from __future__ import annotations

import pytest
import torch
from tests.model.networks import assert_close, network_of, results
from tests.model.random_graphs import random_batch

from saltus.graph import ENCODINGS
from saltus.model import make_layout
from saltus.model.recorded_pass import recorded_pass

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")

FUSED = (1, 2, 2, 3, 1, 3, 2, 4)
MIXED = (*FUSED, 5)


@pytest.mark.parametrize("arities", [FUSED, MIXED], ids=["fused", "mixed"])
@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_gpu_equals_plain(encoding: str, arities: tuple[int, ...]) -> None:
    """Float32 on the GPU against float64 of the plain twin on the CPU: 1e-4 for values and all gradients. Networks with
    relations of five arguments use the plain twin there, too."""
    for seed, atoms in ((0, 200), (1, 30), (2, 2)):
        network = network_of(encoding, seed=seed, arities=arities, embedding=32)
        batch = random_batch(seed, arities, encoding, atoms=atoms)
        wanted = results(network, batch, plain=True)
        found = results(network.float().cuda(), batch, plain=False, device="cuda")
        assert_close([part.double().cpu() for part in found], wanted, 1e-4)


@pytest.mark.parametrize(("precision", "tolerance"), [("tf32", 1e-2), ("bf16", 6e-2)])
def test_gpu_in_lower_precisions(precision: str, tolerance: float) -> None:
    """Values close to those of the plain twin, and not the same as in float32: the products are the ones asked for."""
    network = network_of("ad", arities=FUSED, embedding=32, precision=precision)
    batch = random_batch(7, FUSED, "ad", atoms=200)
    wanted = results(network, batch, plain=True)
    found = [part.double().cpu() for part in results(network.float().cuda(), batch, plain=False, device="cuda")]
    assert_close(found[:2], wanted[:2], tolerance)
    full = network_of("ad", arities=FUSED, embedding=32).float().cuda()
    assert not torch.equal(results(full, batch, plain=False, device="cuda")[0].double().cpu(), found[0])


def test_gpu_is_deterministic() -> None:
    """No atomics: the same batch gives the same bits."""
    network = network_of("ad", arities=FUSED, embedding=32).float().cuda()
    batch = random_batch(4, FUSED, "ad", atoms=300, nodes=40)
    first = results(network, batch, plain=False, device="cuda")
    second = results(network, batch, plain=False, device="cuda")
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


def test_gpu_inference_equals_training() -> None:
    network = network_of("ad", arities=FUSED, embedding=32).float().cuda()
    layout = make_layout(random_batch(5, FUSED, "ad", atoms=100), FUSED).to("cuda")
    wanted = network(layout).q.detach()
    with torch.inference_mode():
        assert torch.equal(network(layout).q, wanted)


@pytest.mark.parametrize("fields", [{"hidden_layers": 2}, {"object_network": False}], ids=str)
def test_gpu_with_the_papers_networks(fields: dict[str, object]) -> None:
    """Two hidden layers use the plain pass and nothing is recorded; without an object network all is as usual."""
    network = network_of("ad", arities=FUSED, embedding=32, **fields)
    batch = random_batch(6, FUSED, "ad", atoms=100)
    wanted = results(network, batch, plain=True)
    on_gpu = network.float().cuda()
    found = results(on_gpu, batch, plain=False, device="cuda")
    assert_close([part.double().cpu() for part in found], wanted, 1e-4)
    assert (recorded_pass(on_gpu, True) is None) == ("hidden_layers" in fields)
