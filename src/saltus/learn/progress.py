"""Stage `learn`: the progress of a run as lines of text, for logs and output that is not a terminal."""

from __future__ import annotations

from collections.abc import Callable

from saltus.learn.events import Event
from saltus.learn.values import CHECKPOINT_EVERY


def say(event: Event, episodes: int, tell: Callable[[str], None]) -> None:
    """Tells of every validation, of every so many episodes, and of the last one."""
    if event.kind == "validation" or event.episode == episodes or event.episode % CHECKPOINT_EVERY == 1:
        tell(f"episode {event.episode} of {episodes}: {event}")
