"""Benchmark of one training step: forward, backward and Adam on 32 AIW-AD trees of real 20-block Blocksworld states.

The fast path runs against the plain twin (the loop over relations) and, if it is installed, against the message passing
of `pymimir-rgnn`, on the same graphs, in one run. On a GPU the fast step is also recorded and replayed, and its parts
are timed. The memory floor assumes that every layer reads and writes the embeddings and messages once forward and twice
backward, at the bandwidth measured in the same run.

    python benchmarks/train_step.py [--device cuda] [--layers 30] [--repeats 10] [--precision bf16]
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

import torch

from saltus.domains import DOMAINS, generate_sizes
from saltus.graph import EncodingSpec, GraphBatch, Vocabulary, assemble
from saltus.lookahead import lookahead, lookahead_batch
from saltus.model import Layout, ModelSpec, RelationalNetwork, make_layout
from saltus.model.branches import urgent_stream
from saltus.pddl import Source, parse_domain, parse_problem
from saltus.task import Goal, State, Task, build_task


def real_states(count: int, blocks: int) -> list[tuple[Task, State, Goal]]:
    """Situations along random jumps from the initial states of generated problems."""
    domain = parse_domain(Source.from_file(DOMAINS["blocksworld"].path))
    rng = random.Random(0)
    situations: list[tuple[Task, State, Goal]] = []
    while len(situations) < count:
        text = generate_sizes("blocksworld", {"blocks": blocks}, seed=len(situations))
        task = build_task(domain, parse_problem(Source.from_bytes(text.encode()), domain))
        state = task.initial_state
        for _ in range(4):
            situations.append((task, state, task.goal))
            tree = lookahead(task, state)
            state = tree.state_of(rng.randrange(1, len(tree)))
    return situations[:count]


def step_of(network: torch.nn.Module, loss_of: Callable[[], torch.Tensor], device: str) -> Callable[[], None]:
    """A training step with Adam."""
    options = {"fused": True, "capturable": True} if device == "cuda" else {}
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-4, **options)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        loss_of().backward()
        optimiser.step()

    return step


def median(step: Callable[[], object], repeats: int, device: str) -> float:
    """The median time of a call in milliseconds, after two calls to warm up."""
    times = []
    for number in range(repeats + 2):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        if device == "cuda":
            torch.cuda.synchronize()
        if number >= 2:
            times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2] * 1e3


def replayed(step: Callable[[], None]) -> Callable[[], None]:
    """The step, recorded as a CUDA graph and replayed, as training does it."""
    stream = urgent_stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        step()
    return graph.replay


def library_step(batch: GraphBatch, vocabulary: Vocabulary, layers: int, device: str) -> Callable[[], None] | str:
    """A step of `pymimir-rgnn`'s message passing on the same graphs, or the reason why there is none."""
    try:
        import pymimir
        import pymimir_rgnn
        from pymimir_rgnn.bases import EncodedTensors, Encoder
        from pymimir_rgnn.model import RelationalLayerStackModule
    except ImportError as error:
        return f"absent ({error.name})"

    class Relations(Encoder):
        """Our relations, under the library's names."""

        def get_relations(self, domain: object) -> list[tuple[str, int]]:
            return [(f"r{i}", relation.arity) for i, relation in enumerate(vocabulary)]

        def encode(self, *arguments: object) -> None:
            raise NotImplementedError

    domain = pymimir.Domain(DOMAINS["ferry"].path)  # any domain: the relations are ours
    settings = pymimir_rgnn.HyperparameterConfig(
        domain=domain, embedding_size=32, num_layers=layers, normalize_updates=True, residual_updates=True
    )
    parts = pymimir_rgnn.ModuleConfig(
        aggregation_function=pymimir_rgnn.SmoothMaximumAggregation(),
        message_function=pymimir_rgnn.PredicateMLPMessages(settings, (Relations(),)),
        update_function=pymimir_rgnn.MLPUpdates(settings),
    )
    network = RelationalLayerStackModule(settings, parts).to(device)
    encoded = EncodedTensors()
    encoded.node_count = batch.node_count
    for number, _ in enumerate(vocabulary):
        span = slice(int(batch.argument_offset[number]), int(batch.argument_offset[number + 1]))
        if span.start < span.stop:
            encoded.flattened_relations[f"r{number}"] = torch.from_numpy(batch.arguments[span]).long().to(device)
    encoded.node_sizes = torch.tensor([batch.node_count], device=device)
    return step_of(network, lambda: network(encoded).square().mean(), device)


