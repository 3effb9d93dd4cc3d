"""Stage `process`: cores, and limits that a process sets for itself. Hard limits are the supervisor's."""

from __future__ import annotations

import os
import resource
from contextlib import suppress

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def thread_variables(threads: int | None) -> dict[str, str]:
    """Environment variables that limit the threads of libraries; they must be set before the libraries are loaded."""
    return {} if threads is None else dict.fromkeys(THREAD_VARIABLES, str(threads))


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit_memory(megabytes: float) -> None:
    """Makes the system refuse memory well beyond the limit, so that one huge request fails where it is made."""
    # beyond 1.05 of the limit the system refuses memory; the supervisor kills at the limit itself
    most = int(megabytes * 1.05 * 2**20)
    with suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (most if hard < 0 else min(most, hard), hard))
