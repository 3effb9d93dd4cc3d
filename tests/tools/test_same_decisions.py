"""`benchmarks/same_decisions.py` on a sample: the engine decides as PyTorch does on validation problems."""

from __future__ import annotations

from types import ModuleType

import pytest
from tests.scripts import script

from saltus.policy.catalogue import bundled_policies

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    """The script as a module."""
    return script("benchmarks/same_decisions.py")


@pytest.mark.parametrize("name", sorted(bundled_policies()))
def test_same_decisions_on_a_validation_problem(name: str, benchmark: ModuleType) -> None:
    count = benchmark.compare(name, problems=1, every=4, max_jumps=12)
    assert count.decisions > 0
    assert count.different == 0
    assert count.difference <= 1e-4
