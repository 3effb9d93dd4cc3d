"""Fuzzes everything that reads what others wrote: PDDL, plans, records, logs, policies, runs, configurations, options.

    python tools/fuzz.py --minutes 10
    python tools/fuzz.py --inputs 1000000 --jobs 1 --out build/fuzz

Mutates good and bad inputs (`tests/fuzz/`) with a seeded generator, several processes at a time, and looks for foreign
exceptions, hangs, crashes and memory out of proportion. The first input of every kind of failure is saved in the output
folder next to its traceback; `--replay FILE` tries it again. Prints the inputs tried per target; the exit code is 1 if
any failed.
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import os
import random
import re
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before PyTorch is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.fuzz.probe import SECONDS, Failure, Probe
from tests.fuzz.targets import TARGETS, Feed

HARD_LIMIT = SECONDS + 5
"""Seconds after which a worker is killed; it notices anything slower than `SECONDS` itself if it ever returns."""
ROOM = 2 << 30
"""Bytes of address space that a worker may take beyond what it starts with: no input may exhaust the machine."""
PREPARING = 120.0
"""Seconds that a worker may take to make a reader."""
EVERY = 60.0
"""Seconds between lines of progress."""


@dataclass(frozen=True)
class Order:
    """What a worker is to do."""

    number: int
    seed: str
    names: tuple[str, ...]
    out: Path


class Board:
    """What workers tell the main process: counts per target, and when the present input was begun."""

    def __init__(self, workers: int, names: tuple[str, ...]) -> None:
        context = multiprocessing.get_context("spawn")
        self.names = names
        self.tried: Any = context.RawArray(ctypes.c_longlong, workers * len(names))
        self.failed: Any = context.RawArray(ctypes.c_longlong, workers * len(names))
        self.begun: Any = context.RawArray(ctypes.c_double, workers)
        self.present: Any = context.RawArray(ctypes.c_int, workers)
        self.stop: Any = context.RawValue(ctypes.c_int, 0)

    def sums(self, counts: Any) -> dict[str, int]:
        """Counts of all workers by target."""
        width = len(self.names)
        return {name: sum(counts[i::width]) for i, name in enumerate(self.names)}


def present_input(out: Path, number: int) -> Path:
    """Where a worker puts the input that it is about to try."""
    return out / f".present-{number}"


def work(order: Order, board: Board) -> None:
    """Tries inputs until the board says stop."""
    import torch

    torch.set_num_threads(1)
    limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    rng = random.Random(order.seed)
    weights = [TARGETS[name].weight for name in order.names]
    present = os.open(present_input(order.out, order.number), os.O_RDWR | os.O_CREAT, 0o644)
    probe = Probe()
    readers: dict[str, Feed] = {}
    with tempfile.TemporaryDirectory(prefix="saltus-fuzz-") as folder:
        here = Path(folder, "here")
        here.mkdir()
        os.chdir(here)  # empty: options may name files by accident
        while not board.stop.value:
            which = rng.choices(range(len(weights)), weights)[0]
            target = TARGETS[order.names[which]]
            place = order.number * len(weights) + which
            if target.name not in readers:
                board.begun[order.number] = time.time() + PREPARING
                own = Path(folder, target.name)
                own.mkdir()
                readers[target.name] = target.prepare(own)
            corpus = target.corpus()
            text = target.mutate(rng, rng.choice(corpus), corpus)
            os.ftruncate(present, 0)
            os.pwrite(present, text, 0)
            board.present[order.number] = which
            board.begun[order.number] = time.time()
            failure = probe.try_input(readers[target.name], text)
            board.tried[place] += 1
            if failure is not None:
                board.failed[place] += 1
                save(order.out, target.name, failure, text)


def save(out: Path, target: str, failure: Failure, text: bytes) -> None:
    """Keeps the first input of a kind of failure."""
    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{target} {failure.kind}")
    path = out / f"{name}.input"
    if not path.exists():
        path.write_bytes(text)
        path.with_suffix(".txt").write_text(f"{failure.kind}\n\n{failure.detail}\n")
        print(f"{target}: {failure.kind}; input saved as {path}", flush=True)


class Workers:
    """The workers; one that hangs or crashes is replaced, and its input is saved."""

    def __init__(self, board: Board, jobs: int, seed: int, out: Path) -> None:
        self.board, self.seed, self.out = board, seed, out
        self.generation = 0
        self.processes: list[BaseProcess] = [self._start(number) for number in range(jobs)]

    def _start(self, number: int) -> BaseProcess:
        self.generation += 1
        order = Order(number, f"{self.seed} {self.generation}", self.board.names, self.out)
        self.board.begun[number] = time.time() + PREPARING
        process = multiprocessing.get_context("spawn").Process(target=work, args=(order, self.board))
        process.start()
        return process

    def watch(self) -> None:
        """Looks at every worker once."""
        for number, process in enumerate(self.processes):
            slow = time.time() - self.board.begun[number] > HARD_LIMIT
            if process.is_alive() and not slow:
                continue
            process.kill()
            process.join()
            which = self.board.present[number]
            kind = "hang" if slow else f"crash {process.exitcode}"
            detail = f"killed after {HARD_LIMIT:.0f} s" if slow else f"exit code {process.exitcode}"
            text = present_input(self.out, number).read_bytes() if present_input(self.out, number).exists() else b""
            self.board.failed[number * len(self.board.names) + which] += 1
            save(self.out, self.board.names[which], Failure(kind, detail), text)
            self.processes[number] = self._start(number)

    def end(self) -> None:
        """Has all workers stop, kindly or not."""
        self.board.stop.value = 1
        for process in self.processes:
            process.join(HARD_LIMIT)
            process.kill()
            process.join()
        for number in range(len(self.processes)):
            present_input(self.out, number).unlink(missing_ok=True)


def fuzz(names: tuple[str, ...], jobs: int, seed: int, out: Path, minutes: float | None, inputs: int | None) -> bool:
    """Tries inputs until the time is over or so many were tried; whether all went well."""
    out.mkdir(parents=True, exist_ok=True)
    board = Board(jobs, names)
    started = shown = time.monotonic()
    workers = Workers(board, jobs, seed, out)
    try:
        while True:
            time.sleep(0.2)
            now, total = time.monotonic(), sum(board.tried)
            if now - shown > EVERY:
                shown = now
                print(f"{total:,} inputs in {now - started:.0f} s, {sum(board.failed):,} failed", flush=True)
            if (minutes is not None and now - started > 60 * minutes) or (inputs is not None and total >= inputs):
                break
            workers.watch()
    except KeyboardInterrupt:
        print("interrupted")
    finally:
        workers.end()
    tried, failed = board.sums(board.tried), board.sums(board.failed)
    for name in names:
        print(f"{name}: {tried[name]:,} inputs, {failed[name]:,} failed")
    seconds = time.monotonic() - started
    print(f"total: {sum(tried.values()):,} inputs, {sum(failed.values()):,} failed, {seconds:.0f} s, seed {seed}")
    return not any(failed.values())


def replay(path: Path) -> bool:
    """Tries a saved input once more, in this process; whether it goes well."""
    target = TARGETS[path.name.split("-")[0]]
    with tempfile.TemporaryDirectory(prefix="saltus-fuzz-") as folder:
        failure = Probe().try_input(target.prepare(Path(folder)), path.read_bytes())
    print(f"{path}: {f'{failure.kind}: {failure.detail}' if failure is not None else 'no failure'}")
    return failure is None


def main() -> int:
    """Reads the options; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, help="how long (default: 10 minutes, or until --inputs are tried)")
    parser.add_argument("--inputs", type=int, help="how many inputs, all targets together")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: one per core)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the mutations (default: 0)")
    parser.add_argument("--targets", nargs="+", choices=sorted(TARGETS), default=list(TARGETS), help="default: all")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="folder of the failures")
    parser.add_argument("--replay", type=Path, nargs="+", help="saved inputs to try again")
    options = parser.parse_args()
    if options.replay:
        failed = [path for path in options.replay if not replay(path)]
        return 1 if failed else 0
    minutes = 10.0 if options.minutes is None and options.inputs is None else options.minutes
    names = tuple(options.targets)
    return 0 if fuzz(names, options.jobs, options.seed, options.out.resolve(), minutes, options.inputs) else 1


if __name__ == "__main__":
    sys.exit(main())
