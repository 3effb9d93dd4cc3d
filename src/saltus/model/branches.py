"""Stage `model`: pieces of work that a GPU does side by side.

A branch is a stream that leaves the current one and comes back to it. In a recording, it becomes a branch of the CUDA
graph. Without a GPU, which is how Triton's interpreter runs the kernels, everything is done in order.

Memory belongs to the stream that it was taken on. Whoever uses it on a branch must keep it until the branch is joined.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

_STREAMS: dict[tuple[int, int, int, bool], torch.cuda.Stream] = {}
"""Streams by device, the stream that they leave, the number of the branch and whether it is urgent; they are made once
and kept."""


def urgent_stream(device: torch.device | None = None) -> torch.cuda.Stream:
    """A stream whose work goes first where that of several streams waits."""
    return torch.cuda.Stream(device, priority=-1)


class Branch:
    """A branch of the current stream of a device; the work of an urgent one goes before that of others."""

    def __init__(self, device: torch.device, number: int, *, urgent: bool = False) -> None:
        self._main: Any = None
        self._own: Any = None
        if device.type == "cuda":
            self._main = torch.cuda.current_stream(device)
            key = (self._main.device_index, self._main.cuda_stream, number, urgent)
            if key not in _STREAMS:
                _STREAMS[key] = urgent_stream(device) if urgent else torch.cuda.Stream(device)
            self._own = _STREAMS[key]

    def work(self) -> AbstractContextManager[Any]:
        """A context in which the branch is the current stream."""
        return nullcontext() if self._own is None else torch.cuda.stream(self._own)

    def start(self) -> None:
        """What follows on the branch waits for all work of the main stream so far."""
        if self._own is not None:
            self._own.wait_stream(self._main)

    def join(self) -> None:
        """What follows on the main stream waits for all work of the branch so far."""
        if self._own is not None:
            self._main.wait_stream(self._own)

    def follow(self, other: Branch) -> None:
        """What follows on this branch waits for all work of another one so far."""
        if self._own is not None:
            self._own.wait_stream(other._own)

    def mark(self) -> Any:
        """A mark after all work of the branch so far; None without a GPU."""
        return None if self._own is None else self._own.record_event()

    def wait(self, mark: Any) -> None:
        """What follows on the branch waits for a mark."""
        if mark is not None:
            self._own.wait_event(mark)
