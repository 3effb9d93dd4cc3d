"""Stage `policy`: amounts with units as people write them, such as 1h30m or 8G; `none` stands for no limit."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from saltus.errors import ConfigurationError, shorten

MEGABYTES = {"": 1, "k": 1 / 1024, "m": 1, "g": 1024}
"""MiB per unit of memory."""


def seconds_of(option: str, text: str) -> float | None:
    """Seconds of a time such as 90, 90s, 10m or 1h30m; None for `none`."""
    if text.strip().lower() == "none":
        return None
    number = r"(\d+(?:\.\d+)?)"
    found = re.fullmatch(f"(?:{number}h)?(?:{number}m)?(?:{number}s?)?", text.strip().lower(), re.ASCII)
    if not text.strip() or found is None:
        raise ConfigurationError(f"{option} {shorten(text)}: expected a time such as 90, 10m or 1h30m, or none")
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    total = 3600 * hours + 60 * minutes + seconds
    if not 0 < total < math.inf:
        raise ConfigurationError(f"{option} {shorten(text)}: expected more than 0")
    return total


def amount(option: str, text: str, units: Mapping[str, float]) -> float | None:
    """Value of a number with a unit; None for `none`."""
    if text.lower() == "none":
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]?)", text.strip().lower(), re.ASCII)
    if match is None or match[2] not in units:
        suffixes = ", ".join(unit for unit in units if unit)
        raise ConfigurationError(f"{option} {shorten(text)}: expected a number, optionally with suffix {suffixes}")
    value = float(match[1]) * units[match[2]]
    if not 0 < value < math.inf:
        raise ConfigurationError(f"{option} {shorten(text)}: expected more than 0")
    return value
