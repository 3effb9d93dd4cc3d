"""Processes that stand in for the worker, and how to see which processes there are."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

PRELUDE = """
import json, os, sys, time, signal, subprocess
assignment = json.loads(sys.stdin.buffer.readline())
def send(event, **values):
    text = json.dumps({"event": event, **values}).encode() + b"\\n"
    while text:
        text = text[os.write(assignment["channel"], text):]
"""


PROGRAM = (sys.executable, "-c", "from saltus.cli.main import main; main()")
"""Command of `saltus`, to be started as a process of its own."""


def double(code: str) -> list[str]:
    """Command of a process that is told a job and does something else."""
    return [sys.executable, "-c", PRELUDE + code]


INVALID = [
    sys.executable,
    "-c",
    """
import saltus.policy.planning
from saltus.task import Plan
saltus.policy.planning.plan_of = lambda task, actions: Plan((("pickup", "a"),))  # the planted fault
from saltus.process.worker import run_worker
run_worker()
""",
]
"""The real worker, with a planner that makes a wrong plan of every jump."""


def is_running(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def children_of(pid: int) -> list[int]:
    """Processes that any thread of a process has started."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                found.append(int(entry.name))
    return found


def wait_until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Returns once the condition holds; fails the test if that takes too long."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def descriptors() -> set[str]:
    """Open files of this process."""
    return set(os.listdir("/proc/self/fd"))