def floor_ms(layout: Layout, layers: int, size: int) -> float:
    """The milliseconds needed to move the embeddings and messages of a step once forward and twice backward."""
    block = torch.empty(1 << 27, device="cuda")
    seconds = median(lambda: block.add_(1.0), 10, "cuda") / 1e3
    bandwidth = 2 * block.numel() * 4 / seconds
    moved = layers * 3 * 2 * (layout.slot_count + 2 * layout.node_count) * size * 4
    return moved / bandwidth * 1e3


def parts(network: RelationalNetwork, layout: Layout) -> None:
    """Prints the time on the device per kernel."""
    from torch.profiler import ProfilerActivity, profile

    def step() -> None:
        network(layout).q.square().mean().backward()

    step()
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
        step()
        torch.cuda.synchronize()
    rows = [(entry.key, entry.self_device_time_total) for entry in profiler.key_averages()]
    named = sorted(((n, t) for n, t in rows if n.endswith("_kernel") and "::" not in n), key=lambda row: -row[1])
    total = sum(t for n, t in rows if not n.startswith(("_PassMessages", "autograd", "aten", "Optimizer")))
    for name, microseconds in named:
        print(f"    {name:<26}{microseconds / 1e3:8.2f} ms{100 * microseconds / total:7.1f} %")
    print(f"    {'everything else':<26}{(total - sum(t for _, t in named)) / 1e3:8.2f} ms")


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--layers", type=int, default=30)
    parser.add_argument("--trees", type=int, default=32)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--precision", default="float32")
    options = parser.parse_args()
    device = options.device
    situations = real_states(options.trees, options.blocks)
    encoding = EncodingSpec()
    vocabulary = Vocabulary.of(situations[0][0].domain, encoding)
    arities = tuple(relation.arity for relation in vocabulary)

    def make_batch() -> GraphBatch:
        return assemble([(tree, None) for tree in lookahead_batch(situations)], vocabulary, encoding)

    batch = make_batch()
    layout = make_layout(batch, arities).to(device)
    print(
        f"{options.trees} trees of {options.blocks} blocks: {batch.node_count:,} nodes, {len(vocabulary)} relations, "
        f"{layout.slot_count:,} messages, {options.layers} layers, {device}, {options.precision}"
    )
    torch.manual_seed(0)
    network = RelationalNetwork(arities, "ad", ModelSpec(layers=options.layers, precision=options.precision)).to(device)
    network.trained_by_kernel = True

    def loss(plain: bool) -> torch.Tensor:
        scores = network(layout, plain=plain)
        return scores.q.square().mean() + scores.depth.mean()

    with torch.no_grad():
        wanted, found = loss(True), loss(False)
    print(f"  loss of the plain twin {wanted:.6f}, of the fast path {found:.6f}")
    print(f"  lookahead and graphs{median(make_batch, 5, 'cpu'):>24.2f} ms (one thread per core)")
    print(f"  layout{median(lambda: make_layout(batch, arities).to(device), 5, device):>38.2f} ms")
    library = library_step(batch, vocabulary, options.layers, device)
    slow_repeats = max(2, options.repeats // 3)
    plain = median(step_of(network, lambda: loss(True), device), slow_repeats, device)
    eager_step = step_of(network, lambda: loss(False), device)
    fast = median(eager_step, options.repeats, device)
    print(f"  plain twin{plain:>34.1f} ms")
    if isinstance(library, str):
        print(f"  pymimir-rgnn{library:>32}")
    else:
        ours = median(library, slow_repeats, device)
        print(f"  pymimir-rgnn (message passing){ours:>14.1f} ms{ours / fast:>10.1f} times the fast path")
    print(f"  fast path{fast:>35.1f} ms{plain / fast:>10.1f} times faster than the plain twin")
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        eager_step()
        print(f"  peak memory of a step{torch.cuda.max_memory_allocated() / 1e6:>23.0f} MB")
        recorded = median(replayed(eager_step), 5 * options.repeats, device)
        floor = floor_ms(layout, options.layers, network.spec.embedding)
        print(f"  fast path, recorded{recorded:>25.2f} ms{plain / recorded:>10.1f} times faster than the plain twin")
        print(f"  memory floor{floor:>32.2f} ms; the recorded step takes {recorded / floor:.1f} times as long")
        parts(network, layout)
        if options.precision != "float32":
            exact = RelationalNetwork(arities, "ad", ModelSpec(layers=options.layers)).to(device)
            exact.load_state_dict(network.state_dict())
            with torch.no_grad():
                difference = network(layout).q - exact(layout).q
                spread = exact(layout).q.std()
            print(f"  Q-values differ from float32 by {difference.abs().max():.2e} (their spread is {spread:.2e})")


if __name__ == "__main__":
    main()
