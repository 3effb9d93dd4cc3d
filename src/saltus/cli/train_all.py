"""The command that trains many policies: `train-all`."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from saltus.cli import output
from saltus.cli.options import Device, Ray, check_device
from saltus.cli.train import Config, Settings, TimeLimit, handled
from saltus.errors import ConfigurationError, suggestion
from saltus.policy.amounts import seconds_of
from saltus.process import LocalRunner, RayRunner, Runner
from saltus.task import find_suites


def train_all(
    suites: Annotated[Path, typer.Argument(help="Folder with one folder of problems per domain.")],
    out: Annotated[Path, typer.Option(help="Folder for the runs: DOMAIN/seed-N.")],
    seeds: Annotated[int, typer.Option(help="Number of runs per domain, with seeds 0, 1, …", min=1)] = 3,
    jobs: Annotated[int, typer.Option(help="Number of runs in parallel.", min=1)] = 1,
    domain: Annotated[list[str] | None, typer.Option(help="Train this domain only (can be repeated).")] = None,
    config: Config = None,
    settings: Settings = None,
    time_limit: TimeLimit = None,
    device: Device = "auto",
    threads: Annotated[
        int | None, typer.Option(help="Number of threads per run (default: cores divided by --jobs).", min=1)
    ] = None,
    ray: Ray = None,
) -> int:
    """Train policies for many domains and seeds in parallel.

    Existing runs are resumed, and finished runs are left alone. Each run writes its output to train.log in its folder.
    Ctrl-C or SIGTERM ends all runs, which lose their present episode; a second one kills them.

    Example:

        saltus train-all examples --out runs/all --seeds 1 --config tiny --set episodes=2
    """
    from saltus.learn.config import load_configuration  # here, because importing PyTorch takes a second
    from saltus.learn.train_job import TrainJob

    seconds = seconds_of("--time-limit", time_limit) if time_limit is not None else None
    check_device(device)
    load_configuration(config, settings or [])  # reports a wrong one before anything is started
    found = find_suites(suites)
    known = [suite.name for suite in found]
    for name in domain or []:
        if name not in known:
            raise ConfigurationError(f"--domain {name}: not in {suites}{suggestion(name, known)}")
    wanted = [
        TrainJob(
            suite.name,
            str(suite.domain.parent),
            str(out / suite.name / f"seed-{seed}"),
            seed=seed,
            config=config,
            settings=tuple(settings or ()),
            seconds=seconds,
            device=device,
            threads=threads or max(1, (os.cpu_count() or 1) // jobs),
        )
        for seed in range(seeds)
        for suite in found
        if not domain or suite.name in domain
    ]
    runner: Runner = LocalRunner(jobs) if ray is None else RayRunner(ray, jobs)
    code = 0
    with handled(signal.default_int_handler, signal.SIGTERM), closing(runner.run(wanted)) as finished:
        for ended in finished:
            job, result = wanted[ended.number], ended.result
            code = code or result.exit_code
            output.result(f"{job.suite} seed {job.seed}: {result.summary}", flush=True)
    return code
