"""Stage `learn`: the log of a run: events to lines of JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from saltus.files import parse_object, read_lines
from saltus.learn.events import EpisodeReport, Event
from saltus.learn.saved_state import seconds, whole
from saltus.learn.validation import Coverage, Validation
from saltus.model.schema import read_value
from saltus.model.tensor_file import DamageError


def log_entry(event: Event) -> dict[str, Any]:
    """Plain values of an event, for the log."""
    if isinstance(event, EpisodeReport):
        return {"kind": event.kind, **event.to_json()}
    held_out = asdict(event.held_out)
    larger = dict.fromkeys(held_out) if event.larger is None else asdict(event.larger)
    larger = {f"larger_{name}": value for name, value in larger.items()}
    return {"kind": event.kind, "episode": event.episode, **held_out, **larger, "td_error": event.td_error}


@dataclass(frozen=True)
class LoggedRun:
    """What the log of a run says about it."""

    episodes: int = 0
    seconds: float = 0.0
    validations: tuple[Validation, ...] = ()
    validation_seconds: float = 0.0
    """Seconds that the last validation took."""


def read_log(path: Path) -> LoggedRun:
    """The run of a log, which may be growing; lines that cannot be read are ignored, and a missing log is empty."""
    episodes, elapsed, last = 0, 0.0, 0.0
    validations: dict[int, Validation] = {}
    for line in read_lines(str(path)) if path.exists() else ():
        try:
            entry = parse_object(line)
            episode = whole(entry, "episode")
            if entry.get("kind") == "validation":
                larger = _coverage(entry, "larger_") if entry["larger_problems"] is not None else None
                validations[episode] = Validation(episode, _coverage(entry, ""), larger, seconds(entry, "td_error"))
                last = max(0.0, seconds(entry, "elapsed") - elapsed)
            episodes, elapsed = episode, seconds(entry, "elapsed")
        except (ValueError, KeyError, DamageError):
            continue
    return LoggedRun(episodes, elapsed, tuple(validations.values()), last)


def _coverage(entry: Mapping[str, Any], prefix: str) -> Coverage:
    problems, solved, jumps, actions = (
        whole(entry, f"{prefix}{name}") for name in ("problems", "solved", "jumps", "actions")
    )
    cost = read_value(float | None, entry.get(f"{prefix}cost"), "cost")
    nodes = whole(entry, f"{prefix}nodes") if f"{prefix}nodes" in entry else 0  # older logs have none
    return Coverage(problems, solved, jumps, actions, cost, nodes)
