"""Stage `learn`: opening a training run: a new one, or the one in a folder to be resumed.

Takes a folder of problems, a configuration and a seed; gives a `Run` that is ready to train. Problems that the domain's
generator adds, larger ones to choose the policy by and similar ones to learn from, are made here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from saltus.domains.generated import larger_problems, similar_problems
from saltus.errors import ConfigurationError
from saltus.learn.config import Configuration, changed, differences, load_configuration
from saltus.learn.folder import RunDescription, RunFolder, Start
from saltus.learn.problems import Problems, load_problems
from saltus.learn.run import Run
from saltus.learn.trainer import Trainer
from saltus.model.policy_file import load_policy_file
from saltus.pddl import Domain
from saltus.policy.catalogue import AUTO, find_device, find_policy, policy_folder, policy_path
from saltus.policy.policies import YARDSTICKS


def open_run(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    config: str | None = None,
    settings: Sequence[str] = (),
    seed: int | None = None,
    device: str = "auto",
    threads: int | None = None,
    resume: bool = False,
    start: str | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> Run:
    """A run that is ready to train on the problems in `folder` and to write to `out`.

    A new run needs a folder without one; with `resume` the run in `out` goes on, and of what makes it up only the
    number of episodes may differ. `start` names the policy whose weights a new run begins with: a name, a file or a
    run folder. `warn` is told what is odd but does not stop the work.
    """
    place = find_device(device)
    run_folder = RunFolder(Path(out), warn)
    if resume:
        description = resumed(run_folder.describe(), config, settings, seed)
    else:
        description = RunDescription(str(Path(folder).resolve()), seed or 0, load_configuration(config, settings))
    problems = load_problems(folder, description.configuration)
    trainer = make_trainer(problems, description.configuration, description.seed, place, threads, warn)
    if start is not None:
        description = started(description, trainer, start, resume=resume)
    run = Run(trainer, run_folder, problems, description)
    try:
        if resume:
            run_folder.hold()
            run.elapsed = run_folder.load_state(trainer, description.start)
            run_folder.write_description(description)
        else:
            run_folder.create(description)
            if start is not None:
                run_folder.save_state(trainer, 0.0)  # the policy may have changed by the time the run is resumed
    except BaseException:
        run_folder.close()
        raise
    return run


def make_trainer(
    problems: Problems,
    configuration: Configuration,
    seed: int,
    device: str,
    threads: int | None,
    warn: Callable[[str], None],
) -> Trainer:
    """A trainer for some problems, with generated ones where the configuration asks for them and there is a generator.

    Sets PyTorch's number of threads for the whole process.
    """
    for message in problems.warnings:
        warn(message)
    # Other threads prepare the next batches meanwhile; PyTorch's own suffer badly where cores are scarce.
    torch.set_num_threads(threads or max(1, (os.cpu_count() or 1) // 2))
    spec = configuration.training
    largest = max(len(task.objects) for task in problems.training)
    larger = larger_problems(problems.domain, largest, spec.larger_problems)
    training = [*problems.training, *similar_problems(problems.domain, largest, spec.generated_problems)]
    return Trainer(configuration, training, problems.held_out, larger, seed=seed, device=device, threads=threads)


def started(description: RunDescription, trainer: Trainer, name: str, *, resume: bool) -> RunDescription:
    """The description of a run that begins with a policy's weights, which the trainer is given.

    A resumed run must have begun with the same weights; they are not loaded again.
    """
    path = start_file(name, trainer.tasks[0].domain)
    policy = load_policy_file(path)
    found = Start.of(path, policy)
    if resume:
        if description.start is None or description.start.digest != found.digest:
            began = description.start.policy if description.start is not None else "random weights"
            raise ConfigurationError(f"--resume: the run began with {began}, --from cannot change it")
        return description
    trainer.start_from(policy)
    return replace(description, start=found)


def start_file(name: str, domain: Domain) -> Path:
    """File of a policy to begin with: by its name, its file, or the folder of its run."""
    if name in YARDSTICKS:
        raise ConfigurationError(f"--from: {name} has no weights to begin with")
    if name == AUTO:
        return find_policy(domain)
    folder = policy_folder(name)
    return RunFolder(folder).policy if folder is not None else policy_path(name)


def resumed(
    description: RunDescription, config: str | None, settings: Sequence[str], seed: int | None
) -> RunDescription:
    """The description of a run that goes on; only the number of episodes may differ from what it was started with."""
    own = description.configuration
    wanted = changed(own, settings) if config is None else load_configuration(config, settings)
    fixed = [key for key in differences(own, wanted) if key != "training.episodes"]
    if fixed:
        raise ConfigurationError(
            f"--resume: the run was started with another value of {fixed[0]}; only training.episodes can be changed"
        )
    if seed is not None and seed != description.seed:
        raise ConfigurationError(f"--resume: the run's seed is {description.seed}, --seed cannot change it")
    return replace(description, configuration=wanted)
