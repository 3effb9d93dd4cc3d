"""Stage `learn`: the curves of a run for TensorBoard, if it is installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from saltus.learn.events import EpisodeReport, Event


class Curves:
    """Writes `events.out.tfevents…` into a folder; does nothing where TensorBoard is not installed."""

    def __init__(self, folder: Path, episode: int, warn: Callable[[str], None]) -> None:
        """Curves go on after an episode; what cannot be written is told to `warn`."""
        self.warn = warn
        self._writer: Any = None
        try:
            from torch.utils.tensorboard import SummaryWriter

            make: Any = SummaryWriter
            self._writer = make(str(folder), purge_step=episode + 1)
        except ImportError:
            pass
        except OSError as error:
            self._give_up(error)

    def add(self, event: Event) -> None:
        """Adds the values of an event."""
        if self._writer is None:
            return
        try:
            for name, value in scalars(event).items():
                self._writer.add_scalar(name, value, event.episode)
            self._writer.flush()
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Closes the file."""
        try:
            if self._writer is not None:
                self._writer.close()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._writer = None
        self.warn(f"no TensorBoard events: {error.strerror or error}")


def scalars(event: Event) -> dict[str, float]:
    """Values of an event, by curve."""
    if isinstance(event, EpisodeReport):
        names = ("loss", *event.losses, "success", "jumps", "temperature", "learning_rate")
        values = event.to_json()
        curves = {f"training/{name}": float(values[name]) for name in names}
        return curves | {"speed/steps_per_second": event.steps_per_second}
    curves = {"validation/coverage": event.held_out.share, "validation/actions": float(event.held_out.actions)}
    if event.larger is not None and event.larger.problems:
        curves["validation/larger_coverage"] = event.larger.share
    return curves
