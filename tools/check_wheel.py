"""Checks an installed wheel: the program plans and validates, and the example for unified-planning runs.

    python tools/check_wheel.py     # with the Python of the environment that the wheel was installed into

Needs the extra `up`. Everything happens in a temporary folder with a copy of the examples, so that what is checked is
the installed package and not a checkout.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(sysconfig.get_path("scripts")) / "saltus"
BLOCKS = ["examples/blocksworld/domain.pddl", "examples/blocksworld/p03.pddl"]

CHECKS = [
    ([PROGRAM, "--version"], f"saltus {version('saltus')}"),
    ([PROGRAM, "plan", *BLOCKS], "policy blocksworld, written to sas_plan"),
    ([PROGRAM, "validate", *BLOCKS, "sas_plan"], "valid: 4 actions"),
    ([sys.executable, "examples/unified_planning_engine.py"], "SOLVED_SATISFICING"),
]
"""Commands, and what each must print."""


def main() -> None:
    """Runs the checks; the first one that fails ends the program with 1."""
    import saltus

    place = Path(saltus.__file__).resolve()
    if ROOT in place.parents and "site-packages" not in place.parts:
        sys.exit(f"{place} belongs to this checkout: expected an installed wheel")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", Path(folder, "examples"))
        for command, expected in CHECKS:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            print("$", *command)
            print(done.stdout, end="")
            if done.returncode or expected not in done.stdout:
                sys.exit(f"{done.stderr}exit code {done.returncode}; expected {expected!r} in the output")
    print(f"{len(CHECKS)} checks passed with {place.parent}")


if __name__ == "__main__":
    main()
