"""What it changes that a goal state of the tree is taken whatever its Q-value, with bundled policies.

    python experiments/2026-11-16-departures/goal_rule.py IPC [DOMAIN ...]

Prints a table: each bundled policy on the 30 validation problems of its domain, with our rule (goal states are always
taken) and with the paper's (the best Q-value alone). Jumps and actions are those of solved problems.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from saltus.learn.config import saved_configuration
from saltus.learn.problems import load_problems
from saltus.learn.validation import measure
from saltus.model.policy_file import load_policy_file
from saltus.policy import load_policy
from saltus.policy.catalogue import policy_path

LIMIT = 1000
"""Jumps per problem, as in the paper."""


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ipc", type=Path)
    parser.add_argument("domains", nargs="*", default=["blocksworld", "ferry", "spanner"])
    options = parser.parse_args()
    print("| domain | goal states | solved | jumps | actions |\n|---|---|---|---|---|")
    for name in options.domains:
        record = load_policy_file(policy_path(name)).record
        problems = load_problems(
            options.ipc / name, saved_configuration({"encoding": record["configuration"]["encoding"]})
        ).held_out
        policy = load_policy(name, device="cpu")
        for take_goals, rule in ((True, "always taken"), (False, "best Q-value")):
            found = measure(policy.playing(replace(policy.play_spec, take_goals=take_goals)), problems, LIMIT)
            row = (name, rule, f"{found.solved} of {found.problems}", f"{found.jumps:,}", f"{found.actions:,}")
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
