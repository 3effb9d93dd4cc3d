"""Measurements that several benchmarks share: best time, and memory of this process (Linux)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

MEGABYTE = 1e6


def best_time(
    call: Callable[[], object],
    repeats: int,
    budget: float = math.inf,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """The best of several timings, in seconds of a clock; stops repeating once `budget` seconds are spent."""
    best, spent = math.inf, 0.0
    for _ in range(repeats):
        start = clock()
        call()
        seconds = clock() - start
        best, spent = min(best, seconds), spent + seconds
        if spent > budget:
            break
    return best


def memory(key: str = "VmHWM") -> int:
    """Bytes of resident memory of this process: at its peak since the last reset, or now (`VmRSS`)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {key} in /proc/self/status")


def reset_peak_memory() -> None:
    """Sets the peak to the memory in use now, so that imports do not count."""
    Path("/proc/self/clear_refs").write_text("5")
