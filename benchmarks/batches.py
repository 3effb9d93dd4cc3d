"""Benchmark of the batches of training on one thread: milliseconds per batch and part, the twins' and the fast path's.

    python benchmarks/batches.py SUITE [--episodes 8] [--set key=value ...]

SUITE is a folder with training problems, such as the IPC 2023 Learning Track's blocksworld. Episodes collect and draw
as training does, but nothing is learned: losses are random. The twins make trees once per transition, graphs and
layouts once per batch. The last lines are the learning thread's own work.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.twins.batch import PlainTrees, encode_trees, trees_of

from saltus.graph import GraphBatch
from saltus.learn.batch import TrainingBatch
from saltus.learn.config import load_configuration
from saltus.learn.experience import Transition
from saltus.learn.interpreter import settled_objects
from saltus.learn.learner import sample_arrays
from saltus.learn.recorded_step import DeviceBatch, StepArrays, StepSize, fill_step, find_bucket
from saltus.learn.trainer import Trainer
from saltus.learn.values import KEPT_NODES
from saltus.model import make_layout
from saltus.model.padding import Buckets, empty_layout, fill_layout, grouped_relations, host_cutter
from saltus.task import find_suite, load

WARM_UP = 3
"""Episodes that are not measured."""


class Timer:
    """Seconds by name of a part."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Adds the time of the block to a part."""
        begun = time.thread_time()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.thread_time() - begun


class Twins:
    """Batches as the twins make them; trees are kept with their transition."""

    def __init__(self, trainer: Trainer, timer: Timer) -> None:
        self.trainer, self.timer = trainer, timer
        self.known: dict[int, tuple[Transition, PlainTrees]] = {}
        self.arities = trainer.learner.network.arities
        self.relations = grouped_relations(self.arities)

    def make(self, transitions: list[Transition], weight: Any) -> TrainingBatch:
        """A batch from nothing but kept trees."""
        makes, timer = self.trainer.steps.batches, self.timer
        with timer.part("trees, twin"):
            missing = list({id(t): t for t in transitions if id(t) not in self.known}.values())
            fresh = trees_of(makes.tasks, missing, makes.lookahead, makes.play, 1) if missing else []
            found = {id(t): trees for t, trees in zip(missing, fresh, strict=True)}
            trees = [found[id(t)] if id(t) in found else self.known[id(t)][1] for t in transitions]
            for t, entry in zip(missing, fresh, strict=True):
                if len(entry[0]) + (len(entry[2]) if entry[2] is not None else 0) <= KEPT_NODES:
                    self.known[id(t)] = t, entry
        with timer.part("graphs, twin"):
            return encode_trees(trees, transitions, weight, makes.vocabulary, makes.encoding, threads=1)

    def pad(self, batch: TrainingBatch, size: StepSize, memory: Any) -> None:
        """Writes a batch into memory."""

        def layout(graphs: GraphBatch | None) -> Any:
            return make_layout(graphs, self.arities) if graphs is not None else empty_layout(self.relations)

        with self.timer.part("layouts, twin"):
            now, after = layout(batch.now), layout(batch.after)
        with self.timer.part("padding, twin"):
            arrays = StepArrays.cut(size, self.relations, host_cutter(memory))
            fill_layout(arrays.now, now)
            fill_layout(arrays.after, after)
            values = sample_arrays(batch, size.after_width, size.depth_width)
            for array, value in zip(vars(arrays.samples).values(), vars(values).values(), strict=True):
                array[:] = value


def measure(trainer: Trainer, episodes: int) -> tuple[Timer, int]:
    """Times of the parts, and the number of batches."""
    timer = Timer()
    twins, makes = Twins(trainer, timer), trainer.steps.batches
    buckets: Buckets[StepSize, DeviceBatch] = Buckets()
    arities = np.array(twins.arities, np.int32)
    rng = np.random.default_rng(0)
    for episode in range(WARM_UP + episodes):
        if episode == WARM_UP:
            timer.seconds.clear()
        trainer._store(trainer._collect(1.0))
        alive = {id(t) for store in (trainer.original, trainer.hindsight) for t in store.transitions}
        twins.known = {key: entry for key, entry in twins.known.items() if key in alive}
        for step in range(trainer.spec.steps):
            with timer.part("drawing"):
                sources, transitions, weight = trainer.steps.draw()
            if step % 2:  # the second one finds its tasks in the processor's caches
                slow = twins.make(transitions, weight)
            with timer.part("trees"):
                trees = makes.trees_of(transitions)
            with timer.part("graphs"):
                batch = makes.encode(trees, transitions, weight)
            if step % 2 == 0:
                slow = twins.make(transitions, weight)
            assert np.array_equal(batch.now.slot_position, slow.now.slot_position)
            with timer.part("bucket"):
                bucket = find_bucket(buckets, batch, arities)
            memory, other = (np.full(bucket.nbytes, 77, np.uint8) for _ in range(2))
            with timer.part("layouts and padding"):
                fill_step(memory, bucket, batch, arities)
            twins.pad(slow, bucket.size, other)
            assert np.array_equal(memory, other)
            with timer.part("priorities"):
                for store, numbers in sources:
                    store.update(numbers, rng.random(len(numbers), np.float32))
    return timer, episodes * trainer.spec.steps


ROWS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("trees", ("trees, twin",), ("trees",)),
    ("graphs", ("graphs, twin",), ("graphs",)),
    ("layouts", ("layouts, twin",), ("bucket", "layouts and padding")),
    ("padding", ("padding, twin",), ()),
)
"""Lines of the table: parts of the twins and of the fast path. The kernel writes layouts padded."""


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--episodes", type=int, default=8)
    parser.add_argument("--problems", type=int, default=60, help="training problems, the first ones (default: 60)")
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    torch.set_num_threads(1)
    suite = find_suite(options.suite)
    tasks = [load(suite.domain, path) for path in suite.splits["training"]][: options.problems]
    configuration = load_configuration(None, ["layers=4", "embedding=16", *options.set])
    trainer = Trainer(configuration, tasks, device="cpu", threads=1)
    with settled_objects():
        timer, batches = measure(trainer, options.episodes)

    def milliseconds(names: tuple[str, ...]) -> float:
        return 1000 * sum(timer.seconds[name] for name in names) / batches

    print(f"{suite.name}: {batches} batches of {configuration.training.batch} transitions, ms per batch")
    print(f"{'':24s}{'twins':>8s}{'fast':>8s}{'ratio':>8s}")
    rows = [(name, milliseconds(slow), milliseconds(fast)) for name, slow, fast in ROWS]
    for name, slow, fast in (*rows, ("total", *map(sum, zip(*(row[1:] for row in rows), strict=True)))):
        print(f"{name:24s}{slow:8.2f}{fast:8.2f}" + (f"{slow / fast:8.1f}" if fast else ""))
    for name in ("drawing", "priorities"):
        print(f"{name:32s}{milliseconds((name,)):8.2f}")


if __name__ == "__main__":
    main()
