"""Whether a policy plays its run's validation problems here as it did where it was trained, on a GPU.

    python experiments/2026-11-15-ipc2023/replay.py IPC RUN/policy.safetensors...

A line a policy: problems solved, jumps and actions, as recorded in the file and as counted on this machine's CPU.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from saltus.learn.config import saved_configuration
from saltus.learn.problems import load_problems
from saltus.learn.validation import Coverage, Validation, measure
from saltus.model.policy_file import load_policy_file
from saltus.policy import load_policy


def main() -> None:
    """Prints the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ipc", type=Path)
    parser.add_argument("policies", type=Path, nargs="+")
    options = parser.parse_args()
    for path in options.policies:
        record = load_policy_file(path).record
        configuration = saved_configuration({"encoding": record["configuration"]["encoding"]})
        problems = load_problems(options.ipc / record["suite"], configuration).held_out
        there = Validation.from_json(record["validation"]).held_out
        here = measure(load_policy(path, device="cpu"), problems)
        print(
            f"{path}: {words(there)} there, {words(here)} here{'' if here == there else ': NOT THE SAME'}", flush=True
        )


def words(coverage: Coverage) -> str:
    """Coverage in a few words."""
    return f"{coverage.solved} of {coverage.problems} in {coverage.jumps} jumps, {coverage.actions} actions"


if __name__ == "__main__":
    main()
