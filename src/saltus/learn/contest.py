"""Stage `learn`: a contest between configurations, so that `saltus train` needs none.

Takes a folder of problems; gives the folder of a policy. Every candidate (`candidates.py`) is an ordinary run in
`candidates/NAME`, trained by jobs in processes of their own. Successive halving: all train for equal shares of the
time, the better half goes on (`ranking.py`), until one is left, which goes on until it solves everything steadily or
the time is up. At the end, the policies of all runs that are about as good play far larger problems (`final.py`), and
the best of these, with the way to play that suits it best, is chosen.

    contest.json          what the contest was started with, its rounds, who was dropped, and why the winner won
    policy.safetensors    the best policy so far, of whichever run
    candidates/NAME       the runs
    grown/                problems grown from the given ones, which all runs share
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from saltus.errors import InputError, SaltusError, plural
from saltus.files import WriteError
from saltus.learn.candidates import Candidate
from saltus.learn.contest_state import (
    FINAL,
    HALVING,
    LEAST_SHARE,
    STARTUP,
    WINNER,
    ContestState,
    Round,
    fits,
    share,
)
from saltus.learn.events import ContestEvent
from saltus.learn.final import Entrant, Placing, entrants_of
from saltus.learn.folder import RunFolder, wait_until_free
from saltus.learn.log import read_log
from saltus.learn.prize import Prize, run_folder
from saltus.learn.ranking import Standing, parts_from, ranked, survivors
from saltus.learn.run import TIME_LIMIT
from saltus.learn.train_job import TrainJob, TrainResult
from saltus.learn.validation import Validation
from saltus.learn.values import PART
from saltus.policy import LearnedPolicy
from saltus.policy.catalogue import RUN_POLICY
from saltus.process import Finished, LocalRunner, Message, Runner, Stop, run_job

LONGEST_FINAL = 900.0
"""Most seconds that a final takes."""

FAILED = "no run that is left can go on"
DONE = "nothing is left to try"
STABLE = "the winner's last validations solved every problem, and plans got no shorter"

Tell = Callable[[ContestEvent], None]
RunJob = Callable[..., TrainResult]
HoldFinal = Callable[[Sequence[Entrant], float, Callable[[str], None]], list[Placing]]
"""Has policies play far larger problems for so many seconds and tells of each; returns how they did, best first."""


class Contest:
    """A contest; `play` trains, and saves what must be saved."""

    def __init__(
        self,
        state: ContestState,
        folder: Path,
        *,
        name: str,
        slots: int,
        threads: int | None,
        cores: int = 1,
        device: str = "cpu",
        publish: Callable[[Path], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        run: RunJob = run_job,
        hold_final: HoldFinal | None = None,
        warn: Callable[[str], None] = lambda message: None,
    ) -> None:
        self.state = state
        self.folder = folder
        self.name = name
        """Name of the problems."""
        self.slots = slots
        """Runs in parallel."""
        self.threads = threads
        """Threads per run; None for an equal share of the cores."""
        self.cores = cores
        self.device = device
        self.warn = warn
        self._clock = clock
        self._run = run
        self._hold_final = hold_final
        self._lock = threading.Lock()
        self._began = clock() - state.used
        self._startup = STARTUP
        self._standings: dict[str, Standing] = {}
        self._used_by: dict[str, float] = {}
        self._validating: dict[str, float] = {}
        """Seconds that the last validation of each run took."""
        self._prize = Prize(state, folder, publish, warn)
        self._finalists: list[Entrant] = []
        """Who took part in the last final."""
        self._tell: Tell = lambda event: None

    def __repr__(self) -> str:
        return f"<Contest {str(self.folder)!r}, {plural(len(self.state.rounds), 'round')}>"

    @property
    def policy(self) -> Path:
        """The best policy so far."""
        return self.folder / RUN_POLICY

    @property
    def is_out_of_time(self) -> bool:
        """Whether the budget ended the contest."""
        return self.state.ended_by == TIME_LIMIT

    def run_folder(self, name: str) -> Path:
        """The folder of a candidate's run."""
        return run_folder(self.folder, name)

    def best_policy(self) -> LearnedPolicy:
        """The best policy so far, ready to plan."""
        return LearnedPolicy.load(self.policy, None, self.device)

    def standings(self) -> list[Standing]:
        """How all runs stand, best first, those that failed later included."""
        known = [entry.name for entry in self.state.candidates]
        return ranked([self._standings[name] for name in known if name in self._standings])

    # -- the loop ----------------------------------------------------------------------------------------------------

    def play(self, tell: Tell = lambda event: None) -> None:
        """Trains until the budget is used up or the winner is stable.

        An interrupt ends all runs, which save their state, and is passed on; the contest can be resumed.
        """
        self._tell = tell
        state = self.state
        with self._held():
            try:
                self._began = self._clock() - state.used
                for candidate in state.candidates:
                    self._look_at(candidate.name)
                self._lead()
                while not state.ended_by:
                    if not state.rounds or state.rounds[-1].scores:
                        self._plan()
                    if not state.ended_by:
                        self._hold(state.rounds[-1])
            finally:
                self._prize.award_unvalidated()
                self._save()

    def _hold(self, current: Round) -> None:
        """Plays a round to its end."""
        if current.kind == FINAL:
            self._play_final(current)
        else:
            self._play_round(current)
            self._close_round(current)

    def _plan(self) -> None:
        """Adds the next round, or ends the contest."""
        state, left = self.state, self._left()
        runs = len(state.contestants)
        least = self._overhead(state.contestants) + LEAST_SHARE
        if runs == 1 and state.contestants[0] in state.stable:
            self._end(STABLE)
        elif left < least and state.rounds:
            self._end(TIME_LIMIT)
        elif runs > 1:
            self._add_round(HALVING, state.contestants, left / parts_from(runs))
        elif state.contestants[0] not in state.finished:
            self._add_round(WINNER, state.contestants, left)
        else:
            self._end(DONE)
        self._save()

    def _end(self, reason: str) -> None:
        """Ends the contest, unless there are policies that a final is still to be held for."""
        entrants = self._entrants()
        names = {(entry.run, entry.episode) for entry in self._finalists}
        names |= {(entry.run, entry.episode) for entry in self.state.placings}
        is_new = any((entry.run, entry.episode) not in names for entry in entrants)
        if not is_new or self._final_seconds() < LEAST_SHARE:
            self.state.ended_by = reason
            return
        self.state.rounds.append(Round(FINAL, {}))
        text = f"final: {plural(len(entrants), 'checkpoint')} on far larger problems"
        self._say("round", f"round {len(self.state.rounds)}: {text}; at most {self._final_seconds():,.0f} s")

    def _entrants(self) -> list[Entrant]:
        """The policies for a final; none if there is none."""
        if self._hold_final is None:
            return []
        return entrants_of(self.standings(), self._prize.checkpoint)

    def _final_seconds(self) -> float:
        """The time for a final: its part, or half of what is left where that is more."""
        left = self.state.budget.amount - self._used()
        return max(0.0, min(left, LONGEST_FINAL, max(PART * self.state.budget.amount, left / 2)))

    def _play_final(self, current: Round) -> None:
        """Has policies play far larger problems, and makes the best of them the policy of the contest."""
        assert self._hold_final is not None
        self._finalists = self._entrants()
        try:
            found = self._hold_final(self._finalists, self._final_seconds(), lambda text: self._say("final", text))
            if found:
                self.state.placings = found
            current.scores = [str(entry) for entry in found] or ["no problem could be played"]
        except (SaltusError, OSError, MemoryError, RuntimeError) as error:  # the contest has a policy without it
            self.warn(f"final: {error}")
            current.scores = [f"ended by an error: {error}"]
        self._lead()
        self._say("round", f"round {len(self.state.rounds)} is over: {current.scores[0]}")
        self._save()

    def _add_round(self, kind: str, names: Sequence[str], seconds: float) -> None:
        """Adds a round that takes so many seconds."""
        active = [name for name in names if name not in self.state.finished]
        each = share(seconds, len(active), self.slots, self._startup)
        foreseen = max(self._validating.values())

        def train_for(name: str) -> float:
            if name not in active:
                return 0.0
            # A run that has been validated keeps time free for that by itself.
            return each if self._validating[name] else max(LEAST_SHARE, each - foreseen)

        targets = {name: self._used_by[name] + train_for(name) for name in names}
        self.state.rounds.append(Round(kind, targets))
        text = self.state.rounds[-1].title
        time_each = f"; {each:,.0f} s{' each' if len(active) > 1 else ''}" if active else ""
        self._say("round", f"round {len(self.state.rounds)}: {text}{time_each}")

    def _play_round(self, current: Round) -> None:
        state = self.state
        waiting = [name for name in current.targets if name not in current.done and name not in state.finished]
        waiting = [name for name in waiting if name not in state.failed]
        threads = self.threads or max(1, self.cores // max(1, min(self.slots, len(waiting))))
        jobs = [self._job(state.candidate(name), current.targets[name], threads) for name in waiting]
        for name in waiting:
            wait_until_free(self.run_folder(name))
        begun: dict[int, float] = {}

        def begin(number: int) -> None:
            begun[number] = self._clock()

        def run(job: TrainJob, stop: Stop) -> TrainResult:
            return self._run(job, partial(self._see, Path(job.out).name), stop=stop)

        runner: Runner = LocalRunner(self.slots, run)
        with closing(runner.run(jobs, begin)) as ended:
            for entry in ended:
                self._end_job(current, waiting[entry.number], entry, self._clock() - begun[entry.number])

    def _end_job(self, current: Round, name: str, entry: Finished[TrainResult], seconds: float) -> None:
        result, state = entry.result, self.state
        with self._lock:
            before = self._used_by[name]
            self._look_at(name)
            self._startup = max(0.0, seconds - (self._used_by[name] - before))
            current.done.append(name)
            if result.outcome is not None:
                state.failed[name] = result.summary
                self.warn(f"{name}: {result.summary}")
            elif result.is_finished:
                state.finished.append(name)
            if result.is_stable:
                state.stable.append(name)
        self._lead()
        self._save()

    def _close_round(self, current: Round) -> None:
        """Decides who goes on."""
        state = self.state
        playing = [name for name in state.contestants if name not in state.failed]
        if not playing:
            if all(entry.best is None for entry in self.standings()):
                raise InputError(f"no candidate can be trained; {next(iter(state.failed.values()))}")
            current.scores = [str(entry) for entry in self.standings()]
            state.ended_by = FAILED
            self._save()
            return
        order = ranked([self._standings[name] for name in playing])
        kept = survivors(order, fits=self._fits) if current.kind == HALVING else order[:1]
        names = [entry.name for entry in kept]
        current.dropped = [name for name in state.contestants if name not in names]
        current.scores = [str(entry) for entry in order]
        state.contestants = [name for name in playing if name in names]
        dropped = f"; dropped: {', '.join(current.dropped)}" if current.dropped else ""
        self._say("round", f"round {len(state.rounds)} is over: {order[0]}{dropped}")
        self._save()

    # -- runs --------------------------------------------------------------------------------------------------------

    def _job(self, candidate: Candidate, target: float, threads: int) -> TrainJob:
        return TrainJob(
            candidate.name,
            self.state.problems,
            str(self.run_folder(candidate.name)),
            seed=candidate.seed,
            config=candidate.config,
            settings=candidate.settings,
            seconds=target,
            grown=str(self.folder / "grown"),
            device=self.device,
            threads=threads,
        )

    def _look_at(self, name: str) -> None:
        """Reads from its log how a run stands."""
        log = read_log(RunFolder(self.run_folder(name)).log)
        self._used_by[name] = log.seconds
        self._validating[name] = log.validation_seconds
        candidate = self.state.candidate(name)
        spec = candidate.configuration.training
        self._standings[name] = Standing(
            name, log.validations, spec.cost, spec.selection, candidate.looks_for_dead_ends
        )

    def _see(self, name: str, message: Message, result: TrainResult) -> None:
        """Takes an event of a run, in the thread that supervises it."""
        if message["event"] == "episode":
            self._say("episode", name)
        if message["event"] != "validation":
            return
        values: dict[str, Any] = {key: value for key, value in message.items() if key not in ("event", "elapsed")}
        validation = Validation.from_json(values)
        with self._lock:
            standing = self._standings[name]
            self._standings[name] = replace(standing, validations=(*standing.validations, validation))
        self._say("validation", f"{name}: episode {validation.episode}: {validation}")
        self._lead()

    def _lead(self) -> None:
        """Makes the policy of the best run the policy of the contest, if it is not."""
        with self._lock:
            ahead = self._prize.award(self.standings())
            if ahead is not None:
                self._write()
        if ahead:
            self._say("leader", f"ahead now: {ahead}")

    # -- budget and state --------------------------------------------------------------------------------------------

    def _used(self) -> float:
        return self._clock() - self._began

    def _left(self) -> float:
        """What is left of the budget for training and validation."""
        kept = 0.0 if self._hold_final is None else PART * self.state.budget.amount
        return self.state.budget.amount - kept - self._used()

    def _overhead(self, names: Sequence[str]) -> float:
        """Seconds that the slowest of some runs takes in a round without training: to start, and to be validated."""
        return self._startup + max((self._validating[name] for name in names), default=0.0)

    def _fits(self, runs: int) -> bool:
        """Whether the time left allows a round of so many runs in which they train at least half of it."""
        return fits(self._left(), runs, self.slots, self._overhead(self.state.contestants))

    def _save(self) -> None:
        with self._lock:
            self._write()

    def _write(self) -> None:
        self.state.used = round(self._used(), 3)
        try:
            self.state.write(self.folder)
        except WriteError as error:
            self.warn(f"state not saved: {error}")

    def _say(self, kind: str, text: str) -> None:
        self._tell(ContestEvent(kind, text, len(self.state.rounds), self._used(), self.state.budget.amount))

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Keeps other processes from playing in the folder."""
        folder = RunFolder(self.folder)
        folder.hold()
        try:
            yield
        finally:
            folder.close()

    def summary(self, stopped_by: str = "") -> list[str]:
        """Closing lines for people to read: how the contest ended, who won and why, and where the policy is."""
        state = self.state
        lines = [state.ending(self.name, stopped_by)]
        lines += [f"{name}: {text}" for name, text in state.failed.items()]
        if not self.policy.exists():
            if not stopped_by:
                raise WriteError(f"{self.policy}: cannot be written; the runs are in {self.folder / 'candidates'}")
            return [*lines, "no policy yet"]
        if not state.winner:
            return [*lines, f"policy: {self.policy}, not validated yet"]
        if self._standings[state.winner].key[0] == 0:
            lines.append("the policy solves no problem that it was chosen by: it needs more time, or smaller problems")
        return [*lines, f"chosen: {state.reason}", f"policy: {self.policy}"]
