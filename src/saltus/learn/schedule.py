"""Stage `learn`: values that change from episode to episode."""

from __future__ import annotations


def linear(start: float, end: float, position: float, length: float) -> float:
    """Value at a position on the line from `start` to `end`; `end` from `length` on."""
    share = min(1.0, position / length)
    return start + (end - start) * share


def restarted(position: int, length: int) -> tuple[int, int]:
    """Position in the schedule at hand, and that one's length: schedules follow each other, each twice as long."""
    while position >= length:
        position -= length
        length *= 2
    return position, length
