"""Stage `learn`: opening a training run: a new one, or one to be resumed; and training in one call.

Takes problems, a configuration and a seed; gives a `Run` that is ready to train. The problems that are added to the
given ones are made here: larger ones to choose the policy by, and similar ones to learn from (`larger.py`).
"""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from saltus.errors import ConfigurationError
from saltus.learn.config import Configuration, ConfigurationSource, changed, differences, load_configuration
from saltus.learn.folder import NumberedPolicies, RunDescription, RunFolder, Start
from saltus.learn.larger import Maker
from saltus.learn.log import read_log
from saltus.learn.problems import (
    Problems,
    for_goals_of,
    listed_problems,
    load_problems,
    says_how_goals_are_encoded,
    spread,
)
from saltus.learn.run import Run
from saltus.learn.trainer import Trainer
from saltus.model.device import find_device
from saltus.model.policy_file import load_policy_file
from saltus.policy.catalogue import policy_file_for
from saltus.policy.policies import YARDSTICKS


def train(
    folder: str | os.PathLike[str],
    *,
    config: ConfigurationSource = None,
    settings: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
    seed: int | None = None,
    device: str = "auto",
    threads: int | None = None,
    resume: bool = False,
    start: str | os.PathLike[str] | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> Run:
    """The run that has trained a policy on the problems in `folder`; its `best_policy` plans.

    `time_limit` is in seconds; a run that it ends can be resumed. Without `out` the run is written to a temporary
    folder, which is deleted together with the run: load the policy before. The other arguments are those of `open_run`,
    whose `Run.events` can be iterated to follow the training.
    """
    with ExitStack() as stack:
        run = open_run(
            folder,
            stack.enter_context(temporary_folder()) if out is None else out,
            config=config,
            settings=settings,
            seed=seed,
            device=device,
            threads=threads,
            resume=resume,
            start=start,
            warn=warn,
        )
        weakref.finalize(run, stack.pop_all().close)
    deque(run.events(seconds=time_limit), maxlen=0)
    return run


def temporary_folder() -> TemporaryDirectory[str]:
    """A folder for a run of which nothing stays."""
    return TemporaryDirectory(prefix="saltus-", ignore_cleanup_errors=True)


def open_run(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    config: ConfigurationSource = None,
    settings: Sequence[str] = (),
    seed: int | None = None,
    device: str = "auto",
    threads: int | None = None,
    resume: bool = False,
    start: str | os.PathLike[str] | None = None,
    grown: str | os.PathLike[str] | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> Run:
    """A run that is ready to train on the problems in `folder` and to write to `out`.

    `config` is a configuration, the name of one, or a TOML file; `settings` are texts `key=value` that change it. The
    same seed (default: 0) gives the same weights on the same machine. `start` is the policy whose weights a new run
    begins with: a name, a file or a run folder. With `resume` the run in `out` goes on; nothing but its number of
    episodes may change. `threads` is the number of threads (default: all cores for lookahead, half of them for PyTorch,
    whose number is set for the whole process). `grown` is the folder in which grown problems are kept (default: `grown`
    in `out`), so that several runs can share them. `warn` is called with messages about what is odd but not an error.
    """
    place = find_device(device)
    run_folder = RunFolder(Path(out), warn)
    if resume:
        description = resumed(run_folder.describe(), config, settings, seed)
        problems = load_problems(folder, description.configuration)
    else:
        configuration = load_configuration(config, settings)
        run_folder.check_new()  # before problems are grown
        configuration, problems = for_goals_of(configuration, settings, partial(load_problems, folder))
        description = RunDescription(str(Path(folder).resolve()), seed or 0, configuration)
    kept = Path(out) / "grown" if grown is None else Path(grown)
    trainer = make_trainer(problems, description.configuration, description.seed, place, threads, warn, kept)
    if start is not None:
        description = started(description, trainer, start, resume=resume)
    run = Run(trainer, run_folder, problems, description)
    try:
        if resume:
            run_folder.hold()
            trainer.learner.is_given = description.start is not None
            run.elapsed = run_folder.load_state(trainer, description.start)
            trainer.validation_seconds = read_log(run_folder.log).validation_seconds
            run_folder.write_description(description)
        else:
            run_folder.create(description)
            if start is not None:
                run_folder.save_state(trainer, 0.0)  # the policy may have changed by the time the run is resumed
    except BaseException:
        run_folder.close()
        raise
    return run


def open_numbered_run(
    prefix: str | os.PathLike[str],
    domain: str | os.PathLike[str],
    problems: Sequence[str | os.PathLike[str]],
    *,
    config: ConfigurationSource = None,
    settings: Sequence[str] = (),
    seed: int = 0,
    device: str = "auto",
    threads: int | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> tuple[Run, NumberedPolicies]:
    """A run on listed problem files that leaves nothing but policies, `prefix`.1, `prefix`.2, …, the last one best.

    Its folder is a temporary one, which is deleted together with the run: it cannot be resumed. The other arguments are
    those of `open_run`.
    """
    policies = NumberedPolicies(Path(prefix))
    read = partial(listed_problems, Path(domain), [Path(path) for path in problems])
    configuration, found = for_goals_of(load_configuration(config, settings), settings, read)
    trainer = make_trainer(found, configuration, seed, find_device(device), threads, warn)
    with ExitStack() as stack:
        folder = RunFolder(Path(stack.enter_context(temporary_folder())), warn, policies.take)
        run = Run(trainer, folder, found, RunDescription(os.fspath(domain), seed, configuration))
        folder.create(run.description)
        weakref.finalize(run, stack.pop_all().close)
    return run, policies


def make_trainer(
    problems: Problems,
    configuration: Configuration,
    seed: int,
    device: str,
    threads: int | None,
    warn: Callable[[str], None],
    grown: Path | None = None,
) -> Trainer:
    """A trainer for some problems, and for generated ones where the configuration asks for them.

    Grown problems are kept in the folder `grown`. Sets PyTorch's number of threads for the whole process.
    """
    for message in problems.warnings:
        warn(message)
    # Other threads prepare the next batches meanwhile; PyTorch's own suffer badly where cores are scarce.
    torch.set_num_threads(threads or max(1, (os.cpu_count() or 1) // 2))
    made = Maker(problems, configuration, grown)
    larger = made.larger()
    training = [*problems.training, *made.similar(), *made.lean()]
    held_out = spread(problems.held_out, configuration.training.validation_problems)
    return Trainer(configuration, training, held_out, larger, made.far(), seed=seed, device=device, threads=threads)


def started(
    description: RunDescription, trainer: Trainer, name: str | os.PathLike[str], *, resume: bool
) -> RunDescription:
    """The description of a run that begins with a policy's weights, which the trainer is given.

    A resumed run must have begun with the same weights; they are not loaded again.
    """
    if os.fspath(name) in YARDSTICKS:
        raise ConfigurationError(f"--from: {name} has no weights to begin with")
    path = policy_file_for(os.fspath(name), trainer.tasks[0].domain)
    policy = load_policy_file(path)
    found = Start.of(path, policy)
    if resume:
        if description.start is None or description.start.digest != found.digest:
            began = description.start.policy if description.start is not None else "random weights"
            raise ConfigurationError(f"--resume: the run began with {began}, --from cannot change it")
        return description
    trainer.start_from(policy)
    return replace(description, start=found)


def resumed(
    description: RunDescription, config: ConfigurationSource, settings: Sequence[str], seed: int | None
) -> RunDescription:
    """The description of a run that goes on; only the number of episodes may differ from what it was started with."""
    own = description.configuration
    wanted = changed(own, settings) if config is None else load_configuration(config, settings)
    if not says_how_goals_are_encoded(settings):  # that followed from the problems
        wanted = replace(wanted, encoding=replace(wanted.encoding, negative_goals=own.encoding.negative_goals))
    fixed = [key for key in differences(own, wanted) if key != "training.episodes"]
    if fixed:
        raise ConfigurationError(
            f"--resume: the run was started with another value of {fixed[0]}; only training.episodes can be changed"
        )
    if seed is not None and seed != description.seed:
        raise ConfigurationError(f"--resume: the run's seed is {description.seed}, --seed cannot change it")
    return replace(description, configuration=wanted)
