"""Stage `learn`: the progress of a run as lines of text, for logs and output that is not a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable

from saltus.learn.events import Event
from saltus.learn.values import LINE_EVERY


class PlainProgress:
    """A line for every validation, and one about an episode every few seconds."""

    def __init__(self, episodes: int, say: Callable[[str], None]) -> None:
        self.episodes = episodes
        self.say = say
        self.said = time.monotonic() - LINE_EVERY

    def show(self, event: Event) -> None:
        """Says what happened, if it is time for a line."""
        now = time.monotonic()
        is_due = event.kind == "validation" or event.episode == self.episodes
        if is_due or now - self.said >= LINE_EVERY:
            self.said = now
            self.say(f"episode {event.episode} of {self.episodes}: {event}")
