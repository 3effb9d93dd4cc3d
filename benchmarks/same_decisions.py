"""Whether the kernel's engine decides as PyTorch does: every decision along rollouts on validation problems.

Each bundled policy plays generated validation problems of its domain with the engine. At every state of the rollout (or
every n-th, `--every`) PyTorch values the same tree. A decision is the same if the engine's best candidate is PyTorch's
best, and a tie if PyTorch values it within 1e-5 of its best, as a share of the largest value. "difference" is the
largest one between two Q-values, as the same share.

    python benchmarks/same_decisions.py [--policy ferry ...] [--problems 10] [--every 1] [--max-jumps 200]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import torch

from saltus.domains.generated import generated_task
from saltus.model.engine import Engine
from saltus.model.policy_file import load_policy_file
from saltus.model.torch_scorer import TorchScorer
from saltus.policy import LearnedPolicy, play
from saltus.policy.catalogue import POLICIES, bundled_policies
from saltus.task import Split

TIE = 1e-5
"""Share of the largest value by which two candidates may differ and still tie."""


@dataclass
class Count:
    """Decisions that were made by both."""

    decisions: int = 0
    ties: int = 0
    different: int = 0
    difference: float = 0.0


def compare(name: str, problems: int, every: int, max_jumps: int) -> Count:
    """Plays some validation problems of a bundled policy's domain."""
    file = load_policy_file(POLICIES / f"{name}.safetensors")
    fast, slow = (LearnedPolicy.of(file, scorer) for scorer in (Engine.of(file.network), TorchScorer(file.network)))
    fast.threads = slow.threads = 1
    count = Count()
    for index in range(problems):
        task = generated_task(name, Split.VALIDATION, index, problems)
        rollout = play(fast, task)
        while rollout.ending is None and rollout.jumps < max_jumps:
            decision = fast.decide([rollout.situation])[0]
            if rollout.jumps % every == 0 and len(decision.q):
                twin = slow.values([decision.tree])[0]
                scale = max(1.0, float(np.abs(twin).max()))
                behind = float(twin.max() - twin[decision.q.argmax()]) / scale
                count.decisions += 1
                count.ties += 0 < behind <= TIE
                count.different += behind > TIE
                count.difference = max(count.difference, float(np.abs(twin - decision.q).max()) / scale)
            rollout.advance(decision)
    return count


def main() -> None:
    """Prints a row per policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", action="append", help="only this bundled policy; may be repeated")
    parser.add_argument("--problems", type=int, default=10, help="validation problems per domain")
    parser.add_argument("--every", type=int, default=1, help="jumps from one comparison to the next")
    parser.add_argument("--max-jumps", type=int, default=200, help="most jumps of a rollout")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| policy | decisions | same | ties | different | difference |\n|---|---|---|---|---|---|")
    for name in options.policy or list(bundled_policies()):
        count = compare(name, options.problems, options.every, options.max_jumps)
        same = count.decisions - count.ties - count.different
        cells = (name, count.decisions, same, count.ties, count.different, f"{count.difference:.1e}")
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
