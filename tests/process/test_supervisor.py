"""One process under hard limits: whatever it does, it is gone in time, and its group with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from tests.process.doubles import descriptors, double, is_running, wait_until

from saltus.policy import Limits, Outcome
from saltus.process.supervisor import Ended, Message, Stop, resident_memory, supervise

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def run(code: str, limits: Limits | None = None, **options) -> tuple[Ended, list[Message]]:
    """How a double ended, and its messages."""
    messages: list[Message] = []

    def receive(message: Message) -> bool:
        messages.append(message)
        return message["event"] == "end"

    before = descriptors()
    ended = supervise(double(code), {"greeting": "hello"}, limits or Limits(), receive, **options)
    assert descriptors() == before
    return ended, messages


def test_messages_and_end() -> None:
    ended, messages = run("send('say', text=assignment['greeting'], ppid=os.getppid(), parent=assignment['parent'])")
    assert messages == [{"event": "say", "text": "hello", "ppid": os.getpid(), "parent": os.getpid()}]
    assert (ended.code, ended.kill, ended.last_stderr) == (0, None, "")
    assert ended.peak_memory_mb > 1


def test_a_process_that_is_through_is_not_waited_for() -> None:
    ended, messages = run("send('end'); time.sleep(60)")
    assert [message["event"] for message in messages] == ["end"]
    assert ended.kill is None
    assert ended.seconds < 10


def test_long_messages_and_half_ones() -> None:
    _, messages = run("send('long', text='x' * 3_000_000); os.write(assignment['channel'], b'{\"event\": \"ha')")
    assert [len(message["text"]) for message in messages] == [3_000_000]


def test_exit_codes_signals_and_standard_error() -> None:
    ended, _ = run("sys.stderr.write('x' * 100_000 + '\\nlast words\\n'); sys.exit(7)")
    assert (ended.code, ended.kill) == (7, None)
    assert ended.last_stderr.endswith("last words")
    assert len(ended.last_stderr) < 5000
    ended, _ = run("os.kill(os.getpid(), signal.SIGSEGV)")
    assert (ended.code, ended.kill) == (-signal.SIGSEGV, None)


@pytest.mark.parametrize(
    "busy",
    [
        "while True: pass",
        "time.sleep(60)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)",
        "10 ** (10 ** 9)",  # one instruction of the interpreter, which nothing in it can interrupt
    ],
    ids=["busy", "asleep", "deaf", "one instruction"],
)
def test_time_limit(busy: str) -> None:
    ended, _ = run(busy, Limits(seconds=0.5))
    assert (ended.kill, ended.code) == (Outcome.TIME, -signal.SIGKILL)
    assert 0.5 <= ended.seconds < 2.5


def test_time_counts_from_where_it_is_told_to() -> None:
    ended, _ = run("time.sleep(60)", Limits(seconds=30), started=time.monotonic() - 29.8)
    assert ended.kill is Outcome.TIME
    assert 30 <= ended.seconds < 32


def test_memory_limit() -> None:
    """A process that fills memory as fast as it can is stopped within a tenth of the limit."""
    ended, _ = run("kept = [bytearray(b'x') * 5_000_000 for _ in range(10**6)]", Limits(seconds=30, memory_mb=1000))
    assert (ended.kill, ended.code) == (Outcome.MEMORY, -signal.SIGKILL)
    assert 1000 <= ended.peak_memory_mb < 1100


def test_memory_of_descendants_counts() -> None:
    grandchild = "kept = b'x' * 200_000_000; import time; time.sleep(60)"
    ended, _ = run(f"subprocess.run([sys.executable, '-c', {grandchild!r}])", Limits(seconds=30, memory_mb=150))
    assert ended.kill is Outcome.MEMORY


def test_reserved_memory_does_not_count() -> None:
    code = "import mmap; kept = mmap.mmap(-1, 2 << 30); time.sleep(0.3); send('end')"
    ended, messages = run(code, Limits(seconds=30, memory_mb=200))
    assert (ended.kill, len(messages)) == (None, 1)
    assert ended.peak_memory_mb < 200


def test_stop() -> None:
    stop = Stop()
    stopper = threading.Timer(0.3, stop.ask)
    stopper.start()
    ended, _ = run("time.sleep(60)", stop=stop)
    stopper.join()
    assert ended.kill is Outcome.INTERRUPTED
    assert ended.seconds < 10


SAVE = """
signal.signal(signal.SIGTERM, lambda number, frame: (send("saved"), sys.exit(3)))
send("ready")
time.sleep(60)
"""

DEAF = """
signal.signal(signal.SIGTERM, lambda number, frame: send("heard"))
send("ready")
while True: time.sleep(60)
"""


@pytest.mark.parametrize(("code", "last"), [(SAVE, "saved"), (DEAF, "heard")], ids=["save", "deaf"])
def test_a_gentle_stop_is_a_signal_and_only_force_kills(code: str, last: str) -> None:
    stop = Stop()
    messages: list[str] = []

    def receive(message: Message) -> bool:
        messages.append(message["event"])
        if message["event"] == "ready":
            stop.ask()
        if message["event"] == "heard":
            stop.force()
        return False

    ended = supervise(double(code), {}, Limits(), receive, stop=stop, gently=True)
    assert messages == ["ready", last]
    assert (ended.code, ended.kill) == ((3, None) if last == "saved" else (-signal.SIGKILL, Outcome.INTERRUPTED))


def test_the_whole_group_is_killed_however_the_process_ends() -> None:
    spawn = "child = subprocess.Popen(['sleep', '60']); send('child', pid=child.pid);"
    for code in ("send('end')", "os.abort()", "os._exit(0)", "time.sleep(60)"):
        _, messages = run(spawn + code, Limits(seconds=1))
        wait_until(lambda pid=messages[0]["pid"]: not is_running(pid), 5)


def test_an_error_in_the_receiver_kills_the_process() -> None:
    seen: list[int] = []

    def receive(message: Message) -> bool:
        seen.append(message["pid"])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        supervise(double("send('me', pid=os.getpid()); time.sleep(60)"), {}, Limits(), receive)
    assert not is_running(seen[0])


def test_a_command_that_cannot_be_run_leaves_nothing_open() -> None:
    before = descriptors()
    with pytest.raises(FileNotFoundError):
        supervise(["/nowhere/program"], {}, Limits(), lambda _: True)
    assert descriptors() == before


def test_resident_memory_of_what_is_gone() -> None:
    assert resident_memory(2**22 + 1) == 0


ORPHANS = """
import sys
from saltus.process.worker import end_with_parent
import json, os, subprocess, time
assignment = json.loads(os.read(0, 65536))
end_with_parent(assignment["parent"], group={group})
child = subprocess.Popen(["sleep", "60"]) if {group} else None
pids = [os.getpid()] + ([child.pid] if child else [])
os.write(assignment["channel"], json.dumps({{"event": "pids", "pids": pids}}).encode() + b"\\n")
10 ** (10 ** 9) if not {group} else time.sleep(60)
"""

SUPERVISOR = """
import sys
from saltus.process.supervisor import supervise
from saltus.policy import Limits
def receive(message):
    print(*message["pids"], flush=True)
    return False
supervise([sys.executable, "-c", sys.argv[1]], {}, Limits(), receive)
"""


@pytest.mark.parametrize("group", [False, True])
def test_nothing_outlives_a_supervisor_that_is_killed(group: bool) -> None:
    """Not a worker in the middle of an uninterruptible instruction, nor the children of a baseline's."""
    command = [sys.executable, "-c", SUPERVISOR, ORPHANS.format(group=group)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        pids = [int(text) for text in supervisor.stdout.readline().split()]
        assert len(pids) == 1 + group
        assert all(is_running(pid) for pid in pids)
        supervisor.kill()
    wait_until(lambda: not any(is_running(pid) for pid in pids), 5)


def test_a_worker_whose_parent_is_gone_before_it_starts_ends_at_once() -> None:
    code = "from saltus.process.worker import end_with_parent; end_with_parent(1); print('alive')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, stdin=subprocess.PIPE, start_new_session=True, check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")
