"""The kernels for GPUs, run by Triton's interpreter on the CPU, against the plain twin; skipped without Triton."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed"),
    pytest.mark.skipif(
        np.lib.NumpyVersion(np.__version__) >= "2.4.0", reason="Triton's interpreter does not work with this NumPy"
    ),
]

PROGRAM = """
import torch
import saltus.model.message_passing as message_passing
from saltus.model.cuda import CudaPass
from saltus.model import make_layout
from tests.model.networks import assert_close, network_of, results
from tests.model.random_graphs import random_batch

made = []

def make(*arguments):
    made.append(CudaPass(*arguments))
    return made[-1]

message_passing.fast_pass = lambda *arguments: make
arities = (1, 2, 2, 3, 4)
network = network_of("ad", arities=arities, embedding=16, layers=3)
batch = random_batch(3, arities, "ad", atoms=20)
wanted = results(network, batch, plain=True)
found = results(network.float(), batch, plain=False)
assert_close([part.double() for part in found], wanted, 1e-4)
layout = make_layout(batch, arities)
with torch.inference_mode():
    assert torch.equal(network(layout).q, found[0])
assert [passed.keep for passed in made] == [True, False]
print("equal")
"""


def test_kernels_equal_plain_when_interpreted() -> None:
    """Values and all gradients, three layers, so that memory is used again. A process of its own: the interpreter is
    chosen when Triton is imported."""
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "equal"
