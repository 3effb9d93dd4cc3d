"""Stage `learn`: opening a contest: a new one, or one to be resumed; and how many of its runs go side by side."""

from __future__ import annotations

import os
import shutil
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import torch

from saltus.errors import ConfigurationError
from saltus.files import make_folder
from saltus.learn.candidates import candidates_for, most_able
from saltus.learn.config import Configuration, load_configuration
from saltus.learn.contest import FAILED, Contest, HoldFinal, RunJob
from saltus.learn.contest_state import STARTUP, Budget, ContestState, fits
from saltus.learn.final import Entrant, Placing, Player, hold_final, in_ways
from saltus.learn.folder import NumberedPolicies, RunFolder
from saltus.learn.larger import Maker, final_sizes
from saltus.learn.open import temporary_folder
from saltus.learn.problems import NEGATIVE_GOALS, Problems, digest_of, listed_problems, load_problems
from saltus.learn.run import TIME_LIMIT
from saltus.learn.values import PART
from saltus.model.device import find_device
from saltus.process import run_job
from saltus.process.limits import cores
from saltus.task import find_suite

SECONDS = {"cuda": 600.0, "cpu": 3600.0}
"""Time for a contest where none is given, by device."""

GPU_BYTES = 4 * 2**30
"""Memory of a GPU that a run may need."""

READING = (f"{NEGATIVE_GOALS}=true",)
"""Settings with which problems are read: candidates get them where problems need them."""


def open_contest(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    settings: Sequence[str] = (),
    seed: int | None = None,
    budget: Budget | None = None,
    device: str = "auto",
    threads: int | None = None,
    slots: int | None = None,
    resume: bool = False,
    problems: Problems | None = None,
    publish: Callable[[Path], None] | None = None,
    warn: Callable[[str], None] = lambda message: None,
    clock: Callable[[], float] = time.monotonic,
    run: RunJob = run_job,
    final: HoldFinal | None = None,
) -> Contest:
    """A contest that is ready to be played, on the problems in `folder`, in the folder `out`.

    `settings` are texts `key=value` that change every candidate; `seed` (default: 0) is that of all of them; `budget`
    is what the whole contest may use (default: `SECONDS`), the time before it was resumed included. With `resume` the
    contest in `out` goes on, with another budget if one is given. `threads` is the number of threads per run (default:
    an equal share of the cores), `slots` the number of runs side by side (default: as many as the cores and the memory
    of a GPU allow). `problems` are those in the folder if they have been read already, with `READING`. `publish` is
    called with the file of every better policy (default: it becomes `policy.safetensors` in `out`). `final` has
    policies play far larger problems (default: `final_for`).
    """
    place, root = find_device(device), Path(out)
    suite = find_suite(folder)
    if resume:
        state = ContestState.read(root)
        problems = problems or load_problems(folder, load_configuration(None, READING))
        go_on(state, Path(folder), problems, settings, seed, budget)
    else:
        RunFolder(root).check_new()
        problems = problems or load_problems(folder, load_configuration(None, READING))
        limit = budget or Budget(SECONDS[place])
        goals = READING if any(len(task.goal.negative) for task in problems.held_out) else ()
        candidates = candidates_for(problems.training, place, (*goals, *settings), seed or 0, limit.amount)
        for message in problems.warnings:
            warn(message)
        begun = clock()
        until = begun + PART * limit.amount
        make_folder(root)
        make_folder(root / "candidates")
        for message in Maker(problems, candidates[0].configuration, root / "grown", lambda: clock() >= until).grow():
            warn(message)
        used = clock() - begun
        kept = PART * limit.amount if final or final_sizes(problems) else 0.0
        left = limit.amount - used - kept
        tried = affordable(len(candidates), left, slots or slots_for(place, threads, len(candidates)))
        if tried < len(candidates):
            chosen = most_able(candidates, tried)
            left_out = ", ".join(entry.name for entry in candidates if entry not in chosen)
            warn(f"the time limit is too short for {len(candidates)} candidates; left out: {left_out}")
            candidates = chosen
        names = [entry.name for entry in candidates]
        state = ContestState(str(Path(folder).resolve()), seed or 0, list(settings), limit, candidates, names)
        state.used, state.digest = used, digest_of(problems.training)
        state.write(root)
    configuration = state.candidates[0].configuration
    final = final or final_for(problems, configuration, root / "grown", place, threads or cores(), state.settings)
    return Contest(
        state,
        root,
        name=suite.name,
        slots=slots or slots_for(place, threads, len(state.candidates)),
        threads=threads,
        cores=cores(),
        device=place,
        publish=publish,
        clock=clock,
        run=run,
        hold_final=final,
        warn=warn,
    )


