"""Stage `learn`: the gradient steps of an episode, on batches drawn from the replay stores.

Other threads prepare the batches a fixed number of steps ahead, so that the order of all random draws, and with it the
weights, do not depend on timing.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltus.learn.batch import BatchMaker, TrainingBatch
from saltus.learn.config import Configuration
from saltus.learn.experience import Transition
from saltus.learn.learner import Learner, StepResult
from saltus.learn.losses import Means, mean_of
from saltus.learn.replay import Replay
from saltus.learn.schedule import linear
from saltus.learn.values import AHEAD_THREADS, BETA, BETA_SAMPLES


class GradientSteps:
    """Draws transitions, has batches made of them and the learner take steps; losses become priorities."""

    def __init__(
        self,
        configuration: Configuration,
        learner: Learner,
        batches: BatchMaker,
        stores: tuple[Replay, Replay],
        random: Mapping[str, np.random.Generator],
        *,
        threads: int | None,
        check: Callable[[], None],
    ) -> None:
        self._configuration, self._spec = configuration, configuration.training
        self._learner, self.batches = learner, batches
        self._original, self._hindsight = stores
        self._random, self._threads, self._check = random, threads, check
        self.samples = 0
        """Transitions drawn so far."""
        self._ahead_pays = True
        """Whether trees have been small enough so far to be made before they are needed."""

    def run(
        self, graphs: ThreadPoolExecutor, layouts: ThreadPoolExecutor, fresh: Sequence[Transition]
    ) -> tuple[float, Means]:
        """Seconds waited for batches, and the means of the losses; `fresh` are the newest transitions."""
        spec = self._spec
        threads = self._threads or os.cpu_count() or 1
        if threads >= AHEAD_THREADS and spec.steps * spec.batch >= len(fresh):  # else most would never be drawn
            self._make_ahead(graphs, fresh)
        waiting: deque[tuple[list[tuple[Replay, NDArray[np.intp]]], Future[Any]]] = deque()
        running: deque[tuple[list[tuple[Replay, NDArray[np.intp]]], StepResult]] = deque()
        steps: list[Means] = []
        waited = 0.0
        drawn = 0
        for _ in range(spec.steps):
            while drawn < spec.steps and len(waiting) <= spec.prefetch:
                sources, transitions, weight = self.draw()
                batch = graphs.submit(self.batches.make, transitions, weight)
                waiting.append((sources, layouts.submit(self._layout, batch)))
                drawn += 1
            sources, future = waiting.popleft()
            begun = time.perf_counter()
            while not future.done():
                self._check()
                wait([future], timeout=0.2)
            self._check()
            prepared = future.result()
            waited += time.perf_counter() - begun
            running.append((sources, self._learner.step(prepared, self._layers())))
            if len(running) > 1:
                steps.append(self._finish(*running.popleft()))
        while running:
            steps.append(self._finish(*running.popleft()))
        return waited, mean_of(steps)

    def _make_ahead(self, graphs: ThreadPoolExecutor, transitions: Sequence[Transition]) -> None:
        """Has trees made for transitions before they are drawn, as many as two batches have at a time, until trees turn
        out to be too large to be kept.

        What goes wrong there goes wrong again, and is reported, when a batch needs the tree.
        """

        def make(part: Sequence[Transition]) -> None:
            if self._ahead_pays:
                self._ahead_pays = False  # if it fails
                self._ahead_pays = self.batches.make_ahead(part)

        count = 2 * self._spec.batch
        for first in range(0, len(transitions), count):
            graphs.submit(make, transitions[first : first + count])

    def _finish(self, sources: list[tuple[Replay, NDArray[np.intp]]], result: StepResult) -> Means:
        """Means of a step's losses; the losses of the samples become their priorities."""
        losses, means = result.read()
        first = 0
        for store, numbers in sources:
            store.update(numbers, losses[first : first + len(numbers)])
            first += len(numbers)
        return means

    def draw(self) -> tuple[list[tuple[Replay, NDArray[np.intp]]], list[Transition], NDArray[np.float64]]:
        """Transitions of a batch, where they come from, and their weights, of which the largest is 1."""
        spec, rng = self._spec, self._random["replay"]
        beta = linear(BETA, 1.0, self.samples, BETA_SAMPLES)
        count = round(spec.batch / 2) if len(self._hindsight) else spec.batch
        count = count if len(self._original) else 0
        sources: list[tuple[Replay, NDArray[np.intp]]] = []
        weights: list[NDArray[np.float64]] = []
        transitions: list[Transition] = []
        for store, wanted in ((self._original, count), (self._hindsight, spec.batch - count)):
            if wanted:
                numbers, weight = store.sample(wanted, rng, beta)
                sources.append((store, numbers))
                weights.append(weight)
                transitions += [store.transitions[i] for i in numbers.tolist()]
        self.samples += spec.batch
        weight = np.concatenate(weights)
        return sources, transitions, weight / weight.max()

    def _layout(self, batch: Future[TrainingBatch]) -> Any:
        """A batch as the learner wants it; a thread of its own keeps their order."""
        return self._learner.prepare(batch.result())

    def _layers(self) -> int:
        most, least = self._configuration.model.layers, self._spec.layers_least
        return int(self._random["layers"].integers(least, most + 1)) if least else most
