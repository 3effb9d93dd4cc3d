"""Benchmark of a network pass on one core: the kernel's engine against PyTorch, in the same run.

Bundled policies on the first trees of hard IPC problems. Times are the best of several passes, in CPU time, and include
what either side does to lay out the batch. "difference" is the largest one between two Q-values, as a share of the
largest Q-value: both sides round to float32, whose last digit is a share of 6e-8.

The last columns compare the engine with the roofline: the least time for the pass at the peak rate of this core, which
is measured in the same run (`roofline.py`). "products" counts the matrix products alone; "all" also the instructions
of Mish and of the smooth maximum, which need the same units. Other instruction sets than the fastest have lower peaks.

    python benchmarks/engine.py --ipc DIR [--domain ferry ...] [--problem testing/hard/p10.pddl ...] [--seconds 2]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from measure import best_time
from roofline import Peak, count_work, measure_peak
from saltus.graph import GraphBatch, assemble
from saltus.lookahead import lookahead
from saltus.model import RelationalNetwork, make_layout
from saltus.model.engine import Engine
from saltus.model.policy_file import load_policy_file
from saltus.policy.catalogue import POLICIES
from saltus.task import load

DOMAINS = ("blocksworld", "childsnack", "ferry", "floortile", "miconic", "rovers", "satellite", "spanner", "transport")
PROBLEMS = ("testing/hard/p05.pddl", "testing/hard/p10.pddl")
REPEATS = 20


def torch_values(network: RelationalNetwork, batch: GraphBatch) -> NDArray[np.float32]:
    """Q-values by PyTorch."""
    with torch.inference_mode():
        values: NDArray[np.float32] = network(make_layout(batch, network.arities)).q.numpy()
        return values


def compare(
    ipc: Path, domain: str, problem: str, seconds: float, instructions: str, peak: Peak
) -> tuple[float, float, float]:
    """Prints a line; returns how many times faster the engine is, and its time as a multiple of either roofline."""
    policy = load_policy_file(POLICIES / f"{domain}.safetensors")
    engine = Engine.of(policy.network, instructions)
    task = load(ipc / domain / "domain.pddl", ipc / domain / problem)
    tree = lookahead(task, spec=policy.lookahead)
    batch = assemble([(tree, None)], policy.vocabulary, policy.encoding, threads=1)
    wanted = torch_values(policy.network, batch)
    difference = np.abs(engine.q_values(batch, 1) - wanted).max() / np.abs(wanted).max()
    slow = best_time(lambda: torch_values(policy.network, batch), REPEATS, seconds, time.process_time)
    fast = best_time(lambda: engine.q_values(batch, 1), REPEATS, seconds, time.process_time)
    work = count_work(policy.network.arities, policy.network.spec, batch)
    products, everything = (fast / work.seconds(peak, products_only=only) for only in (True, False))
    label = f"{domain} {Path(problem).parent.name} {Path(problem).stem}"
    print(
        f"{label:<24}{batch.node_count:>8,}{len(batch.arguments):>10,}{1e3 * slow:>9.1f} ms{1e3 * fast:>9.1f} ms"
        f"{slow / fast:>8.2f}{difference:>12.1e}{products:>11.2f}{everything:>7.2f}",
        flush=True,
    )
    return slow / fast, products, everything


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ipc", default=os.environ.get("SALTUS_IPC2023"), help="folder of the IPC 2023 problems")
    parser.add_argument("--domain", action="append", help="only this domain; may be repeated")
    parser.add_argument("--problem", action="append", help="a problem of each domain's folder; may be repeated")
    parser.add_argument("--seconds", type=float, default=2.0, help="time after which a pass is not repeated")
    parser.add_argument("--instructions", default="", help="instruction set (default: the fastest)")
    options = parser.parse_args()
    if not options.ipc:
        parser.error("--ipc or SALTUS_IPC2023 must name the folder of the IPC 2023 Learning Track problems")
    torch.set_num_threads(1)
    peak = measure_peak()
    print(f"peak of this core: {peak.operations / 1e9:.0f} GFLOP/s, {peak.bytes / 1e9:.1f} GB/s")
    print(
        f"{'problem':<24}{'nodes':>8}{'messages':>10}{'PyTorch':>12}{'engine':>12}{'ratio':>8}{'difference':>12}"
        f"{'products':>11}{'all':>7}"
    )
    rows = [
        compare(Path(options.ipc), domain, problem, options.seconds, options.instructions, peak)
        for problem in options.problem or PROBLEMS
        for domain in options.domain or DOMAINS
    ]
    ratio, products, everything = (statistics.geometric_mean(column) for column in zip(*rows, strict=True))
    print(
        f"geometric means: PyTorch {ratio:.2f} times the engine, engine {products:.2f} times the products at the peak"
    )
    print(f"and {everything:.2f} times all operations at the peak")


if __name__ == "__main__":
    main()
