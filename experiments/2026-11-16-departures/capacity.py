"""What it changes that successors of the root beyond the capacity stay in the tree, with bundled policies.

    python experiments/2026-11-16-departures/capacity.py IPC [DOMAIN ...] [--capacity 10]

Prints a table: each bundled policy on the 30 validation problems of its domain, without a capacity, and with one at
which successors of the root beyond it stay as leaves (ours) or are dropped (the paper's C-AIW). The paper's 1,000 is
far beyond the trees of validation problems, hence the small default. Jumps and actions are those of solved problems.
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


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ipc", type=Path)
    parser.add_argument("domains", nargs="*", default=["blocksworld", "ferry", "satellite"])
    parser.add_argument("--capacity", type=int, default=10)
    options = parser.parse_args()
    print("| domain | root successors beyond the capacity | solved | jumps | actions |\n|---|---|---|---|---|")
    for name in options.domains:
        configuration = saved_configuration(
            {"encoding": load_policy_file(policy_path(name)).record["configuration"]["encoding"]}
        )
        problems = load_problems(options.ipc / name, configuration).held_out
        policy = load_policy(name, device="cpu")
        whole = policy.lookahead
        bounded = replace(whole, capacity=options.capacity)
        for spec, rule in (
            (whole, "no capacity"),
            (bounded, "leaves"),
            (replace(bounded, keep_root_successors=False), "dropped"),
        ):
            policy.lookahead = spec
            found = measure(policy, problems)
            row = (name, rule, f"{found.solved} of {found.problems}", f"{found.jumps:,}", f"{found.actions:,}")
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
