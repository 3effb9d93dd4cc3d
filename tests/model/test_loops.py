"""The network's loops for other machines than this one: cross-compiled, emulated, compared with the portable ones."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.conftest import ROOT

pytestmark = pytest.mark.kernel

SOURCES = ("network", "network_equal_rows", "network_loops", "network_pass", "network_portable", "network_weights")
COMMON = ("interrupt", "keys")


def test_neon_equals_portable(tmp_path: Path) -> None:
    """Whole passes of random networks; 1e-5 of the largest Q-value, as against PyTorch."""
    compiler, emulator = shutil.which("aarch64-linux-gnu-g++"), shutil.which("qemu-aarch64")
    if compiler is None or emulator is None:
        pytest.skip("needs aarch64-linux-gnu-g++ and qemu-aarch64 (Debian: g++-aarch64-linux-gnu, qemu-user)")
    files = [ROOT / "kernel" / f"{name}.cpp" for name in (*SOURCES, "network_neon", *COMMON)]
    flags = ["-std=c++20", "-O2", "-static", "-pthread", "-Wno-psabi", "-DSALTUS_NEON_LOOPS", f"-I{ROOT / 'kernel'}"]
    program = tmp_path / "compare_loops"
    command = [compiler, *flags, *map(str, files), str(ROOT / "tests/model/compare_loops.cpp"), "-o", str(program)]
    subprocess.run(command, check=True)
    done = subprocess.run([emulator, str(program), "neon"], capture_output=True, text=True, check=True)
    assert 0 < float(done.stdout) <= 1e-5
