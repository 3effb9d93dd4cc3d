"""Stage `process`: many jobs, several at a time: the `Runner` interface, and the runner for this machine."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, Protocol

from saltus.process.job import Job, Result, run_job
from saltus.process.supervisor import Stop

WAKE_UP = 0.5
"""Seconds after which a waiting thread looks for interrupts that do not wake it up, such as those of a Ray task."""


@dataclass(frozen=True)
class Finished(Generic[Result]):
    """A job that has ended."""

    number: int
    """Position of the job among those that the runner was given."""
    started: str
    """Time of its start."""
    result: Result


def never() -> bool:
    """False: jobs are never given up."""
    return False


class Runner(Protocol):
    """Runs jobs in parallel."""

    def run(
        self,
        jobs: Sequence[Job[Result]],
        begin: Callable[[int], None] = lambda number: None,
        is_over: Callable[[], bool] = never,
    ) -> Generator[Finished[Result], None, None]:
        """Jobs as they end; `begin` is called with the number of each job that starts, in the thread that waits.

        Closing the generator ends running jobs, gently if they can; an interrupt while it waits for them kills them.
        `is_over` is asked about twice a second, and True ends the generator in the same way: the results of jobs that
        it cuts off are lost.
        """


class LocalRunner:
    """At most `parallel` processes at a time on this machine, each supervised by a thread."""

    def __init__(self, parallel: int = 1, run: Callable[..., Any] = run_job) -> None:
        self.parallel = parallel
        self._run_job = run

    def run(
        self,
        jobs: Sequence[Job[Result]],
        begin: Callable[[int], None] = lambda number: None,
        is_over: Callable[[], bool] = never,
    ) -> Generator[Finished[Result], None, None]:
        """Jobs as they end. A process dies with the thread that started it, so threads stay until all have ended."""
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(len(jobs)):
            waiting.put(number)
        news: queue.SimpleQueue[int | Finished[Result] | BaseException] = queue.SimpleQueue()
        stop = Stop()

        def run_waiting(end: threading.Event) -> None:
            try:
                while not stop.is_asked:
                    try:
                        number = waiting.get_nowait()
                    except queue.Empty:
                        return
                    started = timestamp()
                    news.put(number)
                    news.put(Finished(number, started, self._run_job(jobs[number], stop=stop)))
            except BaseException as error:
                news.put(error)
            finally:
                end.set()

        ends: list[threading.Event] = []
        try:
            for _ in range(min(self.parallel, len(jobs))):
                end = threading.Event()
                threading.Thread(target=run_waiting, args=(end,), daemon=True).start()
                ends.append(end)
            for _ in jobs:
                entry = _next(news, begin, is_over)
                if entry is None:
                    return
                yield entry
        finally:
            stop.ask()
            try:
                _wait(ends)
            except BaseException:
                stop.force()
                _wait(ends)
                raise


def _next(
    news: queue.SimpleQueue[int | Finished[Result] | BaseException],
    begin: Callable[[int], None],
    is_over: Callable[[], bool],
) -> Finished[Result] | None:
    """The next job that ends, None if time is over before; an error in its thread is raised."""
    while not is_over():
        with suppress(queue.Empty):
            entry = news.get(timeout=WAKE_UP)
            if isinstance(entry, BaseException):
                raise entry
            if isinstance(entry, Finished):
                return entry
            begin(entry)
    return None


def _wait(ends: Sequence[threading.Event]) -> None:
    """Waits until all threads have set their event.

    They are not joined: in Python 3.11, `join` takes a thread for ended if an interrupt comes while it waits.
    """
    for end in ends:
        while not end.wait(WAKE_UP):
            pass


def timestamp() -> str:
    """The current time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
