"""Generated problems are solvable: an outside planner finds a plan for small ones of each domain.

LAMA-first comes with the package `up-fast-downward` (extra `baselines`); without it the test is
skipped. By default 2 problems a domain are solved, with SALTUS_FULL=1 in the environment 20.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from saltus.domains import DOMAINS, generate_problem, generate_sizes

FULL = os.environ.get("SALTUS_FULL") == "1"
INDICES = range(20) if FULL else (4, 15)
COUNT = 60
"""The problems are the smallest third of a training split of this many."""
SECONDS = 60


def _planner() -> Path | None:
    """Fast Downward's driver inside the package, or None."""
    package = importlib.util.find_spec("up_fast_downward")
    if package is None or package.origin is None:
        return None
    driver = Path(package.origin).parent / "downward" / "fast-downward.py"
    return driver if driver.exists() else None


pytestmark = pytest.mark.skipif(_planner() is None, reason="up-fast-downward is not installed")


def solve(domain: Path, text: str, folder: Path) -> str:
    """Output of LAMA-first; the plan, if any, is in `folder`/plan."""
    problem = folder / "problem.pddl"
    problem.write_text(text)
    command = [sys.executable, str(_planner()), "--alias", "lama-first"]
    command += ["--overall-time-limit", f"{SECONDS}s", "--plan-file", str(folder / "plan")]
    run = subprocess.run(
        [*command, str(domain), str(problem)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=2 * SECONDS,
        check=False,
    )
    return run.stdout[-2000:] + run.stderr[-2000:]


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_lama_solves_small_training_problems(name: str, index: int, tmp_path: Path) -> None:
    text = generate_problem(name, "training", index, COUNT, seed=index)
    output = solve(DOMAINS[name].path, text, tmp_path)
    assert (tmp_path / "plan").exists(), output


CROWDED = [
    ("blocksworld", {"blocks": 2}),
    ("floortile", {"rows": 2, "columns": 2, "robots": 2}),
    ("floortile", {"rows": 1, "columns": 3, "robots": 3}),
    ("floortile", {"rows": 3, "columns": 3, "robots": 2}),
    ("floortile", {"rows": 3, "columns": 3, "robots": 3}),
    ("freecell", {"cards": 3, "cells": 1, "columns": 1, "stacks": 1}),
    ("goldminer", {"rows": 1, "columns": 4}),
    ("grid", {"width": 4, "height": 4, "shapes": 3, "keys": 2, "locks": 12}),
    ("logistics", {"airplanes": 1, "cities": 2, "locations": 1, "packages": 3}),
    ("reward", {"side": 5, "blocked": 18, "rewards": 6}),
    ("sokoban", {"side": 6, "boxes": 2, "walls": 100}),
    ("spanner", {"spanners": 3, "nuts": 3, "locations": 2}),
]


@pytest.mark.parametrize(("name", "sizes"), CROWDED)
def test_lama_solves_problems_with_no_room_to_spare(name: str, sizes: dict[str, int], tmp_path: Path) -> None:
    for seed in range(5 if FULL else 1):
        (tmp_path / "plan").unlink(missing_ok=True)
        output = solve(DOMAINS[name].path, generate_sizes(name, sizes, seed), tmp_path)
        assert (tmp_path / "plan").exists(), output
