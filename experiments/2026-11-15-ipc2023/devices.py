"""Whether the policies that come with Saltus decide alike on two devices, along greedy rollouts on generated problems.

    python experiments/2026-11-15-ipc2023/devices.py [--devices cpu cuda] [POLICY...]

The first device plays; the other one decides about the same states. A line a policy: decisions, those with another
choice, and the largest difference of Q-values.
"""

from __future__ import annotations

import argparse

import numpy as np

from saltus.domains.generated import generated_task
from saltus.domains.registry import DOMAINS
from saltus.policy import Greedy, load_policy, play
from saltus.policy.catalogue import POLICIES

SPLITS = ("training", "validation", "easy", "medium")
MOST_JUMPS = 60


def main() -> None:
    """Prints the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="*", default=sorted(path.stem for path in POLICIES.glob("*.safetensors")))
    parser.add_argument("--devices", nargs=2, default=["cpu", "cuda"])
    options = parser.parse_args()
    for name in options.policies:
        one, two = (load_policy(name, device=device) for device in options.devices)
        decisions = others = 0
        largest = 0.0
        for split in SPLITS:
            if split not in DOMAINS[name].splits:
                continue
            task = generated_task(name, split, 1, 3, 5)
            rollout = play(one, task)
            while rollout.ending is None and rollout.jumps < MOST_JUMPS:
                here, there = one.decide([rollout.situation])[0], two.decide([rollout.situation])[0]
                if len(here.q):
                    decisions += 1
                    others += next(Greedy().order(here.q)) != next(Greedy().order(there.q))
                    largest = max(largest, float(np.abs(here.q - there.q).max()))
                rollout.advance(here)
        print(
            f"{name}: {decisions} decisions, {others} with another choice, Q-values differ by at most {largest:.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