def open_numbered_contest(
    prefix: str | os.PathLike[str],
    domain: str | os.PathLike[str],
    problems: Sequence[str | os.PathLike[str]],
    *,
    settings: Sequence[str] = (),
    seed: int = 0,
    budget: Budget | None = None,
    device: str = "auto",
    threads: int | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> tuple[Contest, NumberedPolicies]:
    """A contest on listed problem files that leaves nothing but policies, `prefix`.1, `prefix`.2, …, the last one best.

    Its folder is a temporary one, which is deleted together with the contest: it cannot be resumed. The other arguments
    are those of `open_contest`.
    """
    policies = NumberedPolicies(Path(prefix))
    files = [Path(path) for path in problems]
    found = listed_problems(Path(domain), files, load_configuration(None, READING))
    with ExitStack() as stack:
        place = Path(stack.enter_context(temporary_folder()))
        (place / "problems" / "training").mkdir(parents=True)
        shutil.copyfile(domain, place / "problems" / "domain.pddl")
        for number, path in enumerate(files, 1):
            shutil.copyfile(path, place / "problems" / "training" / f"{number:05}-{path.stem}.pddl")
        contest = open_contest(
            place / "problems",
            place / "contest",
            settings=settings,
            seed=seed,
            budget=budget,
            device=device,
            threads=threads,
            problems=found,
            publish=policies.take,
            warn=warn,
        )
        weakref.finalize(contest, stack.pop_all().close)
    return contest, policies


def go_on(
    state: ContestState,
    folder: Path,
    given: Problems,
    settings: Sequence[str],
    seed: int | None,
    budget: Budget | None,
) -> None:
    """Prepares a state to go on with the given problems of a folder; only its budget may differ from before."""
    if state.digest not in ("", digest_of(given.training)):
        raise ConfigurationError(f"--resume: the contest was started with other problems than those in {folder}")
    if settings and list(settings) != state.settings:
        raise ConfigurationError("--resume: the contest was started with other settings, --set cannot change them")
    if seed is not None and seed != state.seed:
        raise ConfigurationError(f"--resume: the contest's seed is {state.seed}, --seed cannot change it")
    state.problems = str(folder.resolve())
    if budget is not None:
        if state.ended_by == TIME_LIMIT and budget.amount > state.budget.amount:
            state.ended_by = ""
        state.budget = budget
    if state.ended_by == FAILED:
        state.ended_by = ""
    state.failed.clear()  # they are tried once more


def final_for(
    problems: Problems,
    configuration: Configuration,
    grown: Path,
    device: str,
    threads: int,
    settings: Sequence[str] = (),
) -> HoldFinal | None:
    """A final on problems that are made for it, and kept in the folder `grown`; None if none can be made.

    What the user's settings `key=value` say about play stays as it is.
    """
    if not final_sizes(problems):
        return None
    fixed = [setting.partition("=")[0].strip().removeprefix("play.") for setting in settings]

    def hold(entrants: Sequence[Entrant], seconds: float, tell: Callable[[str], None]) -> list[Placing]:
        # At most a third makes problems; half of the rest is for choosing policies, and half for ways to play.
        until, grown_by = time.monotonic() + seconds, time.monotonic() + seconds / 3
        made = Maker(problems, configuration, grown, lambda: time.monotonic() >= grown_by)
        tasks, is_lean = made.final(), made.wants_lean
        play = Player(device, threads, configuration.training.cost)
        left = (until - time.monotonic()) / 2
        found = hold_final(entrants, tasks, left, play, is_lean=is_lean, tell=tell)
        others = in_ways(found, entrants, fixed)
        chosen = hold_final(others, tasks, until - time.monotonic(), play, is_lean=is_lean, tell=tell) if others else []
        # The two may have come to different problems.
        return [*chosen, *found] if chosen and chosen[0].share >= found[0].share > 0 else found

    return hold


def affordable(candidates: int, seconds: float, slots: int) -> int:
    """How many candidates to try so that each trains for a worthwhile time in the first round: all, half, …, or 1."""
    while candidates > 1 and not fits(seconds, candidates, slots, STARTUP):
        candidates = (candidates + 1) // 2
    return candidates


def slots_for(device: str, threads: int | None, candidates: int) -> int:
    """How many runs go side by side."""
    slots = max(1, cores() // (threads or 1))
    if device == "cuda":
        free, _ = torch.cuda.mem_get_info()
        slots = min(slots, max(1, free // GPU_BYTES))
    return max(1, min(slots, candidates))
