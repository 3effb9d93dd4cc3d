"""Benchmark of one greedy decision on the CPU: lookahead, graph and the engine's pass (30 layers) at the initial state.

1. The largest problem of each domain, each in a process of its own: the best time of every part and the peak memory of
   the process.
2. Peak memory of forward and backward with the encodings `ext` and `ad`, for the same tree: blocksworld medium p15.

    python benchmarks/forward.py --ipc DIR [--domain rovers] [--layers 30] [--threads 2]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from measure import MEGABYTE, memory, reset_peak_memory

PARTS = ("lookahead", "graph", "forward")


def decide(domain: str, problem: str, layers: int, threads: int) -> dict[str, float]:
    """The seconds of every part of a decision, and the peak memory."""
    import saltus
    from saltus.graph import EncodingSpec, Vocabulary, assemble
    from saltus.model import ModelSpec, RelationalNetwork
    from saltus.model.engine import Engine

    task = saltus.load(domain, problem)
    encoding = EncodingSpec()
    vocabulary = Vocabulary.of(task.domain, encoding)
    arities = tuple(relation.arity for relation in vocabulary)
    engine = Engine.of(RelationalNetwork(arities, "ad", ModelSpec(layers=layers)))
    best = dict.fromkeys(PARTS, float("inf"))
    for _ in range(3):
        start = time.perf_counter()
        tree = saltus.lookahead(task)
        searched = time.perf_counter()
        batch = assemble([(tree, None)], vocabulary, encoding)
        encoded = time.perf_counter()
        engine.q_values(batch, threads)
        spans = (searched - start, encoded - searched, time.perf_counter() - encoded)
        best = {part: min(best[part], span) for part, span in zip(PARTS, spans, strict=True)}
        if sum(spans) > 20:
            break
    sizes = {"candidates": len(tree) - 1, "nodes": batch.node_count, "messages": len(batch.arguments)}
    return {**best, **sizes, "objects": task.object_count, "bytes": memory()}


def train_memory(domain: str, problem: str, layers: int, kind: str) -> dict[str, float]:
    """The bytes that forward and backward add at their peak."""
    import saltus
    from saltus.graph import EncodingSpec, Vocabulary, assemble
    from saltus.model import ModelSpec, RelationalNetwork, make_layout

    task = saltus.load(domain, problem)
    encoding = EncodingSpec(kind=kind)
    vocabulary = Vocabulary.of(task.domain, encoding)
    arities = tuple(relation.arity for relation in vocabulary)
    network = RelationalNetwork(arities, kind, ModelSpec(layers=layers))
    network.trained_by_kernel = True
    tree = saltus.lookahead(task)

    def step(tree: saltus.LookaheadTree) -> int:
        layout = make_layout(assemble([(tree, None)], vocabulary, encoding), arities)
        network(layout).q.square().mean().backward()
        return layout.slot_count

    step(saltus.lookahead(task, play=saltus.PlaySpec(max_nodes=3)))  # loads the libraries
    reset_peak_memory()
    before = memory("VmRSS")
    messages = step(tree)
    return {"bytes": memory() - before, "messages": messages}


def in_process(*arguments: str) -> dict[str, float] | str:
    """The result of a job in a process of its own, or the reason why there is none."""
    done = subprocess.run([sys.executable, __file__, "--job", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:100]
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    """Prints both tables, or one job's result for the parent process."""
    if "--job" in sys.argv:
        kind, *rest = sys.argv[sys.argv.index("--job") + 1 :]
        domain, problem, layers, last = rest
        job = decide(domain, problem, int(layers), int(last)) if kind == "decide" else None
        print(json.dumps(job or train_memory(domain, problem, int(layers), last)))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ipc", default=os.environ.get("SALTUS_IPC2023"), help="folder of the IPC 2023 problems")
    parser.add_argument("--domain", action="append", help="only this domain; may be repeated")
    parser.add_argument("--layers", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if not options.ipc:
        parser.error("--ipc or SALTUS_IPC2023 must name the folder of the IPC 2023 Learning Track problems")
    ipc = Path(options.ipc)
    names = options.domain or sorted(path.name for path in ipc.iterdir() if (path / "domain.pddl").is_file())
    print(f"one decision, {options.layers} layers, {options.threads} threads")
    print(
        f"{'problem':<24}{'objects':>8}{'candidates':>11}{'messages':>10}"
        f"{'lookahead':>11}{'graph':>9}{'forward':>10}{'MB':>8}"
    )
    for name in names:
        problem = max((ipc / name / "testing").rglob("*.pddl"), key=lambda path: path.stat().st_size)
        result = in_process(
            "decide", str(ipc / name / "domain.pddl"), str(problem), str(options.layers), str(options.threads)
        )
        label = f"{name} {problem.parent.name} {problem.stem}"
        if isinstance(result, str):
            print(f"{label:<24}{result}")
            continue
        print(
            f"{label:<24}{result['objects']:>8,}{result['candidates']:>11,}{result['messages']:>10,}"
            f"{result['lookahead'] * 1e3:>8.1f} ms{result['graph'] * 1e3:>6.1f} ms{result['forward'] * 1e3:>7.0f} ms"
            f"{result['bytes'] / MEGABYTE:>8.0f}"
        )
    base = ipc / "blocksworld"
    added = {
        kind: in_process("memory", str(base / "domain.pddl"), str(base / "testing/medium/p15.pddl"), "30", kind)
        for kind in ("ext", "ad")
    }
    ext, ad = added["ext"], added["ad"]
    if isinstance(ext, dict) and isinstance(ad, dict):
        print(
            f"\nblocksworld medium p15, forward and backward, 30 layers: ext {ext['bytes'] / MEGABYTE:.0f} MB, "
            f"ad {ad['bytes'] / MEGABYTE:.0f} MB, ratio {ext['bytes'] / ad['bytes']:.1f}"
        )
    else:
        print(added)


if __name__ == "__main__":
    main()
