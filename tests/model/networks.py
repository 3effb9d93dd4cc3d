"""Small networks, and what the tests compare of them."""

from __future__ import annotations

import torch

from saltus.model import ModelSpec, RelationalNetwork, make_layout

ARITIES = (1, 2, 2, 3, 1, 3, 2, 4, 5)


def network_of(
    encoding: str, *, seed: int = 0, arities: tuple[int, ...] = ARITIES, **fields: object
) -> RelationalNetwork:
    """A small network in float64."""
    torch.manual_seed(seed)
    spec = ModelSpec(**{"embedding": 8, "layers": 3, **fields})  # type: ignore[arg-type]
    return RelationalNetwork(arities, encoding, spec).double()


def results(network: RelationalNetwork, batch: object, *, plain: bool, device: str = "cpu") -> list[torch.Tensor]:
    """Scores and the gradients of all weights for a random weighting of the scores."""
    network.zero_grad()
    layout = make_layout(batch, network.arities).to(device)  # type: ignore[arg-type]
    scores = network(layout, plain=plain)
    generator = torch.Generator().manual_seed(1)
    weights = [torch.randn(len(part), generator=generator).to(part) for part in (scores.q, scores.depth)]
    loss = (scores.q * weights[0]).sum() + (scores.depth * weights[1]).sum()
    loss.backward()
    gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in network.parameters()]
    return [scores.q.detach(), scores.depth.detach(), *(gradient.clone() for gradient in gradients)]


def assert_close(fast: list[torch.Tensor], slow: list[torch.Tensor], tolerance: float) -> None:
    """Relative to the size of each tensor."""
    for number, (one, other) in enumerate(zip(fast, slow, strict=True)):
        error = (one - other).norm() / (other.norm() + 1e-12) if other.numel() else 0.0
        assert error < tolerance or (one - other).abs().max() < 1e-14, f"tensor {number}: {error}"
