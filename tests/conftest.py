"""Shared by all tests: a sanitized kernel where one is asked for, the IPC data, small tasks."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the program does, before PyTorch is imported

import pytest
from hypothesis import HealthCheck, settings


def _use_kernel(path: str) -> None:
    """Puts another build of the kernel (sanitizers) in the place of the installed one, before anything imports it."""
    spec = importlib.util.spec_from_file_location("saltus._kernel", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["saltus._kernel"] = module
    spec.loader.exec_module(module)


if "SALTUS_TEST_KERNEL" in os.environ:
    _use_kernel(os.environ["SALTUS_TEST_KERNEL"])

# A shell's background jobs ignore SIGINT, and so would every program that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "saltus", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("saltus")


IS_SANITIZED = "SALTUS_TEST_KERNEL" in os.environ
"""Whether the kernel has sanitizers, which make it several times slower."""


def examples(count: int) -> int:
    """Examples of a property test: all of them with the kernel as it is, a sixth with a sanitized one.

    What the kernel gives is compared with its twin in the first run; the second one looks for faults of memory.
    """
    return max(5, count // 6) if IS_SANITIZED else count


ROOT = Path(__file__).resolve().parent.parent
IPC_DOMAINS = (
    "blocksworld",
    "childsnack",
    "ferry",
    "floortile",
    "miconic",
    "rovers",
    "satellite",
    "sokoban",
    "spanner",
    "transport",
)[:: 3 if IS_SANITIZED else 1]
"""Domains of the learning track, or the first, fourth, seventh and tenth of them."""


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def ipc() -> Path:
    """Folder of the IPC 2023 Learning Track problems; tests that need it skip where SALTUS_IPC2023 is not set."""
    folder = os.environ.get("SALTUS_IPC2023")
    if not folder or not Path(folder).is_dir():
        pytest.skip("SALTUS_IPC2023 does not name the folder of the IPC 2023 Learning Track problems")
    return Path(folder)
