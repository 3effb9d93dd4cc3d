"""The worker of the program is a fork of it; limits, crashes and clean ends are those of any worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.process.doubles import children_of, is_running, wait_until

from saltus.policy.exit_codes import ExitCode

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks only on Linux")

SALTUS = str(Path(sys.executable).with_name("saltus"))
EXAMPLES = ROOT / "examples" / "blocksworld"
BLOCKS = [str(EXAMPLES / "domain.pddl"), str(EXAMPLES / "p03.pddl")]
LARGE = [str(EXAMPLES / "domain.pddl"), str(EXAMPLES / "p100.pddl")]
ENDLESS = [SALTUS, "plan", *LARGE, "--policy", "random", "--greedy", "--time-limit"]


@contextmanager
def planning(folder: Path, limit: str = "none", **options) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A program that plans without end, and its worker once that has begun to work."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*ENDLESS, limit], cwd=folder, **pipes, **options) as process:
        try:
            wait_until(lambda: children_of(process.pid))
            (worker,) = children_of(process.pid)
            wait_until(lambda: "numpy" in Path(f"/proc/{worker}/maps").read_text())
            yield process, worker
        finally:
            process.kill()


def command_line(pid: int) -> bytes:
    """Command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_the_worker_is_a_fork_in_a_session_of_its_own_with_nothing_open_but_its_pipes(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with planning(tmp_path, pass_fds=(writer,)) as (process, worker):
        assert command_line(worker) == command_line(process.pid)
        assert os.getsid(worker) == os.getpgid(worker) == worker
        foreign = os.readlink(f"/proc/self/fd/{writer}")
        assert foreign in (
            os.readlink(f"/proc/{process.pid}/fd/{name}") for name in os.listdir(f"/proc/{process.pid}/fd")
        )
        held = {int(name): os.readlink(f"/proc/{worker}/fd/{name}") for name in os.listdir(f"/proc/{worker}/fd")}
        assert foreign not in held.values()
        assert held[1] == os.devnull
        assert len([name for name in held.values() if name.startswith("pipe:")]) == 3
        assert len(os.listdir(f"/proc/{process.pid}/task")) == 1
    os.close(reader)
    os.close(writer)
    wait_until(lambda: not is_running(worker), 5)


def test_a_crash_of_the_fork_is_reported(tmp_path: Path) -> None:
    with planning(tmp_path) as (process, worker):
        os.kill(worker, signal.SIGSEGV)
        output, errors = process.communicate(timeout=20)
    assert (process.returncode, output) == (ExitCode.CRITICAL_ERROR, "")
    assert errors == "saltus: error: crash: killed by SIGSEGV\n"


def test_a_fork_that_does_nothing_any_more_is_killed_at_the_time_limit(tmp_path: Path) -> None:
    with planning(tmp_path, "4") as (process, worker):
        os.kill(worker, signal.SIGSTOP)
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (ExitCode.OUT_OF_TIME, "")
    assert output.startswith("no plan: time limit; ")
    assert not is_running(worker)


def test_the_memory_limit_holds_for_the_fork(tmp_path: Path) -> None:
    done = subprocess.run(
        [SALTUS, "plan", *BLOCKS, "--policy", "goal-count", "--memory-limit", "8"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (ExitCode.OUT_OF_MEMORY, "")
    assert done.stdout.startswith("no plan: memory limit")
    assert list(tmp_path.iterdir()) == []


FAULT = """
import sys
sys.argv[:1] = ["saltus"]
import saltus.cli.fork
def fault(): raise {}
saltus.cli.fork.run_worker = fault
from saltus.cli.main import main
main()
"""


@pytest.mark.parametrize("error", ["RuntimeError('planted')", "SystemExit('planted')", "KeyboardInterrupt('planted')"])
def test_an_error_in_the_fork_ends_the_fork(error: str, tmp_path: Path) -> None:
    """And nothing of the parent's code runs twice."""
    done = subprocess.run(
        [sys.executable, "-c", FAULT.format(error), "plan", *BLOCKS, "--policy", "goal-count"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (ExitCode.CRITICAL_ERROR, "")
    name = error.partition("(")[0]
    assert done.stderr == f"saltus: error: crash: exit code 1 without a result: {name}: planted\n"


CAN_FORK = """
import sys, threading, time
from saltus.cli.fork import can_fork
print(can_fork())
sys.argv[0] = "/usr/bin/saltus"
print(can_fork())
end = threading.Event()
thread = threading.Thread(target=end.wait)
thread.start()
print(can_fork())
end.set()
thread.join()
for _ in range(1000):  # the system may list a thread for a moment after its end
    if can_fork():
        break
    time.sleep(0.01)
print(can_fork())
sys.stdin = None
print(can_fork())
"""


def test_only_the_program_itself_forks_and_only_with_one_thread() -> None:
    done = subprocess.run([sys.executable, "-c", CAN_FORK], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "False", "True", "False"]


def test_closed_standard_streams(tmp_path: Path) -> None:
    """There, the worker is a fresh interpreter."""
    arguments = ["plan", *BLOCKS, "--policy", "goal-count"]
    for closed in ("<&-", "2>&-", "<&- 2>&-"):
        script = f'exec "$@" {closed}'
        done = subprocess.run(
            ["sh", "-c", script, "sh", SALTUS, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout.splitlines()[0].split(":")[0]) == (0, "plan found (greedy)")
