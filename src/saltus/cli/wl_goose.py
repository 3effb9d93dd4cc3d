"""The command that trains a baseline: `wl-goose`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from saltus.cli import output
from saltus.errors import ConfigurationError
from saltus.lab.baselines.wl_training import train_wl_goose
from saltus.policy.amounts import seconds_of


def wl_goose(
    folder: Annotated[Path, typer.Argument(help="Folder with domain.pddl and training problems.")],
    out: Annotated[Path, typer.Option(help="Model file to write (JSON).")],
    plan_time: Annotated[str, typer.Option(help="Time limit for the optimal plan of one training problem.")] = "10s",
) -> None:
    """Train the baseline WL-GOOSE: a heuristic for greedy best-first search.

    It learns from optimal plans of the training and validation problems, which A* with LM-cut finds; problems without
    such a plan within the time limit are left out. Needs the packages wlplan and up-fast-downward: pip install
    'saltus[baselines]'. Then 'saltus bench FOLDER --planner wl-goose --policy MODEL' runs it.

    Example:

        saltus wl-goose examples/blocksworld --out blocksworld.json --plan-time 2
    """
    seconds = seconds_of("--plan-time", plan_time)
    if seconds is None:
        raise ConfigurationError("--plan-time none: expected a time such as 10 or 1m")
    model = train_wl_goose(folder, seconds=seconds, watch=output.note)
    model.save(out)
    output.result(model.summary)
    output.result(f"model: {out}")
