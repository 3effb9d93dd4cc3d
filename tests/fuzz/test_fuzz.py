"""A short run of the fuzzer over every target, and proof that the fuzzer finds what it looks for.

`make fuzz MINUTES=10` runs it longer.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.fuzz import probe
from tests.fuzz.mutate import LONGEST, change_values, expressions
from tests.fuzz.probe import Probe
from tests.fuzz.targets import TARGETS

from saltus.errors import InputError

INPUTS = {"state": 60, "options": 60, "log": 200, "policy": 200, "configuration": 200, "experiment": 100}
"""Inputs per target where they are slow; 600 elsewhere."""


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_mutated_inputs_are_read_or_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    target = TARGETS[name]
    feed, corpus, rng = target.prepare(tmp_path), target.corpus(), random.Random(f"{name} 0")
    watch = Probe()
    failures = {}
    for _ in range(INPUTS.get(name, 600)):
        text = target.mutate(rng, rng.choice(corpus), corpus)
        failure = watch.try_input(feed, text)
        if failure is not None:
            failures.setdefault(failure.kind, (failure.detail, text[-500:]))
    assert failures == {}


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_mutations_differ_and_repeat(name: str) -> None:
    """The same seed gives the same inputs, and nearly all of them are new."""
    target = TARGETS[name]
    corpus = target.corpus()

    def some(seed: int) -> list[bytes]:
        rng = random.Random(seed)
        return [target.mutate(rng, rng.choice(corpus), corpus) for _ in range(60)]

    assert some(1) == some(1)
    assert len(set(some(1)) - set(corpus)) > 40


@pytest.mark.parametrize("name", sorted(set(TARGETS) - {"domain", "problem", "plan", "options"}))
def test_the_corpus_is_sound(name: str, tmp_path: Path) -> None:
    """What is mutated is read without complaint; other targets have malformed inputs among theirs."""
    feed = TARGETS[name].prepare(tmp_path)
    for text in TARGETS[name].corpus():
        feed(text)


class TestProbe:
    """What counts as a failure."""

    def test_our_own_error_is_none(self) -> None:
        def feed(text: bytes) -> None:
            raise InputError("no good")

        assert Probe().try_input(feed, b"") is None

    @pytest.mark.parametrize("error", [KeyError("x"), RecursionError(), MemoryError(), SystemExit(3), InputError("")])
    def test_other_exceptions(self, error: BaseException) -> None:
        def feed(text: bytes) -> None:
            raise error

        failure = Probe().try_input(feed, b"")
        assert failure is not None
        assert failure.kind.startswith(type(error).__name__)

    def test_a_warning_of_numpy(self) -> None:
        failure = Probe().try_input(lambda text: warnings.warn("NaN", RuntimeWarning, stacklevel=1), b"")
        assert failure is not None
        assert failure.kind.startswith("RuntimeWarning")

    def test_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(probe, "SECONDS", 0.0)
        failure = Probe().try_input(lambda text: time.sleep(0.001), b"")
        assert failure is not None
        assert failure.kind == "slow"

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak memory from /proc")
    @pytest.mark.parametrize(("size", "fails"), [(10 << 20, False), (200 << 20, True)])
    def test_memory(self, size: int, fails: bool) -> None:
        watch = Probe()
        failure = watch.try_input(lambda text: bytes(bytearray(b"x") * size) and None, b"abc")
        assert (failure is not None and failure.kind == "memory") is fails


def test_s_expressions_are_found() -> None:
    text = b"(a (b) c)) (d"
    assert sorted(text[start:end] for start, end in expressions(text)) == [b"(a (b) c)", b"(b)"]


def test_json_values_change_and_the_original_stays() -> None:
    value = {"a": [1, {"b": 2}], "c": "d"}
    changed = [change_values(random.Random(seed), value) for seed in range(50)]
    assert value == {"a": [1, {"b": 2}], "c": "d"}
    assert sum(entry != value for entry in changed) > 40


def test_inputs_stay_short() -> None:
    target, rng = TARGETS["plan"], random.Random(0)
    text = target.corpus()[1]
    for _ in range(200):
        text = target.mutate(rng, text, [text])
    assert len(text) <= LONGEST


def test_the_tool_counts_and_ends(tmp_path: Path) -> None:
    command = [sys.executable, "tools/fuzz.py", "--inputs", "200", "--jobs", "1", "--targets", "plan", "--out"]
    done = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "plan: " in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds the worker in /proc")
def test_the_tool_notices_a_crash(tmp_path: Path) -> None:
    """A killed worker is replaced, its input is saved, and the exit code is 1."""
    command = [sys.executable, "tools/fuzz.py", "--inputs", "1000000000", "--jobs", "1", "--targets", "plan", "--out"]
    process = subprocess.Popen([*command, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        present = tmp_path / ".present-0"
        wait_until(lambda: present.exists() and present.stat().st_size > 0)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        workers = [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
        os.kill(workers[-1], signal.SIGKILL)
        wait_until((tmp_path / "plan-crash-9.txt").exists)
        process.send_signal(signal.SIGINT)
        shown, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 1
    assert ", 1 failed" in shown.splitlines()[-1]


def wait_until(holds: Callable[[], bool]) -> None:
    """Waits at most a minute."""
    for _ in range(1200):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("waited in vain")
