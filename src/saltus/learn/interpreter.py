"""Stage `learn`: what training asks of the interpreter while it goes on."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick_switches() -> Iterator[None]:
    """Has Python switch between threads quickly: they do short pieces of work and wait for each other. Its own interval
    of 5 ms is longer than a gradient step on a GPU."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(2e-4)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def settled_objects() -> Iterator[None]:
    """Has the garbage collector pass over all objects that exist now, most of which are tasks.

    It would look at them again and again: training makes and keeps many objects. Each time takes as long as dozens of
    gradient steps on a GPU, on whatever thread happens to be running, and the others wait.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
